#include <chrono>

#include <doctest/doctest.h>

#include "engine/program/synthesis.h"
#include "tests/program/instances.h"

using namespace p2;

TEST_CASE("a search that meets a limit keeps what it has settled and no more") {
  const Instance instance = instance_of("4,4,4,4", "256", "0", "[[4 4 4 4]]");
  SynthesisOptions options;
  options.size = 6;
  options.limits.memory_bytes = std::size_t{2} << 20;
  const auto found = synthesise({instance}, options);
  const ProgramList& stopped = found[0].list();
  REQUIRE(stopped.settled() < options.size);
  options.size = stopped.settled();
  options.limits = {};
  const auto whole = synthesise({instance}, options);
  CHECK(stopped.count() == whole[0].list().count());
  CHECK(stopped.count() > 0);
}

TEST_CASE("a deadline in the past settles only the empty program") {
  SynthesisOptions options;
  options.limits.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const auto found = synthesise({instance_of("2,2", "4", "0", "[[2 2]]")}, options);
  CHECK(found[0].list().settled() == 0);
  CHECK(found[0].list().count() == 0);
}

TEST_CASE("progress counts every search and the states it expanded") {
  SearchProgress progress;
  SynthesisOptions options;
  options.progress = &progress;
  synthesise({instance_of("2,2", "4", "0", "[[2 2]]"), instance_of("4,1", "4", "0", "[[4 1]]")},
             options);
  CHECK(progress.searches == 2);
  CHECK(progress.searches_done == 2);
  CHECK(progress.states > 10);
}
