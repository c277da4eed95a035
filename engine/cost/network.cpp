#include "engine/cost/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace p2 {
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

}  // namespace p2
