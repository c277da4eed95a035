#pragma once

#include <string>

#include "cli/check/request.h"
#include "cli/check/verdict_cache.h"
#include "proofs/api/finding.h"
#include "engine/msccl/verdict.h"

namespace p2 {

/// What is known of one MSCCL XML file after `check`.
struct MscclResult {
  std::string file;
  msccl::Algorithm algorithm;
  msccl::Verdict verdict;
  Findings findings;              ///< of the explicit engine; the step is the file's `s`
  bool solvers_left_out = false;  ///< asked for, and unable to answer
};

/// Throws InputError for a mistake in the file, and where what was asked is for programs of
/// collectives only.
MscclResult check_msccl(const std::string& file, const std::string& text,
                        const CheckRequest& request, VerdictCache& cache);

/// One object of `results` (cli contract: check), with `limits` and `safe_bytes` beside the
/// verdict.
std::string to_json(const MscclResult& result);
std::string to_text(const MscclResult& result);

}  // namespace p2
