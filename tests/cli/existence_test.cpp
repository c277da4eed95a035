#include <doctest/doctest.h>

#include "tests/cli/run.h"

using namespace p2;

namespace {

Ran ask(const std::string& what, const std::string& size,
        const std::vector<std::string>& more = {}) {
  std::vector<std::string> command = {"synth", "--hierarchy", "2,2", "--axes",   "4", "--reduce",
                                      "0",     "--size",      size,  "--exists", what};
  command.insert(command.end(), more.begin(), more.end());
  return run(command);
}

bool says(const Ran& ran, const std::string& text) {
  return ran.out.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("synth --exists: all engines find a shortest program, or refute that there is one") {
  const Ran found = ask("Broadcast", "2", {"--engine", "all"});
  CHECK(found.exit == 0);
  CHECK(says(found,
             "explicit: there is a program with Broadcast: Reduce(root, InsideGroup); "
             "Broadcast(root, InsideGroup)"));
  CHECK(says(found, "z3: there is a program with Broadcast: Reduce("));
  CHECK(says(found, "cnf: there is a program with Broadcast: Reduce("));
  const Ran none = ask("Broadcast", "1", {"--engine", "all"});
  CHECK(none.exit == 1);
  for (const char* engine : {"explicit", "z3", "cnf"}) {
    CHECK(
        says(none, std::string(engine) + ": there is no program with Broadcast of at most 1 step"));
  }
}

TEST_CASE("synth --exists: forms, and what is not used") {
  CHECK(ask("Master", "2", {"--engine", "all"}).exit == 1);
  CHECK(ask("Master", "3", {"--engine", "all"}).exit == 0);
  const Ran without = ask("no-AllReduce", "2", {"--engine", "all", "--format", "json"});
  CHECK(without.exit == 0);
  CHECK(says(without, R"({"engine":"z3","existence":"exists","program":")"));
  CHECK_FALSE(says(without, "cnf"));
  CHECK(ask("no-AllReduce", "1", {"--engine", "z3"}).exit == 1);
}

TEST_CASE("synth --exists: a limit leaves the question open") {
  const Ran stopped = ask("Broadcast", "1", {"--engine", "z3", "--rlimit", "1"});
  CHECK(stopped.exit == 3);
}

TEST_CASE("synth --exists: what cannot be asked") {
  CHECK(ask("Brodcast", "2").exit == 2);
  CHECK(ask("Broadcast", "2", {"--explain"}).exit == 2);
}
