#include "encodings/cnf/drat_to_lrat.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "encodings/cnf/solver.h"
#include "engine/base/invariant.h"

namespace p2::cnf {

UnitPropagation::UnitPropagation(std::int32_t variables)
    : watches_(2 * (static_cast<std::size_t>(variables) + 1)),
      values_(watches_.size(), 0),
      facts_(watches_.size() / 2) {}

UnitPropagation::Index UnitPropagation::add(std::span<const Literal> clause) {
  const auto index = static_cast<Index>(clauses_.size());
  clauses_.push_back({arena_.size(), static_cast<std::uint32_t>(clause.size()), true});
  arena_.insert(arena_.end(), clause.begin(), clause.end());
  const auto stored = std::span(arena_).subspan(clauses_[index].begin);
  std::stable_partition(stored.begin(), stored.end(), [&](Literal l) { return value(l) >= 0; });
  if (stored.size() > 1) {
    watches_[slot(stored[0])].push_back({index, stored[1]});
    watches_[slot(stored[1])].push_back({index, stored[0]});
  }
  return index;
}

void UnitPropagation::assign(Literal literal, Index reason) {
  values_[slot(literal)] = 1;
  values_[slot(-literal)] = -1;
  facts_[slot(literal) / 2] = {reason, static_cast<std::uint32_t>(trail_.size())};
  trail_.push_back(literal);
}

bool UnitPropagation::visit(Watch& watch, Literal falsified, Index& conflict) {
  if (value(watch.other) > 0 || !clauses_[watch.clause].active) return true;
  const Stored& stored = clauses_[watch.clause];
  const auto clause = std::span(arena_).subspan(stored.begin, stored.size);
  if (clause[0] == falsified) std::swap(clause[0], clause[1]);
  watch.other = clause[0];
  if (value(clause[0]) > 0) return true;
  for (std::size_t i = 2; i < clause.size(); ++i) {
    if (value(clause[i]) < 0) continue;
    std::swap(clause[1], clause[i]);
    watches_[slot(clause[1])].push_back(watch);
    return false;
  }
  if (value(clause[0]) < 0) {
    conflict = watch.clause;
  } else {
    assign(clause[0], watch.clause);
  }
  return true;
}

UnitPropagation::Index UnitPropagation::propagate() {
  Index conflict = kNone;
  while (conflict == kNone && propagated_ < trail_.size()) {
    const Literal falsified = -trail_[propagated_++];
    std::vector<Watch>& watching = watches_[slot(falsified)];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < watching.size(); ++i) {
      Watch watch = watching[i];
      if (conflict != kNone || visit(watch, falsified, conflict)) watching[kept++] = watch;
    }
    watching.resize(kept);
  }
  return conflict;
}

void UnitPropagation::undo(std::size_t size) {
  for (std::size_t i = size; i < trail_.size(); ++i) {
    values_[slot(trail_[i])] = 0;
    values_[slot(-trail_[i])] = 0;
  }
  trail_.resize(size);
  propagated_ = std::min(propagated_, size);
}

namespace {

constexpr auto kNone = UnitPropagation::kNone;

std::size_t variable(Literal literal) { return static_cast<std::size_t>(std::abs(literal)); }

/// The same for every order of the literals.
std::uint64_t hash_of(std::span<const Literal> clause) {
  std::uint64_t sum = 0;
  std::uint64_t mixed = 0;
  for (const Literal literal : clause) {
    const std::uint64_t value = static_cast<std::uint32_t>(literal) * 0x9E3779B97F4A7C15U;
    sum += value;
    mixed ^= value ^ (value >> 29U);
  }
  return sum * 31 + mixed;
}

std::vector<Literal> sorted(std::span<const Literal> clause) {
  std::vector<Literal> literals(clause.begin(), clause.end());
  std::sort(literals.begin(), literals.end());
  return literals;
}

void append(std::int64_t number, std::string& text) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  text.push_back(' ');
}

}  // namespace

DratToLrat::DratToLrat(std::int32_t variables, ClauseId axioms)
    : clauses_(variables),
      axioms_(axioms),
      step_of_unit_(static_cast<std::size_t>(variables) + 1, 0),
      axiom_needed_(axioms, false),
      seen_(static_cast<std::size_t>(variables) + 1, false) {}

