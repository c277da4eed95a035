#include <array>
#include <iterator>

#include "proofs/claims/arbitrary_groups.h"
#include "proofs/claims/claim.h"
#include "proofs/claims/expressiveness.h"
#include "proofs/claims/validity.h"
#include "proofs/claims/witnesses.h"

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
           "(c), results are told apart by where the rows reduced over stand in it.",
       .formula = kExpressible,
       .section = "definition 3.1, theorem 3.2",
       .engine = kSearch,
       .from = every,
       .to = every,
       .forbids = not_expressible});
}

/// A claim that (to) can express the valid programs of (from), or some of their steps.
Claim comparison(const char* name, const char* section, const char* statement, Kind from, Kind to,
                 Claim::Forbids forbids) {
  return {.name = name,
          .statement = statement,
          .formula = kExpressible,
          .section = section,
          .engine = kSearch,
          .from = {from},
          .to = {to},
          .forbids = forbids};
}

void append_cases(std::vector<Claim>& claims, const Claim& lemma,
                  const std::array<std::pair<const char*, Claim::Forbids>, 3>& cases) {
  claims.push_back(lemma);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Claim part = lemma;
    part.name += "-case" + std::to_string(i + 1);
    part.statement += std::string(" Only the steps of form ") + cases[i].first + ".";
    part.formula += std::string(", form(s) = ") + cases[i].first;
    part.forbids = cases[i].second;
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
       .settles = first_factor_of_level});
  claims.push_back({.name = "lemma-b1-corrected-witness",
                    .statement = "The same with the last factor of the level as the slice.",
                    .formula = "groups(x_i, F(x_j)) = groups(x_im, F(x_jm))",
                    .engine = kEveryInstruction,
                    .from = {Kind::Hardware},
                    .to = {Kind::Columns},
                    .settles = last_factor_of_level});
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
       .settles = parallel_groups});
  claims.push_back(
      {.name = "lemma-b3",
       .statement = "For an instruction to be semantically valid, all its groups, whatever they "
                    "are, must only be partitioned over the reduction axes.",
       .formula = "for all valid L over any disjoint groups, (G, C) in L: reduced(G) subset of R",
       .section = "B.3",
       .repair = "lemma-b3-hierarchical",
       .engine = kAnyGroups,
       .from = {Kind::Hardware},
       .settles = groups_stay_in_classes,
       .content = devices_and_classes});
  claims.push_back(
      {.name = "lemma-b3-hierarchical",
       .statement = "A group that a hierarchy forms and a valid program uses is partitioned over "
                    "the reduction axes only.",
       .formula = "for all valid L, (G, C) in L: reduced(G) subset of R",
       .section = "B.3, as it is used",
       .engine = kSearch,
       .from = kWhole,
       .forbids = reduces_outside});
}

/// Corollary B.4 and lemmas B.5, B.6: what a valid instruction of one form may cover.
void append_forms(std::vector<Claim>& claims) {
  const auto append = [&](const char* name, const char* section, const std::string& form,
                          const std::string& covered, Claim::Forbids forbids) {
    claims.push_back(
        {.name = name,
         .statement = "(x_i, " + form + ", C) is only semantically valid if all of " + covered +
                      " are 1 or on the reduction axes.",
         .formula = "for all valid L, (x_i, " + form + ", C) in L: {" + covered + "} subset of R",
         .section = section,
         .engine = kSearch,
         .from = kWhole,
         .forbids = forbids});
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
       .settles = inside_groups});
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
  constexpr std::pair<const char*, Claim::Forbids> inside{"InsideGroup",
                                                          inside_group_not_expressible};
  constexpr std::pair<const char*, Claim::Forbids> parallel{"Parallel", parallel_not_expressible};
  constexpr std::pair<const char*, Claim::Forbids> master{"Master", master_not_expressible};
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

}  // namespace

void append_claims_of_paper(std::vector<Claim>& claims) {
  append_expressiveness(claims);
  append_part_one(claims);
  append_groups(claims);
  append_forms(claims);
  append_parts_two_and_three(claims);
}

}  // namespace p2::claims
