#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "proofs/kernel/certificate.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/shared_data.h"

using namespace p2;
namespace fs = std::filesystem;
using Value = nlohmann::json;

namespace {

const std::string kExample = std::string(P2_SOURCE_DIR) + "/examples/strategy/mlp.json";

/// A file of vertices that are all joined by different tables.
std::string clique(std::size_t vertices, std::size_t configurations) {
  std::mt19937 random(8);
  Value file = {{"format", "pairwise-strategy-graph/1"},
               {"vertices", Value::array()},
               {"edges", Value::array()},
               {"edge_tables", Value::array()}};
  for (std::size_t v = 0; v < vertices; ++v) {
    file["vertices"].push_back({{"id", v}, {"cost", std::vector<int>(configurations, 0)}});
    for (std::size_t u = 0; u < v; ++u) {
      std::vector<std::uint64_t> cells(configurations * configurations);
      for (std::uint64_t& cell : cells) cell = random() % 1000;
      const std::size_t table = file["edges"].size();
      file["edges"].push_back({{"src", u}, {"dst", v}, {"table", table}});
      file["edge_tables"].push_back(
          {{"id", table}, {"rows", configurations}, {"cols", configurations}, {"cells", cells}});
    }
  }
  return file.dump();
}

}  // namespace

TEST_CASE("parallelize prints the strategy, certifies it and draws it") {
  const TemporaryFile folder("", "");
  const TemporaryFile dot("", ".dot");
  fs::remove(folder.path());
  const Ran json = run({"parallelize", kExample, "--format", "json", "--certify", folder.path(),
                        "--dot", dot.path()});
  CHECK(json.exit == 0);
  const Value answer = Value::parse(json.out);
  CHECK(answer["optimal"] == true);
  CHECK(answer["bound"] == answer["cost"]);
  CHECK(answer["certificate"] == folder.path());
  CHECK(answer["strategy"].size() == answer["vertices"].size());
  CHECK(answer["search_seconds"].is_number());
  CHECK(answer["data_parallel_cost"] > answer["cost"]);
  CHECK(check_folder(folder.path()).verdict == kernel::Verdict::Accepted);
  std::ifstream drawn(dot.path());
  const std::string drawing{std::istreambuf_iterator<char>(drawn), {}};
  CHECK(drawing.starts_with("graph strategy {"));
  CHECK(drawing.find(" -- ") != std::string::npos);
  fs::remove_all(folder.path());

  const Ran text = run({"parallelize", kExample});
  CHECK(text.exit == 0);
  CHECK(text.out.find("total: " + answer["cost"].dump() + ", optimal") != std::string::npos);
  CHECK(text.out.find("data parallelism: ") != std::string::npos);
}

TEST_CASE("parallelize exits with 3 at a limit, and where p2-check would not finish") {
  const TemporaryFile large(clique(4, 160));
  const TemporaryFile folder("", "");
  fs::remove(folder.path());
  const Ran unproved = run({"parallelize", large.path(), "--certify", folder.path()});
  CHECK(unproved.exit == 3);
  CHECK(unproved.err.find("more work than p2-check allows") != std::string::npos);
  CHECK(unproved.out.find(", optimal") != std::string::npos);
  CHECK_FALSE(fs::exists(folder.path()));

  const TemporaryFile hard(clique(12, 12));
  const Ran stopped =
      run({"parallelize", hard.path(), "--memory", "1", "--timeout", "1", "--format", "json"});
  CHECK(stopped.exit == 3);
  const Value answer = Value::parse(stopped.out);
  CHECK(answer["optimal"] == false);
  CHECK(answer["bound"] < answer["cost"]);
  CHECK(answer["certificate"] == nullptr);
}

TEST_CASE("parallelize refuses what is no graph") {
  const TemporaryFile wrong("{}");
  CHECK(run({"parallelize"}).exit == 2);
  CHECK(run({"parallelize", wrong.path()}).exit == 2);
  CHECK(run({"parallelize", "/nonexistent"}).exit == 2);
  CHECK(run({"parallelize", kExample, kExample}).exit == 2);
  CHECK(run({"parallelize", kExample, "--certify", "/dev/null/x"}).exit == 2);
}

TEST_CASE("exported graphs of real models have the optima that another program found") {
  for (const std::string name :
       {"alexnet_p4", "alexnet_p8", "alexnet_p16", "inception3_p4", "inception3_p8", "rnnlm_p4",
        "rnnlm_p8", "rnnlm_p16", "transformer_p4"}) {
    const auto graph = shared_data("strategy/" + name + ".json");
    if (!graph) return;
    const Value known = (*graph)["result"]["all_tensor_edges"];
    const TemporaryFile file(graph->dump());
    for (const std::string engine : {"explicit", "cnf"}) {
      const TemporaryFile folder("", "");
      fs::remove(folder.path());
      const Ran ran = run({"parallelize", file.path(), "--format", "json", "--engine", engine,
                           "--certify", folder.path()});
      INFO(name, ", ", engine);
      CHECK(ran.exit == 0);
      const Value answer = Value::parse(ran.out);
      CHECK(answer["cost"] == known["optimum_int"]);
      CHECK(answer["data_parallel_cost"] == known["data_parallel_cost_int"]);
      CHECK(check_folder(folder.path()).verdict == kernel::Verdict::Accepted);
      fs::remove_all(folder.path());
    }
  }
}

TEST_CASE("parallelize runs the printed algorithms on a file and on random graphs") {
  const Ran file = run({"parallelize", kExample, "--printed"});
  CHECK(file.exit == 0);
  CHECK(file.out.find("as printed: total 211206144, optimal") != std::string::npos);
  const Ran json = run({"parallelize", kExample, "--printed", "--format", "json"});
  CHECK(Value::parse(json.out) == Value({{"least", 211206144}, {"printed", 211206144}}));
  const Ran counts = run({"parallelize", "--printed-campaign", "500", "--format", "json"});
  CHECK(Value::parse(counts.out)["search_optimal"] == true);
  const TemporaryFile large(clique(9, 9));
  const Ran refused = run({"parallelize", large.path(), "--printed"});
  CHECK(refused.exit == 3);
  CHECK(refused.out.find("its tables would be too large") != std::string::npos);

  const Ran any = run({"parallelize", "--printed-campaign", "2000", "--ties", "any"});
  CHECK(any.exit == 1);
  CHECK(any.out.find("optimal on all") != std::string::npos);
  CHECK(any.out.find("least cost: 0; as printed: 1") != std::string::npos);
  CHECK(run({"parallelize", "--printed-campaign", "500", "--ties", "last"}).exit == 0);
  CHECK(run({"parallelize", "--printed-campaign", "500", "--ties", "best"}).exit == 2);
  CHECK(run({"parallelize", "--printed-campaign", "0"}).exit == 2);
  CHECK(run({"parallelize", "--printed-campaign", "100000000", "--timeout", "1"}).exit == 3);
}
