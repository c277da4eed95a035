#include <algorithm>
#include <optional>
#include <random>
#include <sstream>

#include <doctest/doctest.h>
#include <cadical.hpp>

#include "encodings/cnf/drat_to_lrat.h"
#include "encodings/cnf/solver.h"

using namespace p2;
using cnf::Clauses;
using cnf::Literal;

namespace {

/// Whether the clauses have a model in which exactly those of `inputs` hold that are set in `bits`,
/// and `wanted` as well.
bool possible(const Clauses& clauses, const std::vector<Literal>& inputs, unsigned bits,
              Literal wanted) {
  CaDiCaL::Solver solver;
  solver.set("quiet", 1);
  for (const Literal literal : clauses.literals()) solver.add(literal);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    solver.assume((bits >> i & 1U) != 0 ? inputs[i] : -inputs[i]);
  }
  solver.assume(wanted);
  return solver.solve() == 10;
}

/// The defined literal holds exactly if `holds(bits)` says so.
template <typename Holds>
void check_defined(const Clauses& clauses, const std::vector<Literal>& inputs, Literal defined,
                   Holds holds) {
  for (unsigned bits = 0; bits < 1U << inputs.size(); ++bits) {
    CHECK(possible(clauses, inputs, bits, defined) == holds(bits));
    CHECK(possible(clauses, inputs, bits, -defined) == !holds(bits));
  }
}

}  // namespace

TEST_CASE("conjunctions and disjunctions are defined in both directions") {
  Clauses clauses;
  const std::vector<Literal> inputs = clauses.fresh(4);
  const Literal all = clauses.all_of(inputs);
  const Literal any = clauses.any_of(inputs);
  check_defined(clauses, inputs, all, [](unsigned bits) { return bits == 15; });
  check_defined(clauses, inputs, any, [](unsigned bits) { return bits != 0; });
  check_defined(clauses, inputs, clauses.all_of({}), [](unsigned) { return true; });
  check_defined(clauses, inputs, clauses.any_of({}), [](unsigned) { return false; });
}

TEST_CASE("the counter counts every prefix") {
  Clauses clauses;
  const std::vector<Literal> inputs = clauses.fresh(5);
  const auto at_least = clauses.count(inputs);
  REQUIRE(at_least.size() == 6);
  for (unsigned i = 0; i <= 5; ++i) {
    REQUIRE(at_least[i].size() == i + 1);
    for (unsigned j = 0; j <= i; ++j) {
      check_defined(clauses, inputs, at_least[i][j], [&](unsigned bits) {
        return static_cast<unsigned>(__builtin_popcount(bits & ((1U << i) - 1))) >= j;
      });
    }
  }
}

TEST_CASE("guarded clauses demand something only under their guard") {
  Clauses clauses;
  const std::vector<Literal> inputs = clauses.fresh(3);
  const Literal lonely = clauses.fresh();
  const Literal equal = clauses.fresh();
  clauses.at_most_one_if(lonely, inputs);
  clauses.equal_if(equal, inputs[0], inputs[1]);
  for (unsigned bits = 0; bits < 8; ++bits) {
    CHECK(possible(clauses, inputs, bits, lonely) == (__builtin_popcount(bits) <= 1));
    CHECK(possible(clauses, inputs, bits, equal) == ((bits & 1U) == (bits >> 1 & 1U)));
    CHECK(possible(clauses, inputs, bits, -lonely));
    CHECK(possible(clauses, inputs, bits, -equal));
  }
}

using namespace p2;
using cnf::Literal;
using Formula = std::vector<std::vector<Literal>>;

