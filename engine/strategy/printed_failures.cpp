#include "engine/strategy/printed_failures.h"

#include <random>
#include <utility>

#include "engine/strategy/graph_shrinking.h"
#include "engine/strategy/small_graphs.h"
#include "engine/strategy/strategy.h"

namespace p2::strategy {
namespace {

constexpr std::size_t kMostRows = std::size_t{1} << 18U;

PrintedRun judged(const Graph& graph, Cost optimum, const Reading& reading, Ties& ties) {
  auto printed = printed_algorithm(graph, reading, ties, kMostRows);
  if (!printed) return {};
  PrintedRun run{PrintedKind::None, 0, std::move(*printed)};
  if (run.result.strategy.empty()) return run;
  run.kind = PrintedKind::Incomplete;
  if (!run.result.complete()) return run;
  Strategy strategy;
  for (const auto& choice : run.result.strategy) strategy.push_back(*choice);
  run.cost = cost_of(graph, strategy);
  run.kind = run.cost == optimum ? PrintedKind::Optimal : PrintedKind::Dearer;
  return run;
}

bool fails(const PrintedRun& run) {
  return run.kind != PrintedKind::Optimal && run.kind != PrintedKind::TooLarge;
}

Failure judge(const Graph& graph, const Reading& reading, TieRule rule, std::uint32_t seed) {
  const Cost optimum = least_by_enumeration(graph);
  return {graph, optimum, judge_printed(graph, optimum, reading, rule, seed)};
}

void count(const PrintedRun& run, PrintedCampaign& campaign) {
  ++campaign.graphs;
  if (run.kind == PrintedKind::Dearer) ++campaign.dearer;
  if (run.kind == PrintedKind::Incomplete) ++campaign.incomplete;
  if (run.kind == PrintedKind::None) ++campaign.none;
}

}  // namespace

PrintedRun judge_printed(const Graph& graph, Cost optimum, const Reading& reading, TieRule rule,
                         std::uint32_t seed) {
  constexpr int kMostRuns = 1 << 12;
  FirstOfTies first;
  LastOfTies last;
  AnyOfTies any(seed);
  if (rule == TieRule::First) return judged(graph, optimum, reading, first);
  if (rule == TieRule::Last) return judged(graph, optimum, reading, last);
  if (rule == TieRule::Any) return judged(graph, optimum, reading, any);
  EveryTie every;
  PrintedRun run;
  for (int i = 0; i < kMostRuns; ++i) {
    run = judged(graph, optimum, reading, every);
    if (fails(run) || !every.next()) break;
  }
  return run;
}

Failure minimised(Failure failure, const Reading& reading, TieRule rule) {
  for (bool shrunk = true; shrunk;) {
    shrunk = false;
    for (const Graph& graph : smaller(failure.graph)) {
      Failure next = judge(graph, reading, rule, 0);
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
  constexpr int kMostMinimised = 12;
  const TieRule shown_by = reading.unit ? rule : TieRule::Every;
  std::mt19937 random(seed);
  PrintedCampaign campaign;
  int minimised_ones = 0;
  while (campaign.graphs < graphs && !campaign.wrong_search && !limits.exceeded(0)) {
    Graph graph = tied_graph(random, 4, 5);
    if (reading.unit) graph = disguised(std::move(graph), random);
    Failure failure = judge(graph, reading, rule, static_cast<std::uint32_t>(random()));
    count(failure.run, campaign);
    if (find_strategy(graph, {}).found.cost != failure.optimum) campaign.wrong_search = graph;
    if (failure.run.kind != PrintedKind::Dearer || minimised_ones == kMostMinimised) continue;
    Failure again = judge(graph, reading, shown_by, 0);
    if (again.run.kind != PrintedKind::Dearer) continue;
    again = minimised(std::move(again), reading, shown_by);
    ++minimised_ones;
    if (!campaign.smallest || size_of(again.graph) < size_of(campaign.smallest->graph)) {
      campaign.smallest = std::move(again);
    }
  }
  return campaign;
}

}  // namespace p2::strategy
