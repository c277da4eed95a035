#include "proofs/definition/solver_query.h"

#include "encodings/z3/arithmetic.h"
#include "encodings/z3/budget.h"
#include "proofs/definition/shape.h"
#include "proofs/definition/symbolic_step.h"

namespace p2::definition {
namespace {

/// Z3's units of work after which a claim with quantifiers is given up: it may not end otherwise.
constexpr std::uint64_t kWorkOfProof = 300'000;

/// How many contributions the state holds.
z3_encoding::Value amount_in(z3::context& context, const z3_encoding::GroupRows& rows) {
  const z3_encoding::Arithmetic arithmetic(context);
  std::vector<z3_encoding::Value> counts;
  for (std::uint32_t i = 0; i < rows.positions(); ++i) {
    for (std::uint32_t r = 0; r < rows.chunks(); ++r) {
      counts.push_back(arithmetic.count_lanes(rows.row(i, r)));
    }
  }
  return arithmetic.sum(counts);
}

}  // namespace

Answer find_state(z3::context& context, const z3_encoding::GroupRows& rows,
                  const z3::expr& condition, const Limits& limits, bool smallest) {
  const z3_encoding::Meter meter(context, z3_encoding::budget_of(limits));
  const z3_encoding::Arithmetic arithmetic(context);
  z3::solver solver(context, "QF_BV");
  const auto check = [&] { return meter.check(solver, z3::expr_vector(context)); };
  solver.add(condition);
  z3::check_result result = check();
  Answer answer{result != z3::unknown, std::nullopt};
  while (result == z3::sat) {
    answer.state = state_in(solver.get_model(), rows);
    const std::uint32_t held = amount(*answer.state);
    if (!smallest || held == 0) break;
    const z3_encoding::Value fewer =
        arithmetic.less(amount_in(context, rows), z3_encoding::Value::of(held));
    if (!fewer.term) break;
    solver.add(*fewer.term);
    result = check();
  }
  return answer;
}

bool prove(z3::context& context, const z3::expr& claim, const Limits& limits) {
  Limits bounded = limits;
  if (!bounded.work) bounded.work = kWorkOfProof;
  const z3_encoding::Meter meter(context, z3_encoding::budget_of(bounded));
  z3::solver solver(context);
  solver.add(!claim);
  return meter.check(solver, z3::expr_vector(context)) == z3::unsat;
}

}  // namespace p2::definition
