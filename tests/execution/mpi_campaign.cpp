#include <doctest/doctest.h>

#include "tests/execution/process.h"

using namespace p2;

TEST_CASE("all programs of the paper's small systems on 4, 8 and 16 processes") {
  for (const auto& [system, programs] :
       {std::pair("--hierarchy 2,2 --axes 4", "47"), std::pair("--hierarchy 2,4 --axes 8", "47"),
        std::pair("--hierarchy 4,4 --axes 16", "47"),
        std::pair("--hierarchy 2,2,2 --axes 8", "825")}) {
    const Process process = shell(std::string(P2_VERIFY) +
                                  " run --backend mpi --iterations 1 --warmup 0 --bytes 1K "
                                  "--type int32 --reduce 0 " +
                                  system);
    CHECK_MESSAGE(process.exit == 0, system);
    CHECK(process.printed.find(std::string("# ") + programs + " of " + programs +
                               " programs run, 0 wrong elements\n") != std::string::npos);
  }
}
