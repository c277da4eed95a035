#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/invariant.h"
#include "engine/collective/language/definition.h"

/// The reference interpreter of definitions: evaluates the formulas as written on explicit states.
/// The kernels (engine/collective/kernels.h) and the encodings are tested against it. Total: every
/// definition has a value on every state.
namespace p2::language {

/// The states of a group's devices as a bit per position in the group, chunk and contributor:
/// whether the device at that position holds that contribution in that chunk. Initially all bits
/// are 0.
class GroupState {
 public:
  GroupState(std::uint32_t devices, std::uint32_t chunks, std::uint32_t contributors)
      : devices_(devices),
        chunks_(chunks),
        contributors_(contributors),
        held_(std::size_t{devices} * chunks * contributors, false) {
    invariant(devices > 0, "a group without devices");
  }

  std::uint32_t devices() const { return devices_; }
  std::uint32_t chunks() const { return chunks_; }
  std::uint32_t contributors() const { return contributors_; }

  bool holds(std::uint32_t position, std::uint32_t chunk, std::uint32_t contributor) const {
    return held_[place(position, chunk, contributor)];
  }
  void set(std::uint32_t position, std::uint32_t chunk, std::uint32_t contributor, bool held) {
    held_[place(position, chunk, contributor)] = held;
  }

  bool operator==(const GroupState&) const = default;

 private:
  std::size_t place(std::uint32_t position, std::uint32_t chunk, std::uint32_t contributor) const {
    return (std::size_t{position} * chunks_ + chunk) * contributors_ + contributor;
  }

  std::uint32_t devices_;
  std::uint32_t chunks_;
  std::uint32_t contributors_;
  std::vector<bool> held_;
};

/// JSON: a list by position of lists by chunk of the contributors held.
std::string state_json(const GroupState& state);

/// The value of one variable in an assignment that falsifies a formula.
struct Binding {
  std::string name;
  Sort sort = Sort::Position;
  std::uint32_t value = 0;

  bool operator==(const Binding&) const = default;
};

struct FailedPremise {
  std::size_t premise = 0;  ///< index into the definition's premises
  /// If the premise is a `forall`: the lexicographically first assignment to its variables that
  /// falsifies the body, in the order of the text. Empty for any other formula.
  std::vector<Binding> witness;

  bool operator==(const FailedPremise&) const = default;
};

/// The first premise that does not hold; empty if the collective may run on this group.
std::optional<FailedPremise> first_failed_premise(const Definition& definition,
                                                  const GroupState& before);

/// The state after the step. Meaningless if a premise fails.
GroupState post_state(const Definition& definition, const GroupState& before);

/// The value of an operation on two integers, from Equal to Modulo; Booleans are 0 and 1.
std::uint64_t arithmetic(Kind kind, std::uint64_t a, std::uint64_t b);

/// The value of an expression of the definition that depends on n and k alone.
std::uint64_t value_for_sizes(const Definition& definition, const Expression& expression,
                              std::uint32_t devices, std::uint32_t chunks);

/// The value of the definition's measure.
std::uint64_t measure(const Definition& definition, const GroupState& state);

}  // namespace p2::language
