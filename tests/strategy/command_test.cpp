#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "proofs/check/certificate.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

using namespace p2;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

const std::string kExample = std::string(P2_SOURCE_DIR) + "/examples/strategy/mlp.json";

fs::path shared_data() {
  const char* const given = std::getenv("P2_SHARED_DATA");
  return fs::path(given != nullptr ? given : P2_SOURCE_DIR "/../shared/data") / "strategy";
}

}  // namespace

TEST_CASE("parallelize prints the strategy, certifies it and draws it") {
  const TemporaryFile folder("", "");
  const TemporaryFile dot("", ".dot");
  fs::remove(folder.path());
  const Ran json = run({"parallelize", kExample, "--format", "json", "--certify", folder.path(),
                        "--dot", dot.path()});
  CHECK(json.exit == 0);
  const Json answer = Json::parse(json.out);
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

TEST_CASE("parallelize refuses what is no graph") {
  const TemporaryFile wrong("{}");
  CHECK(run({"parallelize"}).exit == 2);
  CHECK(run({"parallelize", wrong.path()}).exit == 2);
  CHECK(run({"parallelize", "/nonexistent"}).exit == 2);
  CHECK(run({"parallelize", kExample, kExample}).exit == 2);
  CHECK(run({"parallelize", kExample, "--certify", "/dev/null/x"}).exit == 2);
}

TEST_CASE("exported graphs of real models have the optima that another program found") {
  if (!fs::is_directory(shared_data())) {
    MESSAGE("skipped: there is no " << shared_data().string());
    return;
  }
  std::size_t compared = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(shared_data())) {
    std::ifstream file(entry.path());
    const Json graph = Json::parse(file);
    if (!graph.contains("format")) continue;
    const Json known = graph["result"]["all_tensor_edges"];
    const TemporaryFile folder("", "");
    fs::remove(folder.path());
    const Ran ran =
        run({"parallelize", entry.path().string(), "--format", "json", "--certify", folder.path()});
    INFO(entry.path().string());
    CHECK(ran.exit == 0);
    const Json answer = Json::parse(ran.out);
    CHECK(answer["cost"] == known["optimum_int"]);
    CHECK(answer["data_parallel_cost"] == known["data_parallel_cost_int"]);
    CHECK(check_folder(folder.path()).verdict == kernel::Verdict::Accepted);
    fs::remove_all(folder.path());
    ++compared;
  }
  CHECK(compared > 0);
}