void DratToLrat::learn(std::span<const Literal> clause, bool is_lemma) {
  if (refuted()) return;
  const Index index = clauses_.add(clause);
  const auto count = static_cast<std::uint32_t>(events_.size());
  step_of_clause_.push_back(is_lemma ? axioms_ + count : index);
  if (is_lemma) {
    events_.push_back({Kind::Lemma, index});
    by_hash_.emplace(hash_of(clause), index);
  }
  const std::span<const Literal> stored = clauses_.literals(index);
  if (stored.empty() || clauses_.value(stored[0]) < 0) {
    conflict_ = index;
  } else if (clauses_.value(stored[0]) == 0 &&
             (stored.size() == 1 || clauses_.value(stored[1]) < 0)) {
    clauses_.assign(stored[0], index);
    propagate();
  }
}

/// Every literal that follows, the one just assigned included, becomes an event.
void DratToLrat::propagate() {
  const std::size_t from = clauses_.trail().size() - 1;
  conflict_ = clauses_.propagate();
  for (std::size_t i = from; i < clauses_.trail().size(); ++i) {
    const Literal literal = clauses_.trail()[i];
    step_of_unit_[variable(literal)] = axioms_ + static_cast<std::uint32_t>(events_.size());
    events_.push_back({Kind::Unit, clauses_.reason(literal), literal});
  }
}

void DratToLrat::erase(std::span<const Literal> clause) {
  if (refuted()) return;
  const std::vector<Literal> wanted = sorted(clause);
  const auto [begin, end] = by_hash_.equal_range(hash_of(clause));
  for (auto entry = begin; entry != end; ++entry) {
    const std::span<const Literal> stored = clauses_.literals(entry->second);
    if (sorted(stored) != wanted) continue;
    const bool in_use = std::any_of(stored.begin(), stored.end(), [&](Literal literal) {
      return clauses_.value(literal) > 0 && clauses_.reason(literal) == entry->second;
    });
    if (in_use) return;
    clauses_.deactivate(entry->second);
    events_.push_back({Kind::Deleted, entry->second});
    by_hash_.erase(entry);
    return;
  }
}

void DratToLrat::mark(Index clause) {
  const std::uint32_t step = step_of_clause_[clause];
  if (step < axioms_) {
    axiom_needed_[step] = true;
  } else {
    events_[step - axioms_].needed = true;
  }
  hints_.push_back(step);
}

void DratToLrat::mark_unit(Literal literal) {
  const std::uint32_t step = step_of_unit_[variable(literal)];
  events_[step - axioms_].needed = true;
  hints_.push_back(step);
}

/// Adds the hints for a clause that is assumed false: units, then reasons in the order of
/// propagation, then the conflict.
void DratToLrat::explain(Index conflict, std::span<const Literal> assumed) {
  for (const Literal literal : assumed) seen_[variable(literal)] = true;
  std::vector<Literal> open;
  const auto look_at = [&](Index clause) {
    for (const Literal literal : clauses_.literals(clause)) {
      if (seen_[variable(literal)]) continue;
      seen_[variable(literal)] = true;
      open.push_back(literal);
    }
  };
  const auto is_unit = [&](Literal literal) { return step_of_unit_[variable(literal)] != 0; };
  look_at(conflict);
  for (std::size_t i = 0; i < open.size(); ++i) {
    const Index reason = clauses_.reason(open[i]);
    if (!is_unit(open[i]) && reason != kNone) look_at(reason);
  }
  std::sort(open.begin(), open.end(),
            [&](Literal a, Literal b) { return clauses_.position(a) < clauses_.position(b); });
  for (const Literal literal : open) {
    seen_[variable(literal)] = false;
    if (is_unit(literal)) {
      mark_unit(literal);
    } else if (clauses_.reason(literal) != kNone) {
      mark(clauses_.reason(literal));
    }
  }
  for (const Literal literal : assumed) seen_[variable(literal)] = false;
  mark(conflict);
}

void DratToLrat::justify_lemma(Index clause) {
  const std::size_t facts = clauses_.trail().size();
  for (const Literal literal : clauses_.literals(clause)) {
    if (clauses_.value(literal) > 0) {
      mark_unit(literal);
      return clauses_.undo(facts);
    }
    if (clauses_.value(literal) == 0) clauses_.assign(-literal, kNone);
  }
  const Index conflict = clauses_.propagate();
  if (conflict == kNone) {
    throw ToolError("the solver's proof has a lemma that is not RUP");
  }
  explain(conflict, clauses_.literals(clause));
  clauses_.undo(facts);
}

