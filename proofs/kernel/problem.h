#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proofs/kernel/input.h"

namespace p2::kernel {

/// In the order in which choices are numbered.
inline constexpr const char* kCollectives[] = {"AllReduce", "ReduceScatter", "AllGather", "Reduce",
                                               "Broadcast"};

/// One step of the program a certificate speaks of.
struct Step {
  std::string collective;       ///< one of kCollectives
  std::string slice, form;      ///< of an instruction
  std::vector<Numbers> groups;  ///< disjoint, each ascending
  bool instruction = false;     ///< given by slice and form
  bool master = false;          ///< an instruction whose groups only a Master gives

  bool adds() const { return collective != "AllGather" && collective != "Broadcast"; }
};

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
  /// One step for every set of groups and every collective that the dialect allows on it, in the
  /// order of docs/certificates.md.
  std::vector<Step> choices(bool published) const;
  /// No group leaves a reduction class.
  bool confined() const { return confined_; }

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
  std::vector<Step> named_shapes() const;
  std::vector<Step> lattice_shapes() const;
  std::vector<Numbers> groups(const std::vector<Digit>& reduced,
                              const std::vector<Digit>& pinned) const;

  std::uint32_t devices_;
  std::vector<Digit> digits_;
  std::vector<bool> reduced_axis_;
  bool lattice_ = false;
  bool confined_ = false;
  std::vector<Level> levels_;
};

/// What problem.json says of the system, consistent in itself: classes partition the devices, and
/// are those of the instance where there is one.
struct Problem {
  std::uint32_t devices = 0;
  std::uint32_t chunks = 0;
  std::vector<Numbers> classes;  ///< each ascending, ordered by first device
  bool published = true;         ///< the dialect; otherwise printed
  std::optional<Instance> instance;
  std::vector<Step> steps;  ///< of the program; instructions form exactly the groups beside them

  /// The dialect does not let the step's collective run with Master.
  bool forbids(const Step& step) const {
    return step.master && published && step.collective != "AllReduce";
  }
  /// `step 2 (AllReduce)`; steps count from 1.
  std::string name(std::size_t step) const {
    return "step " + std::to_string(step) + " (" + steps[step - 1].collective + ")";
  }
};

/// Without steps; `root` has these keys beside those of the system.
Problem read_system(const Json& root, std::vector<std::string> keys);
Problem read_problem(const Files& files, Budget& budget);

}  // namespace p2::kernel
