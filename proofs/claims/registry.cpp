// The registry of claims. The first part follows "P²: Synthesizing Optimal Parallelism Placement
// and Reduction Strategies on Hierarchical Systems" (MLSys 2022), section 3 and appendix B, in the
// order of the paper, each statement with the witness of its proof and with the claim that repairs
// it; the second states properties of the rules, the third what programs over arbitrary groups can
// do, the fourth which programs are cheaper in the latency-bandwidth model.
#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "proofs/claims/absent_programs.h"
#include "proofs/claims/claim.h"
#include "proofs/claims/costs.h"
#include "proofs/claims/statements.h"

namespace p2::claims {
namespace {

using Kind = HierarchyKind;

const std::vector<Kind> kWhole = {Kind::Hardware, Kind::Columns, Kind::Rows};

constexpr const char* kSearch = "enumeration of all valid programs up to --size (explicit)";
constexpr const char* kEveryInstruction = "enumeration of all instructions (explicit)";
constexpr const char* kAnyGroups =
    "breadth-first search over all disjoint groups, at most 6 devices (explicit)";
constexpr const char* kExpressible =
    "for all valid L over from, |L| <= size, for all steps s of L: s in instructions(to)";

void append_expressiveness(std::vector<Claim>& claims) {
  const std::vector<Kind> every(std::begin(kHierarchyKinds), std::end(kHierarchyKinds));
  claims.push_back(
      {.name = "expressiveness",
       .statement =
           "Every valid program over the hierarchy --from is expressible over --to: every "
           "lowered step, groups and collective, is an instruction there. Where one of them is "
           "(c), results are distinguished by the position of the rows reduced over in it.",
       .formula = kExpressible,
       .section = "definition 3.1, theorem 3.2",
       .engine = kSearch,
       .from = every,
       .to = every,
       .find_forbidden = not_expressible});
}

/// A claim that (to) can express the valid programs of (from), or some of their steps.
Claim comparison(const char* name, const char* section, const char* statement, Kind from, Kind to,
                 Claim::FindForbidden find_forbidden) {
  return {.name = name,
          .statement = statement,
          .formula = kExpressible,
          .section = section,
          .engine = kSearch,
          .from = {from},
          .to = {to},
          .find_forbidden = find_forbidden};
}

void append_cases(std::vector<Claim>& claims, const Claim& lemma,
                  const std::array<std::pair<const char*, Claim::FindForbidden>, 3>& cases) {
  claims.push_back(lemma);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Claim part = lemma;
    part.name += "-case" + std::to_string(i + 1);
    part.statement += std::string(" Only the steps of form ") + cases[i].first + ".";
    part.formula += std::string(", form(s) = ") + cases[i].first;
    part.find_forbidden = cases[i].second;
    claims.push_back(part);
  }
}

/// Lemma B.1 and the witness of its proof.
void append_part_one(std::vector<Claim>& claims) {
  claims.push_back(
      comparison("lemma-b1", "B.1", "(b) >= (a).", Kind::Hardware, Kind::Columns, not_expressible));
  claims.push_back(
      {.name = "lemma-b1-witness",
       .statement = "The witness of the proof: (x_i, F(x_j), C) of (a) and (x_i0, F(x_jm), C) of "
                    "(b) form the same groups.",
       .formula = "groups(x_i, F(x_j)) = groups(x_i0, F(x_jm))",
       .section = "B.1, proof",
       .repair = "lemma-b1-corrected-witness",
       .engine = kEveryInstruction,
       .from = {Kind::Hardware},
       .to = {Kind::Columns},
       .settle = first_factor_of_level});
  claims.push_back({.name = "lemma-b1-corrected-witness",
                    .statement = "The same with the last factor of the level as the slice.",
                    .formula = "groups(x_i, F(x_j)) = groups(x_im, F(x_jm))",
                    .engine = kEveryInstruction,
                    .from = {Kind::Hardware},
                    .to = {Kind::Columns},
                    .settle = last_factor_of_level});
}

/// Lemmas B.2 and B.3.
void append_groups(std::vector<Claim>& claims) {
  claims.push_back(
      {.name = "lemma-b2",
       .statement = "(x_i, Parallel(x_j), C) forms x_0 … x_j x_i+1 … x_n groups of x_j+1 … x_i "
                    "devices, partitioned over x_j+1, …, x_i.",
       .formula = "|G| = x_j+1 * … * x_i, number of G = x_0 * … * x_j * x_i+1 * … * x_n",
       .section = "B.2",
       .engine = kEveryInstruction,
       .from = kWhole,
       .settle = parallel_groups});
  claims.push_back(
      {.name = "lemma-b3",
       .statement = "For an instruction to be semantically valid, all its groups, whatever they "
                    "are, must only be partitioned over the reduction axes.",
       .formula = "for all valid L over any disjoint groups, (G, C) in L: reduced(G) subset of R",
       .section = "B.3",
       .repair = "lemma-b3-hierarchical",
       .engine = kAnyGroups,
       .from = {Kind::Hardware},
       .settle = groups_stay_in_classes,
       .key = devices_and_classes});
  claims.push_back(
      {.name = "lemma-b3-hierarchical",
       .statement = "A group that a hierarchy forms and a valid program uses is partitioned over "
                    "the reduction axes only.",
       .formula = "for all valid L, (G, C) in L: reduced(G) subset of R",
       .section = "B.3, as it is used",
       .engine = kSearch,
       .from = kWhole,
       .find_forbidden = reduces_outside});
}

/// Corollary B.4 and lemmas B.5, B.6: what a valid instruction of one form may cover.
void append_forms(std::vector<Claim>& claims) {
  const auto append = [&](const char* name, const char* section, const std::string& form,
                          const std::string& covered, Claim::FindForbidden find_forbidden) {
    claims.push_back(
        {.name = name,
         .statement = "(x_i, " + form + ", C) is only semantically valid if all of " + covered +
                      " are 1 or on the reduction axes.",
         .formula = "for all valid L, (x_i, " + form + ", C) in L: {" + covered + "} subset of R",
         .section = section,
         .engine = kSearch,
         .from = kWhole,
         .find_forbidden = find_forbidden});
  };
  append("corollary-b4", "B.4", "Parallel(x_j)", "x_j+1 … x_i", parallel_reduces_outside);
  append("lemma-b5", "B.5", "InsideGroup", "x_i+1 … x_n", inside_group_reduces_outside);
  claims.push_back(
      {.name = "lemma-b5-witness",
       .statement = "The step of its proof: (x_i, InsideGroup, C) reduces over x_i+1, …, x_n.",
       .formula = "|G| = x_i+1 * … * x_n, number of G = x_0 * … * x_i",
       .section = "B.5, proof",
       .engine = kEveryInstruction,
       .from = kWhole,
       .settle = inside_groups});
  append("lemma-b6", "B.6", "Master(x_j)", "x_j+1 … x_n", master_reaches_outside);
}

void append_witness(std::vector<Claim>& claims, Claim witness, const char* repair) {
  witness.formula =
      "for all valid L over from, (e2, F(e1), C) in L covering e_i … e_j on the reduction axis: "
      "groups(e2, F(e1)) = groups(e_j, F'(before e_i))";
  witness.repair = repair;
  claims.push_back(std::move(witness));
}

/// Lemmas B.7 and B.8 and the witnesses of their proofs.
void append_parts_two_and_three(std::vector<Claim>& claims) {
  constexpr Kind b = Kind::Columns;
  constexpr Kind c = Kind::Rows;
  constexpr Kind d = Kind::Reduction;
  constexpr std::pair<const char*, Claim::FindForbidden> inside{"InsideGroup",
                                                                inside_group_not_expressible};
  constexpr std::pair<const char*, Claim::FindForbidden> parallel{"Parallel",
                                                                  parallel_not_expressible};
  constexpr std::pair<const char*, Claim::FindForbidden> master{"Master", master_not_expressible};
  const char* const repair = "lemma-b7-corrected-witness";
  append_cases(claims, comparison("lemma-b7", "B.7", "(c) >= (b).", b, c, not_expressible),
               {parallel, inside, master});
  append_witness(claims,
                 comparison("lemma-b7-witness-as-printed", "B.7, proof",
                            "The witnesses of the three cases form the same groups; in case 3 the "
                            "witness of a Master is a Parallel, as the proof has it.",
                            b, c, misses_row_witness_as_printed),
                 repair);
  append_witness(
      claims,
      comparison("lemma-b7-witness", "B.7, proof",
                 "The same with a Master as the witness of a Master.", b, c, misses_row_witness),
      repair);
  append_witness(claims,
                 comparison(repair, "",
                            "Cases 1 and 2 with (e_j, Parallel(before e_i)) as the witness, also "
                            "of an InsideGroup.",
                            b, c, misses_parallel_witness),
                 "");
  append_cases(claims, comparison("lemma-b8", "B.8", "(d) >= (c).", c, d, not_expressible),
               {inside, parallel, master});
  append_witness(claims,
                 comparison("lemma-b8-witness", "B.8, proof",
                            "The witnesses of the three cases form the same groups.", c, d,
                            misses_reduction_witness),
                 "");
}

void append_claims_of_paper(std::vector<Claim>& claims) {
  append_expressiveness(claims);
  append_part_one(claims);
  append_groups(claims);
  append_forms(claims);
  append_parts_two_and_three(claims);
}

constexpr const char* kEveryState =
    "every instruction in every state reached in fewer than --size steps (explicit)";

/// Of no subject: one answer is that of all.
std::string nothing(const Subject&) { return {}; }

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
       .settle = information_increases});
  claims.push_back({.name = "composition",
                    .statement = "Wherever AllReduce is legal it equals Reduce; Broadcast, and "
                                 "where ReduceScatter is legal too "
                                 "it equals ReduceScatter; AllGather.",
                    .formula = "AllReduce = Reduce; Broadcast = ReduceScatter; AllGather",
                    .section = "figure 8",
                    .engine = kEveryState,
                    .from = every,
                    .settle = composes});
  claims.push_back(
      {.name = "permutation-equivariance",
       .statement = "A legal collective stays legal and leaves the same on every device when two "
                    "devices of a group, but not the root of a Broadcast, had exchanged what they "
                    "hold.",
       .formula = "C(s o (i j)) = C(s), for Broadcast with i, j > 0",
       .section = "figure 8",
       .engine = kEveryState,
       .from = every,
       .settle = order_does_not_matter});
  claims.push_back({.name = "class-independence",
                    .statement =
                        "A program is valid on the system exactly if it is valid on one reduction "
                        "class alone, as a system of its own.",
                    .formula = "valid(L, system) = valid(L, class)",
                    .section = "2.5, 3.4",
                    .engine = kEveryState,
                    .from = {Kind::Reduction, Kind::Collapsed, Kind::Lattice},
                    .settle = class_independent});
  claims.push_back(
      {.name = "size-independence",
       .statement = "A program is valid for one choice of factors above 1 exactly if it is valid "
                    "when each of them is 2.",
       .formula = "valid(L, X) = valid(L, min(X, 2))",
       .engine = kEveryState,
       .from = every,
       .settle = size_independent});
  claims.push_back({.name = "length-bound",
                    .statement =
                        "No valid program has more than two steps for every factor above 1 of the "
                        "reduction axes.",
                    .formula = "for all valid L, |L| <= size: |L| <= 2 * |{x in R : x > 1}|",
                    .engine = "enumeration of the valid programs (explicit)",
                    .from = every,
                    .settle = length_bounded});
  claims.push_back(
      {.name = "coarsening",
       .statement = "As many valid programs cut at j boundaries between levels, and nowhere else, "
                    "as there are over j + 1 levels of 2 devices that cut at every boundary.",
       .formula = "|{L over l levels : cuts(L) = J}| = |{L over |J| + 1 levels : cuts(L) = all}|",
       .engine = "enumeration of the valid programs (explicit)",
       .from = {Kind::Reduction},
       .settle = coarsens});
  claims.push_back({.name = "synthesis-complete",
                    .statement = "The enumerator lists every valid program.",
                    .formula = "for all L, |L| <= size: valid(L) implies L in list",
                    .section = "4.3",
                    .engine = "a SAT solver that looks for another among clauses (cnf)",
                    .from = every,
                    .settle = synthesis_complete});
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
                    .settle = rules_are_adequate,
                    .key = nothing});
  claims.push_back({.name = "composition-as-triples",
                    .statement =
                        "In every state of a group, reached by a program or not: AllReduce equals "
                        "Reduce; Broadcast, and ReduceScatter; AllGather where they are defined.",
                    .formula = "{s} AllReduce {t} iff {s} Reduce; Broadcast {t}",
                    .section = "figure 8",
                    .engine = "Z3 over all states, groups of 2 to 4 devices, and the interpreter",
                    .from = {Kind::Hardware},
                    .settle = composes_as_triples,
                    .key = nothing});
}

