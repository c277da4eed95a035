#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;
using nlohmann::json;

namespace {

const std::string kTwice = kPrograms + "refused/figure4b-counted-twice.p2";

std::vector<std::string> small(std::vector<std::string> words) {
  words.insert(words.begin(), "run");
  words.insert(words.end(), {"--bytes", "4K", "--iterations", "1", "--warmup", "0"});
  return words;
}

}  // namespace

TEST_CASE("run takes an instance: every program, per step and total time, bandwidths and #wrong") {
  const Ran ran =
      run(small({"--hierarchy", "2,2", "--axes", "4", "--reduce", "0", "--format", "json"}));
  CHECK(ran.exit == 0);
  const json report = json::parse(ran.out);
  CHECK(report["wrong"] == 0);
  REQUIRE(report["results"].size() == 47);
  for (const json& result : report["results"]) {
    CHECK(result["verdict"] == "valid");
    CHECK(result["steps"].size() == result["program"]["steps"].size());
    for (const json& row : result["steps"]) {
      CHECK(row["time_us"] > 0);
      CHECK(row["algbw"] > 0);
      CHECK(row["busbw"] > 0);
      CHECK(row["wrong"] == 0);
    }
    CHECK(result["total"]["wrong"] == 0);
    CHECK(result["total"]["bytes"] == 4096);
    CHECK(result["allreduce"]["time_us"] > 0);
  }
}

TEST_CASE("busbw is algbw times what nccl-tests says") {
  const TemporaryFile file(
      "devices 4\nReduceScatter{0,1,2,3}; AllGather{0,1,2,3}; Broadcast{0,1,2,3}; "
      "AllReduce{0,1,2,3}",
      ".p2");
  const json result = json::parse(run(small({file.path(), "--force", "--format", "json"})).out);
  const json& steps = result["results"][0]["steps"];
  const double factors[] = {0.75, 0.75, 1.0, 1.5};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(steps[i]["bytes"] == 4096);
    const double ratio = steps[i]["busbw"].get<double>() / steps[i]["algbw"].get<double>();
    CHECK(ratio == doctest::Approx(factors[i]).epsilon(0.01));
  }
}

TEST_CASE(
    "a refused program is not run, unless it is forced; then its data are shown to be wrong") {
  const Ran refused = run(small({kTwice}));
  CHECK(refused.exit == 1);
  CHECK(refused.out.find("refused by premise disjoint") != std::string::npos);
  CHECK(refused.out.find("0 of 1 programs run") != std::string::npos);
  const Ran forced = run(small({kTwice, "--force"}));
  CHECK(forced.exit == 1);
  CHECK(forced.out.find("wrong at the end: rank 0, element 0: got ") != std::string::npos);
  const json report = json::parse(run(small({kTwice, "--force", "--format", "json"})).out);
  const json& result = report["results"][0];
  CHECK(result["verdict"] == "invalid");
  CHECK(result["steps"][0]["wrong"] == 0);
  CHECK(result["steps"][1]["wrong"].is_null());
  CHECK(result["total"]["wrong"] > 10000);
  const json& shown = result["wrong_elements"][0];
  CHECK(shown["got"] == 2 * shown["expected"].get<double>());
}

TEST_CASE("sizes, types and checks") {
  const std::string file = kPrograms + "valid/figure3c-reduce-allreduce-broadcast.p2";
  for (const char* type : {"float32", "float64", "int32", "bfloat16"}) {
    const Ran ran = run({"run", file, "--sizes", "1K:16K:4", "--type", type, "--iterations", "1",
                         "--format", "json"});
    CHECK(ran.exit == 0);
    const json results = json::parse(ran.out)["results"];
    REQUIRE(results.size() == 3);
    CHECK(results[2]["bytes"] == 16384);
    CHECK(results[2]["elements"].get<std::size_t>() % 16 == 0);
  }
  CHECK(run(small({file, "--inputs", "reals", "--type", "bfloat16"})).exit == 0);
  const Ran unchecked = run(small({file, "--check", "none", "--format", "json"}));
  CHECK(json::parse(unchecked.out)["wrong"].is_null());
  CHECK(json::parse(unchecked.out)["results"][0]["total"]["wrong"].is_null());
  const Ran end = run(small({file, "--check", "result", "--format", "json"}));
  CHECK(json::parse(end.out)["results"][0]["steps"][0]["wrong"].is_null());
  CHECK(json::parse(end.out)["results"][0]["total"]["wrong"] == 0);
}

TEST_CASE("bad input to run") {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"run"},
           {"run", kTwice, "--bytes", "0"},
           {"run", kTwice, "--bytes", "1T"},
           {"run", kTwice, "--bytes", "99999999999999G"},
           {"run", kTwice, "--bytes", "1K", "--sizes", "1K:2K"},
           {"run", kTwice, "--sizes", "2K:1K"},
           {"run", kTwice, "--type", "float16"},
           {"run", kTwice, "--type", "int32", "--inputs", "reals"},
           {"run", kTwice, "--backend", "smoke-signals"},
           {"run", kTwice, "--fault", "sleep:1:1"},
           {"run", "/nonexistent.p2"}}) {
    const Ran ran = run(words);
    CHECK(ran.exit == 2);
    CHECK(ran.err.find("expected") != std::string::npos);
  }
}

