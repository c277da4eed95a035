#include "engine/cost/pricing.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/limits.h"
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

CostSource source_of(const Instance& instance, const Beginning& beginning,
                     const CostQuestion& question) {
  return {to_string(instance.grid.placement()),
          instance,
          question.given.dialect,
          instance.grid.devices(),
          {},
          question.given.terms.goal,
          beginning,
          {}};
}

void price_placement(const PlacementPrograms& found, const CostQuestion& question,
                     const Limits& limits, Pricing& pricing) {
  const Instance& instance = found.instance();
  const CostSource& source = add_source(pricing, source_of(instance, found.beginning(), question));
  ProgramPricer pricer(*pricing.pricer);
  std::set<std::string> known;
  found.for_each([&](const std::vector<Step>& steps) {
    pricing.complete = pricing.complete && !limits.exceeded(0);
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
    PricedProgram priced = pricer.price(program, source.dialect, limits);
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

std::vector<Instance> instances_of(const CostQuestion& question) {
  std::vector<Instance> instances;
  for (Placement& placement : placements_of(question.given, kMaxPlacements)) {
    instances.emplace_back(
        DeviceGrid(*question.given.hierarchy, *question.given.axes, std::move(placement)),
        *question.given.reduction, question.given.kind);
  }
  return instances;
}

SynthesisOptions search_options(const CostQuestion& question, const Options& options,
                                SearchProgress* progress) {
  return {question.given.dialect, question.given.terms, question.request.max_steps,
          options.jobs,           options.limits,       progress};
}

void require_few(std::uint64_t programs) {
  if (programs <= kMaxPrograms) return;
  throw LimitReached(LimitReached::Kind::Size,
                     "more than 1000000 programs, expected a smaller --size");
}

std::unique_ptr<StepPricer> step_pricer(const CostQuestion& question, const Network& network) {
  return question.nccl ? std::make_unique<StepPricer>(network, *question.nccl, question.choice)
                       : std::make_unique<StepPricer>(network, question.algorithm);
}

void price_instance(const CostQuestion& question, const Options& options, Pricing& pricing) {
  SearchProgress progress;
  const ProgressReporter reporter(options.progress, [&] {
    return fmt::format("cost: {} of {} searches done, {} states expanded",
                       progress.searches_done.load(), progress.searches.load(),
                       progress.states.load());
  });
  const std::vector<PlacementPrograms> all =
      find_programs(instances_of(question), search_options(question, options, &progress));
  std::uint64_t programs = 0;
  for (const PlacementPrograms& found : all) {
    require_few(found.list().count());
    require_few(programs += found.list().count());
  }
  for (const PlacementPrograms& found : all) {
    price_placement(found, question, options.limits, pricing);
  }
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
  pricing.network = std::make_shared<Network>(question.system, SourcePosition{"command line"});
  pricing.pricer = step_pricer(question, *pricing.network);
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

// Priced placements in journals.

namespace {

using Record = nlohmann::ordered_json;

/// Throws InputError unless a record is one that price() has written, as far as `holds` says.
void require(bool holds) {
  if (holds) return;
  throw InputError({"--resume"},
                   "has prices that this command has not written, expected a journal "
                   "of cost");
}

Rational whole_of(std::string_view digits) {
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  require(!digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos);
  Rational value = 0;
  for (const char digit : digits) value = value * 10 + (digit - '0');
  return negative ? -value : value;
}

/// Of what to_string(Rational) has written.
Rational rational_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  Rational numerator = whole_of(std::string_view(text).substr(0, slash));
  if (slash == std::string::npos) return numerator;
  const Rational denominator = whole_of(std::string_view(text).substr(slash + 1));
  require(denominator > 0);
  return numerator / denominator;
}

Record record_of(const StepCost& cost) {
  Record busiest = Record::array();
  for (const LinkLoad& load : cost.busiest) {
    busiest.push_back({load.link, to_string(load.seconds_per_byte)});
  }
  Record shapes = Record::array();
  for (const std::vector<NcclTime>& lines : cost.shapes) {
    Record& shape = shapes.emplace_back(Record::array());
    for (const NcclTime& line : lines) {
      shape.push_back({to_string(line.latency), to_string(line.seconds_per_byte),
                       static_cast<int>(line.algorithm), static_cast<int>(line.protocol),
                       line.interconnect});
    }
  }
  return {to_string(cost.latency), to_string(cost.seconds_per_byte), cost.bottleneck,
          std::move(busiest), std::move(shapes)};
}

StepCost step_cost_of(const Record& record, const Network& network) {
  const auto number = [](const Record& value, std::size_t count) {
    const auto found = value.get<std::uint32_t>();
    require(found < count);
    return found;
  };
  StepCost cost{rational_of(record.at(0)),
                rational_of(record.at(1)),
                number(record.at(2), network.links()),
                {}};
  for (const Record& load : record.at(3)) {
    cost.busiest.push_back({number(load.at(0), network.links()), rational_of(load.at(1))});
  }
  for (const Record& shape : record.at(4)) {
    std::vector<NcclTime>& lines = cost.shapes.emplace_back();
    for (const Record& line : shape) {
      lines.push_back({rational_of(line.at(0)), rational_of(line.at(1)),
                       static_cast<NcclAlgorithm>(number(line.at(2), kNcclAlgorithms.size())),
                       static_cast<NcclProtocol>(number(line.at(3), kNcclProtocols.size())),
                       number(line.at(4), network.system().interconnects.size())});
    }
    require(!lines.empty());
  }
  return cost;
}

/// Numbers values in the order in which they are first seen.
template <typename Value>
class Numbering {
 public:
  /// The number of a value; `write` makes the record of a new one.
  template <typename Write>
  std::size_t of(const Value& value, Write write) {
    const auto [place, is_new] = numbers_.emplace(value, numbers_.size());
    if (is_new) records_.push_back(write());
    return place->second;
  }
  Record take() { return std::move(records_); }

 private:
  std::map<Value, std::size_t> numbers_;
  Record records_ = Record::array();
};

/// Of the one source of a pricing. A step is written once, and so is a price.
Record record_of(const Pricing& pricing) {
  Numbering<const StepCost*> prices;
  Numbering<std::string> steps;
  const CostSource& source = pricing.sources.front();
  const auto priced = [&](const ProgramCost& cost) {
    Record numbers = Record::array();
    for (const StepCost* step : cost.steps) {
      numbers.push_back(prices.of(step, [&] { return record_of(*step); }));
    }
    return numbers;
  };
  Record programs = Record::array();
  for (const CostCandidate& each : pricing.ranked) {
    Record numbers = Record::array();
    for (const Step& step : each.steps) {
      std::string text = to_string(step, source.instance_or_null(), each.collectives);
      numbers.push_back(steps.of(text, [&] { return text; }));
    }
    programs.push_back(
        {std::move(numbers), priced(each.cost), each.collectives.extended() ? 1 : 0});
  }
  Record baseline;
  if (source.baseline) baseline = {source.baseline->collective, priced(source.baseline->cost)};
  return {{"baseline", std::move(baseline)},
          {"programs", std::move(programs)},
          {"steps", steps.take()},
          {"prices", prices.take()},
          {"complete", pricing.complete}};
}

/// The pricing of a placement, without network.
Pricing pricing_of(const Record& record, CostSource source, const CollectiveSet& collectives,
                   const Network& network) {
  const auto element = [](const auto& list, const Record& number) {
    const auto index = number.get<std::size_t>();
    require(index < list.size());
    return list[index];
  };
  Pricing pricing;
  pricing.complete = record.at("complete");
  std::vector<const StepCost*> prices;
  for (const Record& each : record.at("prices")) {
    prices.push_back(&pricing.prices.emplace_back(step_cost_of(each, network)));
  }
  const auto cost_of = [&](const Record& numbers) {
    std::vector<const StepCost*> costs;
    for (const Record& number : numbers) costs.push_back(element(prices, number));
    return sum_of(std::move(costs));
  };
  const Record& baseline = record.at("baseline");
  if (!baseline.is_null()) {
    const std::string name = baseline.at(0);
    require(CollectiveSet().called(name) || name == language::all_to_all().name);
    source.baseline = Baseline{name, cost_of(baseline.at(1))};
  }
  const CostSource& placed = pricing.sources.emplace_back(std::move(source));
  std::vector<Step> steps;
  for (const Record& each : record.at("steps")) {
    const std::string text = each;
    TextCursor cursor("--resume", text);
    std::vector<Step> one =
        parse_steps(cursor, placed.devices, placed.instance_or_null(), collectives);
    require(one.size() == 1);
    Step& step = steps.emplace_back(std::move(one.front()));
    if (step.shape) step.groups.clear();
  }
  for (const Record& each : record.at("programs")) {
    CostCandidate& candidate = pricing.ranked.emplace_back();
    candidate.source = &placed;
    for (const Record& number : each.at(0)) candidate.steps.push_back(element(steps, number));
    candidate.cost = cost_of(each.at(1));
    if (each.at(2) == 1) candidate.collectives = collectives;
  }
  return pricing;
}

}  // namespace

PlacementPricing::PlacementPricing(const CostQuestion& question, const Options& options)
    : question_(question),
      network_(std::make_shared<Network>(question.system, SourcePosition{"command line"})),
      search_(instances_of(question), search_options(question, options, nullptr)),
      recorded_(search_.instances().size()) {}

double PlacementPricing::expected_cost(std::size_t placement) const {
  return search_.expected_cost(placement);
}

PlacementPricing::Priced PlacementPricing::price(std::size_t placement, const Limits& limits) {
  const PlacementPrograms found = search_.find(placement, limits);
  require_few(found.list().count());
  Pricing pricing;
  pricing.network = network_;
  pricing.pricer = step_pricer(question_, *network_);
  price_placement(found, question_, limits, pricing);
  return {record_of(pricing).dump(), pricing.complete};
}

void PlacementPricing::record(std::size_t placement, const Record& priced) {
  recorded_[placement] = pricing_of(
      priced,
      source_of(search_.instances()[placement], search_.problem(placement).beginning, question_),
      question_.given.terms.collectives, *network_);
}

Pricing PlacementPricing::take(const std::vector<bool>& wanted) {
  Pricing all;
  all.network = network_;
  all.pricer = step_pricer(question_, *network_);
  for (std::size_t placement = 0; placement < wanted.size(); ++placement) {
    if (!wanted[placement]) continue;
    std::optional<Pricing>& each = recorded_[placement];
    all.complete = all.complete && each && each->complete;
    if (!each) continue;
    const CostSource& source = all.sources.emplace_back(std::move(each->sources.front()));
    all.prices.splice(all.prices.end(), each->prices);
    for (CostCandidate& candidate : each->ranked) {
      candidate.source = &source;
      all.ranked.push_back(std::move(candidate));
    }
    require_few(all.ranked.size());
  }
  sort_by_time(question_, all.ranked);
  return all;
}

}  // namespace p2
