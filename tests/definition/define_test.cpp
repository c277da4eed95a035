#include <nlohmann/json.hpp>

#include "proofs/api/terms.h"
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
  CHECK(
      ran.out.find(
          "FlatGather: measure refuted (groups of 2 to 2, up to 2n chunks)\n"
          "  check             verdict  for               settled by    detail\n"
          "  well-formed       holds    every n, k        construction  parsed and typed\n"
          "  satisfiable       holds    some n, k         both          legal steps for n = 2\n") !=
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

TEST_CASE(
    "--to coq writes a module per definition, and names that Coq takes for others get a prime") {
  const TemporaryFile odd(
      "collective Module \"\"\n"
      "let fun(end in group, r in chunks) = exists c in contributors: s(end, r, c)\n"
      "let m = 3 - n % 2\n"
      "require a-b \"\": forall i in group, r in chunks: fun(i, r) implies n < m\n"
      "require a_b \"\": (count i in group, r in chunks: fun(i, r)) >= m / k\n"
      "ensure s'(i, r, c) = not s(0, r, c) iff i = 0\n"
      "measure 1",
      ".p2c");
  const Ran ran = run({"define", "--to", "coq", odd.path()});
  CHECK(ran.exit == 0);
  CHECK(ran.out ==
        R"((* Generated by `p2-verify define --to coq` from the texts of the collectives below. *)
From Coq Require Import Arith Bool.
From P2Theory Require Import language.

Module Module'.
Definition fun' (n k m : nat) (s : state) (end' r : nat) : bool :=
  some m (fun c => s end' r c).

Definition m' (n k m : nat) (s : state) : nat :=
  3 - (modulo n 2).

Definition premise_a_b (n k m : nat) (s : state) : bool :=
  all n (fun i => all k (fun r => implb (fun' n k m s i r) (n <? (m' n k m s)))).

Definition premise_a_b'2 (n k m : nat) (s : state) : bool :=
  (divide (m' n k m s) k) <=? (sum n (fun i => count k (fun r => fun' n k m s i r))).

Definition legal (n k m : nat) (s : state) : bool :=
  premise_a_b n k m s && premise_a_b'2 n k m s.

Definition after (n k m : nat) (s : state) (i r c : nat) : bool :=
  Bool.eqb (negb (s 0 r c)) (i =? 0).

Definition measure (n k m : nat) (s : state) : nat :=
  1.
End Module'.
)");
  const TemporaryFile priced(
      "collective M \"\" ensure s'(i, r, c) = s(0, r, c) measure 0 traffic Broadcast of 1 / n",
      ".p2c");
  CHECK(run({"define", "--to", "coq", priced.path()})
            .out.find("Module M.\n(* Its traffic is left out: it says what a step costs, not what "
                      "it does. *)\n"
                      "Definition legal") != std::string::npos);
  CHECK(run({"define", "--to", "coq", kSound, kSound}).exit == 2);  // two of one name
  CHECK(run({"define", "--to", "lean", kSound}).exit == 2);
  CHECK(run({"define", "--to", "coq", "--format", "json", kSound}).exit == 2);
  CHECK(run({"define", "--to", "coq", "/no/such/file.p2c"}).exit == 2);
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

TEST_CASE("the verdict names its sizes, and each check whether it is proved for all") {
  const json result = define({kSound}, 0)[0];
  CHECK(result["sizes"] == "groups of 2 to 2, up to 2n chunks");
  CHECK(check_called(result, "realisable")["every_size"] == true);
  CHECK(check_called(result, "keeps-all")["every_size"] == true);
  CHECK(check_called(result, "equivariant")["every_size"] == true);
  CHECK(check_called(result, "measure")["every_size"] == false);
  const Ran ran = run({"define", "--max-group", "2", kSound});
  CHECK(ran.out.find("AllGather: sound (groups of 2 to 2, up to 2n chunks)\n") !=
        std::string::npos);
}

namespace {

/// A copy of AllReduce for groups of `size` only.
std::string all_reduce_for(const std::string& size) {
  std::string text = definition::text_of("engine/collective/allreduce.p2c");
  text.replace(text.find("AllReduce\n"), 9, "Sized");
  return text.insert(text.find("require"), "require size \"the size\": n = " + size + "\n");
}

}  // namespace

TEST_CASE("a definition without a step in the groups examined is unknown, and exits with 3") {
  const TemporaryFile three(all_reduce_for("3"), ".p2c");
  const Ran ran = run({"define", "--max-group", "2", three.path()});
  CHECK(ran.exit == 3);
  CHECK(ran.out.find("Sized: undecided") != std::string::npos);
  CHECK(ran.out.find("none for n = 2; there are for n = 3, k = 1") != std::string::npos);
  CHECK(run({"define", "--max-group", "3", three.path()}).exit == 0);
}

TEST_CASE("--max-group also says how far the definitions of --collectives are examined") {
  const TemporaryFile three(all_reduce_for("3"), ".p2c");
  std::vector<std::string> synth = {
      "synth",    "--hierarchy", "3",       "--axes",        "3",
      "--reduce", "0",           "--count", "--collectives", three.path()};
  CHECK(run(synth).exit == 0);
  synth.insert(synth.end(), {"--max-group", "2"});
  const Ran ran = run(synth);
  CHECK(ran.exit == 3);
  CHECK(ran.err.find("Sized is not known to be sound: whether there is a legal step is unknown: "
                     "none for n = 2; there are for n = 3, k = 1") != std::string::npos);
  synth.back() = "9";
  CHECK(run(synth).exit == 2);
}

TEST_CASE("JUnit has a case for each check, and SARIF a result for each that is refuted") {
  const std::vector<std::string> question = {"define", "--max-group",       "2",       kSound,
                                             kWrong,   "/no/such/file.p2c", "--format"};
  std::vector<std::string> junit = question;
  junit.push_back("junit");
  const Ran xml = run(junit);
  CHECK(xml.exit == 2);
  CHECK(xml.out.find("failures=\"2\" errors=\"0\"") != std::string::npos);
  CHECK(xml.out.find("errors=\"1\"") != std::string::npos);
  CHECK(xml.out.find("<failure type=\"no-double-count\"") != std::string::npos);
  std::vector<std::string> sarif = question;
  sarif.push_back("sarif");
  const json log = json::parse(run(sarif).out)["runs"][0];
  REQUIRE(log["results"].size() == 2);
  CHECK(log["results"][0]["ruleId"] == "definition/no-double-count");
  CHECK(log["results"][1]["ruleId"] == "definition/realisable");
  CHECK(log["tool"]["driver"]["rules"][0]["shortDescription"]["text"] ==
        "A contribution is counted twice.");
  CHECK(log["invocations"][0]["exitCode"] == 2);
  CHECK(log["invocations"][0]["executionSuccessful"] == false);
}

TEST_CASE("an examination of more than two seconds reports its progress") {
  const std::string reduce_scatter = kRoot + "engine/collective/reducescatter.p2c";
  const Ran ran =
      run({"define", reduce_scatter, "--max-group", "6", "--timeout", "5", "--progress", "always"});
  CHECK(ran.err.find("ReduceScatter (1 of 1): ") != std::string::npos);
  CHECK(ran.out.find("sizes examined") == std::string::npos);
}

TEST_CASE("the same question has the same answer") {
  const std::vector<std::string> question = {"define", kWrong, "--max-group", "3"};
  CHECK(run(question).out == run(question).out);
}

}  // namespace p2
