// The NCCL backend on GPUs; where there are fewer GPUs than ranks, ranks share one. Skipped where
// there is no GPU: nccl_test.cpp has the same on a stand-in.
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/cli/temporary_file.h"
#include "tests/execution/process.h"

using namespace p2;

namespace {

const std::string kRun = std::string(P2_VERIFY) + " run --backend nccl --iterations 1 --warmup 0 ";
const std::string kMixed =
    "devices 4\nReduceScatter{0,1},{2,3}; ReduceScatter{0,2},{1,3}; AllGather{0,1,2,3}; "
    "Broadcast{0,1,2,3}; Reduce{0,1},{2,3}";

bool has_gpu() {
  if (std::filesystem::exists("/dev/nvidiactl")) return true;
  MESSAGE("skipped: there is no GPU");
  return false;
}

}  // namespace

TEST_CASE("programs on GPUs: every element right after every step, in every type") {
  if (!has_gpu()) return;
  for (const char* options :
       {"--type float32", "--type float64", "--type int32", "--type bfloat16 --inputs reals"}) {
    const Process process =
        shell(kRun + "--hierarchy 2,2 --axes 4 --reduce 0 --bytes 64K --check steps " + options);
    CHECK_MESSAGE(process.exit == 0, process.printed);
    CHECK(process.printed.find("# 47 of 47 programs run, 0 wrong elements\n") != std::string::npos);
  }
}

TEST_CASE("eight ranks on GPUs, and the record of the calls that they made") {
  if (!has_gpu()) return;
  const TemporaryFile record("", "");
  std::filesystem::remove(record.path());
  const Process process = shell(
      kRun + "--hierarchy 2,4 --axes 8 --reduce 0 --top 6 --bytes 64K --record " + record.path());
  CHECK_MESSAGE(process.exit == 0, process.printed);
  CHECK(process.printed.find(" 0 wrong elements\n") != std::string::npos);
  CHECK(std::filesystem::exists(record.path() + "/rank-7.jsonl"));
  std::filesystem::remove_all(record.path());
}

TEST_CASE("wrong data of a forced program are found on GPUs") {
  if (!has_gpu()) return;
  const TemporaryFile twice("devices 2\nAllReduce{0,1}; AllReduce{0,1}", ".p2");
  const Process process = shell(kRun + "--force " + twice.path());
  CHECK(process.exit == 1);
  CHECK_MESSAGE(
      process.printed.find("wrong at the end: rank 0, element 0: got ") != std::string::npos,
      process.printed);
}

TEST_CASE("a rank that dies or hangs while others wait on their GPU: named, and nothing is left") {
  if (!has_gpu()) return;
  const TemporaryFile program(kMixed, ".p2");
  for (const auto& [fault, message] :
       {std::pair("die", "p2-verify: rank 2 died after it had entered step 1 of program 1\n"),
        std::pair("hang",
                  "p2-verify: rank 2 did not enter step 2 of program 1, where others wait for it, "
                  "when time was up\n")}) {
    const Process process =
        shell(kRun + "--force --timeout 60 --fault " + fault + ":2:2 " + program.path());
    CHECK(process.exit == 3);
    CHECK_MESSAGE(process.printed == message, process.printed);
    CHECK(running(program.path()) == 0);
  }
}
