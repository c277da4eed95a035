#include "proofs/definition/examination.h"

#include <algorithm>
#include <future>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proofs/definition/claim.h"
#include "proofs/definition/every_size.h"
#include "proofs/definition/settlement.h"

namespace p2::definition {
namespace {

SettledBy settled_by(Outcome verdict, Outcome by_states) {
  if (verdict == Outcome::Undecided) return SettledBy::Nobody;
  return by_states == Outcome::Undecided ? SettledBy::SolverOnly : SettledBy::Both;
}

Check by_construction(std::string name, std::string detail) {
  Check check;
  check.name = std::move(name);
  check.detail = std::move(detail);
  check.every_size = true;
  return check;
}

Check check_of(Claim claim, const language::Definition& definition, const Settlements& settled) {
  const Settlement& settlement = settled[index_of(claim)];
  Check check;
  check.name = name_of(claim);
  check.verdict = settlement.verdict();
  check.z3 = settlement.z3();
  check.by_states = settlement.by_states();
  check.settled_by = settled_by(check.verdict, check.by_states);
  check.exhausted_to = settlement.exhausted_to();
  if (const auto& before = settlement.counterexample()) {
    const std::optional<Step> step = take(definition, *before);
    const std::optional<Violation> where = step ? violation(claim, *step) : std::nullopt;
    invariant(where.has_value(), "a counterexample that shows nothing");
    check.detail = to_string(shape_of(*before));
    check.counterexample = CheckCounterexample{explain(claim, *step, *where), *before, step->after};
  }
  return check;
}

std::string excluding_text(const Satisfiability& answer, const language::Definition& definition) {
  std::vector<std::string> names;
  for (const std::size_t premise : answer.excluding) {
    names.push_back(definition.premises[premise].name);
  }
  const std::string premises = fmt::format("{}", fmt::join(names, " and "));
  return fmt::format(
      "In groups of every size and with any number of chunks, no state that holds anything "
      "satisfies the premises: {} {}. Whatever is claimed of its steps is true of nothing.",
      premises, names.size() == 1 ? "is never true of one" : "exclude each other");
}

Check satisfiable(const Satisfiability& answer, const language::Definition& definition) {
  Check check;
  check.name = "satisfiable";
  check.verdict = answer.verdict;
  check.detail = answer.text();
  check.z3 = answer.z3;
  check.by_states = answer.by_states;
  check.settled_by = settled_by(check.verdict, check.by_states);
  if (answer.verdict == Outcome::Refuted) {
    check.every_size = true;
    check.counterexample = CheckCounterexample{excluding_text(answer, definition), {}, {}};
  }
  return check;
}

/// The check `keeps-all`, with whose copies are dropped although the group keeps what they hold.
Check keeps_all(const language::Definition& definition, const Settlements& settled) {
  Check check = check_of(Claim::KeepsAll, definition, settled);
  if (check.verdict != Outcome::Established) return check;
  const Outcome root = settled[index_of(Claim::RootKeeps)].verdict();
  const Outcome others = settled[index_of(Claim::OthersKeep)].verdict();
  if (root == Outcome::Undecided || others == Outcome::Undecided) return check;
  const bool root_drops = root == Outcome::Refuted;
  const bool others_drop = others == Outcome::Refuted;
  check.detail = root_drops && others_drop ? "any position may drop copies"
                 : root_drops              ? "the root may drop copies"
                 : others_drop             ? "positions but the root may drop copies"
                                           : "every position keeps what it held";
  return check;
}

/// The check `equivariant`, with the positions that are alike.
Check equivariant(const language::Definition& definition, const Settlements& settled,
                  std::uint32_t max_group) {
  Check check = check_of(Claim::ContributorsAlike, definition, settled);
  const Outcome all = settled[index_of(Claim::PositionsAlike)].verdict();
  const Outcome others = settled[index_of(Claim::NonRootsAlike)].verdict();
  std::string positions = "positions undecided";
  if (all == Outcome::Established) positions = "all positions alike";
  if (all == Outcome::Refuted && others == Outcome::Established && max_group > 2) {
    positions = "all positions but the root alike";
  }
  if (all == Outcome::Refuted && (others == Outcome::Refuted || max_group == 2)) {
    positions = "no positions alike";
  }
  check.detail += (check.detail.empty() ? "" : "; ") + positions;
  return check;
}

Relations relations_of(const Subject& subject, std::span<const language::Definition* const> known,
                       const Scope& scope) {
  std::vector<z3_encoding::Rule> rules;
  for (const language::Definition* other : known) rules.emplace_back(*other);
  std::vector<const z3_encoding::Rule*> known_rules;
  known_rules.reserve(rules.size());
  for (const z3_encoding::Rule& rule : rules) known_rules.push_back(&rule);
  return z3_encoding::guarded([&] { return find_relations(subject, known_rules, scope); });
}

Check relations_check(const Relations& relations) {
  Check check;
  check.name = "relations";
  check.verdict = check.z3 = relations.decided ? Outcome::Established : Outcome::Undecided;
  check.by_states = Outcome::Undecided;
  check.settled_by = settled_by(check.verdict, check.by_states);
  check.detail = relations.found.empty() ? "none to known collectives"
                                         : fmt::format("{} found", relations.found.size());
  return check;
}

/// What adding numbers can do, and whether steps lead anywhere.
void add_claims(Findings& findings, const language::Definition& definition,
                const Settlements& settled, const ProvedClaims& proved) {
  const auto add = [&](Claim claim, Check check) {
    check.every_size = proved[index_of(claim)] && check.verdict == Outcome::Established;
    findings.checks.push_back(std::move(check));
  };
  for (const Claim claim : {Claim::NothingInvented, Claim::ChunksApart, Claim::SumsWhole,
                            Claim::NoDoubleCount, Claim::Realisable}) {
    add(claim, check_of(claim, definition, settled));
  }
  add(Claim::KeepsAll, keeps_all(definition, settled));
  add(Claim::MeasureRises, check_of(Claim::MeasureRises, definition, settled));
  add(Claim::ContributorsAlike, equivariant(definition, settled, findings.max_group));
}

void add_differences(Findings& findings, const Settlements& settled, const ProvedClaims& proved) {
  for (const Claim claim : kClaims) {
    const auto& broken = settled[index_of(claim)].counterexample();
    const std::string name(name_of(claim));
    if (proved[index_of(claim)] && broken) {
      findings.differences.push_back({name, shape_of(*broken), "holds", "refuted", broken});
    }
    if (const auto& difference = settled[index_of(claim)].difference()) {
      findings.differences.push_back(*difference);
      findings.differences.back().check = name;
    }
  }
}

}  // namespace

std::string_view check_word(Outcome outcome) {
  switch (outcome) {
    case Outcome::Established:
      return "holds";
    case Outcome::Refuted:
      return "refuted";
    default:
      return "unknown";
  }
}

Outcome Findings::outcome() const {
  if (!differences.empty()) return Outcome::Disagreement;
  const auto some = [&](Outcome verdict) {
    return std::any_of(checks.begin(), checks.end(),
                       [&](const Check& check) { return check.verdict == verdict; });
  };
  if (some(Outcome::Refuted)) return Outcome::Refuted;
  return some(Outcome::Undecided) ? Outcome::Undecided : Outcome::Established;
}

std::string Findings::refuted_checks() const {
  std::vector<std::string> names;
  for (const Check& check : checks) {
    if (check.verdict == Outcome::Refuted) names.push_back(check.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string undecided_text(const Check& check) {
  return check.name == "satisfiable" ? "whether there is a legal step is unknown: " + check.detail
                                     : "a limit was reached at the check " + check.name;
}

std::string Findings::undecided_text() const {
  const auto first = std::ranges::find(checks, Outcome::Undecided, &Check::verdict);
  return first == checks.end() ? std::string() : definition::undecided_text(*first);
}

std::string Findings::sizes_text() const {
  std::string text = fmt::format("groups of {} to {}, up to 2n chunks", kMinGroup, max_group);
  for (const Shape& shape : further_shapes) {
    if (shape.contributors < shape.devices) continue;  // too few for sums that overlap
    text += fmt::format("; n = {}, k = {}", shape.devices, shape.chunks);
  }
  return text;
}

Relations find_relations(const language::Definition& own,
                         std::span<const language::Definition* const> known, const Scope& scope) {
  const z3_encoding::Rule rule(own);
  return relations_of({own, rule}, known, scope);
}

Findings examine(const language::Definition& definition,
                 std::span<const language::Definition* const> known, const Scope& scope,
                 const language::Definition& z3_reads) {
  const z3_encoding::Rule rule(z3_reads);
  const Subject subject{definition, rule};
  const auto policy = scope.jobs == 1 ? std::launch::deferred : std::launch::async;
  std::future<Relations> comparing =
      std::async(policy, [&] { return relations_of(subject, known, scope); });
  std::vector<Exploration> seen = explore(definition, scope);
  std::vector<Shape> further;
  const auto [legal, settled, proved] = z3_encoding::guarded([&] {
    Satisfiability satisfiability = settle_satisfiability(subject, seen, scope);
    further = shapes_with_legal_steps(satisfiability);
    for (const Shape& shape : further) seen.push_back(explore(definition, shape, scope));
    Settlements settlements = settle_claims(subject, seen, scope);
    const ProvedClaims proved_claims = proved_for_every_size(z3_reads, scope.limits);
    probe_claims(subject, proved_claims, scope, settlements);
    return std::tuple(std::move(satisfiability), std::move(settlements), proved_claims);
  });
  const Relations relations = comparing.get();

  Findings findings{definition.name, scope.max_group, further, {}, relations.found, {}};
  findings.checks.push_back(by_construction("well-formed", "parsed and typed"));
  findings.checks.push_back(satisfiable(legal, definition));
  findings.checks.push_back(by_construction("determined", "one formula over the group alone"));
  add_claims(findings, definition, settled, proved);
  findings.checks.push_back(relations_check(relations));
  if (legal.difference) findings.differences.push_back(*legal.difference);
  add_differences(findings, settled, proved);
  findings.differences.insert(findings.differences.end(), relations.differences.begin(),
                              relations.differences.end());
  return findings;
}

}  // namespace p2::definition
