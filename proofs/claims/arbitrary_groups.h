#pragma once

#include "proofs/claims/claim.h"

namespace p2::claims {

/// More are not searched: 6 have 202 sets of disjoint groups, 7 have 876.
inline constexpr std::uint32_t kMostDevicesOfAnyGroups = 6;

/// The shortest valid program over any disjoint groups in which a group has devices of several
/// classes, the first of them: `Refuted` by it; `Holds` where there is none of at most
/// `bounds.size` steps. A group in which nobody holds anything is not legal: it would mix for
/// nothing. Classes partition the devices, of which there are at most 64, and ascend.
Answer smallest_mixing_program(std::uint32_t devices, const std::vector<Group>& classes,
                               const Bounds& bounds);

/// Lemma B.3 as it is written, for any disjoint groups of devices: no step of a valid program has a
/// group with devices of several reduction classes. Undecided on more than 6 devices.
Answer groups_stay_in_classes(const Subject& subject, const Bounds& bounds);

/// Only programs of four steps or more refute lemma B.3. Undecided on more than 6 devices.
Answer mixing_takes_four_steps(const Subject& subject, const Bounds& bounds);

/// What the answers of both depend on: devices and classes.
std::string devices_and_classes(const Subject& subject);

}  // namespace p2::claims
