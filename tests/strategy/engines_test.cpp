#include <filesystem>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "encodings/cnf/queries.h"
#include "encodings/z3/queries.h"
#include "engine/strategy/bucket_elimination.h"
#include "engine/strategy/paper_algorithm.h"
#include "engine/strategy/strategy.h"
#include "proofs/api/engines.h"
#include "proofs/kernel/certificate.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/strategy/graphs.h"

using namespace p2;
using namespace p2::strategy;

TEST_CASE("the clauses have a strategy below the least cost and one, and none below the least") {
  std::mt19937 random(41);
  for (int i = 0; i < 4000; ++i) {
    const Graph graph = random_graph(random, 6, i % 2 == 0 ? 2 : 1000);
    const Cost least = least_by_enumeration(graph);
    INFO(shown(graph));
    CHECK(cnf::refute_cheaper_strategy(graph, least, {}).outcome == Outcome::Established);
    const auto some = cnf::refute_cheaper_strategy(graph, least + 1, {});
    REQUIRE(some.outcome == Outcome::Refuted);
    CHECK(cost_of(graph, some.strategy) == least);
  }
}

TEST_CASE("what the clauses say of any number is true, far below and far above the least cost") {
  std::mt19937 random(42);
  for (int i = 0; i < 1500; ++i) {
    const Graph graph = random_graph(random, 5, 30);
    const Cost least = least_by_enumeration(graph);
    const Cost below = static_cast<Cost>(random() % 120);
    INFO(shown(graph), "below ", below);
    const auto answer = cnf::refute_cheaper_strategy(graph, below, {});
    CHECK(answer.outcome == (least < below ? Outcome::Refuted : Outcome::Established));
    if (answer.outcome == Outcome::Refuted) CHECK(cost_of(graph, answer.strategy) < below);
  }
}

TEST_CASE("every term is added once, and every sum but the whole") {
  std::mt19937 random(43);
  for (int i = 0; i < 1000; ++i) {
    const Graph graph = random_graph(random, 7, 3);
    const std::size_t terms = graph.vertices() + graph.edges.size();
    const std::vector<Addition> all = additions(graph, elimination_order(graph).vertices);
    std::vector<int> used(terms + all.size(), 0);
    for (std::size_t n = 0; n < all.size(); ++n) {
      REQUIRE(all[n].part < terms + n);
      ++used[all[n].part];
      if (all[n].sum) {
        REQUIRE(*all[n].sum < n);
        ++used[terms + *all[n].sum];
      }
    }
    CHECK(used.back() == 0);
    used.back() = 1;
    CHECK(std::ranges::count(used, 1) == std::ssize(used));
    CHECK(all.back().scope.empty());
  }
}

TEST_CASE("a graph that takes too many choices or too many clauses is not asked about") {
  Graph graph;
  for (std::uint32_t v = 0; v < 12; ++v) graph.costs.push_back({0, 1, 2, 3, 4, 5, 6, 7});
  for (std::uint32_t a = 0; a < 12; ++a) {
    for (std::uint32_t b = a + 1; b < 12; ++b) {
      graph.edges.push_back({a, b, std::vector<Cost>(64, 1)});
    }
  }
  CHECK(cnf::refute_cheaper_strategy(graph, 66, {}).too_large);
  const std::vector<Addition> all = additions(graph, elimination_order(graph).vertices);
  CHECK_FALSE(join_assignments(graph, all, 1 << 20));
  Graph wide;
  wide.costs = {std::vector<Cost>(2100, 0), std::vector<Cost>(2100, 0)};
  wide.edges = {{0, 1, std::vector<Cost>(2100 * 2100, 1)}};
  CHECK(cnf::refute_cheaper_strategy(wide, 1, {}).too_large);
}

TEST_CASE("an answer that is one too high comes to light, and limits are kept") {
  std::mt19937 random(44);
  for (int i = 0; i < 100; ++i) {
    const Graph graph = random_graph(random, 5, 9);
    Found found = find_strategy(graph, {}).found;
    cnf::StrategyRefutation refutation;
    CHECK(check_with_clauses(graph, found, {}, refutation).answer.outcome == Outcome::Established);
    ++found.cost;
    CHECK(check_with_clauses(graph, found, {}, refutation).answer.outcome == Outcome::Refuted);
    Limits limits;
    limits.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
    CHECK(check_with_clauses(graph, found, limits, refutation).answer.outcome ==
          Outcome::Undecided);
  }
}

TEST_CASE("parallelize asks the clauses where it is told to, and certifies by them") {
  const std::string example = std::string(P2_SOURCE_DIR) + "/examples/strategy/mlp.json";
  const TemporaryFile folder("", "");
  std::filesystem::remove(folder.path());
  const Ran ran = run({"parallelize", example, "--engine", "cnf", "--certify", folder.path()});
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("cnf: none costs less") != std::string::npos);
  CHECK(ran.out.find("z3:") == std::string::npos);
  CHECK(check_folder(folder.path()).verdict == kernel::Verdict::Accepted);
  CHECK(std::filesystem::exists(folder.path() + "/proof.lrat"));
  std::filesystem::remove_all(folder.path());
  const Ran both = run({"parallelize", example, "--engine", "all", "--format", "json"});
  CHECK(nlohmann::json::parse(both.out)["z3"] == true);
  CHECK(nlohmann::json::parse(both.out)["cnf"] == true);
  const Ran limited = run({"parallelize", example, "--engine", "cnf", "--memory-limit", "1G"});
  CHECK(limited.exit == 2);
  CHECK(limited.err.find("cnf knows no memory limit") != std::string::npos);
  const TemporaryFile small(
      R"({"format":"pairwise-strategy-graph/1","edge_tables":[],"edges":[],
          "vertices":[{"id":0,"cost":[3,4],"memory":[9,5]}]})");
  const Ran left_out = run({"parallelize", small.path(), "--engine", "all", "--memory-limit", "6"});
  CHECK(left_out.exit == 0);
  CHECK(left_out.out.find("cnf: not asked, it knows no memory limit") != std::string::npos);
}

TEST_CASE("Z3 finds a strategy below the least cost and one, and none below the least cost") {
  std::mt19937 random(21);
  for (int i = 0; i < 150; ++i) {
    const Graph graph = random_graph(random, 4, i % 2 == 0 ? 2 : 1000);
    const Cost least = least_by_enumeration(graph);
    INFO(shown(graph));
    z3_encoding::StrategyQuery query;
    query.graph = &graph;
    query.below = least;
    CHECK(check_bound(query).outcome == Outcome::Established);
    query.below = least + 1;
    const auto some = check_bound(query);
    REQUIRE(some.outcome == Outcome::Refuted);
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
    CHECK(check_with_z3(file, limit, found ? &*found : nullptr, {}).answer.outcome ==
          Outcome::Established);
    if (!found) {
      ++none;
      continue;
    }
    CHECK(check_with_z3(file, limit, nullptr, {}).answer.outcome == Outcome::Refuted);
    ++found->cost;
    CHECK(check_with_z3(file, limit, &*found, {}).answer.outcome == Outcome::Refuted);
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
