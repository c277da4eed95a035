#include "engine/collective/kernels.h"

#include <algorithm>

#include "engine/base/invariant.h"

namespace p2 {
namespace {

/// Stands for "a premise fails" where a state or an offset is remembered.
constexpr std::uint32_t kRefused = UINT32_MAX;

/// The largest group state that is expanded for the interpreter, in contributions.
constexpr std::uint64_t kMaxExpandedState = std::uint64_t{1} << 26U;

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
    if (shards_.size() >= kRefused)
      throw LimitReached(LimitReached::Kind::Size, "too large, out of 32-bit shards");
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

using language::GroupState;

bool DefinedKernels::apply(Collective collective, std::span<const StateId> before,
                           std::span<StateId> after) {
  key_.assign(1, static_cast<std::uint32_t>(collective));
  key_.insert(key_.end(), before.begin(), before.end());
  bool known = false;
  std::uint32_t& answer = runs_.find(key_, known);
  if (!known) answer = run(collective, before);
  if (answer == kRefused) return false;
  std::copy_n(after_.begin() + answer, before.size(), after.begin());
  return true;
}

std::uint32_t DefinedKernels::run(Collective collective, std::span<const StateId> before) {
  const language::Definition& definition = collectives_.definition_of(collective);
  const GroupState group = expand(before);
  if (first_failed_premise(definition, group)) return kRefused;
  const GroupState result = post_state(definition, group);
  if (after_.size() + before.size() >= kRefused) {
    throw LimitReached(LimitReached::Kind::Size, "too large, out of 32-bit results");
  }
  const auto begin = static_cast<std::uint32_t>(after_.size());
  for (std::uint32_t i = 0; i < before.size(); ++i) after_.push_back(compress(result, i));
  return begin;
}

DefinedRefusal DefinedKernels::refusal(Collective collective,
                                       std::span<const StateId> before) const {
  const language::Definition& definition = collectives_.definition_of(collective);
  auto failed = first_failed_premise(definition, expand(before));
  invariant(failed.has_value(), "no premise fails of a step that was refused");
  const language::Premise& premise = definition.premises[failed->premise];
  return {premise.name, premise.description, std::move(failed->witness)};
}

GroupState DefinedKernels::expand(std::span<const StateId> group) const {
  const std::uint64_t rows = std::uint64_t{group.size()} * states_.chunks();
  if (rows > kMaxExpandedState / contributors_) {
    throw LimitReached(LimitReached::Kind::Size,
                       "a group is too large for the interpreter of the definitions");
  }
  const IndexSetTable& sets = states_.sets();
  GroupState state(static_cast<std::uint32_t>(group.size()), states_.chunks(), contributors_);
  const auto each = [&](IndexSetId set, auto visit) {
    for (const Run& run : sets.runs(set)) {
      for (std::uint32_t index = run.begin; index < run.end; ++index) visit(index);
    }
  };
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    for (const Piece& piece : states_.pieces(group[i])) {
      each(piece.chunks, [&](std::uint32_t r) {
        each(piece.contributors, [&](std::uint32_t c) { state.set(i, r, c, true); });
      });
    }
  }
  return state;
}

StateId DefinedKernels::compress(const GroupState& group, std::uint32_t position) {
  std::vector<Piece> pieces;
  std::vector<std::uint32_t> row;
  for (std::uint32_t r = 0; r < group.chunks(); ++r) {
    row.clear();
    for (std::uint32_t c = 0; c < group.contributors(); ++c) {
      if (group.holds(position, r, c)) row.push_back(c);
    }
    if (!row.empty()) pieces.push_back({states_.sets().range(r, r + 1), states_.sets().of(row)});
  }
  return states_.intern(pieces);
}

}  // namespace p2
