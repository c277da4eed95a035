#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "tests/check/folder.h"
#include "tests/cli/run.h"

namespace p2 {
namespace {

const std::string kTwoAxes =
    "hierarchy 2,2,2\naxes 4,2\nreduce 0\nplacement [[2 2 1] [1 1 2]]\n"
    "ReduceScatter(root, InsideGroup); AllGather(root, InsideGroup)\n";

}  // namespace

TEST_CASE("a program of several classes becomes one module that check accepts") {
  const TemporaryFolder folder;
  const std::string program = folder.put("two.p2", kTwoAxes);
  for (const std::string to : {"hlo", "stablehlo"}) {
    const std::string file = folder.path("out." + to);
    const Ran ran = run({"export", program, "--to", to, "--output", file});
    CAPTURE(ran.err);
    CHECK(ran.exit == kEstablished);
    CHECK(ran.out == file + ": f32[8] on 8 partitions, 2 collectives, verified\n");
    CHECK(run({"check", file}).exit == kEstablished);
    CHECK(run({"export", program, "--to", to}).out == text_of(file));
  }
  CHECK(run({"check", "--before", folder.path("out.hlo"), "--after", folder.path("out.stablehlo")})
            .exit == kEstablished);
}

TEST_CASE("all programs that synth lists become modules in a folder") {
  const TemporaryFolder folder;
  const Ran synth = run({"synth", "--hierarchy", "2,2", "--axes", "4", "--reduce", "0", "--size",
                         "3", "--format", "json"});
  const std::string list = folder.put("list.json", synth.out);
  const Ran ran = run(
      {"export", list, "--to", "stablehlo", "--output", folder.path("all"), "--format", "json"});
  CHECK(ran.exit == kEstablished);
  const nlohmann::json results = nlohmann::json::parse(ran.out).at("results");
  CHECK(results.size() == nlohmann::json::parse(synth.out).at("total_programs"));
  for (const nlohmann::json& each : results) {
    CHECK(each.at("verdict") == "valid");
    CHECK(run({"check", each.at("file").get<std::string>(), "--reduces", "0"}).exit ==
          kEstablished);
  }
}

TEST_CASE("what is refused is not written as a module") {
  const TemporaryFolder folder;
  const std::string out = folder.path("out.hlo");
  const Ran refused = run({"export", kRefusedProgram, "--to", "hlo", "--output", out});
  CHECK(refused.exit == kRefuted);
  CHECK(refused.err.find("only valid programs are exported. Step 2") != std::string::npos);
  const std::string scattered = folder.put("scatter.p2", "devices 4\nReduceScatter{0,1,2,3}\n");
  const Ran goal =
      run({"export", scattered, "--to", "hlo", "--goal", "reducescatter", "--output", out});
  CHECK(goal.exit == kBadInput);
  CHECK(goal.err.find("has the goal reducescatter, expected allreduce") != std::string::npos);
  const std::string large =
      folder.put("large.p2",
                 "hierarchy 16,16\naxes 256\nreduce 0\n"
                 "ReduceScatter(root, InsideGroup); AllGather(root, InsideGroup)\n");
  const Ran unknown = run({"export", large, "--to", "hlo", "--memory", "1", "--output", out});
  CHECK(unknown.exit == kUndecided);
  CHECK(!std::filesystem::exists(out));
}

}  // namespace p2
