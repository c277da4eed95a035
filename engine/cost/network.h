#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/rational.h"
#include "engine/cost/pattern_groups.h"
#include "engine/topology/system.h"

namespace p2 {

/// One direction of one port, ring edge, NIC or medium of a system; index into a Network's links.
using LinkId = std::uint32_t;

/// The links of a system and the routes of transfers over them (P2 paper, section 5, figure 9). A
/// transfer from `a` to `b`
///  - goes over a ring in which they are neighbours, if there is one, and crosses nothing else;
///  - otherwise through the innermost switch or shared medium that joins them: the one with the
///    fewest devices whose run holds both, as different parts. On the way it leaves every switch,
///    NIC and medium that holds `a` but not `b`, and enters every one that holds `b` but not `a`.
/// It loads the port (of a switch) or the whole (NIC, medium) of what it leaves in direction out,
/// of what it enters in direction in, and of what joins them in both. An outer interconnect that
/// holds both is not loaded, nor is a NIC through which both leave, nor one at the level that joins
/// them: a NIC is used only by traffic that leaves its instance.
class Network {
 public:
  /// Throws InputError at `where` when the system has no interconnects.
  Network(const System& system, const SourcePosition& where);

  const System& system() const { return system_; }
  std::size_t links() const { return interconnect_of_.size(); }
  std::uint32_t interconnect_of(LinkId link) const { return interconnect_of_[link]; }
  LinkId first_link(std::uint32_t interconnect) const { return places_[interconnect].first; }
  /// `NIC of node 0, out`.
  std::string name(LinkId link) const;

  /// The links that a transfer between two different devices crosses, into `route`. Throws
  /// InputError when nothing joins them.
  void route(std::uint32_t from, std::uint32_t to, std::vector<LinkId>& route) const;
  /// Picoseconds of one message over a route: every interconnect on it counts once.
  Rational latency(const std::vector<LinkId>& route) const;
  /// Seconds that a byte takes on a link of this interconnect.
  Rational seconds_per_byte(std::uint32_t interconnect) const;

  /// The devices that share a link of this interconnect: a part or, of a NIC or medium, a run.
  std::uint32_t devices_per_link(std::uint32_t interconnect) const;
  /// Whether routes and nodes of translated devices are the translated ones.
  bool is_symmetric_for(const PatternGroups& groups) const;

  /// The node of a device, for algorithms that distinguish nodes: its part of the widest
  /// interconnect, or 0 for all devices if those parts are single devices.
  std::uint32_t node_of(std::uint32_t device) const { return device / devices_per_node_; }

 private:
  /// The links of an interconnect, and how a device finds its own.
  struct Place {
    std::uint32_t devices_per_part = 1;
    std::uint32_t span = 1;
    LinkId first = 0;
    InterconnectKind kind = InterconnectKind::Switch;
    bool full_duplex = true;

    std::uint32_t part(std::uint32_t device) const { return device / devices_per_part; }
    std::uint32_t run(std::uint32_t device) const { return part(device) / span; }
    std::uint32_t devices_per_run() const { return devices_per_part * span; }
    LinkId link(std::uint32_t copy, bool inwards) const {
      return full_duplex ? first + 2 * copy + (inwards ? 1 : 0) : first + copy;
    }
    /// The port, NIC or medium that a device leaves or enters through.
    LinkId door(std::uint32_t device, bool inwards) const {
      return link(kind == InterconnectKind::Switch ? part(device) : run(device), inwards);
    }
  };

  bool over_ring(std::uint32_t from, std::uint32_t to, std::vector<LinkId>& route) const;
  const Place* joining(std::uint32_t from, std::uint32_t to) const;
  /// The location of `span` instances of a level from number `first`: `node 0 gpu 4-7`, or of the
  /// enclosing instance if they are all of it.
  std::string location(const std::string& level, std::uint32_t first, std::uint32_t span) const;

  System system_;
  SourcePosition where_;
  std::vector<Place> places_;  // by interconnect
  std::vector<std::uint32_t> interconnect_of_;
  std::uint32_t devices_per_node_ = 1;
};

}  // namespace p2
