#pragma once

#include <cstdint>
#include <vector>

#include "engine/hlo/devices.h"

namespace p2::hlo {

constexpr std::uint32_t kNone = UINT32_MAX;

/// Who takes part with whom in one collective, as devices.
struct Collective {
  std::vector<std::vector<std::uint32_t>> groups;
  std::vector<std::uint32_t> group;     ///< of every device; kNone where it has none
  std::vector<std::uint32_t> position;  ///< of every device in its group
  std::vector<std::uint32_t> source;    ///< of a permutation: who sends to it; kNone for nobody

  const std::vector<std::uint32_t>& group_of(std::uint32_t device) const {
    return groups[group[device]];
  }
  /// The size of all groups; 0 where they differ.
  std::size_t group_size() const;
};

/// Resolves the groups or pairs of an instruction. Throws IllFormed where an id does not exist, is
/// there twice, or is missing (only a broadcast may leave devices out).
Collective resolve(const Instruction& instruction, Language language, const Devices& devices);

}  // namespace p2::hlo
