#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "proofs/certificate/strategy_certificate.h"
#include "proofs/kernel/certificate.h"
#include "tests/strategy/forgeries.h"

using namespace p2;
using namespace p2::strategy;
using Json = nlohmann::json;
using kernel::Verdict;

namespace {

CertificateFiles certificate(const Graph& graph) {
  return strategy_certificate(graph, find_strategy(graph, {}), {});
}

Verdict after(const CertificateFiles& files, const std::string& name, const JsonChange& change) {
  return verdict_after("strategy-optimal", files, name, change);
}

}  // namespace

TEST_CASE("p2-check accepts the certificates of random graphs") {
  std::mt19937 random(5);
  for (int i = 0; i < 1500; ++i) {
    const Graph graph = random_graph(random, 6, i % 2 == 0 ? 2 : 1000);
    INFO(shown(graph));
    const kernel::Result result = check_certificate(certificate(graph));
    CHECK_MESSAGE(result.verdict == Verdict::Accepted, result.reason);
  }
}

TEST_CASE("the example of docs/certificates.md is accepted") {
  CertificateFiles files = {
      {"problem.json", R"({"vertices":[[1,2],[3,0]],"tables":[[[2,0],[0,2]]],"edges":[[0,1,0]]})"},
      {"strategy.json", R"({"configurations":[0,1],"cost":1})"},
      {"bound.json", R"({"removals":[[1,0,1]],"order":[0,1]})"}};
  add_manifest("strategy-optimal", {}, files);
  CHECK(check_certificate(files).reason == "no strategy costs less than 1 (2 vertices, 1 edges)");
}

TEST_CASE("a strategy that costs one unit more is rejected, with or without its true cost") {
  std::mt19937 random(6);
  std::size_t forged = 0;
  for (int i = 0; i < 500; ++i) {
    const Graph graph = random_graph(random, 5, 3);
    const CertificateFiles files = certificate(graph);
    const Cost least = Json::parse(files.at("strategy.json"))["cost"];
    const auto worse = costing(graph, least + 1);
    if (!worse) continue;
    ++forged;
    const auto forge = [&](Cost said) {
      return after(files, "strategy.json", [&](Json& json) {
        json["configurations"] = *worse;
        json["cost"] = said;
      });
    };
    CHECK(forge(least + 1) == Verdict::Rejected);
    CHECK(forge(least) == Verdict::Rejected);
  }
  CHECK(forged > 100);
}

TEST_CASE("no cell of the problem can be changed without the answer staying true") {
  CHECK(refused_changes_of_cells("strategy-optimal", certificate(kGraph)) >= 12);
}

TEST_CASE("forged evidence is rejected, and what is no certificate is called so") {
  const CertificateFiles files = certificate(kGraph);
  REQUIRE(check_certificate(files).verdict == Verdict::Accepted);
  const Json strategy = Json::parse(files.at("strategy.json"))["configurations"];
  const auto bound = [&](auto change) { return after(files, "bound.json", change); };
  const auto problem = [&](auto change) { return after(files, "problem.json", change); };
  const std::uint32_t chosen = strategy[0];
  SUBCASE("a removal whose justification is false") {
    CHECK(bound([&](Json& json) {
            json["removals"] = {{0, chosen, (chosen + 1) % 3}};
          }) == Verdict::Rejected);
  }
  SUBCASE("removals of what is not there") {
    CHECK(bound([](Json& json) { json["removals"] = {{3, 1, 1}}; }) == Verdict::Rejected);
    CHECK(bound([](Json& json) {
            json["removals"] = {{3, 1, 0}, {3, 0, 1}};
          }) == Verdict::Rejected);
    CHECK(bound([](Json& json) { json["removals"] = {{3, 2, 0}}; }) == Verdict::Rejected);
    CHECK(bound([](Json& json) { json["removals"] = {{4, 1, 0}}; }) == Verdict::NotACertificate);
    CHECK(bound([](Json& json) { json["removals"] = {{3, 1}}; }) == Verdict::NotACertificate);
  }
  SUBCASE("an order that is none") {
    CHECK(bound([](Json& json) { json["order"] = {0, 1, 2, 2}; }) == Verdict::NotACertificate);
    CHECK(bound([](Json& json) { json["order"] = {0, 1, 2}; }) == Verdict::NotACertificate);
    CHECK(bound([](Json& json) { json["order"] = {0, 1, 2, 4}; }) == Verdict::NotACertificate);
  }
  SUBCASE("any order and no removal will do") {
    CHECK(bound([](Json& json) {
            json["removals"] = Json::array();
            json["order"] = {2, 3, 0, 1};
          }) == Verdict::Accepted);
  }
  SUBCASE("a strategy that is none") {
    for (const Json& wrong : {Json{1, 0, 0}, Json{1, 0, 0, 2}, Json{3, 0, 0, 0}}) {
      CHECK(after(files, "strategy.json", [&](Json& json) { json["configurations"] = wrong; }) ==
            Verdict::Rejected);
    }
  }
  SUBCASE("a problem without form") {
    CHECK(problem([](Json& json) { json["vertices"][0] = Json::array(); }) ==
          Verdict::NotACertificate);
    CHECK(problem([](Json& json) { json["vertices"][0][0] = -1; }) == Verdict::NotACertificate);
    CHECK(problem([](Json& json) { json["vertices"][0][0] = 4.5; }) == Verdict::NotACertificate);
    CHECK(problem([](Json& json) { json["vertices"][0][0] = (Cost{1} << 62U) - 1; }) ==
          Verdict::NotACertificate);
    CHECK(problem([](Json& json) { json["edges"][1] = {0, 1, 0}; }) == Verdict::NotACertificate);
    CHECK(problem([](Json& json) { json["edges"][0] = {1, 0, 0}; }) == Verdict::NotACertificate);
    CHECK(problem([](Json& json) { json["edges"][0] = {0, 1, 3}; }) == Verdict::NotACertificate);
    CHECK(problem([](Json& json) { json["edges"][2] = {1, 3, 2}; }) == Verdict::NotACertificate);
    CHECK(problem([](Json& json) { json["tables"][0][1].erase(0); }) == Verdict::NotACertificate);
    CHECK(problem([](Json& json) { json["vertices"] = Json::array(); }) ==
          Verdict::NotACertificate);
    CHECK(problem([](Json& json) { json["more"] = 1; }) == Verdict::NotACertificate);
  }
}

TEST_CASE("a check that takes too much work is incomplete, and no such certificate is written") {
  Graph graph;
  graph.costs.assign(12, {0, 1, 2, 3, 4, 5, 6, 7});
  for (std::uint32_t a = 0; a < 12; ++a) {
    for (std::uint32_t b = a + 1; b < 12; ++b) {
      Edge& edge = graph.edges.emplace_back(Edge{a, b, std::vector<Cost>(64, 0)});
      for (std::uint32_t i = 0; i < 64; ++i) edge.table[i] = (i * (a + 7) * (b + 3)) % 61;
    }
  }
  Answer answer;
  answer.order = elimination_order(graph);
  answer.found.strategy.assign(12, 0);
  answer.found.cost = cost_of(graph, answer.found.strategy);
  CHECK_THROWS_AS(strategy_certificate(graph, answer, {}), std::length_error);
  answer.order.additions = 0;
  const auto files = strategy_certificate(graph, answer, {});
  CHECK(check_certificate(files).verdict == Verdict::Incomplete);
}
