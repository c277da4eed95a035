#include "engine/cost/network.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "engine/program/goal.h"

namespace p2 {

PatternGroups::PatternGroups(const DeviceGrid& grid, const Pattern& pattern)
    : digits_(grid.factors()),
      reduced_(pattern.reduced),
      free_(grid.all_factors() & ~(pattern.reduced | pattern.pinned)) {
  for (Factor& digit : digits_) digit.axis = digit.level = 0;
}

Group PatternGroups::first() const { return digit_sums(digits_, reduced_); }

std::vector<Group> PatternGroups::all() const {
  const Group offsets = first();
  std::vector<Group> groups;
  for (const std::uint32_t base : digit_sums(digits_, free_)) {
    Group& group = groups.emplace_back(offsets);
    for (std::uint32_t& device : group) device += base;
  }
  return groups;
}

bool PatternGroups::respects_runs(std::uint32_t run) const {
  return std::ranges::all_of(digits_, [&](const Factor& digit) {
    const std::uint32_t end = digit.stride * digit.size;
    if (run <= digit.stride) return digit.stride % run == 0;
    return run >= end || (run % digit.stride == 0 && end % run == 0);
  });
}

std::uint64_t PatternGroups::groups_in_run(std::uint32_t run) const {
  std::uint64_t groups = 1;
  for (std::size_t f = 0; f < digits_.size(); ++f) {
    const Factor& digit = digits_[f];
    if ((free_ >> f & 1U) == 0 || run <= digit.stride) continue;
    groups *= std::min(digit.size, run / digit.stride);
  }
  return groups;
}

namespace {

/// The devices in one instance of a level.
std::uint32_t devices_in(const Hierarchy& hierarchy, const std::string& level) {
  std::uint32_t devices = hierarchy.devices();
  for (const Level& each : hierarchy.levels()) {
    devices /= each.size;
    if (each.name == level) return devices;
  }
  return devices;
}

bool joins(InterconnectKind kind) { return kind != InterconnectKind::SharedNic; }

}  // namespace

Network::Network(const System& system, const SourcePosition& where)
    : system_(system), where_(where), devices_per_node_(system.hierarchy.devices()) {
  if (system_.interconnects.empty()) {
    throw InputError(where,
                     "a system without interconnects cannot be priced, expected --system "
                     "with a file that names them");
  }
  std::uint32_t widest = 0;
  for (std::uint32_t i = 0; i < system_.interconnects.size(); ++i) {
    const Interconnect& each = system_.interconnects[i];
    const Place place{devices_in(system_.hierarchy, each.level), each.span,
                      static_cast<LinkId>(links()), each.kind, each.duplex == Duplex::Full};
    places_.push_back(place);
    const std::uint32_t copies = system_.hierarchy.devices() / devices_per_link(i);
    interconnect_of_.resize(links() + std::size_t{copies} * (place.full_duplex ? 2 : 1), i);
    if (links() > std::numeric_limits<LinkId>::max()) {
      throw InputError(where, "the system has more than 2^32 links, expected fewer");
    }
    if (!joins(each.kind) || place.devices_per_run() <= widest) continue;
    widest = place.devices_per_run();
    devices_per_node_ =
        place.devices_per_part > 1 ? place.devices_per_part : system_.hierarchy.devices();
  }
}

bool Network::over_ring(std::uint32_t from, std::uint32_t to, std::vector<LinkId>& route) const {
  for (const Place& place : places_) {
    if (place.kind != InterconnectKind::Ring || place.run(from) != place.run(to)) continue;
    const std::uint32_t a = place.part(from);
    const std::uint32_t b = place.part(to);
    const std::uint32_t forwards = (b + place.span - a) % place.span;
    // Link 2p goes from part p to its successor, 2p + 1 back.
    if (forwards == 1) {
      route.push_back(place.link(a, false));
    } else if (forwards + 1 == place.span) {
      route.push_back(place.link(b, true));
    } else {
      continue;
    }
    return true;
  }
  return false;
}

const Network::Place* Network::joining(std::uint32_t from, std::uint32_t to) const {
  const Place* innermost = nullptr;
  for (const Place& place : places_) {
    if (place.kind == InterconnectKind::Ring || !joins(place.kind)) continue;
    if (place.run(from) != place.run(to) || place.part(from) == place.part(to)) continue;
    if (innermost == nullptr || place.devices_per_run() < innermost->devices_per_run()) {
      innermost = &place;
    }
  }
  return innermost;
}

void Network::route(std::uint32_t from, std::uint32_t to, std::vector<LinkId>& route) const {
  route.clear();
  if (over_ring(from, to, route)) return;
  const Place* const joint = joining(from, to);
  if (joint == nullptr) {
    throw InputError(where_, fmt::format("no switch, ring or shared medium joins devices {} and "
                                         "{}, expected one",
                                         from, to));
  }
  for (const Place& place : places_) {
    if (place.kind == InterconnectKind::Ring) continue;
    if (&place != joint && place.run(from) == place.run(to)) continue;
    if (!joins(place.kind) && place.devices_per_part >= joint->devices_per_part) continue;
    route.push_back(place.door(from, false));
    route.push_back(place.door(to, true));
  }
}

Rational Network::latency(const std::vector<LinkId>& route) const {
  Rational sum = 0;
  for (std::size_t i = 0; i < route.size(); ++i) {
    // The two links of one interconnect are adjacent in the route: its latency counts once.
    if (i > 0 && interconnect_of_[route[i]] == interconnect_of_[route[i - 1]]) continue;
    sum += system_.interconnects[interconnect_of_[route[i]]].latency_ps;
  }
  return sum;
}

std::uint32_t Network::devices_per_link(std::uint32_t interconnect) const {
  const Place& place = places_[interconnect];
  const bool by_part =
      place.kind == InterconnectKind::Switch || place.kind == InterconnectKind::Ring;
  return by_part ? place.devices_per_part : place.devices_per_run();
}

bool Network::is_symmetric_for(const PatternGroups& groups) const {
  return groups.respects_runs(devices_per_node_) &&
         std::ranges::all_of(places_, [&](const Place& place) {
           return groups.respects_runs(place.devices_per_part) &&
                  groups.respects_runs(place.devices_per_run());
         });
}

Rational Network::seconds_per_byte(std::uint32_t interconnect) const {
  const Interconnect& each = system_.interconnects[interconnect];
  return ratio(each.kind == InterconnectKind::Ring ? 2 : 1, each.bytes_per_second);
}

std::string Network::location(const std::string& level, std::uint32_t first,
                              std::uint32_t span) const {
  std::string name;
  std::uint32_t devices = system_.hierarchy.devices();
  const std::uint32_t device = first * devices_in(system_.hierarchy, level);
  for (const Level& each : system_.hierarchy.levels()) {
    const bool last = each.name == level;
    devices /= each.size;
    if (last && span == each.size) break;
    const std::uint32_t number = device / devices % each.size;
    name += fmt::format("{}{} {}", name.empty() ? "" : " ", each.name, number);
    if (last && span > 1) name += fmt::format("-{}", number + span - 1);
    if (last) break;
  }
  return name.empty() ? "the system" : name;
}

std::string Network::name(LinkId link) const {
  const std::uint32_t index = interconnect_of_[link];
  const Interconnect& each = system_.interconnects[index];
  const Place& place = places_[index];
  const std::uint32_t copy = (link - place.first) / (place.full_duplex ? 2 : 1);
  const bool inwards = place.full_duplex && (link - place.first) % 2 == 1;
  if (each.kind == InterconnectKind::Ring) {
    const std::uint32_t next = copy / place.span * place.span + (copy + 1) % place.span;
    return fmt::format("{}, {} {} {}", each.name, location(each.level, inwards ? next : copy, 1),
                       place.full_duplex ? "to" : "with",
                       location(each.level, inwards ? copy : next, 1));
  }
  const std::uint32_t parts = each.kind == InterconnectKind::Switch ? 1 : place.span;
  return fmt::format("{} of {}{}", each.name, location(each.level, copy * parts, parts),
                     !place.full_duplex ? ""
                     : inwards          ? ", in"
                                        : ", out");
}

namespace {

/// Every edge of the ring, both ways round.
Stage ring(const Group& group, std::uint64_t rounds, std::uint64_t amount) {
  Stage stage{rounds, {}};
  for (std::size_t i = 0; i < group.size(); ++i) {
    const std::uint32_t next = group[(i + 1) % group.size()];
    stage.transfers.push_back({group[i], next, amount});
    stage.transfers.push_back({next, group[i], amount});
  }
  return stage;
}

/// The chains from the first device to all others, one each way round; or, for Reduce, to it.
Stage chains(const Group& group, bool to_first, std::uint64_t amount) {
  Stage stage{group.size() - 1, {}};
  const auto add = [&](std::uint32_t nearer, std::uint32_t farther) {
    stage.transfers.push_back(to_first ? Transfer{farther, nearer, amount}
                                       : Transfer{nearer, farther, amount});
  };
  for (std::size_t i = 0; i + 1 < group.size(); ++i) add(group[i], group[i + 1]);
  add(group.front(), group.back());
  for (std::size_t i = group.size() - 1; i > 1; --i) add(group[i], group[i - 1]);
  return stage;
}

/// The parent of `rank` > 0 in the binary tree over 0 … n−1 in which ranks stand in order and odd
/// ones are leaves; 0 is the root.
std::uint32_t parent(std::uint32_t rank, std::uint32_t n) {
  const std::uint32_t lowest_bit = rank & (~rank + 1);
  const std::uint32_t up = (rank ^ lowest_bit) | (lowest_bit << 1);
  return up < n ? up : rank ^ lowest_bit;
}

/// The device that `rank` of a tree stands for. In the second tree ranks are mirrored or, for odd
/// numbers, shifted by one, so that leaves change places with inner ones.
std::uint32_t position(std::uint32_t rank, std::uint32_t n, bool second) {
  if (!second) return rank;
  return n % 2 == 0 ? n - 1 - rank : (rank + 1) % n;
}

Stage two_trees(const Group& heads, std::uint64_t half) {
  const auto n = static_cast<std::uint32_t>(heads.size());
  Stage stage;
  for (const auto& [child, above] : two_tree_edges(n)) {
    stage.transfers.push_back({heads[child], heads[above], half});
    stage.transfers.push_back({heads[above], heads[child], half});
  }
  for (std::uint32_t rank = 1; rank < n; ++rank) {
    std::uint64_t depth = 0;
    for (std::uint32_t at = rank; at != 0; at = parent(at, n)) ++depth;
    stage.rounds = std::max(stage.rounds, 2 * depth);
  }
  return stage;
}

std::vector<Stage> tree(const Group& group, std::uint64_t rows, const Network& network) {
  const std::uint64_t whole = 2 * group.size() * rows;
  Stage chain;
  Group heads;
  std::uint64_t edges = 0;  // of the chain of this node, so far
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (i == 0 || network.node_of(group[i - 1]) != network.node_of(group[i])) {
      heads.push_back(group[i]);
      edges = 0;
      continue;
    }
    chain.transfers.push_back({group[i], group[i - 1], whole});
    chain.transfers.push_back({group[i - 1], group[i], whole});
    chain.rounds = std::max(chain.rounds, 2 * ++edges);
  }
  return {std::move(chain), two_trees(heads, whole / 2)};
}

}  // namespace

