#include <set>

#include <doctest/doctest.h>

#include "engine/export/class_lowering.h"
#include "engine/msccl/algorithm.h"
#include "engine/msccl/verdict.h"
#include "engine/program/derivation.h"
#include "engine/program/program_file.h"
#include "engine/program/synthesis.h"
#include "tests/export/programs.h"

namespace p2 {
namespace {

using msccl::Protocol;
using msccl::TransferOptions;

std::string verdict_of(const msccl::Algorithm& algorithm) {
  const auto again = msccl::read_algorithm("test.xml", to_xml(algorithm));
  const msccl::AlgorithmDecision decision = msccl::judge(again, {});
  return decision.violation ? decision.violation->reason : std::string(to_string(decision.outcome));
}

ProgramFile program_of(const std::string& text) { return read_program("test.p2", text, {}); }

std::string verdict_of_class(const std::string& text, std::size_t index = 0) {
  return verdict_of(lower_class(program_of(text).program, index,
                                TransferOptions::safe(Protocol::Simple), {"test.p2"}));
}

}  // namespace

TEST_CASE("all programs of [2,2,2] and [4,4] are right for all interleavings") {
  for (const char* hierarchy : {"2,2,2", "4,4"}) {
    const std::vector<Program> programs = programs_of(hierarchy);
    CHECK(programs.size() == (std::string(hierarchy) == "4,4" ? 47 : 825));
    for (std::size_t i = 0; i < programs.size(); i += kOneOf) {
      for (const TransferOptions& options :
           {TransferOptions::safe(Protocol::Simple), TransferOptions::safe(Protocol::LL),
            TransferOptions::fast(Protocol::LL128)}) {
        CAPTURE(i);
        const msccl::Algorithm algorithm = lower_class(programs[i], 0, options, {"test"});
        CHECK(verdict_of(algorithm) == "valid");
        CHECK(algorithm.collective == "allreduce");
        for (const msccl::LoaderLimit& limit : loader_limits(algorithm)) CHECK(limit.met());
      }
    }
  }
}

TEST_CASE("short runs are safe for messages of any size, long ones take fewer steps") {
  bool some_unsafe = false;
  const std::vector<Program> programs = programs_of("2,2,2");
  for (std::size_t i = 0; i < programs.size(); i += 4 * kOneOf) {
    CAPTURE(i);
    for (const Protocol protocol : {Protocol::Simple, Protocol::LL}) {
      const auto safe = lower_class(programs[i], 0, TransferOptions::safe(protocol), {"test"});
      const auto quick = lower_class(programs[i], 0, TransferOptions::fast(protocol), {"test"});
      CHECK(!msccl::judge(safe, {}).safe_sizes->max_bytes);
      some_unsafe = some_unsafe || msccl::judge(quick, {}).safe_sizes->max_bytes;
      CHECK(quick.steps().size() <= safe.steps().size());
    }
  }
  CHECK(some_unsafe);
}

TEST_CASE("groups whose parts do not lie side by side, or do not come out even") {
  CHECK(verdict_of_class("devices 5\nAllReduce{0,1,2,3,4}") == "valid");
  // Five chunks on two, then on three ranks.
  CHECK(verdict_of_class("devices 5\nReduce{0,1},{2,3,4}; AllReduce{0,2}; "
                         "Broadcast{0,1},{2,3,4}") == "valid");
  // Chunks 0, 3 and 1, 2 meet in pieces.
  CHECK(verdict_of_class("devices 4\nReduceScatter{0,1,2,3}; AllGather{0,3},{1,2}; "
                         "AllGather{0,1},{2,3}") == "valid");
  // A buffer of more chunks than a step may have.
  CHECK(verdict_of_class("hierarchy 12,12\naxes 144\nreduce 0\n"
                         "Reduce(root, InsideGroup); Broadcast(root, InsideGroup)") == "valid");
  CHECK(verdict_of_class("devices 1\nskip") == "valid");
}

TEST_CASE("every class is an algorithm of its own, with ranks in the order of its devices") {
  const std::string text =
      "hierarchy 2,4\naxes 4,2\nreduce 0\nplacement [[2 2] [1 2]]\nsynthesis-hierarchy b\n"
      "AllReduce{0,2},{1,3},{4,6},{5,7}; AllReduce{0,4},{2,6},{1,5},{3,7}";
  const Program program = program_of(text).program;
  REQUIRE(program.classes.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const msccl::Algorithm algorithm =
        lower_class(program, i, TransferOptions::fast(Protocol::LL128), {"test"});
    CHECK(algorithm.gpus.size() == 4);
    CHECK(algorithm.chunks == 8);
    CHECK(verdict_of(algorithm) == "valid");
  }
}

TEST_CASE("other goals that MSCCL knows") {
  const struct {
    const char* goal;
    const char* steps;
    const char* collective;
  } cases[] = {
      {"reducescatter", "ReduceScatter{0,1},{2,3}; ReduceScatter{0,2},{1,3}", nullptr},
      {"reducescatter", "ReduceScatter{0,1,2,3}", "reduce_scatter"},
      {"allgather", "AllGather{0,1},{2,3}; AllGather{0,2},{1,3}", "allgather"},
      {"reduce", "Reduce{0,1},{2,3}; Reduce{0,2}", "reduce"},
      {"broadcast", "Broadcast{0,2}; Broadcast{0,1},{2,3}", "broadcast"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.goal);
    const ProgramFile file =
        program_of("devices 4\ngoal " + std::string(each.goal) + "\n" + each.steps);
    StateTable states(file.program.chunks());
    const bool valid = check(file.program, file.dialect, states).outcome == Outcome::Established;
    CHECK(valid == (each.collective != nullptr));
    if (!valid) continue;
    const msccl::Algorithm algorithm =
        lower_class(file.program, 0, TransferOptions::safe(Protocol::Simple), {"test"});
    CHECK(algorithm.collective == each.collective);
    CHECK(verdict_of(algorithm) == "valid");
  }
}

TEST_CASE("a step with a dependency too few is caught") {
  // Every dependency that the lowering writes is needed, or is seen not to be.
  const Program program = program_of(
                              "devices 4\nReduceScatter{0,1},{2,3}; AllReduce{0,2},{1,3}; "
                              "AllGather{0,1},{2,3}")
                              .program;
  const msccl::Algorithm algorithm =
      lower_class(program, 0, TransferOptions::safe(Protocol::Simple), {"test"});
  REQUIRE(verdict_of(algorithm) == "valid");
  std::size_t dependencies = 0;
  std::size_t caught = 0;
  for (const msccl::StepPlace place : algorithm.steps()) {
    if (!algorithm.step(place).waits_for) continue;
    msccl::Algorithm without = algorithm;
    without.gpus[place.gpu].blocks[place.block].steps[place.step].waits_for.reset();
    ++dependencies;
    caught += verdict_of(without) == "valid" ? 0 : 1;
  }
  CHECK(dependencies > 0);
  CHECK(caught > 0);
}

TEST_CASE("what MSCCL cannot say is refused with the reason") {
  const auto complaint = [](const std::string& text) {
    try {
      verdict_of_class(text);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(complaint("devices 4\nclasses {0,1},{2,3}\nAllReduce{0,1,2,3}")
            .starts_with("test.p2: group {0,1,2,3} has devices of several reduction classes"));
  CHECK(complaint("devices 4\ngoal alltoall\nskip").starts_with("test.p2: has the goal alltoall"));
}

}  // namespace p2
