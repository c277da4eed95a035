#pragma once

#include <cstdint>
#include <vector>

#include "engine/cost/latency_bandwidth.h"
#include "proofs/claims/claim.h"
#include "proofs/claims/disjoint_groups.h"

namespace p2::claims {

/// What programs are made of and what for: moves on a system whose devices reduce by classes.
struct CostProblem {
  std::uint32_t devices = 0;  ///< at most 64
  std::vector<Group> classes;
  std::vector<BareMove> moves;
  LatencyBandwidth network;
};

struct PricedProgram {
  Cost cost;
  std::vector<std::uint32_t> way;  ///< moves
};

struct CheaperPrograms {
  /// Each is somewhere below `known` and all before it; by number of steps.
  std::vector<PricedProgram> found;
  /// Nothing else of at most so many steps is anywhere below `known` and `found`.
  std::uint32_t settled = 0;
  bool any_length = false;  ///< nor is anything of any length
};

/// Looks for valid programs that are cheaper, for some α : β, than everything in `known`. All moves
/// are tried in all states, step by step, but for states that cannot lead to the goal, and ways to
/// a state that are nowhere cheaper than a shorter one or that, with what the last steps at least
/// cost, are nowhere below what is known. Unless bounds.deep the search gives up after 50,000,000
/// tries of a move.
CheaperPrograms cheaper_programs(const CostProblem& problem, CostFront known, const Bounds& bounds);

}  // namespace p2::claims
