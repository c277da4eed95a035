#include "encodings/z3/queries.h"

#include <algorithm>

#include <fmt/format.h>

#include "encodings/z3/terms.h"

namespace p2::z3_encoding {
namespace {

using strategy::Cost;
using strategy::Graph;

class Encoding {
 public:
  Encoding(z3::context& context, const StrategyQuery& query, const Meter& meter)
      : context_(context), query_(query), meter_(meter), solver_(context) {
    const Graph& graph = *query.graph;
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) add_vertex(v);
    z3::expr total = sum_of(graph.costs);
    for (std::size_t e = 0; e < graph.edges.size(); ++e) total = total + cost_of_edge(e);
    solver_.add(total < number(query.below));
    if (query.memory != nullptr) solver_.add(sum_of(*query.memory) <= number(query.limit));
  }

  StrategyBound answer() {
    StrategyBound bound;
    const z3::check_result result = meter_.check(solver_, z3::expr_vector(context_));
    if (result == z3::unknown) return bound;
    bound.outcome = result == z3::sat ? Outcome::Refuted : Outcome::Established;
    if (result == z3::sat) read(solver_.get_model(), bound.strategy);
    return bound;
  }

 private:
  z3::expr number(Cost value) { return context_.int_val(value); }

  void add_vertex(std::uint32_t v) {
    auto& own = chosen_.emplace_back();
    z3::expr_vector all(context_);
    for (std::uint32_t c = 0; c < query_.graph->configurations(v); ++c) {
      own.push_back(context_.bool_const(fmt::format("choice_{}_{}", v, c).c_str()));
      all.push_back(own.back());
    }
    solver_.add(z3::mk_or(all));
    if (own.size() > 1) solver_.add(z3::atmost(all, 1));
  }

  /// The sum over the chosen configurations.
  z3::expr sum_of(const std::vector<std::vector<Cost>>& costs) {
    z3::expr sum = number(0);
    for (std::size_t v = 0; v < costs.size(); ++v) {
      for (std::size_t c = 0; c < costs[v].size(); ++c) {
        if (costs[v][c] != 0) sum = sum + z3::ite(chosen_[v][c], number(costs[v][c]), number(0));
      }
    }
    return sum;
  }

  /// A variable equal to the table's cell at the two chosen configurations.
  z3::expr cost_of_edge(std::size_t e) {
    meter_.checkpoint();
    const strategy::Edge& edge = query_.graph->edges[e];
    const std::size_t columns = query_.graph->configurations(edge.second);
    z3::expr cost = context_.int_const(fmt::format("edge_{}", e).c_str());
    solver_.add(cost >= number(std::ranges::min(edge.table)));
    for (std::size_t cell = 0; cell < edge.table.size(); ++cell) {
      solver_.add(
          z3::implies(chosen_[edge.first][cell / columns] && chosen_[edge.second][cell % columns],
                      cost == number(edge.table[cell])));
    }
    return cost;
  }

  void read(const z3::model& model, strategy::Strategy& strategy) const {
    for (const auto& own : chosen_) {
      const auto holds = [&](const z3::expr& symbol) { return model.eval(symbol, true).is_true(); };
      strategy.push_back(
          static_cast<std::uint32_t>(std::ranges::find_if(own, holds) - own.begin()));
    }
  }

  z3::context& context_;
  const StrategyQuery& query_;
  const Meter& meter_;
  z3::solver solver_;
  std::vector<std::vector<z3::expr>> chosen_;  // by vertex and configuration
};

}  // namespace

StrategyBound check_bound(const StrategyQuery& query) {
  try {
    return guarded([&] {
      z3::context context;
      const Meter meter(context, query.limits);
      return Encoding(context, query, meter).answer();
    });
  } catch (const LimitReached&) {
    return {};
  }
}

}  // namespace p2::z3_encoding
