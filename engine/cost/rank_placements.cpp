#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "engine/base/text_cursor.h"
#include "engine/cost/nccl_system.h"
#include "engine/program/instance.h"
#include "engine/program/program_file.h"
#include "p2/bytes.h"
#include "p2/error.h"
#include "p2/place.h"

namespace p2 {
namespace {

constexpr std::array kTrafficCollectives{NcclCollective::AllReduce,     NcclCollective::AllGather,
                                         NcclCollective::ReduceScatter, NcclCollective::Broadcast,
                                         NcclCollective::Reduce,        NcclCollective::AllToAll,
                                         NcclCollective::SendReceive};

/// What the groups of one axis run in a step.
struct Traffic {
  std::uint32_t axis = 0;
  NcclCollective collective = NcclCollective::AllReduce;
  std::uint64_t calls = 1;
  std::uint64_t bytes = 0;  ///< of one call
  bool overlaps = false;
};

std::uint32_t find_axis(const Axes& axes, const std::string& name, const SourcePosition& where) {
  for (std::uint32_t i = 0; i < axes.count(); ++i) {
    if (axes[i].name == name) return i;
  }
  throw InputError(
      where, fmt::format("no axis is named \"{}\", expected one of {}", name, to_string(axes)));
}

NcclCollective read_collective(const std::string& name, const SourcePosition& where) {
  std::string known;
  for (const NcclCollective each : kTrafficCollectives) {
    if (to_string(each) == name) return each;
    known += (known.empty() ? "" : ", ") + std::string(to_string(each));
  }
  throw InputError(where, unknown_name(name, known));
}

/// `96x64M` or `2G`.
void read_amount(const std::string& text, Traffic& traffic) {
  const std::size_t times = text.find('x');
  if (times != std::string::npos) {
    TextCursor calls("--rank", std::string_view(text).substr(0, times));
    traffic.calls = calls.integer("the number of calls", 1, 1'000'000'000);
    if (!calls.at_end()) {
      throw InputError({"--rank"},
                       fmt::format("\"{}\" is not an amount, expected one such as 96x64M", text));
    }
  }
  traffic.bytes = parse_bytes("--rank", times == std::string::npos ? text : text.substr(times + 1));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::vector<Traffic> read_traffic(const RankRequest& request, const Axes& axes) {
  std::vector<Traffic> all;
  for (const std::string& part : split(request.traffic, ',')) {
    const std::size_t equals = part.find('=');
    const std::size_t colon = part.find(':', equals == std::string::npos ? 0 : equals);
    if (equals == std::string::npos || colon == std::string::npos) {
      throw InputError(
          {"--rank"},
          fmt::format("\"{}\" is not a description of traffic, expected AXIS=COLLECTIVE:BYTES "
                      "such as data=AllReduce:2G",
                      part));
    }
    Traffic traffic;
    traffic.axis = find_axis(axes, part.substr(0, equals), {"--rank"});
    traffic.collective = read_collective(part.substr(equals + 1, colon - equals - 1), {"--rank"});
    read_amount(part.substr(colon + 1), traffic);
    all.push_back(traffic);
  }
  if (!request.overlap) return all;
  for (const std::string& name : split(*request.overlap, '+')) {
    const std::uint32_t axis = find_axis(axes, name, {"--overlap"});
    const auto of_axis = [&](const Traffic& each) { return each.axis == axis; };
    if (std::none_of(all.begin(), all.end(), of_axis)) {
      throw InputError({"--overlap"},
                       fmt::format("axis {} has no traffic, expected an axis of --rank", name));
    }
    for (Traffic& each : all) each.overlaps = each.overlaps || of_axis(each);
  }
  return all;
}

/// Picoseconds: whole, so that they are compared exactly.
using Picoseconds = std::uint64_t;

Picoseconds picoseconds(double microseconds, std::uint64_t calls) {
  const double total = std::round(microseconds * 1e6) * static_cast<double>(calls);
  constexpr double kMost = 1e18;
  if (total > kMost) {
    throw InputError({"--rank"}, "the traffic takes more than eleven days, expected less");
  }
  return static_cast<Picoseconds>(total);
}

/// The time of one axis's traffic, and how long it keeps the links and the NICs busy.
struct TrafficTime {
  Picoseconds time = 0;
  Picoseconds on_link = 0;
  Picoseconds on_nic = 0;
  NcclLine line;
};

class PlacementTimes {
 public:
  explicit PlacementTimes(const NcclSystem& system) : system_(system) {}

  TrafficTime time(const DeviceGrid& grid, const Traffic& traffic) const {
    const ReductionAxes axis{traffic.axis};
    const std::vector<Group> groups = grid.groups(grid.factors_of(axis), 0);
    if (traffic.collective != NcclCollective::SendReceive) return slowest(groups, traffic);
    // A stage sends to the next one. Even pairs and odd pairs use the two directions of a NIC.
    TrafficTime most;
    for (const std::size_t first : {0, 1}) {
      std::vector<Group> pairs;
      for (const Group& group : groups) {
        for (std::size_t i = first; i + 1 < group.size(); i += 2) {
          pairs.push_back({group[i], group[i + 1]});
        }
      }
      const TrafficTime pair_time = slowest(pairs, traffic);
      if (pair_time.time > most.time) most = pair_time;
    }
    return most;
  }

  /// The time of all traffic.
  static Picoseconds total(const std::vector<Traffic>& traffic,
                           const std::vector<TrafficTime>& times) {
    Picoseconds sum = 0;
    Picoseconds longest = 0;
    Picoseconds on_link = 0;
    Picoseconds on_nic = 0;
    for (std::size_t i = 0; i < traffic.size(); ++i) {
      if (!traffic[i].overlaps) {
        sum += times[i].time;
        continue;
      }
      longest = std::max(longest, times[i].time);
      on_link += times[i].on_link;
      on_nic += times[i].on_nic;
    }
    return sum + std::max({longest, on_link, on_nic});
  }

 private:
  TrafficTime slowest(const std::vector<Group>& groups, const Traffic& traffic) const {
    const std::vector<double> ones(groups.size(), 1.0);
    TrafficTime most;
    for (const GroupTimes& shape : system_.times(traffic.collective, groups, ones, {})) {
      const auto bytes = static_cast<double>(traffic.bytes);
      const NcclLine& line = fastest_at(shape.lines, bytes);
      const Picoseconds time = picoseconds(line.at(bytes), traffic.calls);
      if (time <= most.time) continue;
      const Picoseconds busy = picoseconds(line.us_per_byte * bytes, traffic.calls);
      most = {time, line.network_bound ? 0 : busy, line.network_bound ? busy : 0, line};
    }
    return most;
  }

  const NcclSystem& system_;
};

struct Ranked {
  Placement placement;
  std::vector<TrafficTime> times;
  Picoseconds total = 0;
};

constexpr double kPerSecond = 1e12;

double seconds_of(Picoseconds time) { return static_cast<double>(time) / kPerSecond; }

std::string milliseconds(Picoseconds time) { return fmt::format("{:.4g}", seconds_of(time) * 1e3); }

AxisTime axis_time(const TrafficTime& time, const std::string& axis, const System& system,
                   const NcclSystem& nccl) {
  AxisTime shown{axis, seconds_of(time.time), "", "none"};
  if (time.time == 0) return shown;
  shown.algorithm =
      fmt::format("{} {}", to_string(time.line.algorithm), to_string(time.line.protocol));
  const bool waits = 2 * (time.on_link + time.on_nic) < time.time;
  shown.link = waits ? "latency" : system.interconnects[nccl.interconnect_of(time.line)].name;
  return shown;
}

}  // namespace

RankAnswer rank_placements(const RankRequest& request, const Options& options) {
  const GivenInstance given = given_instance(request.instance);
  require_system(given, false);
  const System system = system_of(request.instance);
  const NcclSystem nccl(system, {request.instance.system.value_or("--hierarchy")});
  const std::vector<Traffic> traffic = read_traffic(request, *given.axes);
  const PlacementTimes pricer(nccl);
  std::vector<Ranked> ranked;
  for (Placement& placement : placements_of(given, request.max_placements)) {
    options.limits.require(0, "ranking placements");
    const DeviceGrid grid(*given.hierarchy, *given.axes, placement);
    Ranked each{std::move(placement), {}, 0};
    for (const Traffic& axis : traffic) each.times.push_back(pricer.time(grid, axis));
    each.total = PlacementTimes::total(traffic, each.times);
    ranked.push_back(std::move(each));
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return a.total < b.total; });
  RankAnswer answer;
  answer.ranked = ranked.size();
  Document& document = answer.document;
  document.title = "p2-verify place --rank";
  document.line(fmt::format("{}: {}   axes {}   {} placements by communication time", system.name,
                            to_string(*given.hierarchy), to_string(*given.axes), ranked.size()));
  document.line("");
  Table table{{"rank", "ms"}, {}, 2};
  for (const Traffic& axis : traffic) {
    const std::string& name = (*given.axes)[axis.axis].name;
    table.header.push_back(fmt::format("{} {}", name, to_string(axis.collective)));
  }
  table.header.emplace_back("placement");
  constexpr std::size_t kShown = 20;
  const std::size_t in_text = std::min(request.top.value_or(kShown), ranked.size());
  const std::size_t in_json = std::min(request.top.value_or(ranked.size()), ranked.size());
  Json list = Json::array();
  for (std::size_t i = 0; i < in_json; ++i) {
    RankedPlacement shown{ranked[i].placement.factors, seconds_of(ranked[i].total), {}};
    std::vector<std::string> row{std::to_string(i + 1), milliseconds(ranked[i].total)};
    for (std::size_t axis = 0; axis < traffic.size(); ++axis) {
      const TrafficTime& time = ranked[i].times[axis];
      shown.axes.push_back(axis_time(time, (*given.axes)[traffic[axis].axis].name, system, nccl));
      const AxisTime& of = shown.axes.back();
      row.push_back(of.algorithm.empty() ? "0"
                                         : fmt::format("{} ({}, {})", milliseconds(time.time),
                                                       of.link, of.algorithm));
    }
    row.push_back(to_string(ranked[i].placement));
    if (i < in_text) table.rows.push_back(std::move(row));
    list.push_back(Json::object({{"placement", lists_json(shown.placement)},
                                 {"seconds", shown.seconds},
                                 {"axes", Json::array_of(shown.axes, [](const AxisTime& of) {
                                    return Json::object({{"axis", of.axis},
                                                         {"seconds", of.seconds},
                                                         {"algorithm", of.algorithm},
                                                         {"link", of.link}});
                                  })}}));
    answer.placements.push_back(std::move(shown));
  }
  document.add(std::move(table));
  if (in_text < ranked.size()) {
    document.line(
        fmt::format("… and {} more: --top {} shows all", ranked.size() - in_text, ranked.size()));
  }
  document.json = Json::object({{"system", system.name},
                                {"hierarchy", parts_json(given.hierarchy->levels())},
                                {"axes", parts_json(*given.axes)},
                                {"count", ranked.size()},
                                {"placements", std::move(list)}});
  return answer;
}

}  // namespace p2
