#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

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
  for (const char* name : {"mine.txt", "wrong-mine.txt"}) {
    const fs::path mine = fs::path(place.path()) / name;
    std::ofstream(mine) << "not to be lost";
    const Ran refused = run(words);
    CHECK(refused.exit == 2);
    CHECK(refused.err.find("is there and no test vectors, expected a new folder") !=
          std::string::npos);
    CHECK(fs::exists(mine));
    fs::remove(mine);
  }
  fs::remove_all(place.path());
}

TEST_CASE("the vectors of a definition are replaced, too") {
  const TemporaryFile place("", "");
  fs::remove(place.path());
  const std::string collectives = P2_SOURCE_DIR "/examples/collectives/";
  const std::vector<std::string> words = {"oracle", collectives + "sound/gather.p2c", "--output",
                                          place.path()};
  CHECK(run(words).exit == 0);
  CHECK(run(words).exit == 0);
  const Ran wrong =
      run({"oracle", collectives + "wrong/reduce-subtracts.p2c", "--output", place.path()});
  CHECK(wrong.exit == 2);
  CHECK(wrong.err.find("is not sound") != std::string::npos);
  fs::remove_all(place.path());
}

TEST_CASE("every sound definition that is shipped has cases that run") {
  const TemporaryFile place("", "");
  for (const auto& entry :
       fs::directory_iterator(std::string(P2_SOURCE_DIR) + "/examples/collectives/sound")) {
    fs::remove_all(place.path());
    CAPTURE(entry.path().string());
    REQUIRE(run({"oracle", entry.path().string(), "--output", place.path()}).exit == 0);
    const auto index = nlohmann::json::parse(bytes_of(place.path() + "/index.json"));
    std::size_t legal = 0;
    for (const auto& each : index.at("cases")) legal += each.at("legal") == true ? 1 : 0;
    CHECK(legal >= 3);
  }
  fs::remove_all(place.path());
}

TEST_CASE("oracle refuses what it has no test vectors for") {
  const TemporaryFile wrong("devices 2\nReduce{0,1}", ".p2");
  const Ran ran = run({"oracle", wrong.path(), "--output", "/nonexistent/x"});
  CHECK(ran.exit == 1);
  CHECK(ran.out.find("device 1 lacks the contribution of device 0") != std::string::npos);
  const Ran json = run({"oracle", wrong.path(), "--output", "/nonexistent/x", "--format", "json"});
  CHECK(json.exit == 1);
  const auto report = nlohmann::json::parse(json.out);
  CHECK(report["verdict"] == "invalid");
  CHECK(ran.out.find(report["reason"].get<std::string>()) != std::string::npos);
  CHECK(report["file"] == wrong.path());
  CHECK(report["folder"].is_null());
  CHECK(run({"oracle", kExample}).exit == 2);
  CHECK(run({"oracle", "--output", "x"}).exit == 2);
  CHECK(run({"oracle", kExample, "--output", "/dev/null/x"}).exit == 2);
  CHECK(run({"oracle", kExample, "--output", "x", "--type", "bfloat16"}).exit == 2);
}
