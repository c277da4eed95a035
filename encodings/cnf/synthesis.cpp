#include "encodings/cnf/synthesis.h"

#include <cadical.hpp>

namespace p2::cnf {
namespace {

constexpr int kSatisfiable = 10;
constexpr int kUnsatisfiable = 20;

/// Stops the solver when a limit is met.
class StopAtLimit : public CaDiCaL::Terminator {
 public:
  explicit StopAtLimit(const Limits& limits) : limits_(limits) {}
  bool terminate() override { return limits_.exceeded(0); }

 private:
  const Limits& limits_;
};

std::vector<Step> read_program(const SynthesisClauses& problem, CaDiCaL::Solver& solver) {
  std::vector<Step> program;
  for (const std::vector<Literal>& choices : problem.picked()) {
    for (std::size_t m = 0; m < choices.size(); ++m) {
      if (solver.val(choices[m]) < 0) continue;
      const Choice& choice = problem.choices()[m];
      program.push_back({choice.collective, {}, choice.shape});
    }
  }
  return program;
}

void exclude(const SynthesisClauses& problem, CaDiCaL::Solver& solver) {
  std::vector<Literal> picked;
  for (const std::vector<Literal>& choices : problem.picked()) {
    for (const Literal choice : choices) {
      if (solver.val(choice) > 0) picked.push_back(choice);
    }
  }
  for (const Literal choice : picked) solver.add(-choice);
  solver.add(0);
}

/// True when all programs of exactly this size were found.
bool enumerate_size(const SynthesisClauses& problem, const Limits& limits,
                    std::vector<std::vector<Step>>& programs) {
  CaDiCaL::Solver solver;
  solver.set("quiet", 1);
  StopAtLimit stop(limits);
  solver.connect_terminator(&stop);
  for (const Literal literal : problem.clauses().literals()) solver.add(literal);
  int answer = solver.solve();
  for (; answer == kSatisfiable; answer = solver.solve()) {
    programs.push_back(read_program(problem, solver));
    exclude(problem, solver);
  }
  solver.disconnect_terminator();
  return answer == kUnsatisfiable;
}

}  // namespace

std::string solver_version() { return CaDiCaL::Solver::version(); }

Enumerated enumerate_programs(const Instance& instance, Dialect dialect, std::uint32_t size,
                              const Limits& limits) {
  Enumerated found;
  for (std::uint32_t steps = 0; steps <= size; ++steps) {
    const SynthesisClauses problem(instance, dialect, steps);
    if (!enumerate_size(problem, limits, found.programs)) return found;
    found.settled = steps;
  }
  found.complete = true;
  return found;
}

}  // namespace p2::cnf
