#include "encodings/cnf/clauses.h"

namespace p2::cnf {

namespace {

const Limits kNoLimits;

}  // namespace

Clauses::Clauses() : Clauses(kNoLimits) {}

Clauses::Clauses(const Limits& limits) : watch_(limits, "building clauses") { add({fresh()}); }

Literal Clauses::fresh() { return ++variables_; }

std::vector<Literal> Clauses::fresh(std::size_t count) {
  watch_.require_room(count * sizeof(Literal));
  std::vector<Literal> literals(count);
  for (Literal& literal : literals) literal = fresh();
  return literals;
}

void Clauses::add(std::initializer_list<Literal> clause) {
  add(std::span<const Literal>(clause.begin(), clause.size()));
}

void Clauses::add(std::span<const Literal> clause) {
  watch_.step();
  watch_.require_growth(literals_, clause.size() + 1);
  literals_.insert(literals_.end(), clause.begin(), clause.end());
  literals_.push_back(0);
}

Literal Clauses::all_of(std::span<const Literal> literals) {
  const Literal all = fresh();
  std::vector<Literal> converse{all};
  for (const Literal literal : literals) {
    add({-all, literal});
    converse.push_back(-literal);
  }
  add(converse);
  return all;
}

Literal Clauses::any_of(std::span<const Literal> literals) {
  const Literal any = fresh();
  std::vector<Literal> some{-any};
  for (const Literal literal : literals) {
    add({any, -literal});
    some.push_back(literal);
  }
  add(some);
  return any;
}

void Clauses::equal_if(Literal guard, Literal a, Literal b) {
  add({-guard, -a, b});
  add({-guard, a, -b});
}

void Clauses::at_most_one_if(Literal guard, std::span<const Literal> literals) {
  for (std::size_t i = 0; i < literals.size(); ++i) {
    for (std::size_t j = i + 1; j < literals.size(); ++j) {
      add({-guard, -literals[i], -literals[j]});
    }
  }
}

std::vector<std::vector<Literal>> Clauses::count(std::span<const Literal> literals) {
  std::vector<std::vector<Literal>> at_least{{truth()}};
  for (std::size_t i = 1; i <= literals.size(); ++i) {
    const std::vector<Literal>& before = at_least.back();
    const Literal last = literals[i - 1];
    std::vector<Literal> now{truth()};
    for (std::size_t j = 1; j <= i; ++j) {
      // At least j of i: at least j before, or j − 1 before and the last one.
      const Literal enough = j < before.size() ? before[j] : -truth();
      const Literal together[] = {before[j - 1], last};
      const Literal either[] = {enough, all_of(together)};
      now.push_back(any_of(either));
    }
    at_least.push_back(std::move(now));
  }
  return at_least;
}

}  // namespace p2::cnf
