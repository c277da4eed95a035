#include "proofs/claims/claim.h"

#include <algorithm>
#include <array>

#include "proofs/claims/arbitrary_groups.h"
#include "proofs/claims/expressiveness.h"
#include "proofs/claims/simulation.h"
#include "proofs/claims/validity.h"
#include "proofs/claims/witnesses.h"

namespace p2::claims {
namespace {

using Kind = HierarchyKind;

const std::vector<Kind> kEvery = {Kind::Hardware,  Kind::Columns,   Kind::Rows,
                                  Kind::Reduction, Kind::Collapsed, Kind::Lattice};
const std::vector<Kind> kWhole = {Kind::Hardware, Kind::Columns, Kind::Rows};

constexpr const char* kSearch = "enumeration of all valid programs up to --size (explicit)";

constexpr const char* kEveryInstruction = "enumeration of all instructions (explicit)";
constexpr const char* kEveryState =
    "every instruction in every state reached in fewer than --size steps (explicit)";
constexpr const char* kAnyGroups =
    "breadth-first search over all disjoint groups, at most 4 devices (explicit)";

const std::vector<Kind> kConfined = {Kind::Reduction, Kind::Collapsed, Kind::Lattice};

constexpr const char* kExpressible =
    "for all valid L over from, |L| <= size, for all steps s of L: s in instructions(to)";

void add_expressiveness(std::vector<Claim>& claims) {
  claims.push_back({"expressiveness",
                    "Every valid program over the hierarchy --from is expressible over --to: every "
                    "lowered step, groups and collective, is an instruction there.",
                    kExpressible, "definition 3.1, theorem 3.2", kSearch, kEvery, kEvery,
                    not_expressible, nullptr});
}

void add_part_one(std::vector<Claim>& claims) {
  claims.push_back({"lemma-b1",
                    "(b) >= (a).",
                    kExpressible,
                    "B.1",
                    kSearch,
                    {Kind::Hardware},
                    {Kind::Columns},
                    not_expressible,
                    nullptr});
  claims.push_back({"lemma-b1-witness",
                    "The witness of the proof: (x_i, F(x_j), C) of (a) and (x_i0, F(x_jm), C) of "
                    "(b) form the same groups.",
                    "groups(x_i, F(x_j)) = groups(x_i0, F(x_jm))",
                    "B.1, proof",
                    kEveryInstruction,
                    {Kind::Hardware},
                    {Kind::Columns},
                    nullptr,
                    first_factor_of_level});
  claims.push_back({"lemma-b1-corrected-witness",
                    "The same with the last factor of the level as the slice.",
                    "groups(x_i, F(x_j)) = groups(x_im, F(x_jm))",
                    "B.1, proof, corrected",
                    kEveryInstruction,
                    {Kind::Hardware},
                    {Kind::Columns},
                    nullptr,
                    last_factor_of_level});
  claims.push_back({"lemma-b2",
                    "(x_i, Parallel(x_j), C) forms x_0 … x_j x_i+1 … x_n groups of x_j+1 … x_i "
                    "devices, partitioned over x_j+1, …, x_i.",
                    "|G| = x_j+1 * … * x_i, number of G = x_0 * … * x_j * x_i+1 * … * x_n",
                    "B.2",
                    kEveryInstruction,
                    kWhole,
                    {},
                    nullptr,
                    parallel_groups});
}

void add_validity(std::vector<Claim>& claims) {
  claims.push_back({"lemma-b3",
                    "For an instruction to be semantically valid, all its groups, whatever they "
                    "are, must only be partitioned over the reduction axes.",
                    "for all valid L over any disjoint groups, (G, C) in L: reduced(G) subset of R",
                    "B.3",
                    kAnyGroups,
                    {Kind::Hardware},
                    {},
                    nullptr,
                    groups_stay_in_classes});
  claims.push_back({"lemma-b3-hierarchical",
                    "A group that a hierarchy forms and a valid program uses is partitioned over "
                    "the reduction axes only.",
                    "for all valid L, (G, C) in L: reduced(G) subset of R",
                    "B.3, as it is used",
                    kSearch,
                    kWhole,
                    {},
                    reduces_outside,
                    nullptr});
  claims.push_back({"corollary-b4",
                    "(x_i, Parallel(x_j), C) is only semantically valid if all of x_j+1 … x_i are "
                    "1 or on the reduction axes.",
                    "for all valid L, (x_i, Parallel(x_j), C) in L: {x_j+1 … x_i} subset of R",
                    "B.4",
                    kSearch,
                    kWhole,
                    {},
                    parallel_reduces_outside,
                    nullptr});
  claims.push_back({"lemma-b5",
                    "(x_i, InsideGroup, C) is only semantically valid if all of x_i+1 … x_n are 1 "
                    "or on the reduction axes.",
                    "for all valid L, (x_i, InsideGroup, C) in L: {x_i+1 … x_n} subset of R",
                    "B.5",
                    kSearch,
                    kWhole,
                    {},
                    inside_group_reduces_outside,
                    nullptr});
  claims.push_back({"lemma-b5-witness",
                    "The step of its proof: (x_i, InsideGroup, C) reduces over x_i+1, …, x_n.",
                    "|G| = x_i+1 * … * x_n, number of G = x_0 * … * x_i",
                    "B.5, proof",
                    kEveryInstruction,
                    kWhole,
                    {},
                    nullptr,
                    inside_groups});
  claims.push_back({"lemma-b6",
                    "(x_i, Master(x_j), C) is only semantically valid if all of x_j+1 … x_n are 1 "
                    "or on the reduction axes.",
                    "for all valid L, (x_i, Master(x_j), C) in L: {x_j+1 … x_n} subset of R",
                    "B.6",
                    kSearch,
                    kWhole,
                    {},
                    master_reaches_outside,
                    nullptr});
}

void add_comparison(std::vector<Claim>& claims, const char* name, const char* section,
                    const char* statement, Kind from, Kind to) {
  const std::string lemma = name;
  claims.push_back(
      {lemma, statement, kExpressible, section, kSearch, {from}, {to}, not_expressible, nullptr});
  struct Case {
    const char* form;
    Claim::Forbids forbids;
  };
  const Case parallel{"Parallel", parallel_not_expressible};
  const Case inside{"InsideGroup", inside_group_not_expressible};
  const bool parallel_first = from == Kind::Columns;
  const std::array<Case, 3> cases = {parallel_first ? parallel : inside,
                                     parallel_first ? inside : parallel,
                                     Case{"Master", master_not_expressible}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    claims.push_back({lemma + "-case" + std::to_string(i + 1),
                      std::string(statement) + " Only the steps of form " + cases[i].form + ".",
                      std::string(kExpressible) + ", form(s) = " + cases[i].form,
                      section,
                      kSearch,
                      {from},
                      {to},
                      cases[i].forbids,
                      nullptr});
  }
}

void add_witness(std::vector<Claim>& claims, const char* name, const char* section,
                 const char* statement, Kind from, Kind to, Claim::Forbids forbids) {
  claims.push_back({name,
                    statement,
                    "for all valid L over from, (e2, F(e1), C) in L covering e_i … e_j on the "
                    "reduction axis: groups(e2, F(e1)) = groups(e_j, F'(before e_i))",
                    section,
                    kSearch,
                    {from},
                    {to},
                    forbids,
                    nullptr});
}

void add_parts_two_and_three(std::vector<Claim>& claims) {
  add_comparison(claims, "lemma-b7", "B.7", "(c) >= (b).", Kind::Columns, Kind::Rows);
  add_witness(claims, "lemma-b7-witness-as-printed", "B.7, proof",
              "The witnesses of the three cases form the same groups; in case 3 the witness of a "
              "Master is a Parallel, as the proof has it.",
              Kind::Columns, Kind::Rows, misses_row_witness_as_printed);
  add_witness(claims, "lemma-b7-witness", "B.7, proof",
              "The same with a Master as the witness of a Master.", Kind::Columns, Kind::Rows,
              misses_row_witness);
  add_comparison(claims, "lemma-b8", "B.8", "(d) >= (c).", Kind::Rows, Kind::Reduction);
  add_witness(claims, "lemma-b8-witness", "B.8, proof",
              "The witnesses of the three cases form the same groups.", Kind::Rows, Kind::Reduction,
              misses_reduction_witness);
}

void add_simulation(std::vector<Claim>& claims) {
  claims.push_back({"information-increase",
                    "Every legal step raises what the devices hold, so that every program ends: "
                    "more contributions, or as many in fewer chunks.",
                    "s -> s' implies (bits(s), -rows(s)) < (bits(s'), -rows(s'))",
                    "3.2",
                    kEveryState,
                    kEvery,
                    {},
                    nullptr,
                    information_increases});
  claims.push_back({"composition",
                    "Wherever AllReduce is legal it equals Reduce; Broadcast, and where the group "
                    "size divides the chunks held also ReduceScatter; AllGather.",
                    "AllReduce = Reduce; Broadcast = ReduceScatter; AllGather",
                    "figure 8",
                    kEveryState,
                    kEvery,
                    {},
                    nullptr,
                    composes});
  claims.push_back({"class-independence",
                    "A program is valid on the system exactly if it is valid on one reduction "
                    "class alone, as a system of its own.",
                    "valid(L, system) = valid(L, class)",
                    "2.5, 3.4",
                    kEveryState,
                    kConfined,
                    {},
                    nullptr,
                    class_independent});
  claims.push_back({"size-independence",
                    "A program is valid for one choice of factors above 1 exactly if it is valid "
                    "when each of them is 2.",
                    "valid(L, X) = valid(L, min(X, 2))",
                    "not in the paper",
                    kEveryState,
                    kEvery,
                    {},
                    nullptr,
                    size_independent});
}

std::vector<Claim> all_claims() {
  std::vector<Claim> claims;
  add_expressiveness(claims);
  add_part_one(claims);
  add_validity(claims);
  add_parts_two_and_three(claims);
  add_simulation(claims);
  return claims;
}

constexpr std::array<std::string_view, 3> kVerdicts = {"holds", "refuted", "unknown"};

}  // namespace

const std::vector<Claim>& registry() {
  static const std::vector<Claim> claims = all_claims();
  return claims;
}

const Claim* claim_called(std::string_view name) {
  const auto found = std::find_if(registry().begin(), registry().end(),
                                  [&](const Claim& claim) { return claim.name == name; });
  return found == registry().end() ? nullptr : &*found;
}

std::string_view to_string(Outcome verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

std::optional<Outcome> verdict_called(std::string_view name) {
  const auto found = std::find(kVerdicts.begin(), kVerdicts.end(), name);
  if (found == kVerdicts.end()) return std::nullopt;
  return static_cast<Outcome>(found - kVerdicts.begin());
}

}  // namespace p2::claims
