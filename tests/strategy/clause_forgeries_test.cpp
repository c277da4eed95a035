#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/strategy/strategy.h"
#include "proofs/certificate/strategy_certificate.h"
#include "proofs/kernel/certificate.h"
#include "tests/strategy/forgeries.h"

using namespace p2;
using namespace p2::strategy;
using Json = nlohmann::json;
using kernel::Verdict;

namespace {

CertificateFiles certificate(const Graph& graph) {
  const Found found = find_strategy(graph, {}).found;
  return strategy_certificate(graph, found, cnf::cheaper_strategy(graph, found.cost, {}), {});
}

kernel::Result checked(CertificateFiles files) {
  add_manifest("strategy-optimal-clauses", {}, files);
  return check_certificate(files);
}

Verdict after(const CertificateFiles& files, const std::string& name, const JsonChange& change) {
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
    const kernel::Result result = check_certificate(certificate(graph));
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
  CHECK(result.reason == "no strategy costs less than 1 (2 vertices, 1 edges)");
}

TEST_CASE("no refutation serves for a strategy that costs one unit more") {
  std::mt19937 random(52);
  std::size_t tried = 0;
  for (int i = 0; i < 500; ++i) {
    const Graph graph = random_graph(random, 5, 3);
    const CertificateFiles files = certificate(graph);
    const Cost least = Json::parse(files.at("strategy.json"))["cost"];
    const auto worse = costing(graph, least + 1);
    if (!worse) continue;
    ++tried;
    const auto forge = [&](Cost said, Cost last) {
      CertificateFiles changed = files;
      changed["strategy.json"] = Json{{"configurations", *worse}, {"cost", said}}.dump();
      Json sums = Json::parse(files.at("sums.json"));
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
  CHECK(refused_changes_of_cells("strategy-optimal-clauses", certificate(kGraph)) >= 20);
}

TEST_CASE("a refutation without one of its clauses, or with a digit changed, is none") {
  const CertificateFiles files = certificate(kGraph);
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
            .reason == "the last sum is not what the strategy costs");
  // Who reaches 1 would reach 2.
  CHECK(judged(R"({"additions":[[0],[1]],"sums":[[2,1],[2]]})").verdict ==
        Verdict::NotACertificate);
}

TEST_CASE("sums without form are no certificate") {
  const CertificateFiles files = certificate(kGraph);
  const auto sums = [&](const std::function<void(Json&)>& change) {
    return after(files, "sums.json", change);
  };
  CHECK(sums([](Json&) {}) == Verdict::Accepted);
  CHECK(sums([](Json& json) { json["sums"].erase(0); }) == Verdict::NotACertificate);
  CHECK(sums([](Json& json) { json["sums"][0] = Json::array(); }) == Verdict::NotACertificate);
  CHECK(sums([](Json& json) { json["sums"][0][0] = -1; }) == Verdict::NotACertificate);
  CHECK(sums([](Json& json) { json["sums"][0] = {3, 3}; }) == Verdict::NotACertificate);
  CHECK(sums([](Json& json) { json["additions"][0] = Json::array(); }) == Verdict::NotACertificate);
  CHECK(sums([](Json& json) { json["additions"][0] = {0, 1}; }) == Verdict::NotACertificate);
  CHECK(sums([](Json& json) { json["additions"][0] = {7}; }) == Verdict::NotACertificate);
  CHECK(sums([](Json& json) { json["additions"][1].push_back(2); }) == Verdict::NotACertificate);
  CHECK(sums([](Json& json) {
          json = {{"additions", Json::array()}, {"sums", Json::array()}};
        }) == Verdict::NotACertificate);
  CHECK(sums([](Json& json) { json["more"] = 1; }) == Verdict::NotACertificate);
  // Another number told apart is another set of clauses.
  CHECK(sums([](Json& json) { json["sums"][0].push_back(Cost{1} << 61U); }) == Verdict::Rejected);
}
