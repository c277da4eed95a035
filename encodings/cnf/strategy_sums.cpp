#include "encodings/cnf/strategy_sums.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/strategy/open_choices.h"

namespace p2::cnf {
namespace {

using strategy::Cost;
using Sums = std::vector<Cost>;

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

}  // namespace

std::optional<std::vector<Sums>> telling_sums(const strategy::Graph& graph,
                                              const std::vector<strategy::Addition>& additions,
                                              Cost bound, std::size_t most) {
  const auto choices = open_choices(graph, additions, most);
  if (!choices) return std::nullopt;
  const auto terms = cost_terms(graph);
  const auto least = least_sums(graph, additions, *choices);
  const Sums zero = {0};
  std::vector<Sums> needed(additions.size()), points(additions.size());
  needed.back() = points.back() = {bound};
  // From the whole down to its parts: what a sum must reach beside the least part, and then a part
  // beside what is needed of the sum.
  for (std::size_t n = additions.size(); n-- > 0;) {
    const auto sum = additions[n].sum;
    const bool is_term = additions[n].part < terms.size();
    const std::size_t part = is_term ? 0 : additions[n].part - terms.size();
    const Sums& least_part = is_term ? *terms[additions[n].part].cells : least[part];
    if (sum) {
      needed[*sum].assign((*choices)[*sum].made, 0);
      (*choices)[n].for_each([&](std::size_t a, std::size_t b, std::size_t made) {
        needed[*sum][a] = std::max(needed[*sum][a], needed[n][made] - least_part[b]);
      });
      points[*sum] = stab(needed[*sum], least[*sum]);
    }
    if (is_term) continue;
    const Sums& beside = sum ? needed[*sum] : zero;
    needed[part].assign((*choices)[part].made, 0);
    (*choices)[n].for_each([&](std::size_t a, std::size_t b, std::size_t made) {
      needed[part][b] = std::max(needed[part][b], needed[n][made] - beside[a]);
    });
    points[part] = stab(needed[part], least[part]);
  }
  return points;
}

}  // namespace p2::cnf
