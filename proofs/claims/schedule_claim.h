#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "p2/limits.h"
#include "proofs/claims/claim.h"

namespace p2::claims {

/// What was found of a statement about schedules on all small cases, the smallest first.
struct ScheduleAnswer {
  Outcome verdict = Outcome::Undecided;
  std::uint64_t cases = 0;  ///< looked at; with a counterexample, up to it
  /// The first counterexample in words, for a reader, and as an input to p2-verify: the flags, and
  /// for `reshard` the file of tasks. Empty unless refuted.
  std::string counterexample;
  std::string command;
  std::string tasks;
};

/// A statement about the schedules of "On Optimizing the Communication of Model Parallelism": of
/// unit tasks between meshes, or of pipelines across them.
struct ScheduleClaim {
  using Settles = ScheduleAnswer (*)(const Limits& limits);

  std::string name;
  std::string statement;
  std::string formula;
  std::string section;  ///< of that paper
  std::string cases;    ///< all that are looked at, and in which order
  std::string engine;   ///< what settles it
  Settles settles = nullptr;
};

void append_claims_about_resharding(std::vector<ScheduleClaim>& claims);
void append_claims_about_pipelines(std::vector<ScheduleClaim>& claims);

/// All of them, in the order in which --list prints them.
const std::vector<ScheduleClaim>& schedule_registry();
/// Nothing when there is none of that name.
const ScheduleClaim* schedule_claim_called(std::string_view name);

}  // namespace p2::claims
