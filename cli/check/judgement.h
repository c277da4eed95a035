#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/check/hlo.h"
#include "cli/check/msccl.h"
#include "cli/check/plan.h"
#include "cli/check/program_report.h"
#include "cli/check/request.h"
#include "cli/check/verdict_cache.h"
#include "p2/error.h"

namespace p2 {

using Judged = std::variant<CheckResult, MscclResult, PlanResult, HloResult>;

const Findings& findings_of(const Judged& judged);

/// Why a file has no verdict.
struct Trouble {
  bool bad_input = true;  ///< else a limit of the machine or of the program was met
  SourcePosition where;
  std::string message;  ///< without the position
  std::string line;     ///< with it
};

/// What became of one file: a verdict or a trouble.
struct FileOutcome {
  std::string file;         ///< of a comparison the one after
  bool comparison = false;  ///< of --before and --after
  std::optional<Judged> judged = {};
  std::shared_ptr<const Trouble> trouble = {};
  double seconds = 0;
};

/// All files, in their order, and after them the comparison asked for, `--jobs` of them at a time:
/// whatever is wrong with one of them, the others get their verdicts. Certificates are written here
/// too; troubles and progress go to `err`.
std::vector<FileOutcome> judge_files(const CheckRequest& request, std::ostream& err,
                                     CacheUse& cache);

}  // namespace p2
