#include "cli/cross_check.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "encodings/cnf/synthesis.h"
#include "encodings/z3/synthesis.h"
#include "encodings/z3/validity.h"
#include "engine/program/notation.h"

namespace p2 {
namespace {

using Lowered = std::set<std::string>;

z3_encoding::Budget budget_of(const Limits& limits) {
  z3_encoding::Budget budget;
  if (limits.deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        *limits.deadline - std::chrono::steady_clock::now());
    budget.timeout = std::max(left, std::chrono::milliseconds{1});
  }
  budget.rlimit = limits.work;
  return budget;
}

Lowered listed(const PlacementPrograms& found) {
  Lowered programs;
  found.for_each_lowered(
      [&](const Program& program) { programs.insert(to_string(program.steps, nullptr)); });
  return programs;
}

/// A program of the solver as the groups of the whole system: shapes name the same groups there.
std::string lowered(const Instance& instance, std::vector<Step> steps) {
  for (Step& step : steps) step.groups = lower(instance.grid, *step.shape, step.collective).groups;
  return to_string(steps, nullptr);
}

Comparison compare(std::string engine, bool complete, const Lowered& list, const Lowered& found) {
  Comparison comparison{std::move(engine), complete, {}, {}};
  std::set_difference(found.begin(), found.end(), list.begin(), list.end(),
                      std::back_inserter(comparison.missing));
  if (!complete) return comparison;
  std::set_difference(list.begin(), list.end(), found.begin(), found.end(),
                      std::back_inserter(comparison.extra));
  return comparison;
}

/// The shape with its pattern, which the solvers leave open.
GroupShape named(const Instance& instance, const GroupShape& shape) {
  if (instance.hierarchy.is_lattice()) {
    return lattice_shape(instance.hierarchy, shape.slice, shape.ancestor);
  }
  return linear_shape(instance.hierarchy, shape.slice[0], shape.form,
                      shape.ancestor.empty() ? 0 : shape.ancestor[0]);
}

Comparison by_cnf(const Instance& instance, const SynthesisOptions& options, const Lowered& list) {
  cnf::Enumerated answer =
      cnf::enumerate_programs(instance, options.dialect, options.size, options.limits);
  Lowered programs;
  for (std::vector<Step>& steps : answer.programs) {
    for (Step& step : steps) step.shape = named(instance, *step.shape);
    programs.insert(lowered(instance, std::move(steps)));
  }
  return compare("cnf", answer.complete, list, programs);
}

Comparison by_z3(const Instance& instance, const SynthesisOptions& options, const Lowered& list) {
  z3_encoding::SynthesisQuery query;
  query.instance = &instance;
  query.dialect = options.dialect;
  query.size = options.size;
  query.budget = budget_of(options.limits);
  const z3_encoding::SynthesisAnswer answer = z3_encoding::enumerate(query);
  Lowered programs;
  for (const z3_encoding::Choices& choices : answer.programs) {
    std::vector<Step> steps;
    for (const std::uint32_t choice : choices) {
      const z3_encoding::Instruction& instruction = answer.instructions[choice];
      steps.push_back({kCollectives[instruction.rule], instruction.groups, std::nullopt});
    }
    programs.insert(to_string(steps, nullptr));
  }
  return compare("z3", answer.complete, list, programs);
}

}  // namespace

std::string z3_verdict(const ProgramFile& file, const Limits& limits) {
  z3_encoding::ValidityQuery query;
  query.program = &file.program;
  query.instance = file.instance ? &*file.instance : nullptr;
  query.dialect = file.dialect;
  query.budget = budget_of(limits);
  switch (z3_encoding::judge(query).kind) {
    case z3_encoding::Judgement::Kind::Valid:
      return "valid";
    case z3_encoding::Judgement::Kind::Invalid:
      return "invalid";
    case z3_encoding::Judgement::Kind::Unknown:
      return "unknown";
  }
  return "unknown";
}

std::string to_text(const Comparison& comparison, std::uint64_t count) {
  if (!comparison.differs()) {
    return comparison.complete
               ? fmt::format("{}: the same {}, and refuted that there is another",
                             comparison.engine,
                             count == 1 ? "program" : fmt::format("{} programs", count))
               : fmt::format("{}: stopped at a limit, nothing found so far contradicts the list",
                             comparison.engine);
  }
  std::string text = comparison.engine + ": DISAGREES with the list";
  for (const std::string& program : comparison.missing)
    text += "\n  only " + comparison.engine + ": " + program;
  for (const std::string& program : comparison.extra) text += "\n  only in the list: " + program;
  return text;
}

std::string to_json(const Comparison& comparison) {
  const auto strings = [](const std::vector<std::string>& programs) {
    std::string text;
    for (const std::string& program : programs) {
      text += fmt::format("{}\"{}\"", text.empty() ? "" : ",", program);
    }
    return "[" + text + "]";
  };
  return fmt::format("{{\"engine\":\"{}\",\"complete\":{},\"missing\":{},\"extra\":{}}}",
                     comparison.engine, comparison.complete, strings(comparison.missing),
                     strings(comparison.extra));
}

Engines engines_called(const std::string& name, bool with_cnf) {
  if (name == "explicit") return {};
  if (name == "z3") return {true, false};
  if (name == "cnf" && with_cnf) return {false, true};
  if (name == "all") return {true, with_cnf};
  throw InputError({"--engine"}, fmt::format("unknown '{}', expected explicit, z3{} or all", name,
                                             with_cnf ? ", cnf" : ""));
}

bool disagree(const EngineVerdicts& verdicts) {
  std::set<std::string> decided;
  for (const auto& [engine, verdict] : verdicts) {
    if (verdict != "unknown") decided.insert(verdict);
  }
  return decided.size() > 1;
}

std::vector<Comparison> compare_with_solvers(const PlacementPrograms& found,
                                             const SynthesisOptions& options,
                                             const Engines& engines) {
  const Lowered list = listed(found);
  std::vector<Comparison> comparisons;
  if (engines.z3) comparisons.push_back(by_z3(found.instance(), options, list));
  if (engines.cnf) comparisons.push_back(by_cnf(found.instance(), options, list));
  return comparisons;
}

}  // namespace p2