namespace {

/// A strict reading of LRAT, written for this test alone: every hint is unit, the last one false.
bool is_refutation(const Formula& formula, const cnf::Refutation& refutation) {
  Formula clauses;
  for (const cnf::ClauseId id : refutation.core) clauses.push_back(formula[id - 1]);
  std::istringstream lines(refutation.lrat);
  std::size_t number = 0;
  while (lines >> number) {
    if (number != clauses.size() + 1) return false;
    std::vector<Literal> clause;
    std::vector<Literal> falsified;
    for (Literal l = 0; lines >> l && l != 0;) clause.push_back(l);
    falsified = clause;
    bool conflict = false;
    for (std::size_t hint = 0; lines >> hint && hint != 0;) {
      if (conflict || hint >= number) return false;
      std::vector<Literal> open;
      for (const Literal l : clauses[hint - 1]) {
        if (std::count(falsified.begin(), falsified.end(), l) == 0) open.push_back(l);
      }
      if (open.size() > 1) return false;
      conflict = open.empty();
      if (!conflict && std::count(falsified.begin(), falsified.end(), -open[0]) != 0) return false;
      if (!conflict) falsified.push_back(-open[0]);
    }
    if (!conflict) return false;
    clauses.push_back(clause);
  }
  return !clauses.empty() && clauses.back().empty();
}

Formula random_formula(std::mt19937& random, int variables, int clauses) {
  Formula formula;
  for (int i = 0; i < clauses; ++i) {
    std::vector<Literal> clause;
    while (clause.size() < 3) {
      const Literal variable =
          1 + static_cast<Literal>(random() % static_cast<unsigned>(variables));
      const auto same = [&](Literal l) { return std::abs(l) == variable; };
      if (std::any_of(clause.begin(), clause.end(), same)) continue;
      clause.push_back(random() % 2 == 0 ? variable : -variable);
    }
    if (random() % 20 == 0) clause.resize(1 + random() % 2);
    formula.push_back(clause);
  }
  return formula;
}

/// n + 1 pigeons do not fit into n holes.
Formula pigeons(int n) {
  const auto in = [n](int pigeon, int hole) { return pigeon * n + hole + 1; };
  Formula formula;
  for (int p = 0; p <= n; ++p) {
    auto& somewhere = formula.emplace_back();
    for (int h = 0; h < n; ++h) somewhere.push_back(in(p, h));
  }
  for (int h = 0; h < n; ++h) {
    for (int p = 0; p <= n; ++p) {
      for (int q = 0; q < p; ++q) formula.push_back({-in(p, h), -in(q, h)});
    }
  }
  return formula;
}

/// The refutation of what a SAT solver refutes, or nothing where there is a model. All of the
/// solver's inprocessing is on.
std::optional<cnf::Refutation> refute(const Formula& formula, int variables) {
  const cnf::DratTrace trace;
  CaDiCaL::Solver solver;
  solver.set("quiet", 1);
  REQUIRE(solver.trace_proof(trace.file(), "test"));
  for (const auto& clause : formula) {
    for (const Literal literal : clause) solver.add(literal);
    solver.add(0);
  }
  if (solver.solve() != 20) return std::nullopt;
  solver.flush_proof_trace();
  cnf::DratToLrat pass(variables, static_cast<cnf::ClauseId>(formula.size()));
  for (const auto& clause : formula) pass.axiom(clause);
  trace.for_each([&](bool learnt, std::span<const Literal> clause) {
    if (learnt) {
      pass.lemma(clause);
    } else {
      pass.erase(clause);
    }
    return !pass.refuted();
  });
  REQUIRE(pass.refuted());
  return pass.refutation([] {});
}

}  // namespace

TEST_CASE("refutations of random formulas and of pigeons become LRAT") {
  std::mt19937 random(11);
  int refuted = 0;
  for (int i = 0; i < 300; ++i) {
    const int variables = 5 + i % 60;
    const Formula formula = random_formula(random, variables, variables * 5);
    const auto refutation = refute(formula, variables);
    if (!refutation) continue;
    ++refuted;
    CHECK(is_refutation(formula, *refutation));
    CHECK(refutation->core.size() <= formula.size());
  }
  CHECK(refuted > 150);
  for (int n = 1; n <= 7; ++n) {
    const Formula formula = pigeons(n);
    CHECK(is_refutation(formula, refute(formula, n * (n + 1)).value()));
  }
}

TEST_CASE("formulas that propagation alone refutes, and the empty clause among the axioms") {
  for (const Formula& formula :
       {Formula{{1}, {-1}}, Formula{{1}, {-1, 2}, {-2, 3}, {-3}}, Formula{{2, 1}, {}}}) {
    const auto refutation = refute(formula, 3);
    REQUIRE(refutation);
    CHECK(is_refutation(formula, *refutation));
  }
}

TEST_CASE("a lemma that does not follow is found when it is needed") {
  const std::vector<std::vector<Literal>> axioms = {{1, 2}, {-1, 2, 3}, {-2, 3}};
  cnf::DratToLrat pass(3, 3);
  for (const auto& clause : axioms) pass.axiom(clause);
  pass.lemma(std::vector<Literal>{-3});
  CHECK(pass.refuted());
  CHECK_THROWS_AS(pass.refutation([] {}), ToolError);
}

TEST_CASE("a tick that throws ends the pass") {
  cnf::DratToLrat pass(2, 2);
  pass.axiom(std::vector<Literal>{1});
  pass.axiom(std::vector<Literal>{-1});
  REQUIRE(pass.refuted());
  CHECK_THROWS_AS(pass.refutation([] { throw 1; }), int);
}
