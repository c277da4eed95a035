#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "engine/strategy/paper_algorithm.h"
#include "tests/shared_data.h"
#include "tests/strategy/graphs.h"

using namespace p2;
using namespace p2::strategy;

namespace {

const Reading kAsPrinted;
const Reading kAsMeant{false, {}};
const Reading kInDoubles{true, 100.0};

/// A path of vertices with two configurations each, of which nothing costs anything.
Graph path(std::uint32_t vertices) {
  Graph graph;
  graph.costs.assign(vertices, {0, 0});
  for (std::uint32_t v = 0; v + 1 < vertices; ++v) graph.edges.push_back({v, v + 1, {0, 0, 0, 0}});
  return graph;
}

/// The smallest failure: only the second configuration of an inner vertex costs something.
Graph smallest_failure() {
  Graph graph = path(4);
  graph.costs[1][1] = 1;
  return graph;
}

PrintedKind judged(const Graph& graph, const Reading& reading, TieRule rule) {
  return judge_printed(graph, least_by_enumeration(graph), reading, rule, 0).kind;
}

}  // namespace

TEST_CASE("the printed algorithm is not optimal where ties are broken in any way") {
  const Graph graph = smallest_failure();
  const PrintedRun run = judge_printed(graph, 0, kAsPrinted, TieRule::Every, 0);
  CHECK(run.kind == PrintedKind::Suboptimal);
  CHECK(run.cost == 1);
  CHECK(run.result.strategy[1] == 1U);
  for (const Graph& part : reductions(graph)) {
    INFO(shown(part));
    CHECK(judged(part, kAsPrinted, TieRule::Every) == PrintedKind::Optimal);
  }
  CHECK(judged(graph, kAsPrinted, TieRule::First) == PrintedKind::Optimal);
  CHECK(judged(graph, kAsPrinted, TieRule::Last) == PrintedKind::Optimal);
}

TEST_CASE("no path of three vertices with costs 0 and 1 fails, whichever way ties are broken") {
  for (std::uint32_t bits = 0; bits < 1U << 14U; ++bits) {
    Graph graph = path(3);
    std::uint32_t left = bits;
    const auto take = [&](Cost& cost) {
      cost = left & 1U;
      left >>= 1U;
    };
    for (auto& costs : graph.costs) std::ranges::for_each(costs, take);
    for (Edge& edge : graph.edges) std::ranges::for_each(edge.table, take);
    if (bits % 17 != 0) continue;  // all of them take seconds
    REQUIRE(judged(graph, kAsPrinted, TieRule::Every) == PrintedKind::Optimal);
  }
}

TEST_CASE("a campaign finds failures, and the smallest one again") {
  const PrintedCampaign any = printed_campaign(6000, kAsPrinted, TieRule::Any, 1);
  CHECK(any.graphs == 6000);
  CHECK(any.suboptimal > 0);
  CHECK(any.incomplete + any.none > 0);
  CHECK_FALSE(any.wrong_search);
  REQUIRE(any.smallest);
  CHECK(size_of(any.smallest->graph) == size_of(smallest_failure()));
  CHECK(any.smallest->optimum == 0);
  CHECK(any.smallest->run.cost == 1);
  for (const TieRule rule : {TieRule::First, TieRule::Last}) {
    const PrintedCampaign fixed = printed_campaign(3000, kAsPrinted, rule, 1);
    CHECK(fixed.suboptimal + fixed.incomplete + fixed.none == 0);
  }
}

TEST_CASE("line 4 of algorithm 3 decides between half a strategy and none") {
  const PrintedCampaign printed = printed_campaign(6000, kAsPrinted, TieRule::Any, 1);
  const PrintedCampaign meant = printed_campaign(6000, kAsMeant, TieRule::Any, 1);
  CHECK(printed.incomplete > 0);
  CHECK(meant.incomplete == 0);
  CHECK(meant.none >= printed.none + printed.incomplete);
  CHECK(meant.suboptimal <= printed.suboptimal);
}

TEST_CASE("in doubles equal costs differ, and the first of them is no rule any more") {
  // Hundredths. All edges cost what their two ends add: they could be costs of vertices alone.
  const PrintedCampaign doubles = printed_campaign(20000, kInDoubles, TieRule::First, 1);
  CHECK(doubles.suboptimal > 0);
  REQUIRE(doubles.smallest);
  const Graph& graph = doubles.smallest->graph;
  CHECK(judged(graph, kInDoubles, TieRule::First) == PrintedKind::Suboptimal);
  CHECK(judged(graph, kAsPrinted, TieRule::First) == PrintedKind::Optimal);
}

TEST_CASE("the tables of the printed algorithm are refused where they are too large") {
  Graph star;
  star.costs.assign(30, std::vector<Cost>(10, 0));
  for (std::uint32_t v = 1; v < 30; ++v) star.edges.push_back({0, v, std::vector<Cost>(100, 0)});
  FirstTie first;
  CHECK(printed_rows(star) == UINT64_MAX);
  CHECK_FALSE(printed_algorithm(star, kAsPrinted, first, 1000000));
  CHECK(judged(path(4), kAsPrinted, TieRule::First) == PrintedKind::Optimal);
  CHECK(printed_rows(path(4)) == 4 + 8 + 8 + 4);
}

TEST_CASE("parts of a graph without edges between them are joined") {
  std::mt19937 random(5);
  for (int i = 0; i < 500; ++i) {
    const Graph graph = random_graph(random, 4, 9);
    INFO(shown(graph));
    CHECK(judged(graph, kAsPrinted, TieRule::First) == PrintedKind::Optimal);
  }
}

TEST_CASE("the instance that others found fails in doubles, too") {
  const auto file = shared_data("strategy/alg1_counterexample_doubles.json");
  if (!file) return;
  const auto& example = (*file)["example"];
  const auto hundredths = [](const nlohmann::json& cost) {
    return static_cast<Cost>(std::lround(cost.get<double>() * 100));
  };
  Graph graph;
  for (const auto& costs : example["unary"]) {
    auto& own = graph.costs.emplace_back();
    for (const auto& cost : costs) own.push_back(hundredths(cost));
  }
  for (const auto& edge : example["edges"]) {
    Edge& made = graph.edges.emplace_back(Edge{edge["u"], edge["v"], {}});
    for (const auto& row : edge["table"]) {
      for (const auto& cost : row) made.table.push_back(hundredths(cost));
    }
  }
  const Cost optimum = least_by_enumeration(graph);
  CHECK(optimum == hundredths(example["optimum"]));
  // In which order the costs were added there is not known: the order of vertices is a tie, too.
  const PrintedRun run = judge_printed(graph, optimum, kInDoubles, TieRule::Every, 0);
  CHECK(run.cost == hundredths(example["alg1_in_doubles"]));
  CHECK(judged(graph, kAsPrinted, TieRule::First) == PrintedKind::Optimal);
}
