#include <chrono>
#include <filesystem>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/temporary_file.h"
#include "tests/execution/process.h"

using namespace p2;

namespace {

const std::string kRun = std::string(P2_VERIFY) + " run --backend mpi --iterations 1 --warmup 0 ";
const std::string kPairs =
    "devices 4\nReduceScatter{0,1},{2,3}; AllReduce{0,2},{1,3}; AllGather{0,1},{2,3}";

}  // namespace

TEST_CASE("programs on 4 and 8 processes: every element right, in every type that MPI has") {
  for (const char* type : {"float32", "float64", "int32"}) {
    const Process four =
        shell(kRun + "--hierarchy 2,2 --axes 4 --reduce 0 --size 3 --bytes 4K --type " + type);
    CHECK_MESSAGE(four.exit == 0, four.printed);
    CHECK(four.printed.find(", 0 wrong elements\n") != std::string::npos);
  }
  const Process eight =
      shell(kRun + "--hierarchy 2,4 --axes 4,2 --reduce 0 --bytes 4K --inputs reals --format json");
  CHECK(eight.exit == 0);
  const auto report = nlohmann::json::parse(eight.printed);
  CHECK(report["wrong"] == 0);
  CHECK(report["complete"] == true);
  CHECK(report["results"].size() > 40);
}

TEST_CASE("mpirun may be the one to start the ranks") {
  const TemporaryFile file(kPairs, ".p2");
  const Process right = under_mpirun(4, kRun + file.path());
  CHECK(right.exit == 0);
  CHECK(right.printed.find("1 of 1 programs run, 0 wrong elements\n") != std::string::npos);
  const Process wrong = under_mpirun(2, kRun + file.path());
  CHECK(wrong.exit == 2);
  CHECK(wrong.printed.find("2 processes for programs of 4 devices") != std::string::npos);
}

TEST_CASE("wrong data are found, and what the ranks cannot do is bad input") {
  const TemporaryFile twice("devices 2\nAllReduce{0,1}; AllReduce{0,1}", ".p2");
  const Process forced = shell(kRun + "--force " + twice.path());
  CHECK(forced.exit == 1);
  CHECK(forced.printed.find("wrong at the end: rank 0, element 0: got ") != std::string::npos);
  CHECK(shell(kRun + "--type bfloat16 " + twice.path()).exit == 2);
  const TemporaryFile other(kPairs, ".p2");
  CHECK(shell(kRun + twice.path() + " " + other.path()).exit == 2);
}

TEST_CASE("a rank that gives up alone ends the run, and does not keep the others waiting") {
  const TemporaryFile program(kPairs, ".p2");
  const TemporaryFile place("", ".record");
  std::filesystem::remove(place.path());
  std::filesystem::create_directories(place.path() + "/rank-2.jsonl");  // where a file should go
  const auto start = std::chrono::steady_clock::now();
  const Process process = shell(kRun + program.path() + " --record " + place.path());
  CHECK(process.exit == 3);
  CHECK(process.printed.find("rank 2 gave up") != std::string::npos);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
  CHECK(running(program.path()) == 0);
  std::filesystem::remove_all(place.path());
}

TEST_CASE("a rank that dies or hangs ends the run in time, is named, and leaves no process") {
  const TemporaryFile file(kPairs, ".p2");
  for (const auto& [fault, message] :
       {std::pair("die", "rank 2 died after it had entered step 1 of program 1"),
        std::pair("hang", "rank 2 did not enter step 2 of program 1, where others wait for it")}) {
    const auto start = std::chrono::steady_clock::now();
    const Process process = shell(kRun + "--timeout 3 --fault " + fault + ":2:2 " + file.path());
    CHECK(process.exit == 3);
    // Where several ends are seen at once, mpirun is the one that knows which was the first.
    const bool named = process.printed.find(message) != std::string::npos ||
                       process.printed.find("process rank 2 ") != std::string::npos;
    CHECK_MESSAGE(named, process.printed);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
    CHECK(running(file.path()) == 0);
  }
}
