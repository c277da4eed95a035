#include <chrono>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/cli/temporary_file.h"
#include "tests/execution/process.h"

using namespace p2;

namespace {

const std::string kRun =
    std::string(P2_VERIFY_FAKE_NCCL) + " run --backend nccl --iterations 1 --warmup 0 ";
const std::string kMixed =
    "devices 4\nReduceScatter{0,1},{2,3}; ReduceScatter{0,2},{1,3}; AllGather{0,1,2,3}; "
    "Broadcast{0,1,2,3}; Reduce{0,1},{2,3}";

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// A line of --record in the words of the stand-in.
std::string in_its_words(const std::string& line) {
  const auto call = nlohmann::json::parse(line);
  return fmt::format("{} {} position {} count {} type 7 root {}",
                     call["collective"].get<std::string>(), call["group"].dump(),
                     call["position"].get<int>(), call["count"].get<int>(),
                     call["root"].is_null() ? -1 : 0);
}

}  // namespace

TEST_CASE("programs on a stand-in for NCCL: every element right, in every type") {
  for (const char* options :
       {"--type float32", "--type float64", "--type int32", "--type bfloat16 --inputs reals"}) {
    const Process process =
        shell(kRun + "--hierarchy 2,4 --axes 8 --reduce 0 --bytes 4K " + options);
    CHECK_MESSAGE(process.exit == 0, process.printed);
    CHECK(process.printed.find("# 47 of 47 programs run, 0 wrong elements\n") != std::string::npos);
  }
}

TEST_CASE("all programs of the paper's small systems on the stand-in") {
  for (const auto& [system, programs] :
       {std::pair("--hierarchy 2,2 --axes 4", "47"), std::pair("--hierarchy 4,4 --axes 16", "47"),
        std::pair("--hierarchy 2,2,2 --axes 8", "825")}) {
    const Process process = shell(kRun + "--reduce 0 --bytes 512 --type int32 " + system);
    CHECK(process.exit == 0);
    CHECK(process.printed.find(fmt::format("# {0} of {0} programs run, 0 wrong elements\n",
                                           programs)) != std::string::npos);
  }
}

TEST_CASE("the calls that come in at NCCL's entry points are those of the plan, in its order") {
  const TemporaryFile program(kMixed, ".p2");
  const TemporaryFile place("", "");
  std::filesystem::remove(place.path());
  std::filesystem::create_directory(place.path());
  const Process process = shell("FAKE_NCCL_RECORD=" + place.path() + " " + kRun + program.path() +
                                " --force --record " + place.path() + "/plan");
  CHECK(process.exit == 1);  // the program ends with a Reduce
  for (int rank = 0; rank < 4; ++rank) {
    const std::string name = fmt::format("rank-{}", rank);
    // The timed run, the checked run, and both of the single AllReduce.
    std::vector<std::string> expected;
    for (int run = 0; run < 2; ++run) {
      for (const std::string& line : lines_of(place.path() + "/plan/" + name + ".jsonl")) {
        expected.push_back(in_its_words(line));
      }
    }
    REQUIRE(expected.size() == 10);
    for (int run = 0; run < 2; ++run) {
      expected.push_back(
          fmt::format("AllReduce [0,1,2,3] position {} count 262144 type 7 root -1", rank));
    }
    CHECK(lines_of(place.path() + "/" + name) == expected);
  }
  std::filesystem::remove_all(place.path());
}

#ifdef P2_HAS_MPI
TEST_CASE("mpirun may be the one to start the ranks, and to end them") {
  const TemporaryFile program(kMixed, ".p2");
  const auto run = [&](const std::string& options) {
    const TemporaryFile arena("", ".arena");
    return under_mpirun(4, "env FAKE_NCCL_ARENA=" + arena.path() + " " + kRun + options);
  };
  const Process all = run("--hierarchy 2,2 --axes 4 --reduce 0 --bytes 4K");
  CHECK_MESSAGE(all.exit == 0, all.printed);
  CHECK(all.printed.find("# 47 of 47 programs run, 0 wrong elements\n") != std::string::npos);
  const std::string forced = "--force --timeout 6 " + program.path();
  const Process dead = run("--fault die:2:2 " + forced);
  CHECK(dead.exit != 0);
  CHECK(dead.printed.find("process rank 2 ") != std::string::npos);
  const Process late = run("--fault hang:2:2 " + forced);
  CHECK(late.exit == 3);
  CHECK(late.printed.find("p2-verify: rank ") != std::string::npos);
  CHECK(running(program.path()) == 0);
}
#endif

TEST_CASE("wrong data of a forced program are found") {
  const TemporaryFile twice("devices 2\nAllReduce{0,1}; AllReduce{0,1}", ".p2");
  const Process process = shell(kRun + "--force " + twice.path());
  CHECK(process.exit == 1);
  CHECK(process.printed.find("wrong at the end: rank 0, element 0: got ") != std::string::npos);
}

TEST_CASE("a rank that dies or hangs ends the run in time, is named, and leaves no process") {
  const TemporaryFile program(kMixed, ".p2");
  for (const auto& [fault, message] :
       {std::pair("die", "p2-verify: rank 2 died after it had entered step 1 of program 1\n"),
        std::pair("hang",
                  "p2-verify: rank 2 did not enter step 2 of program 1, where others wait for it, "
                  "when time was up\n")}) {
    const auto start = std::chrono::steady_clock::now();
    const Process process =
        shell(kRun + "--force --timeout 6 --fault " + fault + ":2:2 " + program.path());
    CHECK(process.exit == 3);
    CHECK(process.printed == message);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
    CHECK(running(program.path()) == 0);
  }
}

TEST_CASE("NCCL itself, where there is no GPU, is bad input in one line") {
  if (std::filesystem::exists("/dev/nvidiactl")) {
    MESSAGE("skipped: there is a GPU");
    return;
  }
  const TemporaryFile program(kMixed, ".p2");
  const Process process = shell(std::string(P2_VERIFY) + " run --backend nccl " + program.path());
  CHECK(process.exit == 2);
  CHECK(process.printed ==
        "p2-verify: --backend: there is no CUDA device here, expected at least one\n");
}
