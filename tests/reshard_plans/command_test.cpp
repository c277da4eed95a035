#include <doctest/doctest.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/execution/process.h"

using nlohmann::json;
using p2::Ran;
using p2::run;

namespace {

/// A name for a file or folder of this process, which goes with this object.
struct Place {
  explicit Place(const std::string& name)
      : path((std::filesystem::temp_directory_path() / ("p2-" + std::to_string(::getpid()) + name))
                 .string()) {}
  ~Place() { std::filesystem::remove_all(path); }
  std::string path;
};

std::vector<std::string> with(std::vector<std::string> flags) {
  const std::vector<std::string> first{"reshard", "--shape",  "8,8",      "--from", "2x2:S0,R",
                                       "--to",    "1x2:S1,R", "--chunks", "2"};
  flags.insert(flags.begin(), first.begin(), first.end());
  return flags;
}

}  // namespace

TEST_CASE("reshard --plan: a plan in JSON, in text, in a file; check and run read it") {
  const Place file("plan.json");
  const Ran made = run(with({"--plan", "broadcast", "--plan-out", file.path, "--format", "json"}));
  REQUIRE(made.exit == 0);
  const json answer = json::parse(made.out);
  CHECK(answer["plan"]["verdict"] == "valid");
  CHECK(answer["plan"]["strategy"] == "broadcast in 2 chunks");
  CHECK(answer["plan"]["transfers"] == 4);
  CHECK(answer["plan"]["programs"] == json::parse(p2::read_file(file.path)));
  CHECK(answer["optimal"] == true);
  const Ran drawn = run(with({"--plan", "broadcast"}));
  CHECK(drawn.out.find("plan: broadcast in 2 chunks, 4 transfers, valid\n") != std::string::npos);
  CHECK(drawn.out.find("     4     2  -           [0:4, 0:8]      <0 | <0\n") != std::string::npos);

  const Place certificate("certificate");
  const Ran checked = run({"check", file.path, "--engine", "all", "--certify", certificate.path});
  CHECK(checked.exit == 0);
  CHECK(checked.out.find("cnf: valid\nexplicit: valid\nz3: valid\n") != std::string::npos);
  CHECK(p2::shell(std::string(P2_CHECK) + " " + certificate.path).exit == 0);
  const json result = json::parse(run({"check", file.path, "--format", "json"}).out)["results"][0];
  CHECK(result["received_twice"] == 0);
  CHECK(result["completes"] == json{{"rendezvous", true}, {"buffered", true}});
  const Ran ran = run({"run", file.path, "--format", "json"});
  CHECK(ran.exit == 0);
  CHECK(json::parse(ran.out)["results"][0]["wrong"] == 0);
  CHECK(json::parse(ran.out)["complete"] == true);
  const Ran at_once = run(with({"--plan", "broadcast", "--run"}));
  CHECK(at_once.exit == 0);
  CHECK(at_once.out.find("1 of 1 plans run, 0 wrong elements") != std::string::npos);
}

TEST_CASE("reshard --system says how long a plan takes there") {
  const std::string system =
      std::string(P2_SOURCE_DIR) + "/examples/systems/p3.8xlarge-5nodes.json";
  const Ran ran =
      run({"reshard", "--shape", "1000,1000", "--from", "1x4:S1,R", "--to", "2x4:R,R", "--plan",
           "global-allgather", "--system", system, "--element-bytes", "10", "--format", "json"});
  REQUIRE(ran.exit == 0);
  const json plan = json::parse(ran.out)["plan"];
  CHECK(plan["formula"] == json{{"elements", 2000000}, {"parts", 1}});
  // 10 MB at 1.25 GB/s, and 7/8 of them once more round the ring.
  CHECK(plan["seconds"].get<double>() == doctest::Approx(0.015).epsilon(0.02));
  CHECK(plan["bottleneck"].get<std::string>().starts_with("NIC of node"));
  const Ran small = run({"reshard", "--shape", "64", "--from", "1x8:S1", "--to", "1x8:R", "--plan",
                         "sendrecv", "--system", system});
  CHECK(small.exit == 2);
}