void append_claims_beyond_groups(std::vector<Claim>& claims) {
  Claim mixing = {
      .name = "mixing",
      .statement =
          "A valid program over any disjoint groups, some group of which has devices of "
          "several reduction classes, has at least four steps.",
      .formula = "for all valid L over any disjoint groups, (G, C) in L, G in no class: |L| >= 4",
      .engine = "breadth-first search over all disjoint groups, at most 6 devices (explicit)",
      .from = {HierarchyKind::Hardware},
      .settle = mixing_takes_four_steps,
      .key = devices_and_classes};
  claims.push_back(mixing);
  mixing.name += "-by-z3";
  mixing.engine = "Z3, every set of devices a symbol, at most 4 devices (6 with --deep)";
  mixing.settle = mixing_takes_four_steps_by_z3;
  claims.push_back(mixing);
}

template <CostModel model>
CostSettlement groups(const Subject& subject, const Bounds& bounds) {
  return no_groups_are_cheaper(subject, bounds, model);
}

template <CostModel model>
CostSettlement lattice(const Subject& subject, const Bounds& bounds) {
  return lattice_gains_nothing(subject, bounds, model);
}

template <Claim::SettleCosts settle_costs>
Settlement answer(const Subject& subject, const Bounds& bounds) {
  return settle_costs(subject, bounds).answer;
}

