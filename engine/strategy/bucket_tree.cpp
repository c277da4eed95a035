#include "engine/strategy/bucket_elimination.h"

#include <algorithm>
#include <iterator>

namespace p2::strategy {
namespace {

using Scope = std::vector<std::uint32_t>;

class BucketTree {
 public:
  BucketTree(const Graph& graph, const std::vector<std::uint32_t>& order)
      : position_(order.size()), buckets_(order.size()) {
    for (std::size_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
    for (const CostTerm& term : cost_terms(graph)) {
      Scope& scope = scopes_.emplace_back();
      for (const std::uint32_t v : term.scope) {
        if (graph.configurations(v) > 1) scope.push_back(v);
      }
      add_to_bucket(scopes_.size() - 1, scope);
    }
  }

  std::vector<Addition> run(const std::vector<std::uint32_t>& order) {
    for (const std::uint32_t v : order) {
      if (buckets_[v].empty()) continue;
      sum_up(buckets_[v]);
      std::erase(made_.back().scope, v);
      add_to_bucket(scopes_.size() + made_.size() - 1, made_.back().scope);
    }
    if (root_.size() > 1 || root_[0] < scopes_.size()) sum_up(root_);
    return std::move(made_);
  }

 private:
  /// To the bucket of the scope's vertex that is eliminated first.
  void add_to_bucket(std::size_t part, const Scope& scope) {
    if (scope.empty()) {
      root_.push_back(part);
    } else {
      buckets_[*std::ranges::min_element(scope, {}, [&](auto v) { return position_[v]; })]
          .push_back(part);
    }
  }

  void sum_up(const std::vector<std::size_t>& parts) {
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
  std::vector<Scope> scopes_;                      // of the terms
  std::vector<std::vector<std::size_t>> buckets_;  // by vertex: parts
  std::vector<std::size_t> root_;                  // parts with an empty scope
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
  return BucketTree(graph, order).run(order);
}

namespace {

using Scope = std::vector<std::uint32_t>;
using Costs = std::vector<Cost>;

/// The stride of every vertex of `all` in a table over `scope`, whose last vertex varies fastest.
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

const Costs kZero = {0};

}  // namespace

std::optional<std::vector<JoinAssignments>> join_assignments(const Graph& graph,
                                                             const std::vector<Addition>& additions,
                                                             std::size_t max_assignments) {
  const std::vector<CostTerm> terms = cost_terms(graph);
  std::vector<JoinAssignments> result;
  for (const Addition& addition : additions) {
    const Scope none;
    const Scope& sum = addition.sum ? additions[*addition.sum].scope : none;
    const Scope& part = addition.part < terms.size()
                            ? terms[addition.part].scope
                            : additions[addition.part - terms.size()].scope;
    Scope all;
    std::ranges::set_union(sum, part, std::back_inserter(all));
    JoinAssignments& assignments = result.emplace_back();
    for (const std::uint32_t v : all) {
      assignments.sizes.push_back(graph.configurations(v));
      if (assignments.sizes.back() > max_assignments / assignments.count) return std::nullopt;
      assignments.count *= assignments.sizes.back();
    }
    max_assignments -= assignments.count;
    for (const std::uint32_t v : addition.scope) assignments.made *= graph.configurations(v);
    assignments.strides[0] = strides(all, sum, graph);
    assignments.strides[1] = strides(all, part, graph);
    assignments.strides[2] = strides(all, addition.scope, graph);
  }
  return result;
}

AdditionTables least_sums(const Graph& graph, const std::vector<Addition>& additions,
                          const std::vector<JoinAssignments>& assignments) {
  const std::vector<CostTerm> terms = cost_terms(graph);
  AdditionTables least;
  for (std::size_t n = 0; n < additions.size(); ++n) {
    const auto [from, part_number, scope] = additions[n];
    const Costs& sum = from ? least[*from] : kZero;
    const Costs& part =
        part_number < terms.size() ? *terms[part_number].cells : least[part_number - terms.size()];
    Costs made(assignments[n].made, kCostEnd);
    assignments[n].for_each([&](std::size_t a, std::size_t b, std::size_t to) {
      made[to] = std::min(made[to], sum[a] + part[b]);
    });
    least.push_back(std::move(made));
  }
  return least;
}

AdditionTables least_rests(const Graph& graph, const std::vector<Addition>& additions,
                           const std::vector<JoinAssignments>& assignments,
                           const AdditionTables& least) {
  const std::vector<CostTerm> terms = cost_terms(graph);
  AdditionTables rests;
  for (const Costs& table : least) rests.emplace_back(table.size(), kCostEnd);
  rests.back() = kZero;
  for (std::size_t n = additions.size(); n-- > 0;) {
    const auto from = additions[n].sum;
    const std::size_t part = additions[n].part;
    const bool is_term = part < terms.size();
    const Costs& sum = from ? least[*from] : kZero;
    const Costs& own = is_term ? *terms[part].cells : least[part - terms.size()];
    assignments[n].for_each([&](std::size_t a, std::size_t b, std::size_t made) {
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
