#include "engine/cost/program_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "engine/collective/language/definition.h"
#include "engine/program/device_classes.h"

namespace p2 {

void StepPricer::add_group(const Traffic& traffic, std::size_t group, Rational& latency) {
  Rational waited = 0;
  const Step& step = traffic.step;
  const std::vector<Stage> stages = traffic.exchanges != nullptr
                                        ? std::vector<Stage>{(*traffic.exchanges)[group]}
                                        : transfers(step.collective, algorithm_, step.groups[group],
                                                    traffic.rows[group], network_);
  for (const Stage& stage : stages) {
    Rational slowest = 0;
    for (const Transfer& transfer : stage.transfers) {
      network_.route(transfer.from, transfer.to, route_);
      for (const LinkId link : route_) {
        if (amounts_[link] == 0) loaded_.push_back(link);
        amounts_[link] += transfer.amount;
      }
      slowest = std::max(slowest, network_.latency(route_));
    }
    waited += slowest * stage.rounds;
  }
  latency = std::max(latency, waited);
}

StepPricer::Loads StepPricer::take_busiest(std::uint64_t unit) {
  std::map<std::uint32_t, LinkId> busiest;  // interconnect → link
  for (const LinkId link : loaded_) {
    LinkId& most = busiest.try_emplace(network_.interconnect_of(link), link).first->second;
    if (amounts_[link] > amounts_[most] || (amounts_[link] == amounts_[most] && link < most)) {
      most = link;
    }
  }
  Loads loads;
  for (const auto& [interconnect, link] : busiest) loads[link] = ratio(amounts_[link], unit);
  for (const LinkId link : loaded_) amounts_[link] = 0;
  loaded_.clear();
  return loads;
}

void StepPricer::take_all(std::uint64_t unit, Loads& loads) {
  for (const LinkId link : loaded_) {
    loads[link] += ratio(amounts_[link], unit);
    amounts_[link] = 0;
  }
  loaded_.clear();
}

StepPricer::Loads StepPricer::loads_of(const Traffic& traffic, bool all, Rational& latency) {
  const Step& step = traffic.step;
  std::set<std::size_t> sizes;
  for (const Group& group : step.groups) sizes.insert(group.size());
  sizes.erase(1);
  Loads loads;
  for (const std::size_t size : sizes) {
    for (std::size_t i = 0; i < step.groups.size(); ++i) {
      if (step.groups[i].size() == size) add_group(traffic, i, latency);
    }
    if (traffic.alike != nullptr) {
      for (const LinkId link : loaded_) {
        amounts_[link] *=
            traffic.alike->groups_in_run(network_.devices_per_link(network_.interconnect_of(link)));
      }
    }
    // Whole numbers can be compared as they are; sums over several sizes need fractions.
    if (sizes.size() == 1 && !all) return take_busiest(2 * size);
    take_all(2 * size, loads);
  }
  return loads;
}

namespace {

NcclCollective nccl_collective(Collective collective) {
  switch (collective) {
    case Collective::AllReduce:
      return NcclCollective::AllReduce;
    case Collective::ReduceScatter:
      return NcclCollective::ReduceScatter;
    case Collective::AllGather:
      return NcclCollective::AllGather;
    case Collective::Reduce:
      return NcclCollective::Reduce;
    case Collective::Broadcast:
      break;
  }
  return NcclCollective::Broadcast;
}

/// `value` in units of 1/`unit`, rounded: exact from here on.
Rational rounded_to(double value, double unit) {
  return ratio(static_cast<std::int64_t>(std::llround(value * unit)),
               static_cast<std::int64_t>(unit));
}

}  // namespace

const NcclTime& StepCost::decisive(const Rational& bytes) const {
  const NcclTime* slowest = nullptr;
  Rational most;
  for (const std::vector<NcclTime>& lines : shapes) {
    const NcclTime* fastest = nullptr;
    Rational least;
    for (const NcclTime& line : lines) {
      const Rational seconds = line.seconds(bytes);
      if (fastest != nullptr && seconds > least) continue;  // slopes fall: the last of equal ones
      fastest = &line;
      least = seconds;
    }
    const bool steeper = slowest != nullptr && least == most &&
                         fastest->seconds_per_byte > slowest->seconds_per_byte;
    if (slowest != nullptr && least <= most && !steeper) continue;
    slowest = fastest;
    most = least;
  }
  return *slowest;
}

namespace {

/// The bytes of an all-to-all as nccl-tests counts them, in buffers, in which every device sends as
/// much as the one of the exchange that sends or receives most.
double all_to_all_bytes(const Stage& exchange, std::size_t devices, std::uint32_t chunks) {
  std::map<std::uint32_t, std::uint64_t> sent;
  std::map<std::uint32_t, std::uint64_t> received;
  std::uint64_t most = 0;
  for (const Transfer& each : exchange.transfers) {
    most = std::max({most, sent[each.from] += each.amount, received[each.to] += each.amount});
  }
  const auto n = static_cast<double>(devices);
  return static_cast<double>(most) / (2 * n) / chunks * n / (n - 1);
}

}  // namespace

StepCost StepPricer::compute_nccl(const Traffic& traffic) const {
  constexpr double kPerSecond = 1e12;  // latencies in picoseconds
  constexpr double kPerByte = 1e18;    // slopes in attoseconds per byte
  constexpr double kMicro = 1e-6;
  const Step& step = traffic.step;
  std::vector<double> bytes;
  for (std::size_t i = 0; i < step.groups.size(); ++i) {
    const std::size_t devices = step.groups[i].size();
    if (traffic.exchanges != nullptr) {
      bytes.push_back(
          devices == 1 ? 0 : all_to_all_bytes((*traffic.exchanges)[i], devices, traffic.chunks));
      continue;
    }
    const double held = static_cast<double>(traffic.rows[i]) / traffic.chunks;
    const bool gathers = step.collective == Collective::AllGather;
    bytes.push_back(gathers ? held * static_cast<double>(devices) : held);
  }
  const NcclCollective collective =
      traffic.exchanges != nullptr ? NcclCollective::AllToAll : nccl_collective(step.collective);
  StepCost cost{0, 0, 0, {}, {}};
  for (const GroupTimes& group : traffic.alike != nullptr
                                     ? nccl_->times(collective, *traffic.alike, bytes[0], choice_)
                                     : nccl_->times(collective, step.groups, bytes, choice_)) {
    std::vector<NcclTime> lines;
    for (const NcclLine& line : group.lines) {
      lines.push_back({rounded_to(line.latency_us * kMicro, kPerSecond),
                       rounded_to(line.us_per_byte * group.bytes * kMicro, kPerByte),
                       line.algorithm, line.protocol, nccl_->interconnect_of(line)});
    }
    cost.shapes.push_back(std::move(lines));
  }
  return cost;
}

StepCost StepPricer::compute(const Traffic& traffic) {
  if (nccl_) return compute_nccl(traffic);
  constexpr std::int64_t kPicoseconds = 1'000'000'000'000;
  Rational latency = 0;
  std::map<std::uint32_t, LinkLoad> busiest;  // by interconnect, the first of equal ones
  for (const auto& [link, load] : loads_of(traffic, false, latency)) {
    LinkLoad& most = busiest[network_.interconnect_of(link)];
    if (load > most.seconds_per_byte) most = {link, load};
  }
  StepCost cost{ratio(latency, kPicoseconds), 0, 0, {}, {}};
  for (auto& [interconnect, most] : busiest) {
    most.seconds_per_byte *= network_.seconds_per_byte(interconnect) / traffic.chunks;
    if (most.seconds_per_byte > cost.seconds_per_byte) {
      cost.seconds_per_byte = most.seconds_per_byte;
      cost.bottleneck = most.link;
    }
    cost.busiest.push_back(most);
  }
  return cost;
}

std::vector<LinkLoad> StepPricer::loads(const Step& step, std::span<const std::uint32_t> rows,
                                        const std::vector<Stage>& exchanges, std::uint32_t chunks) {
  const Traffic traffic{step, rows, is_built_in(step.collective) ? nullptr : &exchanges, chunks};
  Rational latency = 0;
  std::vector<LinkLoad> all;
  if (nccl_) {
    // What large buffers wait for, on the first such link.
    for (const std::vector<NcclTime>& lines : compute_nccl(traffic).shapes) {
      all.push_back(
          {network_.first_link(lines.back().interconnect), lines.back().seconds_per_byte});
    }
    return all;
  }
  for (const auto& [link, load] : loads_of(traffic, true, latency)) {
    const std::uint32_t interconnect = network_.interconnect_of(link);
    all.push_back({link, load * network_.seconds_per_byte(interconnect) / chunks});
  }
  return all;
}

const StepCost& StepPricer::price(const Step& step, const std::vector<std::uint32_t>& rows,
                                  std::uint32_t chunks) {
  const auto found = known_.find(std::tie(step.collective, chunks, rows, step.groups));
  if (found != known_.end()) return found->second;
  StepCost cost = compute({step, rows, nullptr, chunks});
  return known_.emplace(Key{step.collective, chunks, rows, step.groups}, std::move(cost))
      .first->second;
}

const StepCost& StepPricer::price(Collective collective, const PatternGroups& groups,
                                  std::uint32_t rows, std::uint32_t chunks) {
  const std::tuple key(collective, groups, rows, chunks);
  const auto found = patterns_.find(key);
  if (found != patterns_.end()) return found->second;
  StepCost cost;
  if (!network_.is_symmetric_for(groups) || (nccl_ && !nccl_->is_symmetric_for(groups))) {
    const Step whole{collective, groups.all(), std::nullopt};
    cost = compute({whole, std::vector(whole.groups.size(), rows), nullptr, chunks});
  } else if (nccl_) {
    const Step first{collective, {groups.first()}, std::nullopt};
    cost = compute({first, std::span(&rows, 1), nullptr, chunks, &groups});
  } else {
    cost = price_per_row(collective, groups);
    const Rational part = ratio(rows, chunks);
    cost.seconds_per_byte *= part;
    for (LinkLoad& load : cost.busiest) load.seconds_per_byte *= part;
  }
  return patterns_.emplace(key, std::move(cost)).first->second;
}

const StepCost& StepPricer::price_per_row(Collective collective, const PatternGroups& groups) {
  const auto found = per_row_.find({collective, groups});
  if (found != per_row_.end()) return found->second;
  constexpr std::uint32_t kRow = 1;
  const Step first{collective, {groups.first()}, std::nullopt};
  StepCost cost = compute({first, std::span(&kRow, 1), nullptr, 1, &groups});
  return per_row_.emplace(std::pair(collective, groups), std::move(cost)).first->second;
}

const StepCost& StepPricer::price_exchange(const std::vector<Group>& groups,
                                           const std::vector<Stage>& exchanges,
                                           std::uint32_t chunks) {
  return exchanges_.emplace_back(compute({{{}, groups, {}}, {}, &exchanges, chunks}));
}

namespace {

/// The first whole size at which `other`, a line of smaller slope, precedes `best` in the ranking.
Rational overtakes(const ProgramCost& best, const ProgramCost& other, bool other_goes_first) {
  const Rational meet =
      (other.latency - best.latency) / (best.seconds_per_byte - other.seconds_per_byte);
  const Rational whole = meet.floor();
  const bool exactly = Rational(whole) == meet;
  return exactly && other_goes_first ? whole : whole + 1;
}

/// A step of a user-defined collective as the one whose traffic its definition states.
struct StatedStep {
  Step step;
  std::vector<std::uint32_t> rows;
  std::vector<Stage> exchanges;  ///< of an all-to-all
  std::uint32_t chunks = 1;
};

/// `held[i]` is how many of `chunks` chunks the device of groups[i] that holds most has. Parts
/// become whole numbers of smaller chunks.
StatedStep stated_step(const language::Definition& definition, const Step& step,
                       const std::vector<std::uint32_t>& held, std::uint32_t chunks) {
  constexpr std::uint64_t kMaxRows = Hierarchy::kMaxDevices;
  constexpr std::uint64_t kMaxChunks = UINT32_MAX;
  std::vector<Rational> parts;
  Rational common = 1;
  for (std::size_t i = 0; i < held.size(); ++i) {
    const auto n = static_cast<std::uint32_t>(step.groups[i].size());
    parts.push_back(n < 2 ? Rational() : traffic_part(definition, n) * ratio(held[i], chunks));
    common *= (parts.back() * common).denominator();
  }
  const auto too_fine = [&] {
    return InputError(
        {definition.name},
        fmt::format("its traffic takes fractions of a buffer with more than {} parts, "
                    "expected smaller numbers",
                    kMaxRows));
  };
  if (common > kMaxChunks) throw too_fine();
  const std::string& name = definition.traffic->collective;
  StatedStep stated{step, {}, {}, static_cast<std::uint32_t>(common.to_uint64())};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Rational rows = parts[i] * common;
    if (rows > kMaxRows) throw too_fine();
    stated.rows.push_back(static_cast<std::uint32_t>(rows.to_uint64()));
    if (name == language::all_to_all().name) {
      stated.exchanges.push_back(all_to_all(step.groups[i], stated.rows.back()));
    }
  }
  if (const auto built_in = CollectiveSet().called(name)) stated.step.collective = *built_in;
  return stated;
}

}  // namespace

