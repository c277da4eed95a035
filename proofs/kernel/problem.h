#pragma once

#include <string>
#include <vector>

#include "proofs/kernel/input.h"

namespace p2::kernel {

/// One step of the program a certificate speaks of.
struct Step {
  std::string collective;       ///< AllReduce, ReduceScatter, AllGather, Reduce or Broadcast
  std::vector<Numbers> groups;  ///< disjoint, each ascending
  bool instruction = false;     ///< given by slice and form
  bool master = false;          ///< an instruction whose groups only a Master gives

  bool adds() const { return collective != "AllGather" && collective != "Broadcast"; }
};

/// problem.json, consistent in itself: classes partition the devices, the groups of a step are
/// disjoint, instructions form exactly the groups that stand beside them, and the classes are those
/// of the instance where there is one.
struct Problem {
  std::uint32_t devices = 0;
  std::uint32_t chunks = 0;
  std::vector<Numbers> classes;  ///< each ascending, ordered by first device
  bool published = true;         ///< the dialect; otherwise printed
  std::vector<Step> steps;

  /// The dialect does not let the step's collective run with Master.
  bool forbids(const Step& step) const {
    return step.master && published && step.collective != "AllReduce";
  }
  /// `step 2 (AllReduce)`; steps count from 1.
  std::string name(std::size_t step) const {
    return "step " + std::to_string(step) + " (" + steps[step - 1].collective + ")";
  }
};

Problem read_problem(const Files& files, Budget& budget);

/// A placed reduction and its synthesis hierarchy, from the keys hierarchy, axes, reduce, placement
/// and synthesis_hierarchy of problem.json. A device id is one digit per hardware level and axis,
/// row-major over the levels and, inside a level, over the axes.
class Instance {
 public:
  Instance(const Json& problem, std::uint32_t devices);

  /// The reduction classes, ordered by first device.
  std::vector<Numbers> classes() const;
  /// Sets the groups of an instruction, ordered by first device, and whether it is a Master. Throws
  /// unless slice and form are an instruction that forms groups of at least two devices.
  void lower(const std::string& slice, const std::string& form, Step& step) const;

 private:
  struct Digit {
    std::size_t level, axis;
    std::uint32_t size, stride;
  };
  struct Level {  ///< of the synthesis hierarchy
    std::string name;
    std::vector<Digit> digits;
  };

  void read_placement(const Json& matrix, const Numbers& levels, const Numbers& axes);
  void build_levels(const std::string& kind, const std::vector<std::string>& levels,
                    const std::vector<std::string>& axes);
  std::vector<std::size_t> levels_called(const std::string& text) const;
  std::vector<Numbers> groups(const std::vector<Digit>& reduced,
                              const std::vector<Digit>& pinned) const;

  std::uint32_t devices_;
  std::vector<Digit> digits_;
  std::vector<bool> reduced_axis_;
  bool lattice_ = false;
  std::vector<Level> levels_;
};

}  // namespace p2::kernel
