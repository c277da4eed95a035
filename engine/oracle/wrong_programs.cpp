#include "engine/oracle/test_vectors.h"

#include <set>

#include "engine/execution/in_process.h"
#include "engine/execution/program_run.h"
#include "engine/program/derivation.h"
#include "engine/program/program.h"

namespace p2::vectors {
namespace {

using namespace execution;

/// All programs that differ from one by a single change.
class Mutants {
 public:
  explicit Mutants(const Program& program) : program_(program) {
    for (Step& step : program_.steps) step.shape.reset();
    seen_.insert(text_of(program_));
  }

  std::vector<Program> all() && {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) change(i);
    for (const Collective collective : program_.terms.collectives.all()) {
      Program longer = program_;
      longer.steps.push_back({collective, program_.classes, std::nullopt});
      add(std::move(longer));
    }
    return std::move(mutants_);
  }

 private:
  void change(std::size_t i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    Program shorter = program_;
    shorter.steps.erase(shorter.steps.begin() + at);
    add(std::move(shorter));
    Program doubled = program_;
    doubled.steps.insert(doubled.steps.begin() + at, Step(program_.steps[i]));
    add(std::move(doubled));
    if (i + 1 < program_.steps.size()) {
      Program exchanged = program_;
      std::swap(exchanged.steps[i], exchanged.steps[i + 1]);
      add(std::move(exchanged));
    }
    for (const Collective collective : program_.terms.collectives.all()) {
      Program other = program_;
      other.steps[i].collective = collective;
      add(std::move(other));
    }
    for (std::size_t g = 0; g < program_.steps[i].groups.size(); ++g) {
      if (program_.steps[i].groups[g].size() < 3) continue;
      Program smaller = program_;
      smaller.steps[i].groups[g].pop_back();
      add(std::move(smaller));
    }
  }

  static std::string text_of(const Program& program) {
    return to_string(program.steps, nullptr, program.terms.collectives);
  }

  void add(Program program) {
    if (seen_.insert(text_of(program)).second) {
      mutants_.push_back(std::move(program));
    }
  }

  Program program_;
  std::set<std::string> seen_;
  std::vector<Program> mutants_;
};

std::uint64_t wrong_elements(const Program& program, const Expectation& expectation,
                             const Inputs& inputs, std::size_t chunk_elements) {
  const Plan plan = plan_of(program);
  const ProgramRun run(plan, expectation, inputs, chunk_elements);
  Job job{run};
  job.warmup = job.iterations = 0;
  job.check = Check::Result;
  std::uint64_t wrong = 0;
  for (const RankResult& rank : InProcess().run(job)) wrong += rank.audits.back().wrong;
  return wrong;
}

}  // namespace

std::vector<WrongProgram> wrong_programs(const Program& program, const Inputs& inputs,
                                         std::size_t chunk_elements, std::size_t max_count) {
  std::vector<WrongProgram> first;
  std::vector<WrongProgram> others;
  std::set<std::pair<std::string, bool>> met;
  for (Program& changed : Mutants(program).all()) {
    const Expectation expectation(changed, Dialect::Published);
    if (!expectation.decision().violation) continue;
    const Refutation& refutation = *expectation.decision().violation;
    WrongProgram wrong;
    wrong.step = refutation.step;
    wrong.rule = rule_name(refutation);
    wrong.reason = explain(refutation, changed, nullptr);
    wrong.wrong_elements = wrong_elements(changed, expectation, inputs, chunk_elements);
    wrong.program = std::move(changed);
    const bool is_new = met.emplace(wrong.rule, wrong.wrong_elements > 0).second;
    (is_new ? first : others).push_back(std::move(wrong));
  }
  for (WrongProgram& other : others) first.push_back(std::move(other));
  if (first.size() > max_count) first.resize(max_count);
  return first;
}

}  // namespace p2::vectors