TEST_CASE("a rank that hangs ends the run at the timeout, exit 3, and is named") {
  const Ran ran = run(small({kTwice, "--force", "--fault", "hang:5:2", "--timeout", "1"}));
  CHECK(ran.exit == 3);
  CHECK(ran.err ==
        "p2-verify: rank 5 did not enter step 2 of program 1, where others wait for it\n");
  const Ran died = run(small({kTwice, "--force", "--fault", "die:5:2"}));
  CHECK(died.exit == 3);
  CHECK(died.err == "p2-verify: rank 5 died\n");
}

TEST_CASE("--record writes the calls of every rank") {
  const TemporaryFile place("", "");
  std::filesystem::remove(place.path());
  const std::string file = kPrograms + "valid/figure10-blueconnect.p2";
  CHECK(run(small({file, "--record", place.path()})).exit == 0);
  std::ifstream lines(place.path() + "/rank-17.jsonl");
  std::vector<json> calls;
  for (std::string line; std::getline(lines, line);) calls.push_back(json::parse(line));
  REQUIRE(calls.size() == 3);
  CHECK(calls[0]["collective"] == "ReduceScatter");
  CHECK(calls[2]["step"] == 3);
  CHECK(calls[2]["group"] == json(calls[0]["group"]));
  CHECK(calls[0]["group"][calls[0]["position"].get<std::size_t>()] == 17);
  std::filesystem::remove_all(place.path());
}

TEST_CASE("run --top ranks the programs, fastest first, and shows so many") {
  const Ran ran = run({"run", "--hierarchy", "2,2", "--axes", "4", "--reduce", "0", "--bytes", "1K",
                       "--iterations", "1", "--top", "3"});
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("step 1") == std::string::npos);
  CHECK(ran.out.find("# … and 44 more") != std::string::npos);
  CHECK(ran.out.find("47 of 47 programs run, 0 wrong elements") != std::string::npos);
  std::istringstream lines(ran.out);
  double last = 0;
  std::size_t ranked = 0;
  for (std::string line; std::getline(lines, line);) {
    std::size_t rank = 0;
    double time = 0;
    if (line[0] == '#' || !(std::istringstream(line) >> rank >> time)) continue;
    CHECK(rank == ++ranked);
    CHECK(time >= last);
    last = time;
  }
  CHECK(ranked == 3);
}

namespace fs = std::filesystem;

namespace {

const std::string kExample = std::string(P2_SOURCE_DIR) + "/examples/oracle/allreduce.p2";

}  // namespace

TEST_CASE("run --dry-run says who calls what, with which buffers, and runs nothing") {
  // 16 devices, 4 chunks of 1024 elements each in a class: pairs reduce to the first, the 8 roots
  // make 4 groups of two, and broadcast.
  const std::string three = kPrograms + "valid/figure3c-reduce-allreduce-broadcast.p2";
  const Ran text = run({"run", "--dry-run", three, "--bytes", "64K"});
  CHECK(text.exit == 0);
  CHECK(text.out ==
        "dry run, backend in-process, float32: nothing runs\n\n" + three +
            "   [[1 1 2 2] [1 2 1 2]]\n"
            "Reduce(server, InsideGroup); AllReduce(server, Master(root)); Broadcast(server, "
            "InsideGroup)\n"
            "65536 bytes per rank: 16 chunks of 1024 elements\n"
            "step  groups  ranks  count  bytes  communicator  collective\n"
            "   1       8      2  16384  65536             0  Reduce\n"
            "   2       4      2  16384  65536             1  AllReduce\n"
            "   3       8      2  16384  65536             0  Broadcast\n\n"
            "ranks  first  begin with  end with  calls of steps\n"
            "    8      0         64K       64K  1 as root, 2, 3 as root\n"
            "    8      1         64K       64K  1, 3\n\n"
            "buffers: 128K bytes on each rank, 2M on all 16; communicators: 2\n");
  const json answer = json::parse(run({"run", "--dry-run", three, "--sizes", "64K:128K", "--type",
                                       "float64", "--format", "json"})
                                      .out);
  const json& plans = answer["results"][0]["plans"];
  REQUIRE(plans.size() == 2);
  CHECK(plans[1]["steps"][0] ==
        json::parse(R"({"collective":"Reduce","groups":8,"ranks":2,"count":16384,)"
                    R"("bytes":131072,"communicator":0})"));
  CHECK(plans[1]["classes"][0] == json::parse(R"({"first":0,"ranks":8,"calls":[)"
                                              R"({"step":1,"ranks":2,"count":16384,"root":true},)"
                                              R"({"step":2,"ranks":2,"count":16384,"root":false},)"
                                              R"({"step":3,"ranks":2,"count":16384,"root":true}],)"
                                              R"("begins_with":131072,"ends_with":131072})"));
  CHECK(plans[1]["buffer_bytes"] == 2 * 131072);
  CHECK(plans[1]["memory_bytes"] == 16 * 2 * 131072);
}

