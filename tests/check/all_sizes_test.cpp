#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/check/folder.h"
#include "tests/cli/run.h"

namespace p2 {
namespace {

using nlohmann::json;

constexpr const char* kOpen =
    "hierarchy node=*,gpu=8   # any number of nodes\n"
    "axes data=*\n"
    "reduce data\n";
constexpr const char* kRight =
    "ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); AllGather(node, "
    "InsideGroup)\n";

json checked(const TemporaryFolder& folder, const std::string& text,
             const std::vector<std::string>& flags, int code) {
  const std::string file = folder.put("program.p2", text);
  std::vector<std::string> words = {"check", file, "--format", "json"};
  words.insert(words.end(), flags.begin(), flags.end());
  const Ran ran = run(words);
  CHECK_MESSAGE(ran.exit == code, ran.err);
  return json::parse(ran.out)["results"][0];
}

}  // namespace

TEST_CASE("a program is valid for all sizes of what is left open") {
  const TemporaryFolder folder;
  const json published = checked(folder, std::string(kOpen) + kRight, {}, 0);
  CHECK(published["verdict"] == "valid");
  CHECK(published["chunks"].is_null());
  CHECK(published["all_sizes"]["of"] == json::array({"node.data"}));
  CHECK(published["all_sizes"]["reason"].get<std::string>().starts_with("theorem T7"));
  const json printed = checked(folder, std::string(kOpen) + kRight, {"--dialect", "printed"}, 0);
  CHECK(printed["all_sizes"]["outcome"] == "valid");

  const json wrong = checked(folder,
                             std::string(kOpen) +
                                 "ReduceScatter(node, InsideGroup); AllReduce(node, "
                                 "Parallel(root))\n",
                             {}, 1);
  CHECK(wrong["verdict"] == "invalid");
  CHECK(wrong["counterexample"]["rule"] == "goal-lacks");
}

TEST_CASE("with --all-sizes the sizes that are given are examples") {
  const TemporaryFolder folder;
  const std::string header = "hierarchy node=2,gpu=4\naxes data=8\nreduce data\n";
  const json valid = checked(folder, header + kRight, {"--all-sizes"}, 0);
  CHECK(valid["all_sizes"]["of"] == json::array({"node.data", "gpu.data"}));
  CHECK(valid["chunks"] == 8);
  const json pinned = checked(folder,
                              header +
                                  "dialect printed\nReduce(node, InsideGroup); "
                                  "ReduceScatter(node, Master(root)); AllGather(node, "
                                  "Master(root)); Broadcast(node, InsideGroup)\n",
                              {"--all-sizes"}, 0);
  CHECK(pinned["all_sizes"]["reason"].get<std::string>().starts_with("chunk tables"));
  const Ran bare =
      run({"check", folder.put("bare.p2", header + "AllReduce{0,1,2,3,4,5,6,7}\n"), "--all-sizes"});
  CHECK(bare.exit == 2);
  CHECK(bare.err.find("expected instructions") != std::string::npos);
  const Ran explained =
      run({"check", folder.put("open.p2", std::string(kOpen) + kRight), "--explain"});
  CHECK(explained.exit == 2);
  CHECK(explained.err.find("leaves sizes open (*), expected no --explain") != std::string::npos);
  const Ran alone = run({"check", folder.put("axis.p2",
                                             "hierarchy node=*,gpu=8\naxes data=16\n"
                                             "reduce data\n" +
                                                 std::string(kRight))});
  CHECK(alone.exit == 2);
  CHECK(alone.err.find("expected both or neither") != std::string::npos);
}

TEST_CASE("the machine accepts programs of many devices, the explicit engine explains the others") {
  const TemporaryFolder folder;
  const std::string header = "hierarchy a=16,b=16,c=16,d=16\naxes data=65536\nreduce data\n";
  const std::string start =
      "ReduceScatter(c, InsideGroup); ReduceScatter(c, Parallel(b)); AllReduce(b, "
      "Parallel(root)); AllGather(c, Parallel(b))";
  const json valid = checked(folder, header + start + "; AllGather(c, InsideGroup)\n", {}, 0);
  CHECK(valid["engines"] == json{{"machine", "valid"}});
  CHECK(valid["chunks"] == 65536);
  const json again = checked(folder, header + start + "; AllGather(c, InsideGroup)\n",
                             {"--engine", "explicit"}, 0);
  CHECK(again["engines"] == json{{"explicit", "valid"}});
  const json wrong = checked(folder, header + start + "\n", {}, 1);
  CHECK(wrong["engines"] == json{{"explicit", "invalid"}});
  CHECK(wrong["counterexample"]["rule"] == "goal-lacks");
}

TEST_CASE("goals and pinned groups of many devices are decided by tables of chunks") {
  const TemporaryFolder folder;
  const std::string header = "hierarchy a=16,b=16,c=16,d=16\naxes data=65536\nreduce data\n";
  for (const auto& [said, begins, steps] :
       {std::tuple{"goal reducescatter", "contributions",
                   "ReduceScatter(b, Parallel(root)); ReduceScatter(b, InsideGroup)"},
        std::tuple{"goal allgather", "shards",
                   "AllGather(b, InsideGroup); AllGather(b, Parallel(root))"},
        std::tuple{"goal reduce", "contributions", "Reduce(root, InsideGroup)"},
        std::tuple{"goal broadcast", "root-sum", "Broadcast(root, InsideGroup)"},
        std::tuple{"dialect printed", "contributions",
                   "Reduce(b, InsideGroup); ReduceScatter(b, Master(root)); AllGather(b, "
                   "Master(root)); Broadcast(b, InsideGroup)"}}) {
    CAPTURE(steps);
    const std::string text = header + said + "\n" + steps + "\n";
    json valid = checked(folder, text, {}, 0);
    CHECK(valid["engines"] == json{{"bracket", "valid"}});
    CHECK(valid["begins"] == begins);
    json again = checked(folder, text, {"--engine", "explicit"}, 0);
    CHECK(again["engines"] == json{{"explicit", "valid"}});
    for (json* each : {&valid, &again}) {
      each->erase("engines");
      each->erase("findings");
    }
    CHECK(valid == again);
  }
  const json wrong = checked(folder,
                             header +
                                 "goal reducescatter\nReduceScatter(b, InsideGroup); "
                                 "ReduceScatter(b, Parallel(root))\n",
                             {}, 1);
  CHECK(wrong["engines"] == json{{"explicit", "invalid"}});
}

TEST_CASE("certificates of many devices are about all sizes, or about large ones in printed") {
  const TemporaryFolder folder;
  const std::string header = "hierarchy a=16,b=16,c=16,d=16\naxes data=65536\nreduce data\n";
  const auto claim = [&](const std::string& name) {
    return json::parse(text_of(folder.path(name + "/manifest.json")))["claim"];
  };
  const std::string right =
      "ReduceScatter(b, InsideGroup); AllReduce(b, Parallel(root)); AllGather(b, InsideGroup)\n";
  checked(folder, header + right, {"--certify", folder.path("published")}, 0);
  CHECK(claim("published") == "program-valid-all-sizes");
  checked(folder, header + "dialect printed\n" + right, {"--certify", folder.path("printed")}, 0);
  CHECK(claim("printed") == "program-valid-large-sizes");
  const Ran goal = run({"check",
                        folder.put("goal.p2", header + "goal reduce\nReduce(root, "
                                                       "InsideGroup)\n"),
                        "--certify", folder.path("goal")});
  CHECK(goal.exit == 2);
  for (const auto& [levels, devices, dialect, expected] :
       {std::tuple{"16,16", "256", "published", "synthesis-complete-all-sizes"},
        std::tuple{"16,16", "256", "printed", "synthesis-complete-large-sizes"},
        std::tuple{"2,2", "4", "published", "synthesis-complete"}}) {
    REQUIRE(run({"synth", "--hierarchy", levels, "--axes", devices, "--reduce", "0", "--size", "2",
                 "--dialect", dialect, "--certify", folder.path(expected)})
                .exit == 0);
    CHECK(claim(expected) == expected);
  }
}

TEST_CASE("the list of a large system is checked program by program without its devices") {
  const TemporaryFolder folder;
  const std::string list = folder.path("list.json");
  // So many programs that synth leaves the groups out.
  for (const auto& [goal, size] : {std::pair{"allreduce", "3"}, std::pair{"allgather", "4"}}) {
    REQUIRE(run({"synth", "--hierarchy", "16,16,16,16", "--axes", "65536", "--reduce", "0",
                 "--goal", goal, "--size", size, "--format", "json", "--output", list})
                .exit == 0);
    const Ran ran = run({"check", list, "--format", "json"});
    CHECK(ran.exit == 0);
    const json results = json::parse(ran.out)["results"];
    CHECK(results.size() > 40);
    const std::string engine = std::string(goal) == "allreduce" ? "machine" : "bracket";
    for (const json& each : results) CHECK(each["engines"] == json{{engine, "valid"}});
  }
}

}  // namespace p2
