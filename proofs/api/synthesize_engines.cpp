// Cross-checks of the explicit search: the programs of a placement are enumerated again by Z3 and
// by a SAT solver, and a property of programs is decided by each engine.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "encodings/cnf/synthesis.h"
#include "engine/program/program.h"
#include "p2/error.h"
#include "proofs/api/reference_run.h"
#include "proofs/api/synthesize.h"

namespace p2 {
namespace {

/// Programs by their text, which has the groups of the whole system; the steps are without groups,
/// which would be most of the memory.
using LoweredPrograms = std::map<std::string, std::vector<Step>>;

/// Bound on the programs of each side that are replayed.
constexpr std::size_t kMaxReplays = 16;

void add(std::vector<Step> steps, const CollectiveSet& collectives, LoweredPrograms& programs) {
  std::string text = to_string(steps, nullptr, collectives);
  for (Step& step : steps) step.groups = {};
  programs.emplace(std::move(text), std::move(steps));
}

/// Throws LimitReached.
LoweredPrograms lowered_list(const PlacementPrograms& found, const Limits& limits) {
  LoweredPrograms programs;
  found.for_each_lowered([&](const Program& program) {
    limits.require(0, "lowering the list of programs");
    add(program.steps, program.terms.collectives, programs);
  });
  return programs;
}

/// A program without groups with those of the whole system.
std::vector<Step> lowered(const Instance& instance, std::vector<Step> steps) {
  for (Step& step : steps) {
    step.shape = with_pattern(instance.hierarchy, *step.shape);
    step.groups = lower(instance.grid, *step.shape, step.collective).groups;
  }
  return steps;
}

/// The list of one placement, with which the programs of a solver are compared.
struct ListOf {
  const PlacementPrograms& placement;
  const SynthesisOptions& options;
  LoweredPrograms list;

  /// The programs of `some` of at most `size` steps that `others` lacks; replays the first of them.
  std::vector<std::string> only_in(const LoweredPrograms& some, std::size_t size,
                                   const LoweredPrograms& others,
                                   std::vector<ListComparison::Replay>& replays) const {
    std::vector<std::string> alone;
    for (const auto& [text, steps] : some) {
      if (steps.size() > size || others.contains(text)) continue;
      alone.push_back(text);
      if (alone.size() > kMaxReplays) continue;
      const Program program = placement.program(lowered(placement.instance(), steps));
      const ReferenceRun run(program, options.dialect, options.terms.collectives.definitions(),
                             options.limits);
      replays.push_back({text, run.answer()});
    }
    return alone;
  }

