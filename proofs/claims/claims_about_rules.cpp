#include <iterator>

#include "proofs/claims/claim.h"
#include "proofs/claims/completeness.h"
#include "proofs/claims/definitions.h"
#include "proofs/claims/simulation.h"

namespace p2::claims {
namespace {

using Kind = HierarchyKind;

constexpr const char* kEveryState =
    "every instruction in every state reached in fewer than --size steps (explicit)";

/// Of no subject: one answer is that of all.
std::string nothing(const Subject&) { return {}; }

}  // namespace

void append_claims_about_rules(std::vector<Claim>& claims) {
  const std::vector<HierarchyKind> every(std::begin(kHierarchyKinds), std::end(kHierarchyKinds));
  claims.push_back(
      {.name = "information-increase",
       .statement = "Every legal step raises what the devices hold, so that every program ends: "
                    "more contributions, or as many in fewer chunks.",
       .formula = "s -> s' implies (bits(s), -rows(s)) < (bits(s'), -rows(s'))",
       .section = "3.2",
       .engine = kEveryState,
       .from = every,
       .settles = information_increases});
  claims.push_back({.name = "composition",
                    .statement = "Wherever AllReduce is legal it equals Reduce; Broadcast, and "
                                 "where ReduceScatter is legal too "
                                 "it equals ReduceScatter; AllGather.",
                    .formula = "AllReduce = Reduce; Broadcast = ReduceScatter; AllGather",
                    .section = "figure 8",
                    .engine = kEveryState,
                    .from = every,
                    .settles = composes});
  claims.push_back(
      {.name = "permutation-equivariance",
       .statement = "A legal collective stays legal and leaves the same on every device when two "
                    "devices of a group, but not the root of a Broadcast, had exchanged what they "
                    "hold.",
       .formula = "C(s o (i j)) = C(s), for Broadcast with i, j > 0",
       .section = "figure 8",
       .engine = kEveryState,
       .from = every,
       .settles = order_does_not_matter});
  claims.push_back({.name = "class-independence",
                    .statement =
                        "A program is valid on the system exactly if it is valid on one reduction "
                        "class alone, as a system of its own.",
                    .formula = "valid(L, system) = valid(L, class)",
                    .section = "2.5, 3.4",
                    .engine = kEveryState,
                    .from = {Kind::Reduction, Kind::Collapsed, Kind::Lattice},
                    .settles = class_independent});
  claims.push_back(
      {.name = "size-independence",
       .statement = "A program is valid for one choice of factors above 1 exactly if it is valid "
                    "when each of them is 2.",
       .formula = "valid(L, X) = valid(L, min(X, 2))",
       .engine = kEveryState,
       .from = every,
       .settles = size_independent});
  claims.push_back({.name = "synthesis-complete",
                    .statement = "The enumerator lists every valid program.",
                    .formula = "for all L, |L| <= size: valid(L) implies L in list",
                    .section = "4.3",
                    .engine = "a SAT solver that looks for another among clauses (cnf)",
                    .from = every,
                    .settles = synthesis_complete});
}

void append_claims_about_definitions(std::vector<Claim>& claims) {
  claims.push_back({.name = "adequacy",
                    .statement =
                        "The rules of rows are sound for values: after every legal step each "
                        "number is the sum of exactly the contributions that its row holds, in any "
                        "commutative monoid, for groups of every size.",
                    .formula = "value(d, r) = sum over c with s(d, r, c) of x(c, r)",
                    .section = "3.2",
                    .engine = "induction on the group size, base and step by Z3",
                    .from = {Kind::Hardware},
                    .settles = rules_are_adequate,
                    .content = nothing});
  claims.push_back({.name = "composition-as-triples",
                    .statement =
                        "In every state of a group, reached by a program or not: AllReduce equals "
                        "Reduce; Broadcast, and ReduceScatter; AllGather where they are defined.",
                    .formula = "{s} AllReduce {t} iff {s} Reduce; Broadcast {t}",
                    .section = "figure 8",
                    .engine = "Z3 over all states, groups of 2 to 4 devices, and the interpreter",
                    .from = {Kind::Hardware},
                    .settles = composes_as_triples,
                    .content = nothing});
}

}  // namespace p2::claims
