#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/strategy/strategy_cross_check.h"
#include "encodings/z3/strategy.h"
#include "engine/strategy/strategy.h"
#include "tests/cli/run.h"
#include "tests/strategy/graphs.h"

using namespace p2;
using namespace p2::strategy;
using Kind = z3_encoding::StrategyJudgement::Kind;

TEST_CASE("Z3 finds a strategy below the least cost and one, and none below the least cost") {
  std::mt19937 random(21);
  for (int i = 0; i < 150; ++i) {
    const Graph graph = random_graph(random, 4, i % 2 == 0 ? 2 : 1000);
    const Cost least = least_by_enumeration(graph);
    INFO(shown(graph));
    z3_encoding::StrategyQuery query;
    query.graph = &graph;
    query.below = least;
    CHECK(cheaper_strategy(query).kind == Kind::None);
    query.below = least + 1;
    const auto some = cheaper_strategy(query);
    REQUIRE(some.kind == Kind::Some);
    CHECK(cost_of(graph, some.strategy) == least);
  }
}

TEST_CASE("Z3 agrees about memory limits, and sees an answer that is one too high") {
  std::mt19937 random(22);
  int none = 0;
  for (int i = 0; i < 150; ++i) {
    GraphFile file;
    file.graph = random_graph(random, 4, 9);
    file.memory.emplace();
    for (const auto& costs : file.graph.costs) {
      auto& own = file.memory->emplace_back();
      for (std::size_t c = 0; c < costs.size(); ++c) own.push_back(static_cast<Cost>(random() % 9));
    }
    const auto limit = static_cast<Cost>(random() % 15);
    auto found = find_fitting(file.graph, *file.memory, limit, {});
    INFO(shown(file.graph));
    CHECK(ask_z3(file, limit, found ? &*found : nullptr, {}).agreement == Agreement::Agrees);
    if (!found) {
      ++none;
      continue;
    }
    CHECK(ask_z3(file, limit, nullptr, {}).agreement == Agreement::Differs);
    ++found->cost;
    CHECK(ask_z3(file, limit, &*found, {}).agreement == Agreement::Differs);
  }
  CHECK(none > 5);
}

TEST_CASE("parallelize asks Z3 where it is told to") {
  const std::string example = std::string(P2_SOURCE_DIR) + "/examples/strategy/mlp.json";
  const Ran ran = run({"parallelize", example, "--engine", "all"});
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("z3: none costs less") != std::string::npos);
  const Ran json = run({"parallelize", example, "--engine", "z3", "--format", "json"});
  CHECK(nlohmann::json::parse(json.out)["z3"] == true);
  const Ran not_asked = run({"parallelize", example, "--format", "json"});
  CHECK(nlohmann::json::parse(not_asked.out)["z3"] == nullptr);
  CHECK(run({"parallelize", example, "--engine", "sat"}).exit == 2);
  const Ran stopped = run({"parallelize", example, "--engine", "z3", "--rlimit", "1"});
  CHECK(stopped.exit == 3);
  CHECK(stopped.out.find("z3: undecided") != std::string::npos);
}
