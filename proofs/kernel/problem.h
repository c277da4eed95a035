#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proofs/kernel/json_reader.h"

namespace p2::kernel {

enum class Collective : std::uint8_t { AllReduce, ReduceScatter, AllGather, Reduce, Broadcast };

/// One step of the program a certificate speaks of.
struct Step {
  Collective collective = Collective::AllReduce;
  std::string name;             ///< of the collective
  std::vector<Numbers> groups;  ///< disjoint, each ascending
  bool instruction = false;     ///< given by slice and form, so held to the dialect
  bool master = false;          ///< its groups are those of a Master alone
};

/// problem.json. What read_problem returns is consistent: classes partition the devices, groups
/// of a step are disjoint, instructions form exactly the groups that stand beside them, and classes
/// are those of the instance where there is one.
struct Problem {
  std::uint32_t devices = 0;
  std::vector<Numbers> classes;  ///< ordered by first device, each ascending
  bool published = true;         ///< the dialect; otherwise printed
  std::vector<Step> steps;

  /// The dialect does not let this collective run with Master.
  bool forbids(const Step& step) const {
    return step.instruction && step.master && published && step.collective != Collective::AllReduce;
  }
};

Problem read_problem(const Files& files, Budget& budget);

/// `step 2 (AllReduce)`: how reasons name a step, counted from 1.
inline std::string step_name(const Problem& problem, std::size_t step) {
  return "step " + std::to_string(step) + " (" + problem.steps[step - 1].name + ")";
}

}  // namespace p2::kernel
