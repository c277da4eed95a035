#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/instance.h"

namespace p2::cnf {

/// The devices that have to be simulated, as points with one coordinate per level of the synthesis
/// hierarchy, and the instructions over them. Groups are read off the table of forms by comparing
/// coordinates; the engine's lowering is not used, so that a mistake there cannot hide here.
///
/// Over (d), collapsed and the lattice one reduction class is simulated, with the chunks of the
/// whole system (why that is exact: engine/synthesis/problem.h).
class Coordinates {
 public:
  explicit Coordinates(const Instance& instance);

  std::uint32_t devices() const { return static_cast<std::uint32_t>(points_.size()); }
  std::uint32_t chunks() const { return chunks_; }
  /// Whether simulated devices a and b are in one reduction class.
  bool same_class(std::uint32_t a, std::uint32_t b) const { return class_[a] == class_[b]; }

  /// The groups of at least two devices that a shape forms, by simulated device numbers; each
  /// ascending, ordered by first device. `shape.pattern` is not looked at.
  std::vector<Group> groups(const GroupShape& shape) const;

  /// One shape for every distinct, non-empty set of groups, and whether it is a proper Master: one
  /// whose groups no InsideGroup or Parallel forms.
  struct DistinctShape {
    GroupShape shape;
    std::vector<Group> groups;
    bool master = false;
  };
  std::vector<DistinctShape> distinct_shapes() const;

 private:
  std::vector<GroupShape> linear_shapes() const;
  std::vector<GroupShape> lattice_shapes() const;

  bool lattice_;
  std::uint32_t chunks_;
  std::uint32_t levels_;
  std::vector<std::vector<std::uint32_t>> points_;
  std::vector<std::uint32_t> class_;
};

}  // namespace p2::cnf
