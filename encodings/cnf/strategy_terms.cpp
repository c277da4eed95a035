#include "encodings/cnf/strategy_terms.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace p2::cnf {
namespace {

using strategy::Graph;

/// The product of the sizes of the vertices that are open when `next` comes after `placed`.
double choices_open(const Graph& graph, const std::vector<std::vector<std::uint32_t>>& neighbours,
                    const std::vector<std::uint32_t>& open, const std::vector<std::size_t>& to_come,
                    std::uint32_t next) {
  double product = 1;
  std::size_t placed = 0;
  for (const std::uint32_t v : open) {
    const bool neighbour = std::ranges::count(neighbours[next], v) > 0;
    placed += neighbour ? 1 : 0;
    if (!neighbour || to_come[v] > 1) product *= static_cast<double>(graph.configurations(v));
  }
  const bool stays = neighbours[next].size() > placed;
  return stays ? product * static_cast<double>(graph.configurations(next)) : product;
}

}  // namespace

std::vector<std::uint32_t> order_of_sums(const Graph& graph) {
  std::vector<std::vector<std::uint32_t>> neighbours(graph.vertices());
  for (const strategy::Edge& edge : graph.edges) {
    neighbours[edge.first].push_back(edge.second);
    neighbours[edge.second].push_back(edge.first);
  }
  std::vector<std::size_t> to_come;  // neighbours that are not placed yet
  std::vector<std::uint32_t> left;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    to_come.push_back(neighbours[v].size());
    left.push_back(v);
  }
  std::vector<std::uint32_t> order, open;
  while (!left.empty()) {
    const auto next = std::ranges::min_element(left, {}, [&](std::uint32_t v) {
      return choices_open(graph, neighbours, open, to_come, v);
    });
    const std::uint32_t v = *next;
    left.erase(next);
    order.push_back(v);
    open.push_back(v);
    for (const std::uint32_t other : neighbours[v]) --to_come[other];
    std::erase_if(open, [&](std::uint32_t other) { return to_come[other] == 0; });
  }
  return order;
}

std::vector<CostTerm> cost_terms(const Graph& graph, const std::vector<std::uint32_t>& order) {
  std::vector<std::size_t> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  std::vector<std::vector<CostTerm>> by_position(order.size());
  for (std::uint32_t v = 0; v < order.size(); ++v) {
    by_position[position[v]].push_back({{v}, graph.costs[v]});
  }
  for (const strategy::Edge& edge : graph.edges) {
    const bool in_order = position[edge.first] < position[edge.second];
    CostTerm term{{edge.first, edge.second}, edge.table};
    if (!in_order) {
      std::swap(term.scope[0], term.scope[1]);
      const std::size_t columns = graph.configurations(edge.second);
      const std::size_t rows = graph.configurations(edge.first);
      for (std::size_t i = 0; i < term.cells.size(); ++i) {
        term.cells[i] = edge.table[i % rows * columns + i / rows];
      }
    }
    by_position[position[term.scope[1]]].push_back(std::move(term));
  }
  std::vector<CostTerm> terms;
  for (auto& own : by_position) std::ranges::move(own, std::back_inserter(terms));
  return terms;
}

}  // namespace p2::cnf
