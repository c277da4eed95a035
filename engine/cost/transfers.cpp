#include "engine/cost/transfers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/program/row_sums.h"

namespace p2 {
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
  for (const bool second : {false, true}) {
    for (std::uint32_t rank = 1; rank < n; ++rank) {
      const std::uint32_t child = heads[position(rank, n, second)];
      const std::uint32_t above = heads[position(parent(rank, n), n, second)];
      stage.transfers.push_back({child, above, half});
      stage.transfers.push_back({above, child, half});
      std::uint64_t depth = 0;
      for (std::uint32_t at = rank; at != 0; at = parent(at, n)) ++depth;
      stage.rounds = std::max(stage.rounds, 2 * depth);
    }
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