ProgramCost sum_of(std::vector<const StepCost*> steps) {
  ProgramCost cost{std::move(steps), 0, 0, false};
  for (const StepCost* step : cost.steps) {
    cost.latency += step->latency;
    cost.seconds_per_byte += step->seconds_per_byte;
    cost.piecewise = cost.piecewise || !step->shapes.empty();
  }
  return cost;
}

ProgramDecision ProgramPricer::derive(const Program& program, Dialect dialect, const Limits& limits,
                                      const SeeStep& see) {
  SystemState before;
  const auto look = [&](StateTable& states, std::size_t done, const SystemState& state) {
    if (done > 0) {
      const Step& step = program.steps[done - 1];
      const language::Definition& definition =
          program.terms.collectives.definition_of(step.collective);
      std::vector<std::uint32_t> rows;
      std::vector<Stage> exchanges;
      for (const Group& group : step.groups) {
        const auto held = [&](std::uint32_t device) {
          return static_cast<std::uint32_t>(states.sets().size(states.held(before[device])));
        };
        rows.push_back(held(group.front()));
        if (definition.traffic) {
          for (const std::uint32_t device : group)
            rows.back() = std::max(rows.back(), held(device));
          continue;
        }
        if (is_built_in(step.collective)) continue;
        std::optional<Stage> stage = exchange(states, group, before, state);
        if (!stage) {
          throw InputError({std::string(program.terms.collectives.name_of(step.collective))},
                           fmt::format("is not sound in step {}: no additions of rows make what it "
                                       "leaves, expected a sound definition",
                                       done));
        }
        exchanges.push_back(std::move(*stage));
      }
      if (definition.traffic) {
        const StatedStep stated = stated_step(definition, step, rows, program.chunks());
        see(stated.step, stated.rows, stated.exchanges, stated.chunks);
      } else {
        see(step, rows, exchanges, program.chunks());
      }
    }
    before = state;
  };
  if (program.chunks() == states_.chunks() && !program.terms.collectives.extended()) {
    return check(program, dialect, states_, kernels_, limits,
                 [&](std::size_t done, const SystemState& state) { look(states_, done, state); });
  }
  StateTable states(program.chunks());
  return check(program, dialect, states, limits,
               [&](std::size_t done, const SystemState& state) { look(states, done, state); });
}