/// Undoes the last event; if it is needed, adds its hints.
void DratToLrat::justify(Event& event) {
  event.hints = hints_.size();
  switch (event.kind) {
    case Kind::Deleted:
      clauses_.activate(event.clause);
      break;
    case Kind::Lemma:
      clauses_.deactivate(event.clause);
      if (event.needed) justify_lemma(event.clause);
      break;
    case Kind::Unit:
      clauses_.undo(clauses_.trail().size() - 1);
      step_of_unit_[variable(event.literal)] = 0;
      for (const Literal literal : clauses_.literals(event.clause)) {
        if (event.needed && literal != event.literal) mark_unit(literal);
      }
      if (event.needed) mark(event.clause);
      break;
  }
  event.hints_end = hints_.size();
}

Refutation DratToLrat::refutation(const std::function<void()>& tick) {
  explain(conflict_, {});
  last_hints_end_ = hints_.size();
  for (std::size_t e = events_.size(); e-- > 0;) {
    if (e % 64 == 0) tick();
    justify(events_[e]);
  }
  return print();
}

void DratToLrat::print_step(const Event& event, const std::vector<ClauseId>& number,
                            std::string& text) const {
  if (event.kind == Kind::Unit) {
    append(event.literal, text);
  } else {
    for (const Literal literal : clauses_.literals(event.clause)) append(literal, text);
  }
  text += "0 ";
  for (std::size_t i = event.hints; i < event.hints_end; ++i) append(number[hints_[i]], text);
  text += "0\n";
}

Refutation DratToLrat::print() const {
  Refutation found;
  std::vector<ClauseId> number(axioms_ + events_.size(), 0);
  ClauseId last = 0;
  for (ClauseId axiom = 0; axiom < axioms_; ++axiom) {
    if (!axiom_needed_[axiom]) continue;
    number[axiom] = ++last;
    found.core.push_back(axiom + 1);
  }
  for (std::size_t e = 0; e < events_.size(); ++e) {
    const Event& event = events_[e];
    if (!event.needed) continue;
    number[axioms_ + e] = ++last;
    append(last, found.lrat);
    print_step(event, number, found.lrat);
  }
  append(last + 1, found.lrat);
  found.lrat += "0 ";
  for (std::size_t i = 0; i < last_hints_end_; ++i) append(number[hints_[i]], found.lrat);
  found.lrat += "0\n";
  return found;
}

namespace {

template <typename Visit>
void for_each_clause(const std::vector<Literal>& literals, Visit visit) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < literals.size(); ++i) {
    if (literals[i] != 0) continue;
    visit(std::span(literals).subspan(begin, i - begin));
    begin = i + 1;
  }
}

Refutation refutation(std::int32_t variables, const std::vector<Literal>& literals,
                      std::span<const DratTrace* const> traces, const Limits& limits) {
  const auto tick = [&] { limits.require(0, "checking the solver's proof"); };
  std::size_t lemmas = 0;
  const auto axioms = std::count(literals.begin(), literals.end(), 0);
  DratToLrat pass(variables, static_cast<ClauseId>(axioms));
  for_each_clause(literals, [&](std::span<const Literal> clause) { pass.axiom(clause); });
  for (const DratTrace* trace : traces) {
    trace->for_each([&](bool learnt, std::span<const Literal> clause) {
      if (++lemmas % 4096 == 0) tick();
      if (learnt) {
        pass.lemma(clause);
      } else {
        pass.erase(clause);
      }
      return !pass.refuted();
    });
  }
  if (!pass.refuted()) throw ToolError("the solver's proof does not end in a contradiction");
  return pass.refutation(tick);
}

std::string dimacs(std::int32_t variables, const std::vector<Literal>& literals,
                   const std::vector<ClauseId>& core) {
  std::string text = fmt::format("p cnf {} {}\n", variables, core.size());
  ClauseId id = 0;
  auto next = core.begin();
  for_each_clause(literals, [&](std::span<const Literal> clause) {
    if (next == core.end() || ++id != *next) return;
    for (const Literal literal : clause) {
      fmt::format_to(std::back_inserter(text), FMT_STRING("{} "), literal);
    }
    text += "0\n";
    ++next;
  });
  return text;
}

}  // namespace

ClauseProof clause_proof(const Clauses& clauses, std::span<const DratTrace* const> traces,
                         const Limits& limits) {
  Refutation refuted = refutation(clauses.variables(), clauses.literals(), traces, limits);
  return {dimacs(clauses.variables(), clauses.literals(), refuted.core), std::move(refuted.lrat)};
}

ClauseProof clause_proof(const Clauses& clauses, const DratTrace& trace, const Limits& limits) {
  const DratTrace* const whole = &trace;
  return clause_proof(clauses, std::span(&whole, 1), limits);
}

}  // namespace p2::cnf
