#include "engine/strategy/open_choices.h"

#include <algorithm>
#include <iterator>

namespace p2::strategy {
namespace {

using Scope = std::vector<std::uint32_t>;
using Costs = std::vector<Cost>;

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

const Costs kNothing = {0};

}  // namespace

std::optional<std::vector<OpenChoices>> open_choices(const Graph& graph,
                                                     const std::vector<Addition>& additions,
                                                     std::size_t most) {
  const std::vector<CostTerm> terms = cost_terms(graph);
  std::vector<OpenChoices> all_choices;
  for (const Addition& addition : additions) {
    const Scope none;
    const Scope& sum = addition.sum ? additions[*addition.sum].scope : none;
    const Scope& part = addition.part < terms.size()
                            ? terms[addition.part].scope
                            : additions[addition.part - terms.size()].scope;
    Scope all;
    std::ranges::set_union(sum, part, std::back_inserter(all));
    OpenChoices& choices = all_choices.emplace_back();
    for (const std::uint32_t v : all) {
      choices.sizes.push_back(graph.configurations(v));
      if (choices.sizes.back() > most / choices.count) return std::nullopt;
      choices.count *= choices.sizes.back();
    }
    most -= choices.count;
    for (const std::uint32_t v : addition.scope) choices.made *= graph.configurations(v);
    choices.strides[0] = strides(all, sum, graph);
    choices.strides[1] = strides(all, part, graph);
    choices.strides[2] = strides(all, addition.scope, graph);
  }
  return all_choices;
}

AddedTables least_sums(const Graph& graph, const std::vector<Addition>& additions,
                       const std::vector<OpenChoices>& choices) {
  const std::vector<CostTerm> terms = cost_terms(graph);
  AddedTables least;
  for (std::size_t n = 0; n < additions.size(); ++n) {
    const auto [from, part_number, scope] = additions[n];
    const Costs& sum = from ? least[*from] : kNothing;
    const Costs& part =
        part_number < terms.size() ? *terms[part_number].cells : least[part_number - terms.size()];
    Costs made(choices[n].made, kCostEnd);
    choices[n].for_each([&](std::size_t a, std::size_t b, std::size_t to) {
      made[to] = std::min(made[to], sum[a] + part[b]);
    });
    least.push_back(std::move(made));
  }
  return least;
}

AddedTables least_rests(const Graph& graph, const std::vector<Addition>& additions,
                        const std::vector<OpenChoices>& choices, const AddedTables& least) {
  const std::vector<CostTerm> terms = cost_terms(graph);
  AddedTables rests;
  for (const Costs& table : least) rests.emplace_back(table.size(), kCostEnd);
  rests.back() = kNothing;
  for (std::size_t n = additions.size(); n-- > 0;) {
    const auto from = additions[n].sum;
    const std::size_t part = additions[n].part;
    const bool is_term = part < terms.size();
    const Costs& sum = from ? least[*from] : kNothing;
    const Costs& own = is_term ? *terms[part].cells : least[part - terms.size()];
    choices[n].for_each([&](std::size_t a, std::size_t b, std::size_t made) {
      const Cost rest = rests[n][made];
      if (from) rests[*from][a] = std::min(rests[*from][a], rest + own[b]);
      if (is_term) return;
      Cost& other = rests[part - terms.size()][b];
      other = std::min(other, rest + sum[a]);
    });
  }
  return rests;
}

}  // namespace p2::strategy