TEST_CASE("run --dry-run plans a million ranks by patterns") {
  const TemporaryFile program(
      "hierarchy node=1024,gpu=1024\naxes a=1048576\nreduce a\n"
      "ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); "
      "AllGather(node, InsideGroup)",
      ".p2");
  // A list of the calls of all ranks would not fit.
  const Ran ran = run({"run", "--dry-run", program.path(), "--bytes", "1G", "--format", "json",
                       "--memory", "300", "--timeout", "5"});
  CHECK(ran.exit == 0);
  const json answer = json::parse(ran.out);
  CHECK(answer["max_ranks"] == 256);
  const json& plan = answer["results"][0]["plans"][0];
  CHECK(plan["devices"] == 1048576);
  REQUIRE(plan["classes"].size() == 1);
  CHECK(plan["classes"][0]["ranks"] == 1048576);
  CHECK(plan["steps"][1]["bytes"] == 1048576);
  CHECK(plan["steps"][2]["groups"] == 1024);
  CHECK(plan["buffer_bytes"] == 2147483648);
  CHECK(run({"run", "--dry-run", program.path()})
            .out.find("too many ranks to run: backend in-process takes at most 256\n") !=
        std::string::npos);
}

TEST_CASE("run --dry-run judges programs, and takes instances and collectives of the user") {
  const Ran refused = run({"run", "--dry-run", kTwice});
  CHECK(refused.exit == 1);
  CHECK(refused.out.find("is refused by premise disjoint") != std::string::npos);
  CHECK(refused.out.find("buffers:") == std::string::npos);
  const Ran forced = run({"run", "--dry-run", "--force", kTwice});
  CHECK(forced.exit == 0);
  CHECK(forced.out.find("buffers:") != std::string::npos);
  const json all = json::parse(run({"run", "--dry-run", "--hierarchy", "2,2", "--axes", "4",
                                    "--reduce", "0", "--format", "json"})
                                   .out);
  CHECK(all["results"].size() == 47);
  const std::string root = std::string(P2_SOURCE_DIR) + "/examples/";
  const json defined = json::parse(run({"run", "--dry-run", "--format", "json", "--bytes", "64",
                                        root + "programs/defined/reduce-then-scatter.p2",
                                        "--collectives", root + "collectives/sound/scatter.p2c"})
                                       .out);
  // Scatter: the root of 8 has 8 chunks of 2 elements, the others get one each.
  const json& plan = defined["results"][0]["plans"][0];
  CHECK(plan["steps"][1]["collective"] == "Scatter");
  REQUIRE(plan["classes"].size() == 2);
  CHECK(plan["classes"][1]["ends_with"] == 8);
  for (const std::string flag : {"--check", "--top", "--record", "--fault", "--inputs"}) {
    const Ran ran = run({"run", "--dry-run", kTwice, flag, flag == "--top" ? "3" : "steps"});
    CHECK(ran.exit == 2);
    CHECK(ran.err.find("--dry-run: nothing runs, expected no " + flag) != std::string::npos);
  }
  const Ran plan_file = run({"run", "--dry-run", root + "onesided/overlapped-allgather.plan"});
  CHECK(plan_file.exit == 2);
  CHECK(plan_file.err.find("--dry-run: is for programs") != std::string::npos);
  const TemporaryFile bare("devices 65536\nAllReduce{0,1}", ".p2");
  const Ran listed = run({"run", "--dry-run", "--force", bare.path()});
  CHECK(listed.exit == 3);
  CHECK(listed.err.find("the calls of every rank would take") != std::string::npos);
  CHECK(listed.out.find("undecided: the calls of every rank would take") != std::string::npos);
}

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
  const Ran written =
      run({"oracle", wrong.path(), "--output", "/nonexistent/x", "--format", "json"});
  CHECK(written.exit == 1);
  const auto report = nlohmann::json::parse(written.out);
  CHECK(report["verdict"] == "invalid");
  CHECK(ran.out.find(report["reason"].get<std::string>()) != std::string::npos);
  CHECK(report["file"] == wrong.path());
  CHECK(report["folder"].is_null());
  CHECK(run({"oracle", kExample}).exit == 2);
  CHECK(run({"oracle", "--output", "x"}).exit == 2);
  CHECK(run({"oracle", kExample, "--output", "/dev/null/x"}).exit == 2);
  CHECK(run({"oracle", kExample, "--output", "x", "--type", "bfloat16"}).exit == 2);
}
