#include "engine/strategy/additions.h"

#include <algorithm>
#include <iterator>

namespace p2::strategy {
namespace {

using Scope = std::vector<std::uint32_t>;

class Adder {
 public:
  Adder(const Graph& graph, const std::vector<std::uint32_t>& order)
      : position_(order.size()), of_vertex_(order.size()) {
    for (std::size_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
    for (const CostTerm& term : cost_terms(graph)) {
      Scope& scope = scopes_.emplace_back();
      for (const std::uint32_t v : term.scope) {
        if (graph.configurations(v) > 1) scope.push_back(v);
      }
      place(scopes_.size() - 1, scope);
    }
  }

  std::vector<Addition> run(const std::vector<std::uint32_t>& order) {
    for (const std::uint32_t v : order) {
      if (of_vertex_[v].empty()) continue;
      add_up(of_vertex_[v]);
      std::erase(made_.back().scope, v);
      place(scopes_.size() + made_.size() - 1, made_.back().scope);
    }
    if (whole_.size() > 1 || whole_[0] < scopes_.size()) add_up(whole_);
    return std::move(made_);
  }

 private:
  /// To the vertex of its scope that is eliminated first.
  void place(std::size_t part, const Scope& scope) {
    if (scope.empty()) {
      whole_.push_back(part);
    } else {
      of_vertex_[*std::ranges::min_element(scope, {}, [&](auto v) { return position_[v]; })]
          .push_back(part);
    }
  }

  void add_up(const std::vector<std::size_t>& parts) {
    std::optional<std::size_t> sum;
    for (const std::size_t part : parts) {
      const Scope& own = part < scopes_.size() ? scopes_[part] : made_[part - scopes_.size()].scope;
      Scope both;
      if (sum) {
        std::ranges::set_union(made_[*sum].scope, own, std::back_inserter(both));
      } else {
        both = own;
      }
      made_.push_back({sum, part, std::move(both)});
      sum = made_.size() - 1;
    }
  }

  std::vector<std::size_t> position_;
  std::vector<Scope> scopes_;                        // of the terms
  std::vector<std::vector<std::size_t>> of_vertex_;  // parts to be added up before it goes
  std::vector<std::size_t> whole_;                   // parts that depend on no vertex
  std::vector<Addition> made_;
};

}  // namespace

std::vector<CostTerm> cost_terms(const Graph& graph) {
  std::vector<CostTerm> terms;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) terms.push_back({{v}, &graph.costs[v]});
  for (const Edge& edge : graph.edges) {
    terms.push_back({{edge.first, edge.second}, &edge.table});
  }
  return terms;
}

std::vector<Addition> additions(const Graph& graph, const std::vector<std::uint32_t>& order) {
  return Adder(graph, order).run(order);
}

}  // namespace p2::strategy
