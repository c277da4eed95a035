#include "engine/collective/kernels.h"

#include <algorithm>
#include <stdexcept>

namespace p2 {
namespace {

constexpr StateId kRefused = UINT32_MAX;

}  // namespace

bool Kernels::apply(Collective collective, std::span<const StateId> before,
                    std::span<StateId> after) {
  switch (collective) {
    case Collective::AllReduce:
    case Collective::Reduce: {
      const StateId total = sum(before);
      if (total == kRefused) return false;
      const bool everywhere = collective == Collective::AllReduce;
      std::fill(after.begin(), after.end(), everywhere ? total : kHoldsNothing);
      after[0] = total;
      return true;
    }
    case Collective::ReduceScatter: {
      const StateId total = sum(before);
      return total != kRefused && scatter(total, after);
    }
    case Collective::AllGather: {
      const StateId all = gather(before);
      if (all == kRefused) return false;
      std::fill(after.begin(), after.end(), all);
      return true;
    }
    case Collective::Broadcast:
      return broadcast(before, after);
  }
  return defined_.apply(collective, before, after);
}

StateId Kernels::sum(std::span<const StateId> group) {
  bool known = false;
  std::uint32_t& answer = sums_.find(group, known);
  if (!known) answer = compute_sum(group);
  return answer;
}

StateId Kernels::compute_sum(std::span<const StateId> group) {
  IndexSetTable& sets = states_.sets();
  const IndexSetId held = states_.held(group[0]);
  for (const StateId state : group) {
    if (states_.held(state) != held) return kRefused;
  }
  if (held == 0) return kHoldsNothing;
  pieces_.clear();
  for (const IndexSetId block : states_.common_blocks(group)) {
    ids_.clear();
    std::uint64_t size = 0;
    std::uint32_t end = 0;
    for (const StateId state : group) {
      ids_.push_back(states_.content(state, block));
      size += sets.size(ids_.back());
      end = std::max(end, sets.end(ids_.back()));
    }
    if (size > end) return kRefused;  // more contributions than contributors: some count twice
    pieces_.push_back({block, sets.unite(ids_)});
    if (sets.size(pieces_.back().contributors) != size) return kRefused;
  }
  return states_.intern(pieces_);
}

StateId Kernels::gather(std::span<const StateId> group) {
  bool known = false;
  std::uint32_t& answer = gathers_.find(group, known);
  if (!known) answer = compute_gather(group);
  return answer;
}

StateId Kernels::compute_gather(std::span<const StateId> group) {
  IndexSetTable& sets = states_.sets();
  const std::uint32_t count = sets.size(states_.held(group[0]));
  if (std::uint64_t{count} * group.size() > states_.chunks()) return kRefused;
  ids_.clear();
  pieces_.clear();
  for (const StateId state : group) {
    const IndexSetId held = states_.held(state);
    const bool repeated = !ids_.empty() && held == ids_.front() && held != 0;
    if (repeated || sets.size(held) != count) return kRefused;
    ids_.push_back(held);
    const auto pieces = states_.pieces(state);
    pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
  }
  if (sets.size(sets.unite(ids_)) != std::uint64_t{count} * group.size()) return kRefused;
  return states_.intern(pieces_);
}

bool Kernels::scatter(StateId state, std::span<StateId> after) {
  const auto n = static_cast<std::uint32_t>(after.size());
  const std::uint32_t key[] = {state, n};
  bool known = false;
  std::uint32_t& answer = scatters_.find(key, known);
  if (!known) {
    const IndexSetId held = states_.held(state);
    const std::uint32_t count = states_.sets().size(held);
    if (shards_.size() >= kRefused) throw std::length_error("too large, out of 32-bit shards");
    answer = count % n != 0 ? kRefused : static_cast<std::uint32_t>(shards_.size());
    for (std::uint32_t i = 0; answer != kRefused && i < n; ++i) {
      const IndexSetId shard = states_.sets().slice(held, i * (count / n), count / n);
      shards_.push_back(states_.restrict(state, shard));
    }
  }
  if (answer == kRefused) return false;
  std::copy_n(shards_.begin() + answer, n, after.begin());
  return true;
}

bool Kernels::broadcast(std::span<const StateId> before, std::span<StateId> after) {
  const StateId root = before[0];
  bool informative = false;
  for (const StateId state : before) {
    if (state == root) continue;
    informative = true;
    if (!contained(state, root)) return false;
  }
  if (!informative) return false;
  std::fill(after.begin(), after.end(), root);
  return true;
}

bool Kernels::contained(StateId a, StateId b) {
  if (a == kHoldsNothing) return true;
  const std::uint32_t key[] = {a, b};
  bool known = false;
  std::uint32_t& answer = contained_.find(key, known);
  if (!known) answer = compute_contained(a, b) ? 1 : 0;
  return answer == 1;
}

bool Kernels::compute_contained(StateId a, StateId b) {
  IndexSetTable& sets = states_.sets();
  for (const Piece& small : states_.pieces(a)) {
    ids_.clear();
    for (const Piece& large : states_.pieces(b)) {
      if (sets.subset(small.contributors, large.contributors)) ids_.push_back(large.chunks);
    }
    if (!sets.subset(small.chunks, sets.unite(ids_))) return false;
  }
  return true;
}

std::size_t Kernels::bytes() const {
  return sums_.bytes() + gathers_.bytes() + scatters_.bytes() + contained_.bytes() +
         defined_.bytes() + shards_.capacity() * sizeof(StateId);
}

}  // namespace p2
