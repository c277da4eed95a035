#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/reproducer.h"
#include "engine/collective/language/built_in.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

using namespace p2;
using nlohmann::json;

namespace {

const std::string kCountedTwice =
    R"({"devices":2,"classes":[[0,1]],"steps":[{"collective":"AllReduce","groups":[[0,1]]},)"
    R"({"collective":"AllReduce","groups":[[0,1]]}]})";

/// The built-in definitions, but AllReduce may count a contribution twice.
std::vector<language::Definition> counting_twice() {
  std::vector<language::Definition> definitions = language::built_in_definitions();
  REQUIRE(definitions[0].name == "AllReduce");
  REQUIRE(definitions[0].premises.back().name == "disjoint");
  definitions[0].premises.pop_back();
  return definitions;
}

/// Runs a command with Z3 going by wrong definitions, inside a folder of its own.
class WithWrongZ3 {
 public:
  WithWrongZ3() : before_(std::filesystem::current_path()) {
    const TemporaryFile name("");
    folder_ = name.path() + ".folder";
    std::filesystem::create_directory(folder_);
    std::filesystem::current_path(folder_);
  }
  ~WithWrongZ3() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }
  WithWrongZ3(const WithWrongZ3&) = delete;
  WithWrongZ3& operator=(const WithWrongZ3&) = delete;

  template <typename Command>
  Ran run(Command command, const Arguments& arguments) const {
    const std::vector<language::Definition> definitions = counting_twice();
    std::ostringstream out;
    std::ostringstream err;
    const int exit = command(arguments, out, err, definitions);
    return {exit, out.str(), err.str()};
  }
  json reproducer() const {
    std::ifstream file(folder_ / kReproducer);
    return json::parse(file);
  }
  std::filesystem::path folder() const { return folder_; }

 private:
  std::filesystem::path before_;
  std::filesystem::path folder_;
};

constexpr auto kCheck = [](auto&... arguments) { return run_check(arguments...); };
constexpr auto kSynth = [](auto&... arguments) { return run_synth(arguments...); };

}  // namespace

TEST_CASE("a wrong rule in one engine ends check in exit 4 with all answers and a reproducer") {
  const TemporaryFile file(kCountedTwice);
  const WithWrongZ3 wrong;
  const Ran ran = wrong.run(kCheck, {file.path(), "--engine", "all"});
  CHECK(ran.exit == 4);
  CHECK(ran.out.find("cnf: invalid at step 2 by disjoint\n"
                     "explicit: invalid at step 2 by disjoint\n"
                     "reference: invalid at step 2 by disjoint\n"
                     "z3: valid\n") != std::string::npos);
  CHECK(ran.err ==
        "p2-verify: the engines disagree; all answers are in the output and in "
        "p2-verify-disagreement.json\n");
  const json all = wrong.reproducer()["disagreements"];
  REQUIRE(all.size() == 1);
  CHECK(all[0]["program"]["steps"] == json::parse(kCountedTwice)["steps"]);
  CHECK(all[0]["result"]["engines"] == json::parse(R"({"explicit":"invalid","cnf":"invalid",
      "reference":"invalid","z3":"valid"})"));
  const TemporaryFile program(all[0]["program"].dump());
  CHECK(wrong.run(kCheck, {program.path(), "--engine", "z3"}).exit == 4);
  CHECK(run({"check", program.path(), "--engine", "all"}).exit == 1);
}

TEST_CASE("a disagreement goes before bad input, certificates and a reproducer without a place") {
  const TemporaryFile file(kCountedTwice);
  const WithWrongZ3 wrong;
  std::filesystem::create_directory(wrong.folder() / kReproducer);
  const Ran ran = wrong.run(kCheck, {"/nonexistent/program.json", file.path(), "--engine", "z3",
                                     "--certify", "certificate"});
  CHECK(ran.exit == 4);
  CHECK(ran.err.find("the engines disagree") != std::string::npos);
  CHECK(!std::filesystem::exists(wrong.folder() / "certificate"));
}

TEST_CASE("a wrong rule in one engine ends synth in exit 4, and the reference says who is wrong") {
  const WithWrongZ3 wrong;
  const Ran ran = wrong.run(kSynth, {"--hierarchy", "2,2", "--axes", "4", "--reduce", "0", "--size",
                                     "3", "--verify", "--count", "--format", "json"});
  CHECK(ran.exit == 4);
  const json verified = wrong.reproducer()["placements"][0]["verified"];
  CHECK(verified == json::parse(ran.out)["placements"][0]["verified"]);
  REQUIRE(verified.size() == 2);
  CHECK(verified[0]["engine"] == "z3");
  const json& missing = verified[0]["missing"];
  REQUIRE(!missing.empty());
  for (const auto& [program, finding] : verified[0]["reference"].items()) {
    CHECK(std::find(missing.begin(), missing.end(), program) != missing.end());
    CHECK(finding["verdict"] == "invalid");
    CHECK(finding["rule"] == "disjoint");
  }
  CHECK(verified[0]["reference"].size() == std::min<std::size_t>(missing.size(), 16));
  CHECK(
      verified[1] ==
      json::parse(
          R"({"engine":"cnf","complete":true,"settled_size":3,"found":25,"missing":[],"extra":[]})"));
}
