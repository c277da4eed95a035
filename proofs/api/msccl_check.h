#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/msccl/verdict.h"
#include "p2/answer.h"

namespace p2 {

/// What `check` asks about an algorithm in MSCCL XML.
struct AlgorithmCheckQuestion {
  /// Options that were given and only apply to programs, as flags without dashes: an InputError
  /// names the first.
  std::vector<std::string> inapplicable_options = {};
  /// Whether solvers were asked for as well; the answer says that they were not asked.
  bool solvers = false;
  std::optional<std::string> certificate = {};  ///< the folder for it, if one is wanted
  std::uint64_t seed = 1;
  /// Decides about the algorithm instead of msccl::judge(): for callers that know refutations
  /// already and replay them (msccl::can_replay).
  std::function<msccl::AlgorithmDecision(const msccl::Algorithm&)> decide = {};
};

/// The answer: one result, of the engine `explicit`, whose step is the file's `s`. The document has
/// the lines of `check`, one element of its JSON member `results`, and one report.
struct AlgorithmCheckAnswer : Answer {
  msccl::Algorithm algorithm;
  msccl::AlgorithmDecision decision;
};

/// Checks the text of an MSCCL XML file. Where a limit is reached the outcome is Undecided. Throws
/// InputError, naming `file`, if the text is no algorithm.
AlgorithmCheckAnswer check_algorithm(const std::string& file, const std::string& text,
                                     const AlgorithmCheckQuestion& question, const Limits& limits);

}  // namespace p2
