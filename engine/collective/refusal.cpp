#include "engine/collective/kernels.h"

#include <algorithm>
#include <array>
#include <vector>

namespace p2 {
namespace {

/// Finds, for each premise, the first violation in one group.
class PremiseCheck {
 public:
  PremiseCheck(std::span<const StateId> group, StateTable& states)
      : group_(group), states_(states) {
    for (const StateId state : group_) {
      for (const Piece& piece : states_.pieces(state)) {
        universe_ = std::max(universe_, sets().runs(piece.contributors).back().end);
      }
    }
  }

  std::optional<Refusal> same_chunks();
  std::optional<Refusal> disjoint();
  std::optional<Refusal> divisible();
  std::optional<Refusal> disjoint_chunks();
  std::optional<Refusal> equal_count();
  std::optional<Refusal> contained();
  std::optional<Refusal> informative();

 private:
  IndexSetTable& sets() { return states_.sets(); }
  IndexSetId held(std::size_t i) const { return states_.held(group_[i]); }
  Refusal between(Premise premise, std::size_t i, std::size_t j);
  std::optional<Refusal> overlap(std::size_t i, std::size_t j);
  std::optional<Refusal> lacking(const Piece& piece, std::size_t j);
  /// Calls `visit(index)` for every member of `set` until it returns false.
  template <typename Visit>
  bool for_each_member(IndexSetId set, Visit visit);
  /// The first position whose set (`set_of(position)`) overlaps an earlier one.
  template <typename SetOf>
  std::optional<std::size_t> first_overlapping(std::uint32_t universe, SetOf set_of);
  std::optional<std::size_t> first_overlap();