PricedProgram ProgramPricer::price(const Program& program, Dialect dialect, const Limits& limits) {
  std::vector<const StepCost*> steps;
  ProgramDecision decision =
      derive(program, dialect, limits,
             [&](const Step& step, const auto& rows, const auto& sent, std::uint32_t chunks) {
               steps.push_back(is_built_in(step.collective)
                                   ? &steps_.price(step, rows, chunks)
                                   : &steps_.price_exchange(step.groups, sent, chunks));
             });
  return {std::move(decision), sum_of(std::move(steps))};
}

std::vector<std::vector<LinkLoad>> ProgramPricer::loads(const Program& program, Dialect dialect) {
  std::vector<std::vector<LinkLoad>> all;
  derive(program, dialect, {},
         [&](const Step& step, const auto& rows, const auto& sent, std::uint32_t chunks) {
           all.push_back(steps_.loads(step, rows, sent, chunks));
         });
  return all;
}

namespace {

/// How many of `chunks` chunks the first device of a class of n devices holds at the beginning.
std::uint32_t held_at(Start start, std::size_t n, std::uint32_t chunks) {
  return start == Start::Shards ? static_cast<std::uint32_t>(chunks / n) : chunks;
}

}  // namespace

ProgramCost price_single(Collective collective, Start start, const std::vector<Group>& classes,
                         std::uint32_t chunks, StepPricer& pricer) {
  std::vector<std::uint32_t> rows;
  for (const Group& members : classes) rows.push_back(held_at(start, members.size(), chunks));
  return sum_of({&pricer.price({collective, classes, std::nullopt}, rows, chunks)});
}