TEST_CASE("check says what is wrong with a plan, in words, for machines, and with evidence") {
  const Place file("plan.json");
  REQUIRE(run(with({"--plan", "broadcast", "--plan-out", file.path})).exit == 0);
  json plan = json::parse(p2::read_file(file.path));
  std::swap(plan["programs"][4][0], plan["programs"][4][1]);
  const p2::TemporaryFile changed(plan.dump());
  const Place certificate("certificate");
  const Ran ran = run({"check", changed.path(), "--engine", "all", "--certify", certificate.path,
                       "--format", "json"});
  CHECK(ran.exit == 1);
  const json result = json::parse(ran.out)["results"][0];
  CHECK(result["verdict"] == "invalid");
  CHECK(result["engines"] == json{{"cnf", "invalid"}, {"explicit", "invalid"}, {"z3", "invalid"}});
  CHECK(result["findings"]["z3"]["rule"] == "unmatched");
  CHECK(result["counterexample"]["rule"] == "unmatched");
  CHECK(result["counterexample"]["device"] == 0);
  CHECK(result["step"] == 1);
  CHECK(
      p2::shell(std::string(P2_CHECK) + " " + certificate.path).printed.find("the plan is wrong") !=
      std::string::npos);
  const Ran refused = run({"run", changed.path()});
  CHECK(refused.exit == 1);
  CHECK(refused.out.find("# refused: ") != std::string::npos);
}

TEST_CASE("the report of a run says whether all plans came to their end") {
  const p2::TemporaryFile plan(  // device 1 waits for what device 0 never sends
      R"({"format":"reshard-plan/1","shape":[4],"hosts":[0,1],
"from":{"mesh":[[0]],"spec":["R"]},"to":{"mesh":[[1]],"spec":["R"]},
"programs":[[],[[{"receive":0,"low":[0],"high":[4]}]]]})");
  const Ran refused = run({"run", plan.path(), "--format", "json"});
  CHECK(refused.exit == 1);
  CHECK(json::parse(refused.out)["complete"] == true);
  const Ran forced = run({"run", plan.path(), "--format", "json", "--force"});
  CHECK(forced.exit == 1);
  CHECK(forced.err.find("plan 1: 1 devices wait for each other for ever") != std::string::npos);
  CHECK(json::parse(forced.out)["complete"] == false);
  CHECK(json::parse(forced.out)["results"][0]["time_us"].is_null());
}

TEST_CASE("a tensor too large for the memory allowed is not run") {
  const Ran ran = run({"reshard", "--shape", "1024,1024", "--from", "1x1:R,R", "--to", "1x1:R,R",
                       "--plan", "sendrecv", "--run", "--memory", "8"});
  CHECK(ran.exit == 3);
  CHECK(ran.err.find("would take 16 MiB of 8") != std::string::npos);
}

TEST_CASE("plans say what is wrong with their flags") {
  const Place file("plan.json");
  REQUIRE(run(with({"--plan", "broadcast", "--plan-out", file.path})).exit == 0);
  const p2::TemporaryFile tasks(
      R"({"tasks":[{"size":1,"sender_hosts":[0],"receiver_hosts":[0]}]})");
  const std::vector<std::pair<std::vector<std::string>, std::string>> bad{
      {with({}), "--chunks: given without a plan"},
      {with({"--plan", "sendrecv"}), "--chunks: only a broadcast"},
      {with({"--plan", "magic"}), "local-allgather"},
      {with({"--plan", "broadcast", "--to-host", "3"}), "--to-host"},
      {with({"--plan", "broadcast", "--backend", "mpi"}), "expected --run"},
      {{"reshard", "--tasks", tasks.path(), "--plan", "sendrecv"}, "--plan: tasks do not say"},
      {{"run", file.path, "--bytes", "4K"}, "expected no --bytes"},
      {{"check", file.path, "--smt2", "x"}, "expected no --smt2"}};
  for (const auto& [words, part] : bad) {
    const Ran ran = run(words);
    CAPTURE(part);
    CHECK(ran.exit == 2);
    CAPTURE(ran.err);
    CHECK(ran.err.find(part) != std::string::npos);
  }
}