/// Devices, classes and, where they matter, the levels that share links.
template <CostModel model>
std::string cost_key(const Subject& subject) {
  std::string text = devices_and_classes(subject);
  const LatencyBandwidth network = network_of(subject.from.grid.hierarchy(), model);
  for (const Uplink& uplink : network.uplinks()) {
    text += fmt::format(" {}x{}", uplink.span, uplink.slowdown);
  }
  return text;
}

/// `beyond-dsl`, `beyond-dsl-two-level`.
std::string named(const char* name, CostModel model) {
  return model == CostModel::Homogeneous ? name : fmt::format("{}-{}", name, to_string(model));
}

std::string on_network(CostModel model) {
  return fmt::format(" Latency-bandwidth model, {} network.", to_string(model));
}

template <CostModel model>
Claim no_groups_are_cheaper() {
  return {.name = named("beyond-dsl", model),
          .statement =
              "No valid program over any disjoint groups is cheaper, for any latency and "
              "bandwidth, than all programs over hierarchies of any system with these "
              "devices and classes." +
              on_network(model),
          .formula =
              "for all valid L over any disjoint groups, |L| <= size, for all alpha, beta: "
              "cost(L) >= min cost(L') over hierarchies, |L'| <= size",
          .engine = "branch and bound over all disjoint groups, at most 6 devices (explicit)",
          .from = {Kind::Hardware},
          .settle = answer<groups<model>>,
          .settle_costs = groups<model>,
          .key = cost_key<model>};
}

