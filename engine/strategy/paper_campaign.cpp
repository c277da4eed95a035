#include <algorithm>
#include <cstddef>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/strategy/graph.h"
#include "engine/strategy/paper_algorithm.h"
#include "engine/strategy/strategy.h"

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

void append_lowered_costs(const Graph& graph, std::vector<Graph>& made) {
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

std::vector<Graph> reductions(const Graph& graph) {
  std::vector<Graph> made;
  for (std::uint32_t v = 0; v < graph.vertices() && graph.vertices() > 1; ++v) {
    made.push_back(without_vertex(graph, v));
  }
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    Graph& part = made.emplace_back(graph);
    part.edges.erase(part.edges.begin() + static_cast<std::ptrdiff_t>(e));
  }
  append_without_configuration(graph, made);
  append_lowered_costs(graph, made);
  return made;
}

namespace {

/// The next number below `end`. Distributions of the library differ from one to the next.
std::uint64_t below(std::mt19937& random, std::uint64_t end) { return random() % end; }

}  // namespace

Graph tied_graph(std::mt19937& random, std::uint32_t least, std::uint32_t most) {
  const auto costs = [&](std::size_t count) {
    std::vector<Cost> made(count);
    for (Cost& cost : made) cost = below(random, 8) == 0 ? 1 : 0;
    return made;
  };
  Graph graph;
  const std::uint64_t vertices = least + below(random, most - least + 1);
  for (std::uint64_t v = 0; v < vertices; ++v) graph.costs.push_back(costs(2));
  for (std::uint32_t a = 0; a < vertices; ++a) {
    for (std::uint32_t b = a + 1; b < vertices; ++b) {
      if (b == a + 1 || below(random, 5) == 0) graph.edges.push_back({a, b, costs(4)});
    }
  }
  return graph;
}

Graph reparametrised(Graph graph, std::mt19937& random) {
  constexpr Cost kTotal = 100;
  for (Edge& edge : graph.edges) {
    const std::size_t columns = graph.configurations(edge.second);
    for (const std::uint32_t end : {edge.first, edge.second}) {
      for (std::size_t c = 0; c < graph.configurations(end); ++c) {
        const auto moved = static_cast<Cost>(below(random, kTotal + 1));
        graph.costs[end][c] += kTotal - moved;
        for (std::size_t cell = 0; cell < edge.table.size(); ++cell) {
          const std::size_t own = end == edge.first ? cell / columns : cell % columns;
          if (own == c) edge.table[cell] += moved;
        }
      }
    }
  }
  return graph;
}

bool next_strategy(const Graph& graph, Strategy& strategy) {
  std::uint32_t v = 0;
  while (v < graph.vertices() && ++strategy[v] == graph.configurations(v)) strategy[v++] = 0;
  return v < graph.vertices();
}

Cost least_by_enumeration(const Graph& graph) {
  Strategy strategy(graph.vertices(), 0);
  Cost least = kCostEnd;
  do {
    least = std::min(least, cost_of(graph, strategy));
  } while (next_strategy(graph, strategy));
  return least;
}

namespace {

constexpr std::size_t kMaxRows = std::size_t{1} << 18U;

PrintedRun run_printed(const Graph& graph, Cost optimum, const Reading& reading, TieBreaker& ties) {
  auto printed = printed_algorithm(graph, reading, ties, kMaxRows);
  if (!printed) return {};
  PrintedRun run{PrintedKind::None, 0, std::move(*printed)};
  if (run.result.strategy.empty()) return run;
  run.kind = PrintedKind::Incomplete;
  if (!run.result.complete()) return run;
  Strategy strategy;
  for (const auto& choice : run.result.strategy) strategy.push_back(*choice);
  run.cost = cost_of(graph, strategy);
  run.kind = run.cost == optimum ? PrintedKind::Optimal : PrintedKind::Suboptimal;
  return run;
}

bool fails(const PrintedRun& run) {
  return run.kind != PrintedKind::Optimal && run.kind != PrintedKind::TooLarge;
}

Failure judge_graph(const Graph& graph, const Reading& reading, TieRule rule, std::uint32_t seed) {
  const Cost optimum = least_by_enumeration(graph);
  return {graph, optimum, judge_printed(graph, optimum, reading, rule, seed)};
}

void count(const PrintedRun& run, PrintedCampaign& campaign) {
  ++campaign.graphs;
  if (run.kind == PrintedKind::Suboptimal) ++campaign.suboptimal;
  if (run.kind == PrintedKind::Incomplete) ++campaign.incomplete;
  if (run.kind == PrintedKind::None) ++campaign.none;
}

}  // namespace

PrintedRun judge_printed(const Graph& graph, Cost optimum, const Reading& reading, TieRule rule,
                         std::uint32_t seed) {
  constexpr int kMaxRuns = 1 << 12;
  FirstTie first;
  LastTie last;
  RandomTie any(seed);
  if (rule == TieRule::First) return run_printed(graph, optimum, reading, first);
  if (rule == TieRule::Last) return run_printed(graph, optimum, reading, last);
  if (rule == TieRule::Any) return run_printed(graph, optimum, reading, any);
  EveryTie every;
  PrintedRun run;
  for (int i = 0; i < kMaxRuns; ++i) {
    run = run_printed(graph, optimum, reading, every);
    if (fails(run) || !every.next()) break;
  }
  return run;
}

Failure minimise(Failure failure, const Reading& reading, TieRule rule) {
  for (bool shrunk = true; shrunk;) {
    shrunk = false;
    for (const Graph& graph : reductions(failure.graph)) {
      Failure next = judge_graph(graph, reading, rule, 0);
      if (next.run.kind != failure.run.kind) continue;
      failure = std::move(next);
      shrunk = true;
      break;
    }
  }
  return failure;
}

PrintedCampaign printed_campaign(std::uint64_t graphs, const Reading& reading, TieRule rule,
                                 std::uint32_t seed, const Limits& limits) {
  constexpr int kMaxReduced = 12;
  const TieRule shown_by = reading.unit ? rule : TieRule::Every;
  std::mt19937 random(seed);
  PrintedCampaign campaign;
  int reduced = 0;
  while (campaign.graphs < graphs && !campaign.wrong_search && !limits.exceeded(0)) {
    Graph graph = tied_graph(random, 4, 5);
    if (reading.unit) graph = reparametrised(std::move(graph), random);
    Failure failure = judge_graph(graph, reading, rule, static_cast<std::uint32_t>(random()));
    count(failure.run, campaign);
    if (find_strategy(graph, {}).found.cost != failure.optimum) campaign.wrong_search = graph;
    if (failure.run.kind != PrintedKind::Suboptimal || reduced == kMaxReduced) continue;
    Failure again = judge_graph(graph, reading, shown_by, 0);
    if (again.run.kind != PrintedKind::Suboptimal) continue;
    again = minimise(std::move(again), reading, shown_by);
    ++reduced;
    if (!campaign.smallest || size_of(again.graph) < size_of(campaign.smallest->graph)) {
      campaign.smallest = std::move(again);
    }
  }
  return campaign;
}

}  // namespace p2::strategy