std::vector<Stage> transfers(Collective collective, Algorithm algorithm, const Group& group,
                             std::uint64_t rows, const Network& network) {
  const std::uint64_t n = group.size();
  switch (collective) {
    case Collective::AllReduce:
      if (algorithm == Algorithm::Tree) return tree(group, rows, network);
      return {ring(group, 2 * (n - 1), 2 * (n - 1) * rows)};
    case Collective::ReduceScatter:
      return {ring(group, n - 1, (n - 1) * rows)};
    case Collective::AllGather:
      return {ring(group, n - 1, n * (n - 1) * rows)};
    case Collective::Reduce:
      return {chains(group, true, n * rows)};
    case Collective::Broadcast:
      return {chains(group, false, n * rows)};
  }
  return {};
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> two_tree_edges(std::uint32_t n) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const bool second : {false, true}) {
    for (std::uint32_t rank = 1; rank < n; ++rank) {
      edges.emplace_back(position(rank, n, second), position(parent(rank, n), n, second));
    }
  }
  return edges;
}

Stage all_to_all(const Group& group, std::uint64_t rows) {
  Stage stage{group.size() - 1, {}};
  for (const std::uint32_t from : group) {
    for (const std::uint32_t to : group) {
      if (from != to) stage.transfers.push_back({from, to, 2 * rows});
    }
  }
  return stage;
}

