#pragma once

#include <string>
#include <vector>

#include "engine/program/instance.h"
#include "engine/topology/system.h"

namespace p2::paper {

/// The printed times stand for this many runs, with so many bytes per device (2^29 float32): the
/// paper says neither so, but no other reading fits (docs/paper_evaluation.md).
constexpr int kRuns = 10;
constexpr std::int64_t kBytes = std::int64_t{1} << 31;

/// One row of the appendix: a placement, the axes reduced over, an algorithm and its two times.
struct MeasuredRow {
  std::string system;
  std::string axes;
  std::string reduce;
  std::string placement;
  Algorithm algorithm = Algorithm::Ring;
  double allreduce = 0;  ///< seconds of kRuns runs, like `best`
  double best = 0;
  double speedup = 0;
};

/// What the appendix says of a choice of axes, over all placements.
struct AxesRow {
  std::string system;
  std::string axes;
  std::string reduce;
  double simulation_ring = 0;  ///< seconds that the paper's simulator took; 0 = not run
  double simulation_tree = 0;
  std::string outperform_ring;  ///< programs faster than AllReduce; empty = not run
  std::string outperform_tree;
  unsigned programs = 0;
};

}  // namespace p2::paper
