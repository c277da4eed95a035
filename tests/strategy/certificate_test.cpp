#include <functional>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/strategy/strategy.h"
#include "proofs/certificate/certificate_folder.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "tests/strategy/graphs.h"

namespace p2::strategy {

/// A triangle of three configurations each and a fourth vertex aside.
inline const Graph kGraph{{{4, 0, 9}, {1, 3, 2}, {0, 5, 5}, {7, 7}},
                          {{0, 1, {0, 6, 2, 5, 0, 4, 1, 1, 1}},
                           {0, 2, {3, 0, 8, 6, 1, 0, 2, 2, 2}},
                           {1, 2, {0, 4, 4, 2, 0, 5, 9, 1, 0}}}};

using JsonChange = std::function<void(nlohmann::json&)>;

/// The verdict after `change` was done to one file and the manifest, of this claim, made to fit.
inline kernel::Verdict verdict_after(const std::string& claim, CertificateFiles files,
                                     const std::string& name, const JsonChange& change) {
  nlohmann::json json = nlohmann::json::parse(files[name]);
  change(json);
  files[name] = json.dump();
  add_manifest(claim, {}, files);
  return check_certificate(files).verdict;
}

/// Raises and lowers every cost of kGraph in its certificate and checks that what is not true any
/// more is rejected. Returns how many were.
inline std::size_t refused_changes_of_cells(const std::string& claim,
                                            const CertificateFiles& files) {
  const auto said = nlohmann::json::parse(files.at("strategy.json"));
  std::size_t refused = 0;
  const auto changed = [&](const Graph& graph, const JsonChange& change) {
    const kernel::Verdict verdict = verdict_after(claim, files, "problem.json", change);
    const bool still = cost_of(graph, said["configurations"]) == said["cost"].get<Cost>() &&
                       least_by_enumeration(graph) == said["cost"].get<Cost>();
    if (!still) CHECK(verdict == kernel::Verdict::Rejected);
    refused += verdict == kernel::Verdict::Rejected;
  };
  for (const int change : {-1, 1}) {
    for (std::size_t e = 0; e < kGraph.edges.size(); ++e) {
      for (std::size_t i = 0; i < 9; ++i) {
        Graph graph = kGraph;
        Cost& cell = graph.edges[e].table[i];
        cell += change;
        if (cell < 0) continue;
        changed(graph, [&](auto& json) { json["tables"][e][i / 3][i % 3] = cell; });
      }
    }
    for (std::size_t v = 0; v < kGraph.vertices(); ++v) {
      for (std::size_t c = 0; c < kGraph.costs[v].size(); ++c) {
        Graph graph = kGraph;
        graph.costs[v][c] += change;
        if (graph.costs[v][c] < 0) continue;
        changed(graph, [&](auto& json) { json["vertices"][v][c] = graph.costs[v][c]; });
      }
    }
  }
  return refused;
}

}  // namespace p2::strategy

using namespace p2;
using namespace p2::strategy;
using Value = nlohmann::json;
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
  CHECK(check_certificate(files).reason.starts_with(
      "no strategy costs less than 1 (2 vertices, 1 edges), claim "));
}

