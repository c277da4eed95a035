#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

using namespace p2;
namespace fs = std::filesystem;

namespace {

const std::string kExample = std::string(P2_SOURCE_DIR) + "/examples/oracle/allreduce.p2";

}  // namespace

TEST_CASE("oracle writes a folder, replaces its own, and leaves others alone") {
  const TemporaryFile place("", "");
  fs::remove(place.path());
  const std::vector<std::string> words = {"oracle", kExample, "--output", place.path()};
  CHECK(run(words).exit == 0);
  std::ifstream file(fs::path(place.path()) / "index.json");
  CHECK(nlohmann::json::parse(file)["devices"] == 4);
  CHECK(run(words).exit == 0);
  std::ofstream(fs::path(place.path()) / "mine.txt") << "not to be lost";
  const Ran refused = run(words);
  CHECK(refused.exit == 2);
  CHECK(refused.err.find("is there and no test vectors, expected a new folder") !=
        std::string::npos);
  CHECK(fs::exists(fs::path(place.path()) / "mine.txt"));
  fs::remove_all(place.path());
}

TEST_CASE("oracle refuses what it has no test vectors for") {
  const TemporaryFile wrong("devices 2\nReduce{0,1}", ".p2");
  const Ran ran = run({"oracle", wrong.path(), "--output", "/nonexistent/x"});
  CHECK(ran.exit == 1);
  CHECK(ran.out.find("device 1 lacks the contribution of device 0") != std::string::npos);
  CHECK(run({"oracle", kExample}).exit == 2);
  CHECK(run({"oracle", "--output", "x"}).exit == 2);
  CHECK(run({"oracle", kExample, "--output", "/dev/null/x"}).exit == 2);
  CHECK(run({"oracle", kExample, "--output", "x", "--type", "bfloat16"}).exit == 2);
}
