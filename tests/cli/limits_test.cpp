#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run.h"

using namespace p2;
using nlohmann::json;

namespace {

/// Too much for the solvers within any of the limits below, and nothing for the explicit engine.
Ran synth_within(const std::string& engine, const std::string& limit, const std::string& value) {
  return run({"synth", "--hierarchy", "8,8", "--axes", "64", "--reduce", "0", "--placement",
              "[[8 8]]", "--count", "--format", "json", "--engine", engine, limit, value});
}

const std::string kValid =
    std::string(P2_SOURCE_DIR) + "/examples/programs/valid/figure10-blueconnect.p2";

}  // namespace

TEST_CASE("every limit ends a solver's synthesis in exit 3, with what it settled") {
  for (const auto& [limit, value] : {std::pair("--rlimit", "100000"), std::pair("--timeout", "1"),
                                     std::pair("--memory", "24")}) {
    CAPTURE(limit);
    const Ran ran = synth_within("z3", limit, value);
    CHECK(ran.exit == 3);
    const json result = json::parse(ran.out);
    CHECK(result["total_programs"] == 47);
    const json& solver = result["placements"][0]["verified"][0];
    CHECK(solver["complete"] == false);
    CHECK((solver["settled_size"].is_null() || solver["settled_size"] < 5));
    CHECK(solver["found"] < 47);
    CHECK(solver["missing"].empty());
    CHECK(solver["extra"].empty());
  }
}

TEST_CASE("--rlimit stops at the same place in every run, and says where") {
  const std::vector<std::string> command = {
      "synth",       "--hierarchy", "2,2",      "--axes", "4",        "--reduce", "0",
      "--placement", "[[2 2]]",     "--engine", "z3",     "--rlimit", "300000",   "--count"};
  const Ran ran = run(command);
  CHECK(ran.exit == 3);
  CHECK(ran.out.find("z3: stopped at a limit: programs of at most ") != std::string::npos);
  CHECK(ran.out.find(" found so far, all in the list\n") != std::string::npos);
  CHECK(ran.out == run(command).out);
}

TEST_CASE("a limit leaves a solver's verdict open and says how many steps are legal") {
  for (const auto& [limit, value] : {std::pair("--rlimit", "1"), std::pair("--memory", "1")}) {
    const Ran ran = run({"check", kValid, "--engine", "z3", limit, value});
    CHECK(ran.exit == 3);
    CHECK(ran.out.find("z3: unknown after 0 legal steps\n") != std::string::npos);
  }
  const Ran ran = run({"check", kValid, "--engine", "z3", "--rlimit", "20000000"});
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("z3: valid\n") != std::string::npos);
}

TEST_CASE("a limit that is no limit is bad input") {
  CHECK(run({"check", kValid, "--rlimit", "0"}).exit == 2);
  CHECK(run({"check", kValid, "--rlimit", "many"}).exit == 2);
}

TEST_CASE("a campaign whose questions alone take too long ends at its limit") {
  const Ran ran =
      run({"prove", "expressiveness", "--max-devices", "40", "--size", "1", "--memory", "1"});
  CHECK(ran.exit == 3);
  CHECK(ran.out.empty());
  CHECK(ran.err.find("nothing was settled") != std::string::npos);
}
