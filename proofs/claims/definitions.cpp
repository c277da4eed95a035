#include "proofs/claims/definitions.h"

#include <algorithm>

#include <fmt/format.h>

#include "encodings/z3/rulebook.h"
#include "proofs/definition/adequacy.h"
#include "proofs/definition/relation.h"

namespace p2::claims {
namespace {

constexpr std::uint32_t kMostGroup = 4;

Answer undecided(std::string note) { return {Outcome::Undecided, 0, {}, 0, std::move(note)}; }

}  // namespace

Answer rules_are_adequate(const Subject&, const Bounds& bounds) {
  using definition::Carrier;
  for (const Carrier carrier : {Carrier::AnyMonoid, Carrier::Integers, Carrier::Words}) {
    for (const auto& part : definition::sum_obligations(bounds.limits, {}, carrier)) {
      if (!part.proved) return undecided("not proved: " + part.name);
    }
  }
  for (const language::Definition& definition : language::built_in_definitions()) {
    if (!definition::row_is_number(definition, bounds.limits)) {
      return undecided("not proved for " + definition.name);
    }
  }
  return {Outcome::Holds,
          bounds.size,
          {},
          0,
          "groups of every size, by induction; and "
          "for integers and 32-bit words"};
}

Answer composes_as_triples(const Subject&, const Bounds& bounds) {
  const z3_encoding::Rulebook rules(language::built_in_definitions());
  std::vector<const z3_encoding::Rule*> known;
  for (const z3_encoding::Rule& rule : rules.rules()) known.push_back(&rule);
  const z3_encoding::Rule& sum = rules.called("AllReduce");
  definition::Scope scope;
  scope.most_group = kMostGroup;
  scope.limits = bounds.limits;
  const definition::Relations relations =
      definition::find_relations({sum.definition, sum}, known, scope);
  if (!relations.decided || !relations.differences.empty()) return undecided("a limit was met");
  std::string found;
  for (const char* parts : {"= Reduce; Broadcast", "= ReduceScatter; AllGather"}) {
    const auto is_it = [&](const definition::Relation& relation) {
      return definition::to_string(relation).starts_with(parts);
    };
    const auto relation = std::ranges::find_if(relations.found, is_it);
    if (relation == relations.found.end()) {
      return {Outcome::Refuted, 0, {}, 0, fmt::format("AllReduce is not {}", parts + 2)};
    }
    found += (found.empty() ? "" : ", ") + definition::to_string(*relation);
  }
  return {Outcome::Holds,
          bounds.size,
          {},
          0,
          fmt::format("groups of 2 to {}: AllReduce {}", kMostGroup, found)};
}

}  // namespace p2::claims
