#include "encodings/cnf/absence.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "encodings/cnf/clause_proof.h"
#include "encodings/cnf/coordinates.h"
#include "encodings/cnf/synthesis_clauses.h"
#include "engine/base/invariant.h"

namespace p2::cnf {
namespace {

/// Finds the choice that a step of the engine is.
class ChoiceNumbers {
 public:
  ChoiceNumbers(const Coordinates& coordinates, const SynthesisClauses& problem)
      : coordinates_(coordinates) {
    for (std::uint32_t m = 0; m < problem.choices().size(); ++m) {
      const Choice& choice = problem.choices()[m];
      numbers_[{problem.stage().shapes[choice.shape].groups, choice.collective}] = m;
    }
  }

  std::uint32_t of(const Step& step) {
    const GroupShape& shape = *step.shape;
    auto& groups = groups_[{shape.slice, shape.form, shape.ancestor}];
    if (groups.empty()) groups = coordinates_.groups(shape);
    const auto found = numbers_.find({groups, step.collective});
    invariant(found != numbers_.end(), "a listed program makes a choice that there is not");
    return found->second;
  }

 private:
  const Coordinates& coordinates_;
  std::map<std::pair<std::vector<Group>, Collective>, std::uint32_t> numbers_;
  std::map<std::tuple<std::vector<std::uint32_t>, Form, std::vector<std::uint32_t>>,
           std::vector<Group>>
      groups_;
};

using Numbered = std::vector<std::vector<std::uint32_t>>;

Numbered in_numbers(const std::vector<std::vector<Step>>& programs, ChoiceNumbers numbers) {
  Numbered numbered;
  for (const std::vector<Step>& program : programs) {
    auto& choices = numbered.emplace_back();
    for (const Step& step : program) choices.push_back(numbers.of(step));
  }
  std::sort(numbered.begin(), numbered.end());
  return numbered;
}

/// Adds that the goal is reached by a program that is searched for, and returns the choices of
/// which it makes one.
std::vector<std::uint32_t> require(SynthesisClauses& problem,
                                   const std::function<bool(const Step&)>& uses,
                                   const Numbered& known) {
  problem.clauses().add({problem.done().back()});
  std::vector<std::uint32_t> wanted;
  if (uses) {
    for (std::uint32_t m = 0; m < problem.choices().size(); ++m) {
      if (uses(problem.step(m))) wanted.push_back(m);
    }
    std::vector<Literal> used;
    for (const std::vector<Literal>& picks : problem.picked()) {
      for (const std::uint32_t m : wanted) used.push_back(picks[m]);
    }
    problem.clauses().add(used);
  }
  for (const auto& program : known) {
    std::vector<Literal> other;
    for (const std::uint32_t choice : program) {
      other.push_back(-problem.picked()[other.size()][choice]);
    }
    problem.clauses().add(other);
  }
  return wanted;
}

std::string varmap(const SynthesisClauses& problem) {
  std::string text = "true 1\n";
  for (std::size_t t = 0; t < problem.moments().size(); ++t) {
    if (t < problem.picked().size() && !problem.choices().empty()) {
      text += fmt::format("picked {} {}\n", t, problem.picked()[t][0]);
    }
    text += fmt::format("cells {} {}\ndone {} {}\n", t, problem.moments()[t].cell(0, 0, 0), t,
                        problem.done()[t]);
  }
  return text;
}

/// Throws LimitMet.
Absence settle(const SynthesisClauses& problem, Numbered known, std::vector<std::uint32_t> uses,
               const Limits& limits) {
  Absence answer;
  const DratTrace trace;
  Solver solver(limits);
  solver.write_proof(trace);
  solver.add(problem.clauses().literals());
  if (solver.possible()) {
    answer.found = problem.program(problem.picks(solver));
    answer.kind = Absence::Kind::Found;
    return answer;
  }
  solver.finish_proof();
  ClauseProof refuted = clause_proof(problem.clauses(), trace, limits);
  AbsenceProof& proof = answer.proof;
  for (std::size_t m = 0; m < problem.choices().size(); ++m) {
    proof.choices.push_back(problem.step(m));
  }
  proof.programs = std::move(known);
  proof.uses = std::move(uses);
  proof.cnf = std::move(refuted.cnf);
  proof.varmap = varmap(problem);
  proof.lrat = std::move(refuted.lrat);
  answer.kind = Absence::Kind::Absent;
  return answer;
}

}  // namespace

Absence refute(const Instance& instance, Dialect dialect, std::uint32_t size, const Search& search,
               const Limits& limits) try {
  const Coordinates coordinates(instance);
  SynthesisClauses problem(coordinates.stage(), dialect, size, limits);
  Numbered known = in_numbers(search.known, ChoiceNumbers(coordinates, problem));
  std::vector<std::uint32_t> uses = require(problem, search.uses, known);
  return settle(problem, std::move(known), std::move(uses), limits);
} catch (const LimitMet&) {
  return {};
}

Absence refute(Stage stage, std::uint32_t size, const std::function<bool(const Step& step)>& uses,
               const Limits& limits) try {
  SynthesisClauses problem(std::move(stage), Dialect::Published, size, limits);
  return settle(problem, {}, require(problem, uses, {}), limits);
} catch (const LimitMet&) {
  return {};
}

}  // namespace p2::cnf