  std::span<const StateId> group_;
  StateTable& states_;
  std::uint32_t universe_ = 0;  ///< one more than the largest contributor
};

Refusal PremiseCheck::between(Premise premise, std::size_t i, std::size_t j) {
  Refusal refusal;
  refusal.premise = premise;
  refusal.first = static_cast<std::uint32_t>(i);
  refusal.second = static_cast<std::uint32_t>(j);
  refusal.first_count = sets().size(held(i));
  refusal.second_count = sets().size(held(j));
  return refusal;
}

template <typename Visit>
bool PremiseCheck::for_each_member(IndexSetId set, Visit visit) {
  for (const Run& run : sets().runs(set)) {
    for (std::uint32_t index = run.begin; index < run.end; ++index) {
      if (!visit(index)) return false;
    }
  }
  return true;
}

template <typename SetOf>
std::optional<std::size_t> PremiseCheck::first_overlapping(std::uint32_t universe, SetOf set_of) {
  std::vector<bool> seen(universe, false);
  for (std::size_t j = 0; j < group_.size(); ++j) {
    const bool fresh = for_each_member(set_of(j), [&](std::uint32_t index) {
      if (seen[index]) return false;
      seen[index] = true;
      return true;
    });
    if (!fresh) return j;
  }
  return std::nullopt;
}

std::optional<Refusal> PremiseCheck::same_chunks() {
  for (std::size_t j = 1; j < group_.size(); ++j) {
    if (held(0) == held(j)) continue;
    const IndexSetId only_first = sets().subtract(held(0), held(j));
    const IndexSetId only_second = sets().subtract(held(j), held(0));
    const bool first_holds = only_second == 0 || (only_first != 0 && sets().first(only_first) <
                                                                         sets().first(only_second));
    Refusal refusal =
        first_holds ? between(Premise::SameChunks, 0, j) : between(Premise::SameChunks, j, 0);
    refusal.chunk = sets().first(first_holds ? only_first : only_second);
    return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> PremiseCheck::overlap(std::size_t i, std::size_t j) {
  std::optional<Refusal> smallest;
  for (const Piece& a : states_.pieces(group_[i])) {
    for (const Piece& b : states_.pieces(group_[j])) {
      const IndexSetId chunks = sets().intersect(a.chunks, b.chunks);
      const IndexSetId twice = sets().intersect(a.contributors, b.contributors);
      if (chunks == 0 || twice == 0) continue;
      Refusal refusal = between(Premise::Disjoint, i, j);
      refusal.chunk = sets().first(chunks);
      refusal.contributor = sets().first(twice);
      if (!smallest || refusal.chunk < smallest->chunk) smallest = refusal;
    }
  }
  return smallest;
}

std::optional<std::size_t> PremiseCheck::first_overlap() {
  std::optional<std::size_t> first;
  if (held(0) == 0) return first;
  for (const IndexSetId block : states_.common_blocks(group_)) {
    const auto second = first_overlapping(
        universe_, [&](std::size_t i) { return states_.content(group_[i], block); });
    if (second && (!first || *second < *first)) first = second;
  }
  return first;
}

std::optional<Refusal> PremiseCheck::disjoint() {
  const std::optional<std::size_t> second = first_overlap();
  if (!second) return std::nullopt;
  for (std::size_t i = 0; i < *second; ++i) {
    if (std::optional<Refusal> refusal = overlap(i, *second)) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> PremiseCheck::divisible() {
  if (sets().size(held(0)) % group_.size() == 0) return std::nullopt;
  return between(Premise::Divisible, 0, 0);
}

std::optional<Refusal> PremiseCheck::disjoint_chunks() {
  const auto second = first_overlapping(states_.chunks(), [&](std::size_t i) { return held(i); });
  if (!second) return std::nullopt;
  for (std::size_t i = 0; i < *second; ++i) {
    const IndexSetId common = sets().intersect(held(i), held(*second));
    if (common == 0) continue;
    Refusal refusal = between(Premise::DisjointChunks, i, *second);
    refusal.chunk = sets().first(common);
    return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> PremiseCheck::equal_count() {
  for (std::size_t j = 1; j < group_.size(); ++j) {
    if (sets().size(held(0)) != sets().size(held(j))) {
      return between(Premise::EqualCount, 0, j);
    }
  }
  return std::nullopt;
}

/// The smallest chunk of `piece`, held by position j, in which the root lacks a contribution.
std::optional<Refusal> PremiseCheck::lacking(const Piece& piece, std::size_t j) {
  std::optional<Refusal> smallest;
  const auto note = [&](IndexSetId chunks, IndexSetId contributors) {
    if (chunks == 0 || contributors == 0) return;
    Refusal refusal = between(Premise::Contained, 0, j);
    refusal.chunk = sets().first(chunks);
    refusal.contributor = sets().first(contributors);
    if (!smallest || refusal.chunk < smallest->chunk) smallest = refusal;
  };
  for (const Piece& root : states_.pieces(group_[0])) {
    note(sets().intersect(piece.chunks, root.chunks),
         sets().subtract(piece.contributors, root.contributors));
  }
  note(sets().subtract(piece.chunks, held(0)), piece.contributors);
  return smallest;
}

std::optional<Refusal> PremiseCheck::contained() {
  for (std::size_t j = 1; j < group_.size(); ++j) {
    if (group_[j] == group_[0]) continue;
    std::optional<Refusal> smallest;
    for (const Piece& piece : states_.pieces(group_[j])) {
      const std::optional<Refusal> refusal = lacking(piece, j);
      if (refusal && (!smallest || refusal->chunk < smallest->chunk)) smallest = refusal;
    }
    if (smallest) return smallest;
  }
  return std::nullopt;
}

std::optional<Refusal> PremiseCheck::informative() {
  const bool all_equal =
      std::all_of(group_.begin(), group_.end(), [&](StateId state) { return state == group_[0]; });
  if (!all_equal) return std::nullopt;
  return between(Premise::Informative, 0, 0);
}

}  // namespace

std::string_view name_of(Premise premise) {
  constexpr std::array<std::string_view, 7> names = {"same-chunks",     "disjoint",    "divisible",
                                                     "disjoint-chunks", "equal-count", "contained",
                                                     "informative"};
  return names[static_cast<std::size_t>(premise)];
}

std::optional<Refusal> find_refusal(Collective collective, std::span<const StateId> group,
                                    StateTable& states) {
  PremiseCheck search(group, states);
  std::optional<Refusal> refusal;
  switch (collective) {
    case Collective::AllReduce:
    case Collective::Reduce:
    case Collective::ReduceScatter:
      refusal = search.same_chunks();
      if (!refusal) refusal = search.disjoint();
      if (!refusal && collective == Collective::ReduceScatter) refusal = search.divisible();
      return refusal;
    case Collective::AllGather:
      refusal = search.disjoint_chunks();
      return refusal ? refusal : search.equal_count();
    case Collective::Broadcast:
      refusal = search.contained();
      return refusal ? refusal : search.informative();
  }
  return refusal;
}

}  // namespace p2
