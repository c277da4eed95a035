#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "proofs/kernel/certificate.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

using namespace p2;
using nlohmann::json;

namespace {

Ran run_reshard(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "reshard");
  return run(flags);
}

/// Both senders hold both slices; each is for one receiver.
const char* const kTwo =
    R"({"tasks":[{"size":4,"sender_hosts":[0,1],"receiver_hosts":[0]},
                 {"size":4,"sender_hosts":[1,0],"receiver_hosts":[1]}]})";

}  // namespace

TEST_CASE("the example shows that the greedy choice of senders is not the best") {
  const std::string tasks = std::string(P2_SOURCE_DIR) + "/examples/reshard/greedy_misses.json";
  CHECK(run_reshard({"--tasks", tasks}).out.find("makespan 6, optimal") != std::string::npos);
  const Ran greedy = run_reshard({"--tasks", tasks, "--strategy", "load-balance"});
  CHECK(greedy.out.find("makespan 7, not shown to be optimal") != std::string::npos);
}

TEST_CASE("reshard answers in JSON with the keys of the contract") {
  const TemporaryFile file(kTwo);
  const Ran ran = run_reshard({"--tasks", file.path(), "--format", "json"});
  CHECK(ran.exit == 0);
  const json answer = json::parse(ran.out);
  CHECK(answer["tasks"][1] ==
        json{{"size", 4}, {"sender_hosts", {0, 1}}, {"receiver_hosts", json::array({1})}});
  CHECK(answer["strategy"] == "exact");
  CHECK(answer["makespan"] == 4);
  CHECK(answer["lower_bound"] == 4);
  CHECK(answer["optimal"] == true);
  CHECK(answer["certificate"].is_null());
  CHECK(answer["evidence"] == "host 0 receives for 4");
  REQUIRE(answer["schedule"].size() == 2);
  CHECK(answer["schedule"][0]["sender"] != answer["schedule"][1]["sender"]);
  CHECK(answer["schedule"][1]["end"] == 4);
}

TEST_CASE("a baseline says by how much it may miss the optimum") {
  const TemporaryFile file(kTwo);
  const Ran ran = run_reshard({"--tasks", file.path(), "--strategy", "naive"});
  CHECK(ran.exit == 0);
  CHECK(ran.out ==
        "2 tasks   strategy naive\n\n"
        "makespan 8, not shown to be optimal: at least 4, a gap of 100.0 %\n"
        "lower bound: host 0 receives for 4\n\n"
        "start  end  task  sender  receivers\n"
        "    0    4     0       0  0\n"
        "    4    8     1       0  1\n");
  const Ran greedy =
      run_reshard({"--tasks", file.path(), "--strategy", "greedy", "--format", "json"});
  CHECK(json::parse(greedy.out)["optimal"] == true);
}

TEST_CASE("what only the search has shown is called solver-only") {
  // No host and no clique is busy for more than 3.
  const TemporaryFile file(
      R"({"tasks":[{"size":1,"sender_hosts":[1],"receiver_hosts":[0,1,2]},
                   {"size":1,"sender_hosts":[0,1],"receiver_hosts":[1]},
                   {"size":2,"sender_hosts":[0,2],"receiver_hosts":[0]},
                   {"size":2,"sender_hosts":[0],"receiver_hosts":[2]},
                   {"size":1,"sender_hosts":[0,2],"receiver_hosts":[1]}]})");
  const json answer = json::parse(run_reshard({"--tasks", file.path(), "--format", "json"}).out);
  CHECK(answer["makespan"] == 4);
  CHECK(answer["lower_bound"] == 4);
  CHECK(answer["optimal"] == true);
  CHECK(answer["evidence"].get<std::string>().rfind("solver-only: ", 0) == 0);

  const TemporaryFile folder("", "");
  std::filesystem::remove(folder.path());
  const json certified = json::parse(
      run_reshard({"--tasks", file.path(), "--format", "json", "--certify", folder.path()}).out);
  CHECK(certified["certificate"] == folder.path());
  CHECK(certified["evidence"].get<std::string>().rfind("solver-only", 0) != 0);
  CHECK(
      check_folder(folder.path())
          .reason.starts_with("no schedule of the 5 tasks is shorter than 4, this one takes 4 ("));
  std::filesystem::remove_all(folder.path());
}

TEST_CASE("baselines are certified too: one that misses the bound with how far it may be off") {
  const TemporaryFile file(kTwo);
  const TemporaryFile folder("", "");
  const auto certified = [&](const char* strategy) {
    std::filesystem::remove_all(folder.path());
    const Ran ran =
        run_reshard({"--tasks", file.path(), "--strategy", strategy, "--certify", folder.path()});
    CHECK(ran.exit == 0);
    CHECK(ran.out.find("certificate: " + folder.path()) != std::string::npos);
    const kernel::Result result = check_folder(folder.path());
    CHECK(result.verdict == kernel::Verdict::Accepted);
    return result.reason;
  };
  CHECK(certified("naive").starts_with(
      "no schedule of the 2 tasks is shorter than 4, this one takes 8 ("));
  CHECK(certified("greedy").starts_with(
      "no schedule of the 2 tasks is shorter than 4, this one takes 4 ("));
  std::filesystem::remove_all(folder.path());
}

