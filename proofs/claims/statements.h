#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "engine/reshard/sharding.h"
#include "proofs/claims/claim.h"

/// What the claims of the registry state about instructions (lemmas.cpp), rules (rules.cpp) and
/// schedules of resharding (reshard_claims.cpp).
namespace p2::claims {

/// The moves of `from` whose lowered groups and collective no instruction of `to` has. `to`
/// expresses all valid programs of `from` exactly if none of them uses one: whether a program is
/// valid does not depend on the hierarchy it is written over.
std::vector<bool> not_expressible(const Subject& subject);
/// The same for the instructions of one form: the cases of lemmas B.7 and B.8.
std::vector<bool> inside_group_not_expressible(const Subject& subject);
std::vector<bool> parallel_not_expressible(const Subject& subject);
std::vector<bool> master_not_expressible(const Subject& subject);

/// The moves that lemmas B.3 (for groups that a hierarchy forms), B.4, B.5 and B.6 say no valid
/// program uses: those whose groups vary over a factor outside the reduction axes; the same for
/// instructions of one form; and for Master those that vary over or pin such a factor. Groups that
/// several forms give count for each of them.
std::vector<bool> reduces_outside(const Subject& subject);
std::vector<bool> parallel_reduces_outside(const Subject& subject);
std::vector<bool> inside_group_reduces_outside(const Subject& subject);
std::vector<bool> master_reaches_outside(const Subject& subject);

/// Lemma B.1, the instruction that its proof constructs: for every instruction of (a), the one over
/// (b) that the proof names, with x_i0 as the slice; and with the last factor x_im, which is the
/// right one.
Settlement first_factor_of_level(const Subject& subject, const Bounds& bounds);
Settlement last_factor_of_level(const Subject& subject, const Bounds& bounds);

/// Lemma B.2: for every instruction of form Parallel, its groups counted and measured.
Settlement parallel_groups(const Subject& subject, const Bounds& bounds);
/// The proof of lemma B.5: the same for InsideGroup.
Settlement inside_groups(const Subject& subject, const Bounds& bounds);

/// Lemma B.7: the moves whose witness over (c) forms other groups. With (e1, e2) covering e_i … e_j
/// on the reduction axis, the proof takes the level before e_i in (c) and e_j; for Master it writes
/// Parallel, which is a claim apart from the one that keeps Master.
std::vector<bool> misses_row_witness(const Subject& subject);
std::vector<bool> misses_row_witness_as_printed(const Subject& subject);
/// The same with a Parallel for an InsideGroup too, as it should be, Master left out.
std::vector<bool> misses_parallel_witness(const Subject& subject);
/// Lemma B.8: the same over (d).
std::vector<bool> misses_reduction_witness(const Subject& subject);

/// This and the next four run every instruction of `from` in every state that fewer than
/// `bounds.size` legal steps reach without passing the goal.
///
/// Every legal step raises the pair (contributions held, minus chunks held) in lexicographic order;
/// both are bounded, so every program ends.
Settlement information_increases(const Subject& subject, const Bounds& bounds);

/// Wherever AllReduce is legal on the groups of an instruction, Reduce; Broadcast is legal and does
/// the same; and where ReduceScatter is legal too, so does ReduceScatter; AllGather.
Settlement composes(const Subject& subject, const Bounds& bounds);

/// A collective that is legal on a group stays legal, and has the same result on every device, if
/// two of its devices exchange their states before; for Broadcast, two receivers.
Settlement order_does_not_matter(const Subject& subject, const Bounds& bounds);

/// The instructions of `from` are legal in the same order, and reach the goal at the same time, on
/// the system and on one reduction class alone: as a system of its own, cut into as many chunks as
/// it has devices.
Settlement class_independent(const Subject& subject, const Bounds& bounds);

/// The same for the system and the one in which every factor greater than 1 is 2.
Settlement size_independent(const Subject& subject, const Bounds& bounds);

/// No valid program has more than two steps for every factor above 1 of the reduction axes.
Settlement length_bounded(const Subject& subject, const Bounds& bounds);

/// Over (d), as many valid programs cut at one set of j boundaries between levels, and at no other,
/// as there are over j + 1 levels of 2 devices that cut at every boundary. A program cuts between
/// two levels if some step varies or pins just one of them.
Settlement coarsens(const Subject& subject, const Bounds& bounds);

/// Of the definitions of the five collectives (engine/collective/*.p2c), whatever the subject: the
/// rules of rows are right for sums in any commutative monoid, for groups of every size:
/// proofs/definition/every_size.h.
Settlement rules_are_adequate(const Subject& subject, const Bounds& bounds);

/// Likewise, as triples in every state of a group of 2 to 4 devices and not only in those that
/// programs reach: AllReduce = Reduce; Broadcast, and AllReduce = ReduceScatter; AllGather where
/// these are defined.
Settlement composes_as_triples(const Subject& subject, const Bounds& bounds);

// Section 3.2 of "On Optimizing the Communication of Model Parallelism" (MLSys 2023) as printed,
// for small sets of unit tasks: all functions take exponential time.

/// Eq. 4: the smallest possible maximum load of a sender.
std::int64_t least_load(const UnitTasks& tasks);

/// The maximum load of a sender by the greedy rule: longest tasks first, each to the least loaded
/// of its senders; ties are broken optimally.
std::int64_t greedy_load(const UnitTasks& tasks);

/// The maximum load of a receiver.
std::int64_t receiver_load(const UnitTasks& tasks);

/// The lower bound of the depth-first search: in each branch the remaining tasks are added to the
/// loads of senders by the greedy rule, and to those of their receivers. Returns this bound and the
/// least completion time of the branch in which the bound exceeds it most.
std::pair<std::int64_t, std::int64_t> depth_first_bound(const UnitTasks& tasks);

/// The size of a set of tasks.
struct TaskSetSize {
  std::size_t tasks = 1;
  std::uint32_t senders = 1;
  std::uint32_t receivers = 1;
  std::int64_t total = 1;  ///< of all task sizes
};

/// Visits all sets of tasks of that size up to the order of tasks, the longest first, until `visit`
/// returns false; each task has some of the senders and some of the receivers. Returns whether all
/// were visited.
bool for_each_task_set(const TaskSetSize& size, std::int64_t longest,
                       const std::function<bool(const UnitTasks&)>& visit);

}  // namespace p2::claims
