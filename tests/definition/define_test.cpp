#include <nlohmann/json.hpp>

#include "proofs/api/define.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/definition/examined.h"

using nlohmann::json;

namespace p2 {
namespace {

const std::string kRoot = std::string(P2_SOURCE_DIR) + "/";
const std::string kSound = kRoot + "engine/collective/allgather.p2c";
const std::string kWrong = kRoot + "examples/collectives/wrong/allreduce-counts-twice.p2c";
const std::string kVacuous = kRoot + "examples/collectives/wrong/allgather-never-runs.p2c";

json define(std::vector<std::string> files, int exit) {
  std::vector<std::string> arguments = {"define", "--max-group", "2", "--format", "json"};
  arguments.insert(arguments.end(), files.begin(), files.end());
  const Ran ran = run(arguments);
  CHECK(ran.exit == exit);
  return json::parse(ran.out)["results"];
}

const json& check_called(const json& result, const std::string& name) {
  for (const json& check : result["checks"]) {
    if (check["name"] == name) return check;
  }
  FAIL("no check of that name");
  return result;
}

}  // namespace

TEST_CASE("define gives every collective its checks, and 0 when all hold") {
  const json results = define({kSound}, 0);
  REQUIRE(results.size() == 1);
  CHECK(results[0]["collective"] == "AllGather");
  CHECK(results[0]["file"] == kSound);
  CHECK(results[0]["max_group"] == 2);
  CHECK(results[0]["relations"] == json::parse(R"([{"kind":"equal","to":["AllGather"]}])"));
  CHECK(results[0]["differences"].empty());
  for (const json& check : results[0]["checks"]) {
    CHECK(check["verdict"] == "holds");
    CHECK(check["counterexample"].is_null());
  }
  CHECK(check_called(results[0], "well-formed")["settled_by"] == "construction");
  CHECK(check_called(results[0], "measure")["engines"] ==
        json::parse(R"({"z3":"holds","explicit":"holds"})"));
}

TEST_CASE("a refuted check ends in 1 and shows the states before and after") {
  const json results = define({kWrong}, 1);
  const json& check = check_called(results[0], "no-double-count");
  CHECK(check["verdict"] == "refuted");
  const json& before = check["counterexample"]["before"];
  REQUIRE(before.size() == 2);
  CHECK(before[0].size() == 1);
  CHECK(before[0][0].size() + before[1][0].size() == 4);
  CHECK(check["counterexample"]["after"] == json::parse("[[[0,1,2]],[[0,1,2]]]"));
  const json vacuous = define({kVacuous}, 1);
  CHECK(check_called(vacuous[0], "satisfiable")["counterexample"]["before"].is_null());
}

TEST_CASE("the text has a table and draws the counterexample") {
  const Ran ran = run({"define", "--max-group", "2",
                       kRoot + "examples/collectives/wrong/gather-measure-stands-still.p2c"});
  CHECK(ran.exit == 1);
  CHECK(ran.out.find("FlatGather: measure refuted (groups of 2 to 2)\n"
                     "  check             verdict  settled by    detail\n"
                     "  well-formed       holds    construction  parsed and typed\n"
                     "  satisfiable       holds    both          legal steps for n = 2\n") !=
        std::string::npos);
  CHECK(ran.out.find("\nmeasure is refuted:\n"
                     "   before     after\n"
                     "   p0  p1     p0  p1\n") != std::string::npos);
  CHECK(ran.out.find("The measure is 2 before the step and 2 after it.") != std::string::npos);
}

TEST_CASE("files are compared with one another") {
  const json results = define({kSound, kRoot + "examples/collectives/sound/gather.p2c"}, 0);
  REQUIRE(results.size() == 2);
  CHECK(results[0]["relations"][1]["to"] == json::parse(R"(["Gather","Broadcast"])"));
}

TEST_CASE("a text that is no definition ends in 2 with its place; the other files are judged") {
  const TemporaryFile bad("collective Bad \"\"\nensure s'(i, r, c) = s(r, i, c) measure 0", ".p2c");
  const Ran ran = run({"define", "--max-group", "2", bad.path(), kSound});
  CHECK(ran.exit == 2);
  CHECK(ran.err.find(bad.path() + ":2:24: found 'r', a chunk, expected argument 1 of 's'") !=
        std::string::npos);
  CHECK(ran.out.find("AllGather: sound") != std::string::npos);
  CHECK(run({"define"}).exit == 2);
  CHECK(run({"define", kSound, "--max-group", "1"}).exit == 2);
  CHECK(run({"define", kSound, "--max-group", "9"}).exit == 2);
  CHECK(run({"define", "/no/such/file.p2c"}).exit == 2);
}

TEST_CASE("a limit that is met first ends in 3") {
  const Ran ran = run({"define", kSound, "--max-group", "3", "--rlimit", "1"});
  CHECK(ran.exit == 3);
  CHECK(ran.out.find("AllGather: undecided") != std::string::npos);
  CHECK(ran.out.find("limit met") != std::string::npos);
}

TEST_CASE("engines that differ end in 4, with both answers") {
  language::Definition wrong = language::built_in("Broadcast");
  wrong.premises.pop_back();
  definition::Scope scope;
  scope.max_group = 2;
  const DefineAnswer answer = define_answer(
      {{"broadcast.p2c", definition::examine(language::built_in("Broadcast"), {}, scope, wrong)}});
  CHECK(answer.outcome == Outcome::Disagreement);
  const std::string text = write_document(answer.document, DocumentFormat::Text);
  CHECK(text.find("measure: THE ENGINES DISAGREE (") != std::string::npos);
  CHECK(text.find("z3 says refuted, explicit says holds") != std::string::npos);
  const json document = json::parse(answer.document.json.dump())["results"][0];
  bool shown = false;
  for (const json& difference : document["differences"]) {
    if (difference["check"] != "measure") continue;
    shown = true;
    CHECK(difference["engines"] == json::parse(R"({"z3":"refuted","explicit":"holds"})"));
    CHECK(difference["state"].size() == 2);
  }
  CHECK(shown);
}

TEST_CASE("the same question has the same answer") {
  const std::vector<std::string> question = {"define", kWrong, "--max-group", "3"};
  CHECK(run(question).out == run(question).out);
}

}  // namespace p2
