#include "encodings/cnf/solver.h"

#include <algorithm>
#include <limits>

#include "encodings/cnf/synthesis.h"
#include "engine/base/invariant.h"

namespace p2::cnf {

std::string solver_version() { return CaDiCaL::Solver::version(); }

Solver::Solver(const Limits& limits) : limits_(limits) {
  solver_.set("quiet", 1);
  solver_.set("inprocessing", 0);
  solver_.connect_terminator(this);
}

Solver::~Solver() { solver_.disconnect_terminator(); }

void Solver::write_proof(const DratTrace& trace) {
  invariant(solver_.trace_proof(trace.file(), "proof"), "the solver refuses to write a proof");
}

void Solver::add(std::span<const Literal> clauses) {
  bytes_ += clauses.size() * sizeof(Literal);
  for (const Literal literal : clauses) solver_.add(literal);
}

void Solver::exclude(std::span<const Literal> literals) {
  for (const Literal literal : literals) solver_.add(-literal);
  solver_.add(0);
}

bool Solver::possible(Literal assumed) {
  solver_.assume(assumed);
  return possible();
}

bool Solver::possible() {
  if (terminate()) throw LimitMet{};
  if (limits_.work) {
    constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
    solver_.limit("conflicts", static_cast<int>(std::min(*limits_.work, kMost)));
  }
  const int answer = solver_.solve();
  if (answer == 0) throw LimitMet{};
  return answer == 10;
}

}  // namespace p2::cnf
