#include "engine/oracle/wrong_programs.h"

#include <set>

#include "engine/execution/in_process.h"
#include "engine/program/explanation.h"
#include "engine/program/notation.h"

namespace p2::oracle {
namespace {

using namespace execution;

class Changes {
 public:
  explicit Changes(const Program& program) : program_(program) {
    for (Step& step : program_.steps) step.shape.reset();
    seen_.insert(to_string(program_.steps, nullptr));
  }

  std::vector<Program> all() && {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) change(i);
    for (const Collective collective : kCollectives) {
      Program longer = program_;
      longer.steps.push_back({collective, program_.classes, std::nullopt});
      add(std::move(longer));
    }
    return std::move(changed_);
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
    for (const Collective collective : kCollectives) {
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

  void add(Program program) {
    if (seen_.insert(to_string(program.steps, nullptr)).second) {
      changed_.push_back(std::move(program));
    }
  }

  Program program_;
  std::set<std::string> seen_;
  std::vector<Program> changed_;
};

std::uint64_t wrong_elements(const Program& program, const Expectation& expectation,
                             const Inputs& inputs, std::size_t chunk_elements) {
  const Plan plan = plan_of(program);
  Job job{plan, expectation, inputs, chunk_elements};
  job.warmup = job.iterations = 0;
  job.check = Check::Result;
  std::uint64_t wrong = 0;
  for (const RankResult& rank : InProcess().run(job)) wrong += rank.audits.back().wrong;
  return wrong;
}

}  // namespace

std::vector<WrongProgram> wrong_programs(const Program& program, const Inputs& inputs,
                                         std::size_t chunk_elements, std::size_t most) {
  std::vector<WrongProgram> first;
  std::vector<WrongProgram> others;
  std::set<std::pair<std::string, bool>> met;
  for (Program& changed : Changes(program).all()) {
    const Expectation expectation(changed, Dialect::Published);
    if (!expectation.verdict().refutation) continue;
    const Refutation& refutation = *expectation.verdict().refutation;
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
  if (first.size() > most) first.resize(most);
  return first;
}

}  // namespace p2::oracle
