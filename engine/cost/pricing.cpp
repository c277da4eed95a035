#include "engine/cost/pricing.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "engine/base/progress.h"
#include "engine/program/composition.h"
#include "engine/program/derivation.h"
#include "engine/program/program.h"
#include "engine/program/program_file.h"
#include "engine/program/synthesis.h"

namespace p2 {
namespace {

constexpr std::size_t kMaxPlacements = 100'000;
constexpr std::uint64_t kMaxPrograms = 1'000'000;

/// A built-in goal's collective or, of a user's goal, the built-in one that does the same.
std::optional<Baseline> baseline_of(const CostSource& source, StepPricer& pricer) {
  const Goal& goal = source.goal;
  Collective collective = goal.collective;
  if (!is_built_in(collective)) {
    Program single{
        source.devices, source.all_classes(), {}, {goal.collectives, goal}, source.beginning};
    std::vector<Group> groups;
    std::ranges::copy_if(single.classes, std::back_inserter(groups),
                         [](const Group& members) { return members.size() > 1; });
    single.steps = {{collective, std::move(groups), std::nullopt}};
    const BuiltInProgram stand_in = built_in_program(single);
    const bool is_single = !stand_in.missing && stand_in.program.steps.size() == 1;
    if (!is_single && goal.definition() != language::all_to_all()) return std::nullopt;
    if (!is_single) {
      return Baseline{goal.definition().name,
                      ProgramPricer(pricer).price(single, source.dialect).cost};
    }
    collective = stand_in.program.steps[0].collective;
  }
  const Start start = source.beginning.start;
  const std::uint32_t chunks = source.devices * source.beginning.chunks_per_device;
  return Baseline{std::string(to_string(collective)),
                  source.instance
                      ? price_single(collective, start, *source.instance, chunks, pricer)
                      : price_single(collective, start, source.classes, chunks, pricer)};
}

CostSource& add_source(Pricing& pricing, CostSource source) {
  source.baseline = baseline_of(source, *pricing.pricer);
  return pricing.sources.emplace_back(std::move(source));
}

void price_placement(const PlacementPrograms& found, const CostQuestion& question,
                     const Options& options, Pricing& pricing) {
  const Instance& instance = found.instance();
  const CostSource& source = add_source(pricing, {to_string(instance.grid.placement()),
                                                  instance,
                                                  question.given.dialect,
                                                  instance.grid.devices(),
                                                  {},
                                                  question.given.terms.goal,
                                                  found.beginning(),
                                                  {}});
  ProgramPricer pricer(*pricing.pricer);
  std::set<std::string> known;
  found.for_each([&](const std::vector<Step>& steps) {
    pricing.complete = pricing.complete && !options.limits.exceeded(0);
    if (!pricing.complete) return;
    if (!question.given.terms.collectives.extended() && found.beginning().chunks_per_device == 1) {
      if (auto cost = price_by_counts(steps, instance, source.beginning.start, *pricing.pricer)) {
        pricing.ranked.push_back({&source, steps, {}, std::move(*cost)});
        return;
      }
    }
    Program each = found.program(steps);
    for (Step& step : each.steps) step = lower(instance.grid, *step.shape, step.collective);
    const Program program = built_in_program(each, true).program;
    if (each.terms.collectives.extended()) {
      const std::string text = to_string(program.steps, &instance, program.terms.collectives);
      if (!known.insert(text).second) return;
    }
    PricedProgram priced = pricer.price(program, source.dialect, options.limits);
    if (priced.decision.outcome != Outcome::Established) {
      pricing.complete = false;
      return;
    }
    CostCandidate candidate{&source, program.steps, program.terms.collectives,
                            std::move(priced.cost)};
    for (Step& step : candidate.steps) {
      if (step.shape) step.groups.clear();
    }
    pricing.ranked.push_back(std::move(candidate));
  });
  pricing.complete = pricing.complete && found.list().settled() == question.request.max_steps;
}

void price_instance(const CostQuestion& question, const Options& options, Pricing& pricing) {
  std::vector<Instance> instances;
  for (Placement& placement : placements_of(question.given, kMaxPlacements)) {
    instances.emplace_back(
        DeviceGrid(*question.given.hierarchy, *question.given.axes, std::move(placement)),
        *question.given.reduction, question.given.kind);
  }
  SearchProgress progress;
  const ProgressReporter reporter(options.progress, [&] {
    return fmt::format("cost: {} of {} searches done, {} states expanded",
                       progress.searches_done.load(), progress.searches.load(),
                       progress.states.load());
  });
  SynthesisOptions search{question.given.dialect, question.given.terms, question.request.max_steps,
                          options.jobs,           options.limits,       &progress};
  const std::vector<PlacementPrograms> all = find_programs(std::move(instances), search);
  std::uint64_t programs = 0;
  for (const PlacementPrograms& found : all) {
    if (found.list().count() > kMaxPrograms - programs) {
      throw LimitReached(LimitReached::Kind::Size,
                         "more than 1000000 programs, expected a smaller --size");
    }
    programs += found.list().count();
  }
  for (const PlacementPrograms& found : all) price_placement(found, question, options, pricing);
}

void price_given(SourceProgram given, const CostQuestion& question, const Options& options,
                 Pricing& pricing) {
  const std::string& file = given.name;
  ProgramFile& read = given.read;
  if (read.program.devices != question.system.hierarchy.devices()) {
    throw InputError({file}, fmt::format("a program for {} devices, expected {}: those of {}",
                                         read.program.devices, question.system.hierarchy.devices(),
                                         question.system.name));
  }
  Program program = built_in_program(read.program, true).program;
  PricedProgram priced =
      ProgramPricer(*pricing.pricer).price(program, read.dialect, options.limits);
  const Instance* const instance = read.instance ? &*read.instance : nullptr;
  if (priced.decision.violation) {
    pricing.refused.push_back({file, priced.decision.violation->step,
                               explain(*priced.decision.violation, program, instance), false});
  } else if (priced.decision.outcome == Outcome::Undecided) {
    pricing.refused.push_back({file, priced.decision.legal_steps,
                               "A limit was reached before the program was decided.", true});
  } else {
    const CostSource& source = add_source(
        pricing, {file,
                  read.instance,
                  read.dialect,
                  program.devices,
                  instance != nullptr ? std::vector<Group>() : std::move(program.classes),
                  program.terms.goal,
                  program.beginning,
                  {}});
    pricing.ranked.push_back(
        {&source, std::move(program.steps), program.terms.collectives, std::move(priced.cost)});
  }
}

void sort_by_time(const CostQuestion& question, std::vector<CostCandidate>& candidates) {
  std::vector<const ProgramCost*> costs;
  costs.reserve(candidates.size());
  for (const CostCandidate& candidate : candidates) costs.push_back(&candidate.cost);
  std::vector<CostCandidate> ranked;
  ranked.reserve(candidates.size());
  for (const std::size_t i : ranking(costs, question.bytes)) ranked.push_back(candidates[i]);
  candidates = std::move(ranked);
}

}  // namespace

std::string CostCandidate::text() const {
  return to_string(steps, source->instance_or_null(), collectives);
}

std::optional<double> CostCandidate::speedup(const Rational& bytes) const {
  if (!source->baseline) return std::nullopt;
  const Rational seconds = cost.seconds(bytes);
  return seconds == 0 ? 1 : to_double(source->baseline->cost.seconds(bytes) / seconds);
}

std::string Pricing::bottleneck(const StepCost& step, const Rational& bytes) const {
  if (!step.shapes.empty()) {
    const NcclTime& time = step.decisive(bytes);
    if (time.latency * 2 > time.seconds(bytes)) return "latency";
    return network->system().interconnects[time.interconnect].name;
  }
  return step.seconds_per_byte == 0 ? "none" : network->name(step.bottleneck);
}

std::string Pricing::way(const StepCost& step, const Rational& bytes) {
  if (step.shapes.empty()) return "";
  const NcclTime& time = step.decisive(bytes);
  return fmt::format("{} {}", to_string(time.algorithm), to_string(time.protocol));
}

Program CostCandidate::program() const {
  Program whole{source->devices,
                source->all_classes(),
                steps,
                {collectives, source->goal},
                source->beginning};
  for (Step& step : whole.steps) {
    if (step.groups.empty()) step = lower(source->instance->grid, *step.shape, step.collective);
  }
  return whole;
}

Json CostCandidate::json(bool lists) const {
  if (lists || !source->instance) {
    return program_json(program(), source->instance_or_null(), source->dialect);
  }
  return program_pattern_json(
      {source->devices, {}, steps, {collectives, source->goal}, source->beginning},
      *source->instance, source->dialect);
}

Pricing price_programs(const CostQuestion& question, const Options& options) {
  Pricing pricing;
  pricing.network = std::make_unique<Network>(question.system, SourcePosition{"command line"});
  pricing.pricer =
      question.nccl
          ? std::make_unique<StepPricer>(*pricing.network, *question.nccl, question.choice)
          : std::make_unique<StepPricer>(*pricing.network, question.algorithm);
  if (question.request.files.empty()) {
    price_instance(question, options, pricing);
  } else {
    for (const std::string& file : question.request.files) {
      for (SourceProgram& each : programs_in(file, question.given)) {
        price_given(std::move(each), question, options, pricing);
      }
    }
  }
  sort_by_time(question, pricing.ranked);
  return pricing;
}

}  // namespace p2
