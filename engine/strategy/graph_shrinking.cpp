#include "engine/strategy/graph_shrinking.h"

#include <algorithm>

namespace p2::strategy {
namespace {

std::vector<Cost*> costs_in(Graph& graph) {
  std::vector<Cost*> costs;
  for (auto& own : graph.costs) {
    for (Cost& cost : own) costs.push_back(&cost);
  }
  for (Edge& edge : graph.edges) {
    for (Cost& cost : edge.table) costs.push_back(&cost);
  }
  return costs;
}

Graph without_vertex(const Graph& graph, std::uint32_t vertex) {
  Graph part = graph;
  part.costs.erase(part.costs.begin() + vertex);
  std::erase_if(part.edges,
                [&](const Edge& edge) { return edge.first == vertex || edge.second == vertex; });
  for (Edge& edge : part.edges) {
    if (edge.first > vertex) --edge.first;
    if (edge.second > vertex) --edge.second;
  }
  return part;
}

void append_without_configuration(const Graph& graph, std::vector<Graph>& made) {
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    if (graph.configurations(v) == 1) continue;
    for (std::uint32_t c = 0; c < graph.configurations(v); ++c) {
      Kept kept = all_configurations(graph);
      std::erase(kept[v], c);
      made.push_back(restricted(graph, kept));
    }
  }
}

void append_cheaper(const Graph& graph, std::vector<Graph>& made) {
  Graph copy = graph;
  for (Cost* const cost : costs_in(copy)) {
    const Cost before = *cost;
    for (const Cost less : {Cost{0}, before - 1}) {
      if (less < 0 || (less == 0 && before == 0) || (less > 0 && before == 1)) continue;
      *cost = less;
      made.push_back(copy);
    }
    *cost = before;
  }
}

}  // namespace

std::tuple<std::size_t, std::size_t, std::size_t, Cost> size_of(const Graph& graph) {
  std::size_t configurations = 0;
  for (const auto& own : graph.costs) configurations += own.size();
  Cost costs = 0;
  Graph copy = graph;
  for (const Cost* cost : costs_in(copy)) costs += *cost;
  return {graph.vertices(), graph.edges.size(), configurations, costs};
}

std::vector<Graph> smaller(const Graph& graph) {
  std::vector<Graph> made;
  for (std::uint32_t v = 0; v < graph.vertices() && graph.vertices() > 1; ++v) {
    made.push_back(without_vertex(graph, v));
  }
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    Graph& part = made.emplace_back(graph);
    part.edges.erase(part.edges.begin() + static_cast<std::ptrdiff_t>(e));
  }
  append_without_configuration(graph, made);
  append_cheaper(graph, made);
  return made;
}

}  // namespace p2::strategy
