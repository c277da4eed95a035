#pragma once

#include <cstdint>
#include <vector>

#include "encodings/cnf/stage.h"
#include "engine/program/instance.h"

namespace p2::cnf {

/// The devices that have to be simulated, as points with one coordinate per level of the synthesis
/// hierarchy, and the instructions over them. Groups are read off the table of forms by comparing
/// coordinates; the engine's lowering is not used, so that a mistake there cannot hide here.
///
/// Over (d), collapsed and the lattice one reduction class is simulated, with the chunks of the
/// whole system (why that is exact: engine/program/problem.h).
class Coordinates {
 public:
  explicit Coordinates(const Instance& instance);

  std::uint32_t devices() const { return static_cast<std::uint32_t>(points_.size()); }
  std::uint32_t chunks() const { return chunks_; }

  /// The groups of at least two devices that a shape forms, by simulated device numbers; each
  /// ascending, ordered by first device. `shape.pattern` is not looked at.
  std::vector<Group> groups(const GroupShape& shape) const;

  /// One shape for every distinct, non-empty set of groups.
  std::vector<Stage::Shape> distinct_shapes() const;
  Stage stage() const { return {chunks_, class_, distinct_shapes()}; }

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
