#include "engine/program/symbolic/chunk_tables.h"

#include <algorithm>
#include <map>

#include "engine/base/invariant.h"

namespace p2 {

ProblemWithEnds::ProblemWithEnds(const Problem& problem, Collective of_goal) : Problem(problem) {
  if (reduction == 0) return;
  const auto on_classes = [&](Collective collective) {
    moves.push_back({{reduction, 0}, collective});
    return static_cast<std::uint32_t>(moves.size() - 1);
  };
  const std::optional<Collective> prepared = p2::preparation(beginning.start);
  if (prepared) preparation = on_classes(*prepared);
  goal = on_classes(of_goal);
}

ProxyGrid::ProxyGrid(const Problem& problem, std::uint32_t values) {
  for (const Factor& factor : problem.factors) {
    sizes_.push_back(factor.size);
    factors_.push_back({0, 0, std::min(factor.size, values), 1});
  }
  for (auto factor = factors_.rbegin(); factor != factors_.rend(); ++factor) {
    factor->stride = points_;
    points_ *= factor->size;
  }
  const FactorSet all = (FactorSet{1} << factors_.size()) - 1;
  for (std::size_t move = 0; move < problem.moves.size(); ++move) {
    const Pattern& pattern = problem.moves[move].pattern;
    if (move == 0 || pattern != problem.moves[move - 1].pattern) {
      Groups& groups = groups_.emplace_back();
      groups.bases = digit_sums(factors_, all & ~(pattern.reduced | pattern.pinned));
      groups.offsets = digit_sums(factors_, pattern.reduced);
      for (std::size_t f = 0; f < sizes_.size(); ++f) {
        if ((pattern.reduced >> f & 1U) != 0) groups.size *= sizes_[f];
      }
    }
    groups_of_move_.push_back(static_cast<std::uint32_t>(groups_.size() - 1));
  }
}

std::uint32_t PointSets::of(std::span<const std::uint32_t> points) {
  std::ranges::fill(buffer_, 0);
  for (const std::uint32_t point : points) buffer_[point / 32] |= 1U << (point % 32);
  return table_.intern(buffer_);
}

std::optional<std::uint32_t> PointSets::disjoint_union(std::span<const std::uint32_t> sets) {
  std::ranges::fill(buffer_, 0);
  for (const std::uint32_t set : sets) {
    const auto words = table_[set];
    for (std::size_t i = 0; i < words.size(); ++i) {
      if ((buffer_[i] & words[i]) != 0) return std::nullopt;
      buffer_[i] |= words[i];
    }
  }
  return table_.intern(buffer_);
}

bool PointSets::is_subset(std::uint32_t some, std::uint32_t all) const {
  if (some == all || some == kEmpty) return true;
  const auto small = table_[some];
  const auto large = table_[all];
  for (std::size_t i = 0; i < small.size(); ++i) {
    if ((small[i] & ~large[i]) != 0) return false;
  }
  return true;
}

namespace {

// Counts for any sizes: exponents of the digits' sizes, 3 bits each, biased by 4.
constexpr unsigned kExponentBits = 3;
constexpr int kExponentBias = 4;
constexpr ChunkCounts::Count kUnknownCount = ChunkCounts::Count{1} << 63U;

int exponent(ChunkCounts::Count count, std::size_t digit) {
  return static_cast<int>(count >> (kExponentBits * digit) & 7U) - kExponentBias;
}

struct Comparison {
  bool less = false;  ///< for some digit
  bool more = false;
};

Comparison compare_exponents(ChunkCounts::Count a, ChunkCounts::Count b, std::size_t digits) {
  Comparison result;
  for (std::size_t f = 0; f < digits; ++f) {
    result.less = result.less || exponent(a, f) < exponent(b, f);
    result.more = result.more || exponent(a, f) > exponent(b, f);
  }
  return result;
}

constexpr std::uint32_t kRefusedRun = UINT32_MAX;

}  // namespace

ChunkCounts::ChunkCounts(const Problem& problem, bool any_sizes)
    : digits_(problem.factors.size()), any_sizes_(any_sizes), all_(problem.chunks()) {
  if (!any_sizes) return;
  all_ = 0;
  for (std::size_t f = 0; f < digits_; ++f) all_ |= Count{kExponentBias} << (kExponentBits * f);
  if (digits_ == 0) all_ = 1;
}

bool ChunkCounts::may_equal(Count a, Count b) const {
  if (a == b) return true;
  if (!any_sizes_ || a == 0 || b == 0) return false;
  if (((a | b) & kUnknownCount) != 0) return true;
  const Comparison difference = compare_exponents(a, b, digits_);
  return difference.less && difference.more;
}

bool ChunkCounts::may_reach(Count a, Count b) const {
  if (!any_sizes_ || a == 0 || b == 0) return a >= b;
  if (((a | b) & kUnknownCount) != 0) return true;
  const Comparison difference = compare_exponents(a, b, digits_);
  return difference.more || !difference.less;
}

std::optional<ChunkCounts::Count> ChunkCounts::divide(Count count, FactorSet digits,
                                                      std::uint64_t size) const {
  if (any_sizes_) return scale(count, digits, -1);
  if (count % size != 0) return std::nullopt;
  return count / size;
}

std::optional<ChunkCounts::Count> ChunkCounts::multiply(Count count, FactorSet digits,
                                                        std::uint64_t size) const {
  if (any_sizes_) return scale(count, digits, 1);
  if (count * size > all_) return std::nullopt;
  return count * size;
}

std::optional<ChunkCounts::Count> ChunkCounts::scale(Count count, FactorSet digits, int by) const {
  if (count == 0 || (count & kUnknownCount) != 0) return count;
  Count scaled = 0;
  for (std::size_t f = 0; f < digits_; ++f) {
    const int power = exponent(count, f) + ((digits >> f & 1U) != 0 ? by : 0);
    if (power < -kExponentBias || power >= kExponentBias) return kUnknownCount;
    scaled |= static_cast<Count>(power + kExponentBias) << (kExponentBits * f);
  }
  const Comparison with_all = compare_exponents(scaled, all_, digits_);
  if (with_all.more && !with_all.less) return std::nullopt;  // more than there are
  return scaled;
}

TwoChunks::TwoChunks(const Problem& problem, bool any_sizes, Collective goal)
    : problem_(problem, goal),
      grid_(problem_, kValues),
      counts_(problem, any_sizes),
      sets_(grid_.points()) {
  intern({});
}

std::size_t TwoChunks::bytes() const {
  return states_.bytes() + holdings_.bytes() + sets_.bytes() + results_.bytes() +
         (after_.capacity() + goal_.capacity()) * sizeof(std::uint32_t);
}

TwoChunks::Holding TwoChunks::holding(std::uint32_t id) const {
  const auto words = holdings_[id];
  return {words[0], words[1], ChunkCounts::Count{words[2]} << 32U | words[3]};
}

std::uint32_t TwoChunks::intern(const Holding& holding) {
  const std::uint32_t words[] = {holding.first, holding.last,
                                 static_cast<std::uint32_t>(holding.chunks >> 32U),
                                 static_cast<std::uint32_t>(holding.chunks)};
  return holdings_.intern(words);
}

std::uint32_t TwoChunks::initial() {
  std::vector<std::uint32_t> state;
  for (std::uint32_t point = 0; point < grid_.points(); ++point) {
    const std::uint32_t own = sets_.of({&point, 1});
    state.push_back(intern({own, own, counts_.all()}));
  }
  for (std::uint32_t point = 0; point < grid_.points(); ++point) state.push_back(point + 1);
  const bool begins = !problem_.preparation || advance(state, *problem_.preparation);
  goal_ = state;
  const bool ends = !problem_.goal || advance(goal_, *problem_.goal);
  invariant(begins && ends, "a goal that its beginning refuses");
  goal_.resize(grid_.points());
  return states_.intern(state);
}

std::uint32_t TwoChunks::distance_bound(std::uint32_t id) const {
  const auto may_be = [&](std::uint32_t some, std::uint32_t other) {
    if (some == other) return true;
    const Holding held = holding(some);
    const Holding wanted = holding(other);
    return held.first == wanted.first && held.last == wanted.last &&
           counts_.may_equal(held.chunks, wanted.chunks);
  };
  return std::ranges::equal(states_[id].first(grid_.points()), goal_, may_be) ? 0 : 1;
}

std::optional<TwoChunks::Holding> TwoChunks::sum(std::span<const Holding> group) {
  Holding total = group[0];
  std::vector<std::uint32_t> firsts;
  std::vector<std::uint32_t> lasts;
  for (const Holding& each : group) {
    if (!counts_.may_equal(each.chunks, total.chunks) ||
        (each.first == PointSets::kEmpty) != (total.first == PointSets::kEmpty) ||
        (each.last == PointSets::kEmpty) != (total.last == PointSets::kEmpty)) {
      return std::nullopt;
    }
    firsts.push_back(each.first);
    lasts.push_back(each.last);
  }
  const auto first = sets_.disjoint_union(firsts);
  const auto last = sets_.disjoint_union(lasts);
  if (!first || !last) return std::nullopt;
  return Holding{*first, *last, total.chunks};
}

std::optional<TwoChunks::Holding> TwoChunks::gather(std::uint32_t move,
                                                    std::span<const Holding> group) {
  Holding all{PointSets::kEmpty, PointSets::kEmpty, group[0].chunks};
  for (const Holding& each : group) {
    if (!counts_.may_equal(each.chunks, all.chunks) ||
        (each.first != PointSets::kEmpty && all.first != PointSets::kEmpty) ||
        (each.last != PointSets::kEmpty && all.last != PointSets::kEmpty)) {
      return std::nullopt;
    }
    if (each.first != PointSets::kEmpty) all.first = each.first;
    if (each.last != PointSets::kEmpty) all.last = each.last;
  }
  const auto chunks =
      counts_.multiply(all.chunks, problem_.moves[move].pattern.reduced, grid_.groups(move).size);
  if (!chunks) return std::nullopt;
  all.chunks = *chunks;
  return all;
}

bool TwoChunks::root_contains(std::span<const Holding> group) const {
  const Holding& root = group[0];
  return std::ranges::all_of(group, [&](const Holding& each) {
    return counts_.may_reach(root.chunks, each.chunks) && sets_.is_subset(each.first, root.first) &&
           sets_.is_subset(each.last, root.last);
  });
}

std::uint32_t TwoChunks::run(std::uint32_t move, std::span<const std::uint32_t> before) {
  std::vector<Holding> group;
  for (const std::uint32_t id : before) group.push_back(holding(id));
  if (std::ranges::all_of(group, [](const Holding& each) { return each.chunks == 0; })) {
    return kRefusedRun;
  }
  const Collective collective = problem_.moves[move].collective;
  if (collective == Collective::Broadcast) {
    if (!root_contains(group)) return kRefusedRun;
    std::ranges::fill(group, Holding(group[0]));
  } else if (collective == Collective::AllGather) {
    const auto all = gather(move, group);
    if (!all) return kRefusedRun;
    std::ranges::fill(group, *all);
  } else {
    const auto total = sum(group);
    if (!total) return kRefusedRun;
    if (collective == Collective::AllReduce) std::ranges::fill(group, *total);
    if (collective == Collective::Reduce) {
      std::ranges::fill(group, Holding{});
      group[0] = *total;
    }
    if (collective == Collective::ReduceScatter) {
      const auto share = counts_.divide(total->chunks, problem_.moves[move].pattern.reduced,
                                        grid_.groups(move).size);
      if (!share) return kRefusedRun;
      std::ranges::fill(group, Holding{PointSets::kEmpty, PointSets::kEmpty, *share});
      group.front().first = total->first;
      group.back().last = total->last;
    }
  }
  const auto begin = static_cast<std::uint32_t>(after_.size());
  for (const Holding& each : group) after_.push_back(intern(each));
  return begin;
}

std::optional<std::uint32_t> TwoChunks::step(std::uint32_t state, std::uint32_t move) {
  const auto words = states_[state];
  std::vector<std::uint32_t> next(words.begin(), words.end());
  if (!advance(next, move)) return std::nullopt;
  return states_.intern(next);
}

bool TwoChunks::advance(std::vector<std::uint32_t>& next, std::uint32_t move) {
  const Collective collective = problem_.moves[move].collective;
  const ProxyGrid::Groups& groups = grid_.groups(move);
  const std::span<std::uint32_t> holdings(next.data(), grid_.points());
  const std::span<std::uint32_t> labels(next.data() + grid_.points(), grid_.points());
  const bool alike = collective != Collective::Reduce && collective != Collective::ReduceScatter;

  std::map<std::vector<std::uint32_t>, std::uint32_t> labels_after;  // of the members → the root's
  std::uint32_t next_label = grid_.points() + 1;
  std::vector<std::uint32_t> key(groups.offsets.size() + 1, move);
  std::vector<std::uint32_t> members(groups.offsets.size());
  for (const std::uint32_t base : groups.bases) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      key[i + 1] = holdings[base + groups.offsets[i]];
      members[i] = labels[base + groups.offsets[i]];
    }
    if (collective == Collective::Broadcast &&
        std::ranges::all_of(members, [&](std::uint32_t label) { return label == members[0]; })) {
      return false;
    }
    bool known = false;
    std::uint32_t& result = results_.find(key, known);
    if (!known) {
      const std::uint32_t ran = run(move, std::span(key).subspan(1));
      result = ran;
    }
    if (result == kRefusedRun) return false;
    const auto [place, is_new] = labels_after.emplace(members, next_label);
    if (is_new) next_label += static_cast<std::uint32_t>(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::uint32_t device = base + groups.offsets[i];
      holdings[device] = after_[result + i];
      labels[device] = collective == Collective::Broadcast
                           ? members[0]
                           : place->second + (alike ? 0 : static_cast<std::uint32_t>(i));
    }
  }
  // Renumbered by first occurrence; all that hold nothing are alike.
  std::vector<std::uint32_t> renumbered(next_label, 0);
  std::uint32_t used = 0;
  for (std::size_t device = 0; device < holdings.size(); ++device) {
    if (holdings[device] == 0) {
      labels[device] = 0;
      continue;
    }
    std::uint32_t& label = renumbered[labels[device]];
    if (label == 0) label = ++used;
    labels[device] = label;
  }
  return true;
}

}  // namespace p2
