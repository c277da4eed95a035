#include "encodings/cnf/clauses.h"

#include <doctest/doctest.h>
#include <cadical.hpp>

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
