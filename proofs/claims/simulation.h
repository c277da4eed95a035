#pragma once

#include "proofs/claims/claim.h"

namespace p2::claims {

/// Claims about what steps do, settled by running every instruction of `from` in every state that
/// legal steps lead to without passing the goal; states after `size` − 1 steps are the last.

/// Every legal step raises the pair (contributions held, minus chunks held) in lexicographic order;
/// both are bounded, so that no program goes on for ever.
Answer information_increases(const Subject& subject, const Bounds& bounds);

/// Wherever AllReduce is legal on the groups of an instruction, Reduce; Broadcast is legal and does
/// the same; and where ReduceScatter is legal too, so does ReduceScatter; AllGather.
Answer composes(const Subject& subject, const Bounds& bounds);

/// A collective that is legal on a group stays legal, and leaves the same on every device, when two
/// of its devices have exchanged their states before; for Broadcast, two of those that receive.
Answer order_does_not_matter(const Subject& subject, const Bounds& bounds);

/// The instructions of `from` are legal in the same order, and reach the goal at the same time, on
/// the system and on one reduction class alone: as a system of its own, cut into as many chunks as
/// it has devices.
Answer class_independent(const Subject& subject, const Bounds& bounds);

/// The same for the system and the one in which every factor greater than 1 is 2.
Answer size_independent(const Subject& subject, const Bounds& bounds);

}  // namespace p2::claims