template <CostModel model>
Claim lattice_gains_nothing() {
  return {.name = named("lattice-gain", model),
          .statement =
              "No program over the lattice is cheaper, for any latency and bandwidth, "
              "than all programs over (d) and over collapsed." +
              on_network(model),
          .formula =
              "for all valid L over the lattice, |L| <= size, for all alpha, beta: "
              "cost(L) >= min cost(L') over (d) and collapsed, |L'| <= size",
          .engine = "branch and bound (explicit)",
          .from = {Kind::Lattice},
          .settle = answer<lattice<model>>,
          .settle_costs = lattice<model>};
}

void append_claims_about_cost(std::vector<Claim>& claims) {
  claims.push_back(no_groups_are_cheaper<CostModel::Homogeneous>());
  Claim by_z3 = claims.back();
  by_z3.name += "-by-z3";
  by_z3.statement += " Asked at every ratio of the two at which the best over hierarchies changes.";
  by_z3.engine = "Z3, every set of devices a symbol, at most 4 devices (6 with --deep)";
  by_z3.settle = no_groups_are_cheaper_by_z3;
  by_z3.settle_costs = nullptr;
  claims.push_back(by_z3);
  // No more than two levels fit six devices.
  claims.push_back(no_groups_are_cheaper<CostModel::TwoLevel>());
  claims.push_back(lattice_gains_nothing<CostModel::Homogeneous>());
  claims.push_back(lattice_gains_nothing<CostModel::TwoLevel>());
  claims.push_back(lattice_gains_nothing<CostModel::Tiered>());
}

}  // namespace

const std::vector<Claim>& registry() {
  static const std::vector<Claim> claims = [] {
    std::vector<Claim> all;
    append_claims_of_paper(all);
    append_claims_about_rules(all);
    append_claims_about_definitions(all);
    append_claims_beyond_groups(all);
    append_claims_about_cost(all);
    return all;
  }();
  return claims;
}

const Claim* find_claim(std::string_view name) {
  const auto found = std::find_if(registry().begin(), registry().end(),
                                  [&](const Claim& claim) { return claim.name == name; });
  return found == registry().end() ? nullptr : &*found;
}

std::string_view verdict_word(Outcome outcome) {
  switch (outcome) {
    case Outcome::Established:
      return "holds";
    case Outcome::Refuted:
      return "refuted";
    case Outcome::Undecided:
    case Outcome::Disagreement:
      break;
  }
  return "unknown";
}

const std::vector<ScheduleClaim>& schedule_registry() {
  static const std::vector<ScheduleClaim> claims = [] {
    std::vector<ScheduleClaim> all;
    append_claims_about_resharding(all);
    append_claims_about_pipelines(all);
    return all;
  }();
  return claims;
}

const ScheduleClaim* find_schedule_claim(std::string_view name) {
  const auto found = std::find_if(schedule_registry().begin(), schedule_registry().end(),
                                  [&](const ScheduleClaim& claim) { return claim.name == name; });
  return found == schedule_registry().end() ? nullptr : &*found;
}

}  // namespace p2::claims