std::optional<Stage> exchange(const StateTable& states, const Group& group,
                              const SystemState& before, const SystemState& after) {
  const auto sums = row_sums(states, group, before, after);
  if (!sums) return std::nullopt;
  const std::uint64_t chunk = 2 * group.size();
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> amounts;  // by sender, receiver
  for (std::uint32_t to = 0; to < group.size(); ++to) {
    for (const RowSum& sum : (*sums)[to]) {
      for (const std::uint32_t from : sum.positions) {
        if (from != to) amounts[{group[from], group[to]}] += chunk;
      }
    }
  }
  Stage stage;
  std::map<std::uint32_t, std::uint64_t> sends;
  std::map<std::uint32_t, std::uint64_t> receives;
  for (const auto& [pair, amount] : amounts) {
    stage.transfers.push_back({pair.first, pair.second, amount});
    stage.rounds = std::max({stage.rounds, ++sends[pair.first], ++receives[pair.second]});
  }
  return stage;
}

std::string_view to_string(Algorithm algorithm) {
  return algorithm == Algorithm::Ring ? "ring" : "tree";
}

std::optional<Algorithm> find_algorithm(std::string_view name) {
  for (const Algorithm each : {Algorithm::Ring, Algorithm::Tree}) {
    if (to_string(each) == name) return each;
  }
  return std::nullopt;
}

}  // namespace p2
