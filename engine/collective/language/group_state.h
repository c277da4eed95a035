#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/invariant.h"

namespace p2::language {

/// The states of a group's devices, written out: for every position in the group, chunk and
/// contributor, whether the device at that position holds that contribution in that chunk. At first
/// nobody holds anything.
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

}  // namespace p2::language
