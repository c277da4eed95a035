#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/collective/collective.h"
#include "engine/cost/network.h"
#include "engine/placement/device_grid.h"
#include "engine/program/goal.h"

namespace p2 {

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
