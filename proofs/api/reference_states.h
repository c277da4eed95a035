#pragma once

#include <cstdint>

#include "engine/collective/language/definition.h"
#include "engine/collective/language/group_state.h"
#include "engine/program/program.h"

namespace p2 {

/// The states of all devices, written out, on which the reference run (reference_run.h) works.
class ReferenceStates {
 public:
  /// Where the goal of the program begins.
  static ReferenceStates begin(const Program& program);
  /// The goal, from there.
  ReferenceStates goal(const Program& program) const;
  /// Of no device: before anything was run.
  ReferenceStates() : states_(1, 0, 0) {}

  std::uint32_t chunks() const { return states_.chunks(); }
  std::uint32_t contributors() const { return states_.contributors(); }
  bool holds(std::uint32_t device, std::uint32_t chunk, std::uint32_t contributor) const {
    return states_.holds(device, chunk, contributor);
  }
  bool holds_chunk(std::uint32_t device, std::uint32_t chunk) const;
  std::uint32_t chunks_held(std::uint32_t device) const;

  language::GroupState of(const Group& group) const;
  void put(const Group& group, const language::GroupState& state);

 private:
  /// Runs a definition once on every class of more than one device.
  void run_on_classes(const language::Definition& definition, const Program& program);
  /// Gives every device the sum over its class.
  void put_sums(const Program& program);

  language::GroupState states_;
};

}  // namespace p2
