#include "encodings/cnf/clause_proof.h"

#include <algorithm>

#include <fmt/format.h>

#include "encodings/cnf/proof/rup_pass.h"
#include "encodings/cnf/solver.h"
#include "engine/base/invariant.h"

namespace p2::cnf {
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
                      const DratTrace& trace, const Limits& limits) {
  const auto tick = [&] {
    if (limits.exceeded(0)) throw LimitMet{};
  };
  std::size_t lemmas = 0;
  const auto axioms = std::count(literals.begin(), literals.end(), 0);
  RupPass pass(variables, static_cast<ClauseId>(axioms));
  for_each_clause(literals, [&](std::span<const Literal> clause) { pass.axiom(clause); });
  trace.for_each([&](bool learnt, std::span<const Literal> clause) {
    if (++lemmas % 4096 == 0) tick();
    if (learnt) {
      pass.lemma(clause);
    } else {
      pass.forget(clause);
    }
    return !pass.refuted();
  });
  invariant(pass.refuted(), "the solver's proof does not end in a contradiction");
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

ClauseProof clause_proof(const Clauses& clauses, const DratTrace& trace, const Limits& limits) {
  Refutation refuted = refutation(clauses.variables(), clauses.literals(), trace, limits);
  return {dimacs(clauses.variables(), clauses.literals(), refuted.core), std::move(refuted.lrat)};
}

}  // namespace p2::cnf