TEST_CASE("a strategy that costs one unit more is rejected, with or without its true cost") {
  std::mt19937 random(6);
  std::size_t forged = 0;
  for (int i = 0; i < 500; ++i) {
    const Graph graph = random_graph(random, 5, 3);
    const CertificateFiles files = certificate(graph);
    const Cost least = Value::parse(files.at("strategy.json"))["cost"];
    const auto worse = costing(graph, least + 1);
    if (!worse) continue;
    ++forged;
    const auto forge = [&](Cost said) {
      return after(files, "strategy.json", [&](Value& json) {
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
  const Value strategy = Value::parse(files.at("strategy.json"))["configurations"];
  const auto bound = [&](auto change) { return after(files, "bound.json", change); };
  const auto problem = [&](auto change) { return after(files, "problem.json", change); };
  const std::uint32_t chosen = strategy[0];
  SUBCASE("a removal whose justification is false") {
    CHECK(bound([&](Value& json) {
            json["removals"] = {{0, chosen, (chosen + 1) % 3}};
          }) == Verdict::Rejected);
  }
  SUBCASE("removals of what is not there") {
    CHECK(bound([](Value& json) { json["removals"] = {{3, 1, 1}}; }) == Verdict::Rejected);
    CHECK(bound([](Value& json) {
            json["removals"] = {{3, 1, 0}, {3, 0, 1}};
          }) == Verdict::Rejected);
    CHECK(bound([](Value& json) { json["removals"] = {{3, 2, 0}}; }) == Verdict::Rejected);
    CHECK(bound([](Value& json) { json["removals"] = {{4, 1, 0}}; }) == Verdict::NotACertificate);
    CHECK(bound([](Value& json) { json["removals"] = {{3, 1}}; }) == Verdict::NotACertificate);
  }
  SUBCASE("an order that is none") {
    CHECK(bound([](Value& json) { json["order"] = {0, 1, 2, 2}; }) == Verdict::NotACertificate);
    CHECK(bound([](Value& json) { json["order"] = {0, 1, 2}; }) == Verdict::NotACertificate);
    CHECK(bound([](Value& json) { json["order"] = {0, 1, 2, 4}; }) == Verdict::NotACertificate);
  }
  SUBCASE("any order and no removal will do") {
    CHECK(bound([](Value& json) {
            json["removals"] = Value::array();
            json["order"] = {2, 3, 0, 1};
          }) == Verdict::Accepted);
  }
  SUBCASE("a strategy that is none") {
    for (const Value& wrong : {Value{1, 0, 0}, Value{1, 0, 0, 2}, Value{3, 0, 0, 0}}) {
      CHECK(after(files, "strategy.json", [&](Value& json) { json["configurations"] = wrong; }) ==
            Verdict::Rejected);
    }
  }
  SUBCASE("a problem without form") {
    CHECK(problem([](Value& json) { json["vertices"][0] = Value::array(); }) ==
          Verdict::NotACertificate);
    CHECK(problem([](Value& json) { json["vertices"][0][0] = -1; }) == Verdict::NotACertificate);
    CHECK(problem([](Value& json) { json["vertices"][0][0] = 4.5; }) == Verdict::NotACertificate);
    CHECK(problem([](Value& json) { json["vertices"][0][0] = (Cost{1} << 62U) - 1; }) ==
          Verdict::NotACertificate);
    CHECK(problem([](Value& json) { json["edges"][1] = {0, 1, 0}; }) == Verdict::NotACertificate);
    CHECK(problem([](Value& json) { json["edges"][0] = {1, 0, 0}; }) == Verdict::NotACertificate);
    CHECK(problem([](Value& json) { json["edges"][0] = {0, 1, 3}; }) == Verdict::NotACertificate);
    CHECK(problem([](Value& json) { json["edges"][2] = {1, 3, 2}; }) == Verdict::NotACertificate);
    CHECK(problem([](Value& json) { json["tables"][0][1].erase(0); }) == Verdict::NotACertificate);
    CHECK(problem([](Value& json) { json["vertices"] = Value::array(); }) ==
          Verdict::NotACertificate);
    CHECK(problem([](Value& json) { json["more"] = 1; }) == Verdict::NotACertificate);
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
  Solution answer;
  answer.order = elimination_order(graph);
  answer.found.strategy.assign(12, 0);
  answer.found.cost = cost_of(graph, answer.found.strategy);
  CHECK_THROWS_AS(strategy_certificate(graph, answer, {}), LimitReached);
  answer.order.additions = 0;
  const auto files = strategy_certificate(graph, answer, {});
  CHECK(check_certificate(files).verdict == Verdict::Incomplete);
}

namespace {

CertificateFiles clause_certificate(const Graph& graph) {
  const Found found = find_strategy(graph, {}).found;
  return strategy_certificate(graph, found, cnf::refute_cheaper_strategy(graph, found.cost, {}),
                              {});
}

kernel::Result checked(CertificateFiles files) {
  add_manifest("strategy-optimal-clauses", {}, files);
  return check_certificate(files);
}

Verdict after_clauses(const CertificateFiles& files, const std::string& name,
                      const JsonChange& change) {
  return verdict_after("strategy-optimal-clauses", files, name, change);
}

/// Everything that says that nothing costs less than the strategy [1] of one vertex, which costs 2,
/// while the other one costs 1. Its clauses and proof are in order; `sums` is where it must break.
CertificateFiles forged(const std::string& sums, const std::string& cnf, const std::string& lrat) {
  return {{"problem.json", R"({"vertices":[[1,2]],"tables":[],"edges":[]})"},
          {"strategy.json", R"({"configurations":[1],"cost":2})"},
          {"sums.json", sums},
          {"problem.cnf", cnf},
          {"proof.lrat", lrat}};
}

}  // namespace

TEST_CASE("p2-check accepts refutations of random graphs") {
  std::mt19937 random(51);
  for (int i = 0; i < 1500; ++i) {
    const Graph graph = random_graph(random, 6, i % 2 == 0 ? 2 : 1000);
    INFO(shown(graph));
    const kernel::Result result = check_certificate(clause_certificate(graph));
    CHECK_MESSAGE(result.verdict == Verdict::Accepted, result.reason);
  }
}

TEST_CASE("the example of clauses in docs/certificates.md is accepted") {
  const kernel::Result result = checked(
      {{"problem.json", R"({"vertices":[[1,2],[3,0]],"tables":[[[2,0],[0,2]]],"edges":[[0,1,0]]})"},
       {"strategy.json", R"({"configurations":[0,1],"cost":1})"},
       {"sums.json", R"({"additions":[[0],[3,2],[1],[5,4]],"sums":[[1],[1],[0],[1]]})"},
       {"problem.cnf",
        "p cnf 8 10\n1 0\n2 3 0\n4 5 0\n-2 6 0\n-3 6 0\n-2 -4 7 0\n-6 -2 -5 7 0\n-6 -3 -4 7 0\n"
        "-3 -5 7 0\n-7 -1 0\n"},
       {"proof.lrat",
        "11 -7 0 1 10 0\n12 -4 -2 0 11 6 0\n13 -2 0 11 4 12 3 7 0\n"
        "14 0 11 13 2 5 8 9 3 0\n"}});
  CHECK(result.reason.starts_with("no strategy costs less than 1 (2 vertices, 1 edges), claim "));
}

TEST_CASE("no refutation serves for a strategy that costs one unit more") {
  std::mt19937 random(52);
  std::size_t tried = 0;
  for (int i = 0; i < 500; ++i) {
    const Graph graph = random_graph(random, 5, 3);
    const CertificateFiles files = clause_certificate(graph);
    const Cost least = Value::parse(files.at("strategy.json"))["cost"];
    const auto worse = costing(graph, least + 1);
    if (!worse) continue;
    ++tried;
    const auto forge = [&](Cost said, Cost last) {
      CertificateFiles changed = files;
      changed["strategy.json"] = Value{{"configurations", *worse}, {"cost", said}}.dump();
      Value sums = Value::parse(files.at("sums.json"));
      sums["sums"].back() = {last};
      changed["sums.json"] = sums.dump();
      return checked(changed).verdict;
    };
    CHECK(forge(least + 1, least + 1) == Verdict::Rejected);
    CHECK(forge(least + 1, least) == Verdict::Rejected);
    CHECK(forge(least, least) == Verdict::Rejected);
  }
  CHECK(tried > 100);
}

TEST_CASE("no cell can be changed under a refutation without the answer staying true") {
  CHECK(refused_changes_of_cells("strategy-optimal-clauses", clause_certificate(kGraph)) >= 20);
}

TEST_CASE("a refutation without one of its clauses, or with a digit changed, is none") {
  const CertificateFiles files = clause_certificate(kGraph);
  REQUIRE(check_certificate(files).verdict == Verdict::Accepted);
  const std::string& cnf = files.at("problem.cnf");
  const std::size_t header = cnf.find('\n') + 1;
  const auto count = static_cast<std::size_t>(std::count(cnf.begin(), cnf.end(), '\n')) - 1;
  const std::string variables = cnf.substr(6, cnf.find(' ', 6) - 6);
  for (std::size_t begin = header; begin < cnf.size();) {
    const std::size_t end = cnf.find('\n', begin) + 1;
    CertificateFiles changed = files;
    changed["problem.cnf"] = "p cnf " + variables + " " + std::to_string(count - 1) + "\n" +
                             cnf.substr(header, begin - header) + cnf.substr(end);
    CHECK(checked(changed).verdict != Verdict::Accepted);
    begin = end;
  }
  for (const char* name : {"problem.cnf", "proof.lrat"}) {
    std::size_t refused = 0, digits = 0;
    const std::string& text = files.at(name);
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] < '0' || text[at] > '9') continue;
      CertificateFiles changed = files;
      changed[name][at] = text[at] == '9' ? '1' : static_cast<char>(text[at] + 1);
      ++digits;
      refused += checked(changed).verdict != Verdict::Accepted;
    }
    CHECK(refused > digits * 9 / 10);
  }
}

TEST_CASE("sums that would prove too much are not taken") {
  // The least that clauses say of one vertex added up twice is 2, and so nothing costs less.
  const std::string cnf = "p cnf 4 5\n1 0\n2 3 0\n-2 4 0\n-4 -2 -1 0\n-3 -1 0\n";
  const std::string lrat = "6 0 1 5 2 3 4 0\n";
  const auto judged = [&](const char* sums) { return checked(forged(sums, cnf, lrat)); };
  const kernel::Result added_twice = judged(R"({"additions":[[0],[1,0]],"sums":[[1],[2]]})");
  CHECK(added_twice.verdict == Verdict::Rejected);
  CHECK(added_twice.reason == "part 0 is added twice");
  CHECK(judged(R"({"additions":[[0],[1,1]],"sums":[[1],[2]]})").reason == "part 1 is added twice");
  // That the sum reaches 1 is true.
  CHECK(checked(forged(R"({"additions":[[0]],"sums":[[1]]})",
                       "p cnf 3 4\n1 0\n2 3 0\n-2 -1 0\n-3 -1 0\n", "5 0 1 3 4 2 0\n"))
            .reason == "the last sum is not the cost of the strategy");
  // Who reaches 1 would reach 2.
  CHECK(judged(R"({"additions":[[0],[1]],"sums":[[2,1],[2]]})").verdict ==
        Verdict::NotACertificate);
}

TEST_CASE("sums without form are no certificate") {
  const CertificateFiles files = clause_certificate(kGraph);
  const auto sums = [&](const std::function<void(Value&)>& change) {
    return after_clauses(files, "sums.json", change);
  };
  CHECK(sums([](Value&) {}) == Verdict::Accepted);
  CHECK(sums([](Value& json) { json["sums"].erase(0); }) == Verdict::NotACertificate);
  CHECK(sums([](Value& json) { json["sums"][0] = Value::array(); }) == Verdict::NotACertificate);
  CHECK(sums([](Value& json) { json["sums"][0][0] = -1; }) == Verdict::NotACertificate);
  CHECK(sums([](Value& json) { json["sums"][0] = {3, 3}; }) == Verdict::NotACertificate);
  CHECK(sums([](Value& json) { json["additions"][0] = Value::array(); }) ==
        Verdict::NotACertificate);
  CHECK(sums([](Value& json) { json["additions"][0] = {0, 1}; }) == Verdict::NotACertificate);
  CHECK(sums([](Value& json) { json["additions"][0] = {7}; }) == Verdict::NotACertificate);
  CHECK(sums([](Value& json) { json["additions"][1].push_back(2); }) == Verdict::NotACertificate);
  CHECK(sums([](Value& json) {
          json = {{"additions", Value::array()}, {"sums", Value::array()}};
        }) == Verdict::NotACertificate);
  CHECK(sums([](Value& json) { json["more"] = 1; }) == Verdict::NotACertificate);
  // Another number told apart is another set of clauses.
  CHECK(sums([](Value& json) { json["sums"][0].push_back(Cost{1} << 61U); }) == Verdict::Rejected);
}
