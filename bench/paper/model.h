#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/paper/tables.h"
#include "engine/cost/program_cost.h"
#include "engine/program/instance.h"

namespace p2::paper {

/// The systems of the paper by name.
using Systems = std::map<std::string, System>;

/// Reads the four systems from a folder such as examples/systems. Throws InputError.
Systems read_systems(const std::string& folder);

/// The systems with bandwidths fitted to the AllReduce times of the 2-node ring rows: of the A100
/// that of its NIC, of the V100 those of its NIC and of its CPUs' memory. The systems of 4 nodes
/// take them over. Nothing else is fitted to: neither tree, nor 4 nodes, nor any time of a fastest
/// program.
Systems calibrated(const Systems& systems, const Tables& tables);

/// Whether a row is among those that calibrated() fits to (its AllReduce time, that is).
bool fitted_to(const Case& where);

/// What the model says of a case. Times are seconds of kRuns runs, as the paper prints them.
struct Prediction {
  double allreduce = 0;
  double best = 0;
  std::string best_program;
  std::vector<double> programs;  ///< all of them, in the order of synthesis
  std::size_t faster = 0;        ///< programs that are faster than AllReduce
  bool cross_node = false;       ///< some reduction group spans nodes
};

Prediction predict(const Case& where, const Systems& systems);

/// All placements of a reduction, as the paper prints matrices.
std::vector<std::string> placements(const Reduction& reduction, const Systems& systems);

}  // namespace p2::paper
