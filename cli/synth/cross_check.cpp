#include "cli/synth/cross_check.h"

#include <map>

#include <fmt/format.h>

#include "proofs/api/reference_run.h"
#include "encodings/cnf/synthesis.h"
#include "engine/program/notation.h"

namespace p2 {
namespace {

/// Programs with the groups of the whole system, by their text.
using Lowered = std::map<std::string, std::vector<Step>>;

/// So many programs of each side are run again.
constexpr std::size_t kMostReruns = 16;

void add(std::vector<Step> steps, const CollectiveSet& collectives, Lowered& programs) {
  std::string text = to_string(steps, nullptr, collectives);
  programs.emplace(std::move(text), std::move(steps));
}

Lowered listed(const PlacementPrograms& found) {
  Lowered programs;
  found.for_each_lowered(
      [&](const Program& program) { add(program.steps, program.terms.collectives, programs); });
  return programs;
}

/// One placement, its list, and how long the solvers may take.
struct Question {
  const PlacementPrograms& placement;
  const SynthesisOptions& options;
  Lowered list;

  /// The programs of `some` that are not among `others`, with what the reference run says.
  std::vector<std::string> only_in(const Lowered& some, const Lowered& others,
                                   std::map<std::string, Finding>& reference) const {
    std::vector<std::string> alone;
    for (const auto& [text, steps] : some) {
      if (others.contains(text)) continue;
      alone.push_back(text);
      if (alone.size() > kMostReruns) continue;
      reference[text] = ReferenceRun(placement.program(steps), options.dialect,
                                     options.terms.collectives.definitions(), options.limits)
                            .finding();
    }
    return alone;
  }

  Comparison compare(std::string engine, std::optional<std::uint32_t> settled,
                     const Lowered& found) const {
    Comparison comparison;
    comparison.engine = std::move(engine);
    comparison.complete = settled == options.size;
    comparison.settled = settled;
    comparison.found = found.size();
    comparison.missing = only_in(found, list, comparison.reference);
    if (!settled) return comparison;
    Lowered owed = list;
    std::erase_if(owed, [&](const auto& program) { return program.second.size() > *settled; });
    comparison.extra = only_in(owed, found, comparison.reference);
    return comparison;
  }
};

/// A program of a solver, whose shapes name the same groups on the whole system.
std::vector<Step> lowered(const Instance& instance, std::vector<Step> steps) {
  for (Step& step : steps) {
    step.shape = with_pattern(instance.hierarchy, *step.shape);
    step.groups = lower(instance.grid, *step.shape, step.collective).groups;
  }
  return steps;
}

Comparison by_cnf(const Question& question) {
  const SynthesisOptions& options = question.options;
  const Instance& instance = question.placement.instance();
  cnf::Enumerated answer =
      cnf::enumerate_programs(instance, options.dialect, options.size, options.limits);
  Lowered programs;
  for (std::vector<Step>& steps : answer.programs) {
    add(lowered(instance, std::move(steps)), {}, programs);
  }
  return question.compare("cnf", answer.settled, programs);
}

Comparison by_z3(const Question& question, const Engines& engines) {
  const auto answer = enumerate(query_of(question.placement, question.options, engines));
  Lowered programs;
  for (const z3_encoding::Choices& choices : answer.programs) {
    std::vector<Step> steps;
    for (const std::uint32_t choice : choices) {
      const z3_encoding::Instruction& instruction = answer.instructions[choice];
      steps.push_back({static_cast<Collective>(instruction.rule), instruction.groups,
                       with_pattern(question.placement.instance().hierarchy, instruction.shape)});
    }
    add(std::move(steps), question.options.terms.collectives, programs);
  }
  return question.compare("z3", answer.settled, programs);
}

/// What a solver had done when it met a limit.
std::string so_far(const Comparison& comparison) {
  const std::string settled =
      comparison.settled ? fmt::format("programs of at most {} step{} are settled",
                                       *comparison.settled, *comparison.settled == 1 ? "" : "s")
                         : "nothing is settled";
  return fmt::format("{}: stopped at a limit: {}, {} found so far, all in the list",
                     comparison.engine, settled, comparison.found);
}

}  // namespace

z3_encoding::SynthesisQuery query_of(const PlacementPrograms& found,
                                     const SynthesisOptions& options, const Engines& engines) {
  z3_encoding::SynthesisQuery query;
  query.instance = &found.instance();
  query.dialect = options.dialect;
  query.size = options.size;
  query.definitions = engines.z3_definitions;
  query.goal = options.terms.goal;
  query.beginning = found.beginning();
  query.budget = z3_encoding::budget_of(options.limits);
  return query;
}

Comparison contradiction(const PlacementPrograms& found, const SynthesisOptions& options,
                         std::vector<Step> missing) {
  Lowered programs;
  add(lowered(found.instance(), std::move(missing)), {}, programs);
  return Question{found, options, listed(found)}.compare("cnf", {}, programs);
}

std::string to_text(const Comparison& comparison, std::uint64_t count) {
  if (!comparison.differs()) {
    return comparison.complete
               ? fmt::format("{}: the same {}, and refuted that there is another",
                             comparison.engine,
                             count == 1 ? "program" : fmt::format("{} programs", count))
               : so_far(comparison);
  }
  std::string text = comparison.engine + ": DISAGREES with the list";
  const auto name = [&](const std::string& who, const std::vector<std::string>& programs) {
    for (const std::string& program : programs) {
      text += fmt::format("\n  only {}: {}", who, program);
      const auto run = comparison.reference.find(program);
      if (run == comparison.reference.end()) continue;
      text += fmt::format("\n    reference: {}", to_string(run->second));
    }
  };
  name(comparison.engine, comparison.missing);
  name("in the list", comparison.extra);
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
  std::string reference;
  for (const auto& [program, finding] : comparison.reference) {
    reference +=
        fmt::format("{}\"{}\":{}", reference.empty() ? "" : ",", program, to_json(finding));
  }
  if (!reference.empty()) reference = fmt::format(",\"reference\":{{{}}}", reference);
  const std::string settled = comparison.settled ? std::to_string(*comparison.settled) : "null";
  return fmt::format(
      "{{\"engine\":\"{}\",\"complete\":{},\"settled_size\":{},\"found\":{},"
      "\"missing\":{},\"extra\":{}{}}}",
      comparison.engine, comparison.complete, settled, comparison.found,
      strings(comparison.missing), strings(comparison.extra), reference);
}

std::vector<Comparison> compare_with_solvers(const PlacementPrograms& found,
                                             const SynthesisOptions& options,
                                             const Engines& engines) {
  const Question question{found, options, listed(found)};
  std::vector<Comparison> comparisons;
  if (engines.z3) comparisons.push_back(by_z3(question, engines));
  if (engines.cnf) comparisons.push_back(by_cnf(question));
  return comparisons;
}

}  // namespace p2
