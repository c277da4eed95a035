#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encodings/cnf/synthesis.h"
#include "engine/program/program.h"
#include "engine/program/synthesis.h"
#include "proofs/claims/claim.h"

/// Claims that no valid program of a bounded size has some property: by enumeration and by SAT; and
/// claims about programs over any disjoint groups of devices, which need not be those of a
/// hierarchy: by breadth-first search, by SAT and by Z3. The three share the definitions of the
/// collectives and nothing else.
namespace p2::claims {

/// Settles a claim that holds exactly if no valid program makes a forbidden move, by enumeration of
/// all valid programs, which are kept in `programs` for other claims about the same ones.
Settlement settle_by_enumeration(const Subject& subject, const std::vector<bool>& forbidden,
                                 const Bounds& bounds, std::unique_ptr<ProgramList>& programs);

/// An answer with the refutation of a counterexample.
struct CertifiedSettlement {
  Settlement answer;
  cnf::AbsenceProof proof;  ///< if the claim holds
};
/// The same by a SAT solver. A counterexample has the fewest steps possible, but need not be the
/// first one of these.
CertifiedSettlement settle_by_sat(const Subject& subject, const std::vector<bool>& forbidden,
                                  const Bounds& bounds);

/// Whether the enumerator lists every valid program over `from`: by a SAT solver that looks for
/// another one.
CertifiedSettlement list_and_refute_others(const Subject& subject, const Bounds& bounds);

Settlement synthesis_complete(const Subject& subject, const Bounds& bounds);

/// A step given by its groups alone.
struct BareMove {
  Collective collective = Collective::AllReduce;
  std::vector<Group> groups;
};

/// All set partitions of the devices, including those that no placement has; each class ascends.
std::vector<std::vector<Group>> all_partitions(std::uint32_t devices);
/// All non-empty sets of disjoint groups of at least two devices, each ascending, in lexicographic
/// order.
std::vector<std::vector<Group>> all_disjoint_groups(std::uint32_t devices);
/// Every collective on each of them; by groups, then by collective.
std::vector<BareMove> all_bare_moves(std::uint32_t devices);

/// Whether some group has devices of several classes. Classes partition the devices and ascend.
bool mixes(const std::vector<Group>& groups, const std::vector<Group>& classes);

/// The program of the moves on `path`, in the notation of bare groups.
std::string to_string(const std::vector<BareMove>& moves, const std::vector<std::uint32_t>& path);

/// 6 devices have 202 sets of disjoint groups, 7 have 876.
inline constexpr std::uint32_t kMaxArbitraryGroupDevices = 6;

/// The first of the shortest valid programs in which a group has devices of several classes:
/// Refuted by it; Established if there is none of at most `bounds.size` steps. A group in which no
/// device holds anything is not legal. `classes` partition the devices, of which there are at most
/// 64; each ascends.
Settlement smallest_mixing_program(std::uint32_t devices, const std::vector<Group>& classes,
                                   const Bounds& bounds);

/// Lemma B.3 as printed, for any disjoint groups: no step of a valid program has a
/// group with devices of several reduction classes. Undecided on more than 6 devices.
Settlement groups_stay_in_classes(const Subject& subject, const Bounds& bounds);

/// Programs that refute lemma B.3 have at least four steps. Undecided on more than 6 devices.
Settlement mixing_takes_four_steps(const Subject& subject, const Bounds& bounds);

/// The key of both claims: devices and classes.
std::string devices_and_classes(const Subject& subject);

/// Whether a valid program of at most `bounds.size` steps has a group with devices of several
/// classes, by SAT. The program of a refutation need not be the shortest.
CertifiedSettlement mixing_program_by_sat(std::uint32_t devices, const std::vector<Group>& classes,
                                          const Bounds& bounds);

/// Refutes such programs up to the number of steps, at most `bounds.size`, to which the search
/// finds none; answer.settled is that number. Undecided on more than 6 devices, if a limit is
/// reached, and, unless bounds.deep, where the refutation takes minutes: more than 2 steps on 6
/// devices.
CertifiedSettlement no_mixing_program_by_sat(const Subject& subject, const Bounds& bounds);

/// mixing_takes_four_steps by Z3; a program that Z3 finds is checked by the interpreter. Undecided
/// on more than 4 devices, or 6 if bounds.deep.
Settlement mixing_takes_four_steps_by_z3(const Subject& subject, const Bounds& bounds);

/// smallest_mixing_program by Z3. Feasible for up to 6 devices.
Settlement smallest_mixing_program_by_z3(std::uint32_t devices, const std::vector<Group>& classes,
                                         const Bounds& bounds);

/// Whether a program over any disjoint groups is cheaper than all over hierarchies, on the
/// homogeneous network: at α = 0, at β = 0 and at every α : β at which the cheapest program over
/// hierarchies changes. Undecided on more than 4 devices, or 6 if bounds.deep.
Settlement no_groups_are_cheaper_by_z3(const Subject& subject, const Bounds& bounds);

}  // namespace p2::claims
