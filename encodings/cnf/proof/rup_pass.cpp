#include "encodings/cnf/proof/rup_pass.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>

namespace p2::cnf {
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

RupPass::RupPass(std::int32_t variables, ClauseId axioms)
    : clauses_(variables),
      axioms_(axioms),
      step_of_unit_(static_cast<std::size_t>(variables) + 1, 0),
      axiom_needed_(axioms, false),
      seen_(static_cast<std::size_t>(variables) + 1, false) {}

void RupPass::learn(std::span<const Literal> clause, bool is_lemma) {
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
void RupPass::propagate() {
  const std::size_t from = clauses_.trail().size() - 1;
  conflict_ = clauses_.propagate();
  for (std::size_t i = from; i < clauses_.trail().size(); ++i) {
    const Literal literal = clauses_.trail()[i];
    step_of_unit_[variable(literal)] = axioms_ + static_cast<std::uint32_t>(events_.size());
    events_.push_back({Kind::Unit, clauses_.reason(literal), literal});
  }
}

void RupPass::forget(std::span<const Literal> clause) {
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
    clauses_.sleep(entry->second);
    events_.push_back({Kind::Forgotten, entry->second});
    by_hash_.erase(entry);
    return;
  }
}

void RupPass::need(Index clause) {
  const std::uint32_t step = step_of_clause_[clause];
  if (step < axioms_) {
    axiom_needed_[step] = true;
  } else {
    events_[step - axioms_].needed = true;
  }
  hints_.push_back(step);
}

void RupPass::need_unit(Literal literal) {
  const std::uint32_t step = step_of_unit_[variable(literal)];
  events_[step - axioms_].needed = true;
  hints_.push_back(step);
}

/// Adds the hints for a clause that is assumed false: units, then reasons in the order of
/// propagation, then the conflict.
void RupPass::explain(Index conflict, std::span<const Literal> assumed) {
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
      need_unit(literal);
    } else if (clauses_.reason(literal) != kNone) {
      need(clauses_.reason(literal));
    }
  }
  for (const Literal literal : assumed) seen_[variable(literal)] = false;
  need(conflict);
}

void RupPass::show_lemma(Index clause) {
  const std::size_t facts = clauses_.trail().size();
  for (const Literal literal : clauses_.literals(clause)) {
    if (clauses_.value(literal) > 0) {
      need_unit(literal);
      return clauses_.undo(facts);
    }
    if (clauses_.value(literal) == 0) clauses_.assign(-literal, kNone);
  }
  const Index conflict = clauses_.propagate();
  if (conflict == kNone) {
    throw std::runtime_error("the solver's proof has a step that unit propagation does not give");
  }
  explain(conflict, clauses_.literals(clause));
  clauses_.undo(facts);
}

/// Undoes one event, the last that is still there; if it is needed, adds its hints.
void RupPass::show(Event& event) {
  event.hints = hints_.size();
  switch (event.kind) {
    case Kind::Forgotten:
      clauses_.wake(event.clause);
      break;
    case Kind::Lemma:
      clauses_.sleep(event.clause);
      if (event.needed) show_lemma(event.clause);
      break;
    case Kind::Unit:
      clauses_.undo(clauses_.trail().size() - 1);
      step_of_unit_[variable(event.literal)] = 0;
      for (const Literal literal : clauses_.literals(event.clause)) {
        if (event.needed && literal != event.literal) need_unit(literal);
      }
      if (event.needed) need(event.clause);
      break;
  }
  event.hints_end = hints_.size();
}

Refutation RupPass::refutation(const std::function<void()>& tick) {
  explain(conflict_, {});
  last_hints_end_ = hints_.size();
  for (std::size_t e = events_.size(); e-- > 0;) {
    if (e % 64 == 0) tick();
    show(events_[e]);
  }
  return print();
}

void RupPass::print_step(const Event& event, const std::vector<ClauseId>& number,
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

Refutation RupPass::print() const {
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

}  // namespace p2::cnf