  ListComparison compare(std::string engine, std::optional<std::uint32_t> settled,
                         const LoweredPrograms& found) const {
    ListComparison comparison;
    comparison.engine = std::move(engine);
    comparison.complete = settled == options.size;
    comparison.settled_size = settled;
    comparison.found = found.size();
    comparison.missing = only_in(found, options.size, list, comparison.replays);
    if (settled) comparison.extra = only_in(list, *settled, found, comparison.replays);
    std::ranges::sort(comparison.replays, {}, &ListComparison::Replay::program);
    return comparison;
  }
};

ListComparison compare_with_cnf(const ListOf& subject) {
  const SynthesisOptions& options = subject.options;
  const Instance& instance = subject.placement.instance();
  cnf::Enumerated answer =
      cnf::enumerate_programs(instance, options.dialect, options.size, options.limits);
  LoweredPrograms programs;
  for (std::vector<Step>& steps : answer.programs) {
    add(lowered(instance, std::move(steps)), {}, programs);
  }
  return subject.compare("cnf", answer.settled, programs);
}

ListComparison compare_with_z3(const ListOf& subject, const Engines& engines) {
  const auto answer = enumerate(query_of(subject.placement, subject.options, engines));
  const SynthesisHierarchy& hierarchy = subject.placement.instance().hierarchy;
  LoweredPrograms programs;
  for (const z3_encoding::Choices& choices : answer.programs) {
    std::vector<Step> steps;
    for (const std::uint32_t choice : choices) {
      const z3_encoding::Instruction& instruction = answer.instructions[choice];
      steps.push_back({static_cast<Collective>(instruction.rule), instruction.groups,
                       with_pattern(hierarchy, instruction.shape)});
    }
    add(std::move(steps), subject.options.terms.collectives, programs);
  }
  return subject.compare("z3", answer.settled, programs);
}

std::string text_of_limit(const ListComparison& comparison) {
  const std::string settled =
      comparison.settled_size
          ? fmt::format("programs of at most {} step{} are settled", *comparison.settled_size,
                        *comparison.settled_size == 1 ? "" : "s")
          : "nothing is settled";
  return fmt::format("{}: stopped at a limit: {}, {} found so far, all in the list",
                     comparison.engine, settled, comparison.found);
}

/// The text of a program that has the property asked about.
std::string text_of(const std::vector<Step>& steps, const PlacementPrograms& found,
                    const SynthesisQuestion& question) {
  return to_string(steps, &found.instance(), question.search.terms.collectives);
}

bool holds_for(const ProgramProperty& property, const Step& step) {
  return property.holds_for(step.collective, *step.shape);
}

/// The first program of the list with the property.
ExistenceAnswer find_in_list(const PlacementPrograms& found, const SynthesisQuestion& question) {
  const std::uint32_t settled = found.list().settled();
  ExistenceAnswer answer{
      std::string(to_string(found.list().engine())), Outcome::Refuted, {}, settled};
  found.for_each([&](const std::vector<Step>& steps) {
    if (answer.outcome == Outcome::Established) return;
    const bool used = std::ranges::any_of(
        steps, [&](const Step& step) { return holds_for(*question.property, step); });
    if (used != question.property->used) return;
    answer.outcome = Outcome::Established;
    answer.program = text_of(steps, found, question);
  });
  if (answer.outcome == Outcome::Refuted && settled < question.search.size) {
    answer.outcome = Outcome::Undecided;
  }
  return answer;
}

ExistenceAnswer find_with_z3(const PlacementPrograms& found, const SynthesisQuestion& question) {
  const ProgramProperty& property = *question.property;
  z3_encoding::SynthesisQuery query = query_of(found, question.search, question.engines);
  query.property = {[&](const z3_encoding::Instruction& instruction, const auto&) {
                      return property.holds_for(static_cast<Collective>(instruction.rule),
                                                instruction.shape);
                    },
                    property.used};
  const z3_encoding::ExistenceAnswer by_z3 = find_one(query);
  ExistenceAnswer answer{"z3", by_z3.outcome, {}, by_z3.settled};
  if (answer.outcome == Outcome::Established) {
    std::vector<Step> steps;
    for (const std::uint32_t choice : by_z3.witness) {
      const z3_encoding::Instruction& instruction = by_z3.instructions[choice];
      steps.push_back({static_cast<Collective>(instruction.rule), {}, instruction.shape});
    }
    answer.program = text_of(steps, found, question);
  }
  return answer;
}

ExistenceAnswer find_with_cnf(const PlacementPrograms& found, const SynthesisQuestion& question) {
  const SynthesisOptions& options = question.search;
  const cnf::Absence absence =
      cnf::refute(found.instance(), options.dialect, options.size,
                  {.uses = [&](const Step& step) { return holds_for(*question.property, step); }},
                  options.limits);
  switch (absence.kind) {
    case cnf::Absence::Kind::Absent:
      return {"cnf", Outcome::Refuted, {}, options.size};
    case cnf::Absence::Kind::Found:
      return {"cnf", Outcome::Established, text_of(absence.found, found, question), {}};
    case cnf::Absence::Kind::Unknown:
      break;
  }
  return {"cnf"};
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
  query.limits = options.limits;
  return query;
}

ListComparison contradiction(const PlacementPrograms& found, const SynthesisOptions& options,
                             std::vector<Step> missing) {
  LoweredPrograms programs;
  add(lowered(found.instance(), std::move(missing)), {}, programs);
  return ListOf{found, options, lowered_list(found, options.limits)}.compare("cnf", {}, programs);
}

std::vector<ListComparison> compare_with_solvers(const PlacementPrograms& found,
                                                 const SynthesisOptions& options,
                                                 const Engines& engines) {
  if (!engines.z3 && !engines.cnf) return {};
  std::vector<ListComparison> comparisons;
  try {
    const ListOf subject{found, options, lowered_list(found, options.limits)};
    if (engines.z3) comparisons.push_back(compare_with_z3(subject, engines));
    if (engines.cnf) comparisons.push_back(compare_with_cnf(subject));
  } catch (const LimitReached&) {
    for (const auto& [asked, name] : {std::pair{engines.z3, "z3"}, std::pair{engines.cnf, "cnf"}}) {
      const bool answered = std::ranges::count(comparisons, name, &ListComparison::engine) > 0;
      if (asked && !answered) comparisons.push_back({.engine = name});
    }
  }
  return comparisons;
}

std::string to_text(const ListComparison& comparison, std::uint64_t count) {
  if (!comparison.differs()) {
    return comparison.complete
               ? fmt::format("{}: the same {}, and refuted that there is another",
                             comparison.engine,
                             count == 1 ? "program" : fmt::format("{} programs", count))
               : text_of_limit(comparison);
  }
  std::string text = comparison.engine + ": DISAGREES with the list";
  const auto list = [&](const std::string& side, const std::vector<std::string>& programs) {
    for (const std::string& program : programs) {
      text += fmt::format("\n  only {}: {}", side, program);
      const auto replay =
          std::ranges::find(comparison.replays, program, &ListComparison::Replay::program);
      if (replay == comparison.replays.end()) continue;
      text += fmt::format("\n    reference: {}", to_string(replay->answer));
    }
  };
  list(comparison.engine, comparison.missing);
  list("in the list", comparison.extra);
  return text;
}

ProgramProperty parse_property(const std::string& text, const CollectiveSet& collectives) {
  constexpr std::string_view kWithout = "no-";
  const bool used = !text.starts_with(kWithout);
  ProgramProperty property{used ? text : text.substr(kWithout.size()), used};
  property.collective = collectives.called(property.name);
  if (property.collective) return property;
  for (const auto& [word, form] :
       {std::pair{"InsideGroup", Form::InsideGroup}, std::pair{"Parallel", Form::Parallel},
        std::pair{"Master", Form::Master}}) {
    if (property.name != word) continue;
    property.form = form;
    return property;
  }
  throw InputError({"--exists"},
                   fmt::format("nothing is called '{}', expected {}, or InsideGroup, Parallel or "
                               "Master, with or without no- before it{}",
                               property.name, collectives.names(),
                               suggestion(property.name, collectives.names() +
                                                             ", InsideGroup, Parallel, Master")));
}

std::vector<ExistenceAnswer> find_property(const PlacementPrograms& found,
                                           const SynthesisQuestion& question) {
  const Engines& engines = question.engines;
  std::vector<ExistenceAnswer> answers = {find_in_list(found, question)};
  if (engines.z3) answers.push_back(find_with_z3(found, question));
  if (engines.cnf && question.property->used) answers.push_back(find_with_cnf(found, question));
  return answers;
}

}  // namespace p2
