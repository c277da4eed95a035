#pragma once

#include <iosfwd>
#include <optional>
#include <vector>

#include "cli/check/judgement.h"
#include "cli/report/baseline.h"

namespace p2 {

/// What one run of `check` has to say.
struct CheckAnswer {
  std::vector<FileOutcome> outcomes;
  std::vector<FileReport> reports;                      ///< of the same files
  std::optional<std::vector<KnownFailure>> fixed = {};  ///< with a baseline
  CacheUse cache = {};
  int exit = 0;
};

/// In the format that was asked for.
void print(const CheckAnswer& answer, const CheckRequest& request, std::ostream& out);

/// The programs on which engines disagree, and what each says of them.
void print_disagreements(const CheckAnswer& answer, std::ostream& out);

}  // namespace p2
