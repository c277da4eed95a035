#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/rational.h"
#include "engine/collective/collective.h"
#include "engine/placement/placement.h"
#include "engine/program/goal.h"
#include "engine/program/instruction.h"
#include "engine/topology/system.h"

namespace p2 {

/// The groups of a pattern by the digits of device ids: every group is the first one, translated by
/// a choice of the free digits, those that are neither reduced nor pinned.
class PatternGroups {
 public:
  PatternGroups(const DeviceGrid& grid, const Pattern& pattern);

  /// The group whose free digits are all 0.
  Group first() const;
  /// All of them, as DeviceGrid::groups.
  std::vector<Group> all() const;

  /// The digits that are neither reduced nor pinned.
  FactorSet free() const { return free_; }

  /// Whether runs of so many consecutive devices end at a digit or divide one into equal parts.
  /// Then translations permute the runs: two devices are in one run, or so many runs apart, exactly
  /// if their translates are.
  bool respects_runs(std::uint32_t run) const;
  /// How many groups have a member in a run in which the first group has one. The runs must be
  /// respected.
  std::uint64_t groups_in_run(std::uint32_t run) const;

  auto operator<=>(const PatternGroups&) const = default;

 private:
  // Digits with axis and level 0, outermost first: patterns of several placements may be equal.
  std::vector<Factor> digits_;
  FactorSet reduced_ = 0;
  FactorSet free_ = 0;
};

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

/// The algorithm of a collective, as NCCL_ALGO (P2 paper, section 4).
enum class Algorithm : std::uint8_t { Ring, Tree };

/// Data that one device of a group sends another.
struct Transfer {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t amount = 0;  ///< in 1/(2n) of a chunk, for a group of n devices
};

/// Concurrent transfers; a message passes along one of them `rounds` times in sequence.
struct Stage {
  std::uint64_t rounds = 0;
  std::vector<Transfer> transfers;
};

/// The transfers of a collective on one group in which every device (for Broadcast the first) holds
/// `rows` chunks. `group` is ascending and has at least two devices.
///
/// Ring: the devices form a ring in the order of their ids, which is that of the hardware, and half
/// of the data travels in either direction, as on NCCL's channels. Of r chunks a
/// ring edge carries, both directions together, 2(n−1)/n · r for AllReduce, (n−1)/n · r for
/// ReduceScatter, (n−1) · r for AllGather. Reduce and Broadcast are two chains that start or end at
/// the first device, one in each direction, each with half of the r chunks.
///
/// Tree: AllReduce alone; the other collectives have only the ring, as in NCCL. In every node
/// (Network::node_of) the devices are a chain in the order of their ids, and the heads of the
/// chains form two binary trees (Sanders, Speck, Träff 2009) with half of the data each: an inner
/// head of one is a leaf of the other. All data goes up every edge and its sum comes down.
std::vector<Stage> transfers(Collective collective, Algorithm algorithm, const Group& group,
                             std::uint64_t rows, const Network& network);

/// The edges, child and parent, of the two binary trees over 0 … n−1, those of the first tree
/// first.
std::vector<std::pair<std::uint32_t, std::uint32_t>> two_tree_edges(std::uint32_t n);

/// Every device sends an n-th of its `rows` chunks to each of the others, one after the other.
Stage all_to_all(const Group& group, std::uint64_t rows);

/// The transfers of a user-defined collective, which takes a group from its states in `before` to
/// those in `after`: every device that adds a row up gets it from the one that has it. A device
/// exchanges messages with one other at a time, so there are as many rounds as the busiest has
/// partners (pairwise exchange, as in an all-to-all). Nothing if no additions do it: row_sums.
std::optional<Stage> exchange(const StateTable& states, const Group& group,
                              const SystemState& before, const SystemState& after);

/// `ring`, `tree`.
std::string_view to_string(Algorithm algorithm);
std::optional<Algorithm> find_algorithm(std::string_view name);

}  // namespace p2
