#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "proofs/kernel/certificate.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/operations/graphs.h"

using namespace p2;
namespace fs = std::filesystem;
using Value = nlohmann::json;

TEST_CASE("a network is written, parallelized and certified") {
  const TemporaryFile network("", ".json");
  CHECK(run({"network", "transformer", "--batch", "32", "--levels", "2:300000000000,2:25000000000",
             "--word-bytes", "2", "--output", network.path()})
            .exit == 0);
  const TemporaryFile folder("", "");
  fs::remove(folder.path());
  const Ran ran =
      run({"parallelize", network.path(), "--format", "json", "--certify", folder.path()});
  CHECK(ran.exit == 0);
  const Value answer = Value::parse(ran.out);
  CHECK(answer["optimal"] == true);
  CHECK(answer["known"].size() == 2);
  CHECK(answer["memory"].is_number());
  CHECK(check_folder(folder.path()).verdict == kernel::Verdict::Accepted);
  fs::remove_all(folder.path());
  const Ran text = run({"parallelize", network.path(), "--use-all-devices"});
  CHECK(text.exit == 0);
  CHECK(text.out.find("of it sums") != std::string::npos);
  CHECK(text.out.find("\nexpert, ") != std::string::npos);
}

TEST_CASE("a memory limit makes strategies costlier until none fits") {
  const TemporaryFile file(operations::two_layers());
  const Value free = Value::parse(run({"parallelize", file.path(), "--format", "json"}).out);
  const std::string limit = std::to_string(free["memory"].get<std::int64_t>() - 1);
  const Ran tight = run({"parallelize", file.path(), "--format", "json", "--memory-limit", limit});
  CHECK(tight.exit == 0);
  const Value answer = Value::parse(tight.out);
  CHECK(answer["cost"] > free["cost"]);
  CHECK(answer["memory"] < free["memory"]);
  CHECK(answer["optimal"] == true);
  const Ran text = run({"parallelize", file.path(), "--memory-limit", limit});
  CHECK(text.out.find(" bytes on a device\n") != std::string::npos);
  const Ran none = run({"parallelize", file.path(), "--memory-limit", "1K"});
  CHECK(none.exit == 1);
  CHECK(none.out.find("no strategy needs as little memory") != std::string::npos);
  CHECK(run({"parallelize", file.path(), "--memory-limit", "1G", "--certify", "/tmp/x"}).exit == 2);
  const std::string pairwise = std::string(P2_SOURCE_DIR) + "/examples/strategy/mlp.json";
  CHECK(run({"parallelize", pairwise, "--memory-limit", "1G"}).exit == 2);
}

TEST_CASE("a pairwise graph may say what its vertices need in memory") {
  const TemporaryFile file(R"({"format":"pairwise-strategy-graph/1","vertices":[
{"id":0,"cost":[1,5],"memory":[100,10]},{"id":1,"cost":[2,9],"memory":[100,20]}],
"edge_tables":[],"edges":[]})");
  const Ran ran = run({"parallelize", file.path(), "--format", "json", "--memory-limit", "115"});
  CHECK(ran.exit == 0);
  CHECK(Value::parse(ran.out)["cost"] == 7);
  const TemporaryFile some(R"({"format":"pairwise-strategy-graph/1","vertices":[
{"id":0,"cost":[1],"memory":[100]},{"id":1,"cost":[2]}],"edge_tables":[],"edges":[]})");
  CHECK(run({"parallelize", some.path()}).exit == 2);
}

TEST_CASE("networks that are not known and machines that are none are refused") {
  CHECK(run({"network"}).exit == 2);
  CHECK(run({"network", "perceptron"}).exit == 2);
  CHECK(run({"network", "gpt", "moe"}).exit == 2);
  CHECK(run({"network", "gpt", "--levels", "4"}).exit == 2);
  CHECK(run({"network", "gpt", "--levels", "4:x"}).exit == 2);
  CHECK(run({"network", "gpt", "--levels", ""}).exit == 2);
  CHECK(run({"network", "gpt", "--batch", "0"}).exit == 2);
  CHECK(run({"network", "--help"}).out.find("inception3") != std::string::npos);
}

TEST_CASE("a placed strategy names the collectives it needs, and synth takes them") {
  const TemporaryFile file(operations::two_layers(
      R"({"name":"gpu","size":2,"bandwidth":300000000000},
{"name":"node","size":2,"bandwidth":25000000000})"));
  const TemporaryFile out("", ".txt");
  const Ran ran = run({"parallelize", file.path(), "--price", "placed", "--collectives-out",
                       out.path(), "--format", "json"});
  CHECK(ran.exit == 0);
  CHECK(Value::parse(ran.out)["optimal"] == true);
  std::ifstream lines(out.path());
  std::size_t commands = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string program;
    words >> program;
    CHECK(program == "p2-verify");
    std::vector<std::string> arguments;
    for (std::string word; words >> word;) {
      std::erase(word, '\'');
      arguments.push_back(word);
    }
    CHECK(run(arguments).exit == 0);
    ++commands;
  }
  CHECK(commands > 0);
  CHECK(run({"parallelize", file.path(), "--price", "guess"}).exit == 2);
  CHECK(run({"parallelize", file.path(), "--collectives-out", "/tmp/x"}).exit == 2);
  CHECK(run({"parallelize", file.path(), "--price", "placed", "--use-all-devices"}).exit == 2);
  const std::string system = std::string(P2_SOURCE_DIR) + "/examples/systems/a100-2nodes.json";
  CHECK(run({"parallelize", file.path(), "--price", "placed", "--system", system}).exit == 2);
  const std::string pairwise = std::string(P2_SOURCE_DIR) + "/examples/strategy/mlp.json";
  CHECK(run({"parallelize", pairwise, "--price", "placed"}).exit == 2);
}

TEST_CASE("the example puts data parallelism between nodes, and all else inside them") {
  const std::string example =
      std::string(P2_SOURCE_DIR) + "/examples/strategy/attention_block.json";
  const Value free = Value::parse(run({"parallelize", example, "--format", "json"}).out);
  const Ran ran = run({"parallelize", example, "--price", "placed", "--format", "json"});
  CHECK(ran.exit == 0);
  const Value placed = Value::parse(ran.out);
  CHECK(placed["cost"] > free["cost"]);
  CHECK(placed["vertices"][4]["configuration"] == "b/2 h/4 [[2 1] [1 4]]");
  for (const Value& known : placed["known"]) CHECK(known["cost"] >= placed["cost"]);
}
