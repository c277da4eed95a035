#include "encodings/cnf/synthesis.h"

#include "encodings/cnf/coordinates.h"
#include "encodings/cnf/solver.h"
#include "encodings/cnf/synthesis_clauses.h"

namespace p2::cnf {
Enumerated enumerate_programs(const Instance& instance, Dialect dialect, std::uint32_t size,
                              const Limits& limits) {
  Enumerated found;
  try {
    const SynthesisClauses problem(Coordinates(instance).stage(), dialect, size, limits);
    Solver solver(limits);
    solver.add(problem.clauses().literals());
    for (std::uint32_t steps = 0; steps <= size; ++steps) {
      while (solver.possible(problem.done()[steps])) {
        const std::vector<Literal> picks = problem.picks(solver);
        found.programs.push_back(problem.program(picks));
        solver.exclude(picks);
      }
      found.settled = steps;
    }
    found.complete = true;
  } catch (const LimitMet&) {
  }
  return found;
}

}  // namespace p2::cnf
