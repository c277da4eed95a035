#include "cli/cost/cost_answer.h"

#include <fmt/format.h>

#include <stdexcept>

#include "cli/instance_options.h"
#include "cli/output.h"
#include "cli/program_source.h"
#include "cli/progress_line.h"
#include "engine/program/explanation.h"
#include "engine/program/notation.h"
#include "engine/program/synthesis.h"

namespace p2 {
namespace {

constexpr std::size_t kMostPlacements = 100'000;
constexpr std::uint64_t kMostPrograms = 1'000'000;

CostSource& add_source(CostAnswer& answer, CostSource source) {
  source.allreduce = price_allreduce(source.classes, source.devices, *answer.pricer);
  return answer.sources.emplace_back(std::move(source));
}

void price_placement(const PlacementPrograms& found, const CostRequest& request,
                     CostAnswer& answer) {
  const Instance& instance = found.instance();
  const CostSource& source = add_source(answer, {to_string(instance.grid.placement()),
                                                 instance,
                                                 request.given.dialect,
                                                 instance.grid.devices(),
                                                 instance.classes(),
                                                 {}});
  ProgramPricer pricer(*answer.pricer);
  found.for_each_lowered([&](const Program& program) {
    if (!answer.complete) return;
    PricedProgram priced = pricer.price(program, source.dialect, request.common.limits);
    if (priced.verdict.kind != Verdict::Kind::Valid) {
      answer.complete = false;
      return;
    }
    CostCandidate candidate{&source, program.steps, std::move(priced.cost)};
    for (Step& step : candidate.steps) step.groups.clear();
    answer.ranked.push_back(std::move(candidate));
  });
  answer.complete = answer.complete && found.list().settled() == request.size;
}

void price_instance(const CostRequest& request, std::ostream& err, CostAnswer& answer) {
  std::vector<Instance> instances;
  for (Placement& placement : placements_of(request.given, kMostPlacements)) {
    instances.emplace_back(
        DeviceGrid(*request.given.hierarchy, *request.given.axes, std::move(placement)),
        *request.given.reduction, request.given.kind);
  }
  SearchProgress progress;
  const ProgressLine line(request.common.progress, err, [&] {
    return fmt::format("cost: {} of {} searches done, {} states expanded",
                       progress.searches_done.load(), progress.searches.load(),
                       progress.states.load());
  });
  SynthesisOptions options{request.given.dialect, {},       request.size, request.common.jobs,
                           request.common.limits, &progress};
  const std::vector<PlacementPrograms> all = synthesise(std::move(instances), options);
  std::uint64_t programs = 0;
  for (const PlacementPrograms& found : all) {
    if (found.list().count() > kMostPrograms - programs) {
      throw std::length_error("more than 1000000 programs, expected a smaller --size");
    }
    programs += found.list().count();
  }
  for (const PlacementPrograms& found : all) price_placement(found, request, answer);
}

void price_given(SourceProgram given, const CostRequest& request, CostAnswer& answer) {
  const std::string& file = given.name;
  ProgramFile& read = given.read;
  Program& program = read.program;
  if (program.devices != request.system.hierarchy.devices()) {
    throw InputError(
        {file}, fmt::format("a program for {} devices, expected {}: those of {}", program.devices,
                            request.system.hierarchy.devices(), request.system.name));
  }
  PricedProgram priced =
      ProgramPricer(*answer.pricer).price(program, read.dialect, request.common.limits);
  const Instance* const instance = read.instance ? &*read.instance : nullptr;
  if (priced.verdict.refutation) {
    answer.refused.push_back({file, priced.verdict.refutation->step,
                              explain(*priced.verdict.refutation, program, instance), false});
  } else if (priced.verdict.kind == Verdict::Kind::Unknown) {
    answer.refused.push_back(
        {file, priced.verdict.legal_steps, "A limit was met before it was judged.", true});
  } else {
    const CostSource& source = add_source(
        answer,
        {file, read.instance, read.dialect, program.devices, std::move(program.classes), {}});
    answer.ranked.push_back({&source, std::move(program.steps), std::move(priced.cost)});
  }
}

void sort_by_time(const CostRequest& request, std::vector<CostCandidate>& candidates) {
  std::vector<const ProgramCost*> costs;
  costs.reserve(candidates.size());
  for (const CostCandidate& candidate : candidates) costs.push_back(&candidate.cost);
  std::vector<CostCandidate> ranked;
  ranked.reserve(candidates.size());
  for (const std::size_t i : ranking(costs, request.bytes)) ranked.push_back(candidates[i]);
  candidates = std::move(ranked);
}

}  // namespace

std::string CostCandidate::text() const {
  return to_string(steps, source->instance ? &*source->instance : nullptr);
}

Program CostCandidate::program() const {
  Program whole{source->devices, source->classes, steps};
  for (Step& step : whole.steps) {
    if (step.groups.empty()) step = lower(source->instance->grid, *step.shape, step.collective);
  }
  return whole;
}

CostAnswer cost_answer(const CostRequest& request, std::ostream& err) {
  CostAnswer answer;
  answer.network = std::make_unique<Network>(request.system, SourcePosition{"command line"});
  answer.pricer = std::make_unique<StepPricer>(*answer.network, request.algorithm);
  if (request.files.empty()) {
    price_instance(request, err, answer);
  } else {
    for (const std::string& file : request.files) {
      for (SourceProgram& each : programs_in(file, request.given)) {
        price_given(std::move(each), request, answer);
      }
    }
  }
  sort_by_time(request, answer.ranked);
  return answer;
}

}  // namespace p2