TEST_CASE("a search that meets its deadline is undecided, with a gap that has a certificate") {
  json tasks = json::array();
  for (int i = 0; i < 19; ++i) {
    tasks.push_back(
        {{"size", 100 + 7 * i % 23}, {"sender_hosts", {0, 1, 2, 3}}, {"receiver_hosts", {i}}});
  }
  const TemporaryFile file(json{{"tasks", tasks}}.dump());
  const TemporaryFile folder("", "");
  std::filesystem::remove(folder.path());
  const Ran ran = run_reshard(
      {"--tasks", file.path(), "--timeout", "1", "--format", "json", "--certify", folder.path()});
  CHECK(ran.exit == 3);
  const json answer = json::parse(ran.out);
  CHECK(answer["optimal"] == false);
  CHECK(answer["lower_bound"] < answer["makespan"]);
  CHECK(answer["schedule"].size() == 19);
  CHECK(answer["certificate"] == folder.path());
  CHECK(check_folder(folder.path())
            .reason.starts_with("no schedule of the 19 tasks is shorter than " +
                                answer["lower_bound"].dump() + ", this one takes " +
                                answer["makespan"].dump() + " ("));
  std::filesystem::remove_all(folder.path());
}

TEST_CASE("reshard of a tensor, with and without padding") {
  const std::vector<std::string> flags{"--shape", "1024,1024,512", "--from",   "2x4:S0,R,R",
                                       "--to",    "3x4:S0,R,R",    "--format", "json"};
  std::vector<std::string> pad = flags;
  pad.push_back("--pad");
  const json padded = json::parse(run_reshard(pad).out);
  CHECK(padded["tasks"].size() == 4);
  CHECK(padded["makespan"] == 268959744);
  CHECK(padded["optimal"] == true);
  pad.pop_back();
  pad.back() = "text";
  pad.push_back("--pad");
  const std::string text = run_reshard(pad).out;
  CHECK(text.starts_with("tensor 1026×1024×512, padded from 1024×1024×512\n4 tasks"));
  CHECK(text.find("makespan 268959744 elements, optimal\n") != std::string::npos);
  // 342, 342 and 340 rows; sender 0 has 512 of them.
  const json uneven = json::parse(run_reshard(flags).out);
  CHECK(uneven["tasks"].size() == 4);
  CHECK(uneven["makespan"] == 512 * 1024 * 512);
  std::vector<std::string> source = flags;
  source.insert(source.end(), {"--decompose", "source"});
  CHECK(json::parse(run_reshard(source).out)["tasks"].size() == 2);
}

TEST_CASE("reshard draws hosts as lanes") {
  const TemporaryFile file(kTwo);
  const auto plot = std::filesystem::temp_directory_path() / "p2-reshard-test.svg";
  CHECK(run_reshard({"--tasks", file.path(), "--plot", plot.string()}).exit == 0);
  CHECK(read_file(plot.string()).find("host 1 receives") != std::string::npos);
  std::filesystem::remove(plot);
}

TEST_CASE("reshard says what is wrong with its flags") {
  const TemporaryFile file(kTwo);
  const TemporaryFile broken("{\"tasks\":[{}]}");
  const std::vector<std::pair<std::vector<std::string>, std::string>> bad{
      {{}, "nothing to schedule"},
      {{"--tasks", "/nowhere.json"}, "/nowhere.json"},
      {{"--tasks", broken.path()}, broken.path() + ":1:11: "},
      {{"--tasks", file.path(), "--pad"}, "--pad: given with --tasks"},
      {{"--from", "2x4:R"}, "--from: given without a tensor"},
      {{"--shape", "8,8", "--from", "2x4:S0,R"}, "--to"},
      {{"--shape", "8,0", "--from", "2x4:S0,R", "--to", "2x4:R,R"}, "--shape:1:3: "},
      {{"--shape", "8,8", "--from", "2x4:S0,S0", "--to", "2x4:R,R"}, "--from:1:8: mesh axis 0"},
      {{"--shape", "8,8", "--from", "2x4:S0,R", "--to", "2x4:S2,R"}, "--to:1:5: unknown 'S2'"},
      {{"--shape", "8,8", "--from", "2x4:S0,R", "--to", "2x4:R"}, "--to: 1 dimensions"},
      {{"--shape", "8,8", "--from", "2:S0,R", "--to", "2x4:R,R"}, "--from:1:2: "},
      {{"--shape", "8,8", "--from", "1024x8:S0,R", "--to", "2x4:R,R"}, "--from:1:1: too large"},
      {{"--shape", "1000000,10000000", "--from", "2x4:S0,R", "--to", "2x4:R,R"}, "too large"},
      {{"--shape", "1024,1024", "--from", "64x16:S01,R", "--to", "64x16:R,S01"}, "unit tasks"},
      {{"--shape", "8,8", "--from", "2x4:S0,R", "--to", "2x4:R,R", "--decompose", "x"}, "source"},
      {{"--tasks", file.path(), "--strategy", "magic"}, "load-balance"},
  };
  for (const auto& [flags, part] : bad) {
    const Ran ran = run_reshard(flags);
    CHECK(ran.exit == 2);
    CAPTURE(ran.err);
    CHECK(ran.err.find(part) != std::string::npos);
    CHECK(ran.out.empty());
  }
}
