#include "encodings/cnf/strategy_sums.h"

#include <algorithm>
#include <utility>

namespace p2::cnf {
namespace {

using strategy::Cost;
using strategy::Graph;

using Sums = std::vector<Cost>;

/// The choices that are told apart before and after a term: of the vertices with terms on both
/// sides.
struct Layer {
  std::vector<std::size_t> sizes;  ///< of the vertices that are open before, and the term's own
  std::vector<std::size_t> before, after, cell;  ///< how far a choice moves in the three tables
  std::size_t choices = 1;                       ///< of all of them
  std::size_t left = 1;                          ///< of those that are open after the term

  /// Every choice, with its places in the tables before and after and among the term's cells.
  template <typename Visit>
  void for_each(Visit visit) const {
    std::vector<std::size_t> choice(sizes.size(), 0);
    std::size_t at[] = {0, 0, 0};
    for (std::size_t n = 0; n < choices; ++n) {
      visit(at[0], at[1], at[2]);
      for (std::size_t i = sizes.size(); i-- > 0;) {
        const bool carry = ++choice[i] == sizes[i];
        const auto step = [&](std::size_t stride) {
          return carry ? stride - stride * sizes[i] : stride;  // wraps around as it should
        };
        at[0] += step(before[i]);
        at[1] += step(after[i]);
        at[2] += step(cell[i]);
        if (!carry) break;
        choice[i] = 0;
      }
    }
  }
};

/// How far every vertex of `all` moves in a table over `scope`, whose last varies fastest.
std::vector<std::size_t> strides(const std::vector<std::uint32_t>& all,
                                 const std::vector<std::uint32_t>& scope, const Graph& graph) {
  std::vector<std::size_t> found(all.size(), 0);
  std::size_t stride = 1;
  for (std::size_t i = scope.size(); i-- > 0;) {
    const auto at = std::ranges::find(all, scope[i]);
    found[static_cast<std::size_t>(at - all.begin())] = stride;
    stride *= graph.configurations(scope[i]);
  }
  return found;
}

std::optional<std::vector<Layer>> layers_of(const Graph& graph, const std::vector<CostTerm>& terms,
                                            std::size_t most) {
  std::vector<std::size_t> last(graph.vertices(), 0);
  for (std::size_t t = 0; t < terms.size(); ++t) {
    for (const std::uint32_t v : terms[t].scope) last[v] = t;
  }
  std::vector<Layer> layers;
  std::vector<std::uint32_t> open;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    Layer& layer = layers.emplace_back();
    std::vector<std::uint32_t> all = open;
    if (terms[t].scope.size() == 1) all.push_back(terms[t].scope[0]);
    for (const std::uint32_t v : all) {
      layer.sizes.push_back(graph.configurations(v));
      if (layer.sizes.back() > most / layer.choices) return std::nullopt;
      layer.choices *= layer.sizes.back();
    }
    most -= layer.choices;
    layer.before = strides(all, open, graph);
    open = all;
    std::erase_if(open, [&](std::uint32_t v) { return last[v] == t; });
    layer.after = strides(all, open, graph);
    layer.cell = strides(all, terms[t].scope, graph);
    for (const std::uint32_t v : open) layer.left *= graph.configurations(v);
  }
  return layers;
}

/// After every term, what the terms so far cost at least, by the choice that is open.
std::vector<Sums> least_sums(const std::vector<Layer>& layers, const std::vector<CostTerm>& terms) {
  std::vector<Sums> least;
  Sums sums = {0};
  for (std::size_t t = 0; t < layers.size(); ++t) {
    Sums next(layers[t].left, strategy::kCostEnd);
    layers[t].for_each([&](std::size_t before, std::size_t after, std::size_t cell) {
      next[after] = std::min(next[after], sums[before] + terms[t].cells[cell]);
    });
    least.push_back(next);
    sums = std::move(next);
  }
  return least;
}

/// As few sums as there can be such that one is in every interval [low, high], and moves every
/// `low` to the first one that is not lower.
Sums stab(Sums& low, const Sums& high) {
  std::vector<std::size_t> by_end(low.size());
  for (std::size_t i = 0; i < by_end.size(); ++i) by_end[i] = i;
  const auto end = [&](std::size_t i) { return std::max(low[i], high[i]); };
  std::ranges::sort(by_end, {}, [&](std::size_t i) { return std::pair(end(i), i); });
  Sums points;
  Cost group_end = -1;
  for (const std::size_t i : by_end) {
    if (points.empty() || low[i] > group_end) {
      points.push_back(low[i]);
      group_end = end(i);
    }
    points.back() = std::max(points.back(), low[i]);
  }
  for (Cost& sum : low) sum = *std::ranges::lower_bound(points, sum);
  return points;
}

}  // namespace

std::optional<std::vector<Sums>> telling_sums(const Graph& graph,
                                              const std::vector<CostTerm>& terms, Cost bound,
                                              std::size_t most) {
  const auto layers = layers_of(graph, terms, most);
  if (!layers) return std::nullopt;
  const std::vector<Sums> least = least_sums(*layers, terms);
  std::vector<Sums> points(terms.size() - 1);
  Sums too_much = {bound};  // by the choice that is open: from where on the rest costs too much
  for (std::size_t t = terms.size() - 1; t > 0; --t) {
    Sums earlier((*layers)[t - 1].left, 0);
    (*layers)[t].for_each([&](std::size_t before, std::size_t after, std::size_t cell) {
      earlier[before] = std::max(earlier[before], too_much[after] - terms[t].cells[cell]);
    });
    points[t - 1] = stab(earlier, least[t - 1]);
    too_much = std::move(earlier);
  }
  return points;
}

}  // namespace p2::cnf