ProgramCost price_single(Collective collective, Start start, const Instance& instance,
                         std::uint32_t chunks, StepPricer& pricer) {
  const PatternGroups classes(instance.grid, {instance.grid.factors_of(instance.reduction), 0});
  const std::uint32_t rows = held_at(start, classes.first().size(), chunks);
  return sum_of({&pricer.price(collective, classes, rows, chunks)});
}

std::optional<ProgramCost> price_by_counts(const std::vector<Step>& steps, const Instance& instance,
                                           Start start, StepPricer& pricer) {
  DeviceClasses classes(instance, steps, start, DeviceClasses::Alike::Chunks);
  if (!classes.is_small()) return std::nullopt;
  std::vector<const StepCost*> costs;
  for (const Step& step : steps) {
    const Pattern& pattern = step.shape->pattern;
    const auto rows = classes.held_by_roots(pattern);
    if (!rows) return std::nullopt;
    costs.push_back(&pricer.price(step.collective, PatternGroups(instance.grid, pattern), *rows,
                                  instance.grid.devices()));
    classes.take(step);
  }
  return sum_of(std::move(costs));
}

std::vector<std::size_t> ranking(const std::vector<const ProgramCost*>& costs,
                                 const Rational& bytes) {
  std::vector<Rational> seconds;
  seconds.reserve(costs.size());
  for (const ProgramCost* cost : costs) seconds.push_back(cost->seconds(bytes));
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return seconds[a] < seconds[b]; });
  return order;
}

