#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"

using namespace p2;

extern char** environ;

namespace {

std::vector<std::string> prove(const std::string& journal) {
  return {"prove",     "expressiveness", "class-independence", "--max-devices", "8",
          "--dialect", "both",           "--resume",           journal};
}

/// Starts p2-verify in a process of its own and kills it after a while.
void run_and_kill(std::vector<std::string> words, std::chrono::milliseconds after) {
  words.insert(words.begin(), P2_VERIFY);
  words.insert(words.end(), {"--output", "/dev/null"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  REQUIRE(posix_spawn(&child, P2_VERIFY, nullptr, nullptr, arguments.data(), environ) == 0);
  std::this_thread::sleep_for(after);
  ::kill(child, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
}

std::size_t searches_in(const std::string& journal) {
  std::ifstream file(journal);
  std::set<std::size_t> seen;
  std::size_t whole_lines = 0;
  std::string line;
  for (std::getline(file, line); std::getline(file, line) && !file.eof();) {
    seen.insert(nlohmann::json::parse(line).at("search").get<std::size_t>());
    ++whole_lines;
  }
  CHECK(seen.size() == whole_lines);  // nothing was done twice
  return whole_lines;
}

}  // namespace

TEST_CASE("a process killed at ten random moments and started again gives the same bytes") {
  const TemporaryFile whole("", ".jsonl");
  const Ran expected = run(prove(whole.path()));
  const TemporaryFile journal("", ".jsonl");
  std::mt19937 random(11);
  std::size_t before = 0;
  for (int kill = 0; kill < 10; ++kill) {
    run_and_kill(prove(journal.path()), std::chrono::milliseconds(20 + random() % 400));
    const std::size_t after = searches_in(journal.path());
    CHECK(after >= before);
    before = after;
  }
  const Ran resumed = run(prove(journal.path()));
  CHECK(resumed.exit == expected.exit);
  CHECK(resumed.out == expected.out);
  CHECK(searches_in(journal.path()) == searches_in(whole.path()));
}
