#include "encodings/cnf/strategy_sums.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace p2::cnf {
namespace {

using Scope = std::vector<std::uint32_t>;
using strategy::Cost;
using strategy::Graph;
using Sums = std::vector<Cost>;

/// How far every vertex of `all` moves in a table over `scope`, whose last varies fastest.
std::vector<std::size_t> strides(const Scope& all, const Scope& scope, const Graph& graph) {
  std::vector<std::size_t> found(all.size(), 0);
  std::size_t stride = 1;
  for (std::size_t i = scope.size(); i-- > 0;) {
    const auto at = std::ranges::find(all, scope[i]);
    if (at != all.end()) found[static_cast<std::size_t>(at - all.begin())] = stride;
    stride *= graph.configurations(scope[i]);
  }
  return found;
}

/// The choices that an addition looks at, and where they stand in three tables: the sum's, the
/// part's, and that of what is made.
struct Choices {
  std::vector<std::size_t> sizes;
  std::vector<std::size_t> strides[3];
  std::size_t count = 1;
  std::size_t made = 1;

  template <typename Visit>
  void for_each(Visit visit) const {
    std::vector<std::size_t> choice(sizes.size(), 0);
    std::size_t at[] = {0, 0, 0};
    for (std::size_t n = 0; n < count; ++n) {
      visit(at[0], at[1], at[2]);
      for (std::size_t i = sizes.size(); i-- > 0;) {
        const bool carry = ++choice[i] == sizes[i];
        for (std::size_t table = 0; table < 3; ++table) {
          at[table] += strides[table][i];
          if (carry) at[table] -= strides[table][i] * sizes[i];
        }
        if (!carry) break;
        choice[i] = 0;
      }
    }
  }
};

/// Moves every `low` up to the first of few numbers, of which one is in every interval from `low`
/// to `high`, and returns these.
Sums stab(Sums& low, const Sums& high) {
  const auto end = [&](std::size_t i) { return std::max(low[i], high[i]); };
  std::vector<std::size_t> by_end(low.size());
  std::iota(by_end.begin(), by_end.end(), std::size_t{0});
  std::ranges::sort(by_end, {}, [&](std::size_t i) { return std::pair(end(i), i); });
  Sums points;
  Cost group_end = -1;
  for (const std::size_t i : by_end) {
    if (low[i] > group_end) {
      points.push_back(low[i]);
      group_end = end(i);
    }
    points.back() = std::max(points.back(), low[i]);
  }
  for (Cost& sum : low) sum = *std::ranges::lower_bound(points, sum);
  return points;
}

class Telling {
 public:
  Telling(const Graph& graph, const std::vector<Addition>& additions)
      : graph_(graph), additions_(additions), terms_(cost_terms(graph)) {}

  /// False where there are more than `most` choices.
  bool count_choices(std::size_t most) {
    for (const Addition& addition : additions_) {
      const Scope none;
      const Scope& sum = addition.sum ? additions_[*addition.sum].scope : none;
      const Scope& part =
          made_by(addition) ? additions_[*made_by(addition)].scope : terms_[addition.part].scope;
      Scope all;
      std::ranges::set_union(sum, part, std::back_inserter(all));
      Choices& choices = choices_.emplace_back();
      for (const std::uint32_t v : all) {
        choices.sizes.push_back(graph_.configurations(v));
        if (choices.sizes.back() > most / choices.count) return false;
        choices.count *= choices.sizes.back();
      }
      most -= choices.count;
      for (const std::uint32_t v : addition.scope) choices.made *= graph_.configurations(v);
      choices.strides[0] = strides(all, sum, graph_);
      choices.strides[1] = strides(all, part, graph_);
      choices.strides[2] = strides(all, addition.scope, graph_);
    }
    return true;
  }

  /// What every sum is at least, by the choice that its scope leaves open.
  void find_least() {
    for (std::size_t n = 0; n < additions_.size(); ++n) {
      const Sums zero = {0};
      const Sums& sum = additions_[n].sum ? least_[*additions_[n].sum] : zero;
      const Sums& part = least_part(additions_[n]);
      Sums made(choices_[n].made, strategy::kCostEnd);
      choices_[n].for_each([&](std::size_t a, std::size_t b, std::size_t to) {
        made[to] = std::min(made[to], sum[a] + part[b]);
      });
      least_.push_back(std::move(made));
    }
  }

  /// From the whole down to its parts: what they must reach.
  std::vector<Sums> points(Cost bound) {
    needed_.resize(additions_.size());
    points_.resize(additions_.size());
    needed_.back() = points_.back() = {bound};
    for (std::size_t n = additions_.size(); n-- > 0;) {
      const Sums zero = {0};
      const auto sum = additions_[n].sum;
      const auto other = made_by(additions_[n]);
      if (sum) need(*sum, n, 0, least_part(additions_[n]));
      if (other) need(*other, n, 1, sum ? needed_[*sum] : zero);
    }
    return std::move(points_);
  }

 private:
  /// The addition that made the part, if it is no term.
  std::optional<std::size_t> made_by(const Addition& addition) const {
    if (addition.part < terms_.size()) return std::nullopt;
    return addition.part - terms_.size();
  }

  const Sums& least_part(const Addition& addition) const {
    const auto made = made_by(addition);
    return made ? least_[*made] : *terms_[addition.part].cells;
  }

  /// What the sum of addition `of` must reach, beside what the other one in addition `to` reaches.
  void need(std::size_t of, std::size_t to, std::size_t table, const Sums& other) {
    Sums needed(choices_[of].made, 0);
    choices_[to].for_each([&](std::size_t a, std::size_t b, std::size_t made) {
      Cost& own = needed[table == 0 ? a : b];
      own = std::max(own, needed_[to][made] - other[table == 0 ? b : a]);
    });
    points_[of] = stab(needed, least_[of]);
    needed_[of] = std::move(needed);
  }

  const Graph& graph_;
  const std::vector<Addition>& additions_;
  const std::vector<CostTerm> terms_;
  std::vector<Choices> choices_;  // these by addition
  std::vector<Sums> least_;
  std::vector<Sums> needed_;
  std::vector<Sums> points_;
};

}  // namespace

std::optional<std::vector<Sums>> telling_sums(const Graph& graph,
                                              const std::vector<Addition>& additions, Cost bound,
                                              std::size_t most) {
  Telling telling(graph, additions);
  if (!telling.count_choices(most)) return std::nullopt;
  telling.find_least();
  return telling.points(bound);
}

}  // namespace p2::cnf