Rational ProgramCost::seconds(const Rational& bytes) const {
  if (!piecewise) return latency + seconds_per_byte * bytes;
  Rational sum = 0;
  for (const StepCost* step : steps) sum += step->seconds(bytes);
  return sum;
}

namespace {

/// The whole sizes above `low` and up to `high` from which on some step may take another line.
std::set<Rational> changes_of_way(const std::vector<const ProgramCost*>& costs, const Rational& low,
                                  const Rational& high) {
  std::set<const StepCost*> steps;
  for (const ProgramCost* cost : costs) steps.insert(cost->steps.begin(), cost->steps.end());
  std::set<Rational> sizes;
  for (const StepCost* step : steps) {
    const auto add = [&](const NcclTime& a, const NcclTime& b) {
      if (a.seconds_per_byte == b.seconds_per_byte) return;
      const Rational meet = (b.latency - a.latency) / (a.seconds_per_byte - b.seconds_per_byte);
      if (meet < low || meet >= high) return;
      sizes.insert(Rational(meet.floor()) == meet ? meet : meet.floor() + 1);
    };
    for (std::size_t i = 0; i < step->shapes.size(); ++i) {
      const std::vector<NcclTime>& lines = step->shapes[i];
      for (std::size_t k = 1; k < lines.size(); ++k) add(lines[k - 1], lines[k]);
      for (std::size_t j = 0; j < i; ++j) {
        for (const NcclTime& a : lines) {
          for (const NcclTime& b : step->shapes[j]) add(a, b);
        }
      }
    }
  }
  sizes.erase(low);
  return sizes;
}

/// The line of a cost from this size on, up to the next change of way.
ProgramCost line_at(const ProgramCost& cost, const Rational& bytes) {
  if (!cost.piecewise) return cost;
  ProgramCost line{cost.steps, 0, 0, false};
  for (const StepCost* step : cost.steps) {
    if (step->shapes.empty()) continue;
    const NcclTime& way = step->decisive(bytes);
    line.latency += way.latency;
    line.seconds_per_byte += way.seconds_per_byte;
  }
  return line;
}

std::vector<FastestRange> ranges_of_lines(const std::vector<const ProgramCost*>& costs,
                                          const Rational& low, const Rational& high) {
  std::vector<FastestRange> found;
  for (Rational at = low; at <= high; at = found.back().to + 1) {
    const std::size_t best = ranking(costs, at).front();
    Rational next = high + 1;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (costs[i]->seconds_per_byte >= costs[best]->seconds_per_byte) continue;
      next = std::min(next, overtakes(*costs[best], *costs[i], i < best));
    }
    found.push_back({at, next - 1, best});
  }
  return found;
}

}  // namespace

std::vector<FastestRange> fastest_ranges(const std::vector<const ProgramCost*>& costs,
                                         const Rational& low, const Rational& high) {
  const bool piecewise =
      std::any_of(costs.begin(), costs.end(), [](const auto* cost) { return cost->piecewise; });
  if (!piecewise) return ranges_of_lines(costs, low, high);
  std::vector<FastestRange> found;
  std::set<Rational> starts = changes_of_way(costs, low, high);
  starts.insert(high + 1);
  Rational from = low;
  for (const Rational& next : starts) {
    std::vector<ProgramCost> lines;
    std::vector<const ProgramCost*> pointers;
    for (const ProgramCost* cost : costs) lines.push_back(line_at(*cost, from));
    for (const ProgramCost& line : lines) pointers.push_back(&line);
    for (const FastestRange& range : ranges_of_lines(pointers, from, next - 1)) {
      if (!found.empty() && found.back().program == range.program) {
        found.back().to = range.to;
      } else {
        found.push_back(range);
      }
    }
    from = next;
  }
  return found;
}

}  // namespace p2
