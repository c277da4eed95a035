#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
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

std::size_t lines_in(const std::string& journal) {
  std::ifstream file(journal);
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

/// Starts p2-verify in a process of its own and kills it when its journal has so many lines; false
/// where it ended before.
bool run_and_kill(std::vector<std::string> words, const std::string& journal, std::size_t lines) {
  words.insert(words.begin(), P2_VERIFY);
  words.insert(words.end(), {"--output", "/dev/null"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  REQUIRE(posix_spawn(&child, P2_VERIFY, nullptr, nullptr, arguments.data(), environ) == 0);
  int status = 0;
  while (lines_in(journal) < lines) {
    if (::waitpid(child, &status, WNOHANG) == child) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(child, SIGKILL);
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status);
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
  const std::size_t all = searches_in(whole.path());
  const TemporaryFile journal("", ".jsonl");
  std::mt19937 random(11);
  std::size_t before = 0;
  int midway = 0;  // kills of a run that had done some of it
  for (int kill = 0; kill < 10; ++kill) {
    // The journal says how far a run is on any machine; its first line is no search.
    const bool killed =
        run_and_kill(prove(journal.path()), journal.path(), 1 + before + random() % (all / 16));
    const std::size_t after = searches_in(journal.path());
    CHECK(after >= before);
    if (killed && after > before && after < all) ++midway;
    before = after;
  }
  CHECK(midway >= 1);
  const Ran resumed = run(prove(journal.path()));
  CHECK(resumed.exit == expected.exit);
  CHECK(resumed.out == expected.out);
  CHECK(searches_in(journal.path()) == all);
}
