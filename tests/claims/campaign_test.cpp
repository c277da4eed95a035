#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include <doctest/doctest.h>
#include <spawn.h>
#include <nlohmann/json.hpp>

#include "engine/program/derivation.h"
#include "p2/error.h"
#include "proofs/claims/campaign.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;
using namespace p2::claims;

namespace {

CampaignRequest a_request(std::uint32_t devices) {
  CampaignRequest request;
  request.claims = {find_claim("expressiveness")};
  request.systems = placed_systems(devices);
  return request;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::istringstream text(bytes_of(path));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::vector<Settlement> answers(const std::vector<SettledQuestion>& results) {
  std::vector<Settlement> all;
  for (const SettledQuestion& result : results) all.push_back(result.answer);
  return all;
}

}  // namespace

TEST_CASE("a campaign cancelled at ten random moments ends as if it had not been cancelled") {
  const CampaignRequest request = a_request(8);
  const auto expected = answers(settle(request, {}));
  const TemporaryFile journal("", ".jsonl");
  std::mt19937 random(7);
  std::uint64_t done = 0;
  for (int kill = 0; kill < 10; ++kill) {
    std::atomic<bool> cancelled = false;
    CampaignProgress progress;
    CampaignOptions options;
    options.journal = journal.path();
    options.limits.cancelled = &cancelled;
    options.progress = &progress;
    std::thread killer([&, pause = random() % 20] {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause));
      cancelled = true;
    });
    settle(request, options);
    killer.join();
    done += progress.searches_done;
    CHECK(lines_of(journal.path()).size() == done + 1);
    // What a kill in the middle of a write leaves behind.
    std::ofstream(journal.path(), std::ios::app) << "{\"search\":1,\"answ";
  }
  CampaignProgress progress;
  CampaignOptions options;
  options.journal = journal.path();
  options.progress = &progress;
  CHECK(answers(settle(request, options)) == expected);
  CHECK(progress.searches_known == done);
  CHECK(progress.searches_known + progress.searches_done == progress.searches);
}

TEST_CASE("a journal cut at any byte is continued, and nothing in it is done twice") {
  const CampaignRequest request = a_request(4);
  const TemporaryFile whole("", ".jsonl");
  CampaignOptions options;
  options.jobs = 1;
  options.journal = whole.path();
  const auto expected = answers(settle(request, options));
  const std::string text = bytes_of(whole.path());
  for (std::size_t cut = 0; cut < text.size(); cut += 17) {
    const TemporaryFile torn(text.substr(0, cut), ".jsonl");
    CampaignProgress progress;
    CampaignOptions again;
    again.jobs = 1;
    again.journal = torn.path();
    again.progress = &progress;
    CHECK(answers(settle(request, again)) == expected);
    CHECK(progress.searches_known + progress.searches_done == progress.searches);
    CHECK(bytes_of(torn.path()) == text);
  }
}

TEST_CASE("a journal of something else is refused") {
  const TemporaryFile journal("", ".jsonl");
  CampaignOptions options;
  options.journal = journal.path();
  settle(a_request(4), options);
  CHECK_THROWS_AS(settle(a_request(6), options), InputError);
  CampaignRequest printed = a_request(4);
  printed.dialects = {Dialect::Printed};
  CHECK_THROWS_AS(settle(printed, options), InputError);
  const TemporaryFile text("no journal\n", ".jsonl");
  options.journal = text.path();
  CHECK_THROWS_AS(settle(a_request(4), options), InputError);
  CHECK(bytes_of(text.path()) == "no journal\n");
}

TEST_CASE("a journal is used by one campaign at a time") {
  const TemporaryFile journal("", ".jsonl");
  const int other = ::open(journal.path().c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(other, LOCK_EX | LOCK_NB) == 0);
  CampaignOptions options;
  options.journal = journal.path();
  CHECK_THROWS_AS(settle(a_request(2), options), InputError);
  ::close(other);
  CHECK(!settle(a_request(2), options).empty());
}

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
    // The journal says how far a run is on any simulator; its first line is no search.
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

namespace {

/// Outlives the results, which point into it.
CampaignRequest request_for(Engine engine, const char* claim, std::uint32_t devices) {
  CampaignRequest request;
  request.claims = {find_claim(claim)};
  request.dialects = {Dialect::Printed, Dialect::Published};
  request.systems = placed_systems(devices);
  request.size = 3;
  request.engine = engine;
  return request;
}

}  // namespace

TEST_CASE("SAT and enumeration give the same verdicts and the same lengths") {
  std::size_t refuted = 0;
  for (const char* claim : {"expressiveness", "lemma-b3-hierarchical", "lemma-b6"}) {
    CampaignRequest request = request_for(Engine::Explicit, claim, 4);
    const std::vector<SettledQuestion> explicitly = settle(request, {});
    request.engine = Engine::Sat;
    const std::vector<SettledQuestion> by_sat = settle(request, {});
    REQUIRE(explicitly.size() == by_sat.size());
    for (std::size_t i = 0; i < explicitly.size(); ++i) {
      CAPTURE(to_string(*explicitly[i].question.system));
      CHECK(explicitly[i].answer.outcome == by_sat[i].answer.outcome);
      CHECK(explicitly[i].answer.steps == by_sat[i].answer.steps);
      if (by_sat[i].answer.outcome != Outcome::Refuted) continue;
      const Program program = counterexample(by_sat[i]);
      StateTable states(program.devices);
      CHECK(check(program, by_sat[i].question.dialect, states).outcome == Outcome::Established);
      ++refuted;
    }
  }
  CHECK(refuted > 20);
}

TEST_CASE("a claim about rules alone is asked once and stands for all systems") {
  CampaignRequest request;
  request.claims = {find_claim("adequacy"), find_claim("composition-as-triples")};
  request.systems = placed_systems(4);
  const std::vector<SettledQuestion> results = settle(request, {});
  REQUIRE(results.size() == 4);  // of each claim for one axis and for several
  std::size_t systems = 0;
  for (const SettledQuestion& result : results) {
    CHECK(result.answer.outcome == Outcome::Established);
    systems += result.systems;
  }
  CHECK(systems == 2 * request.systems.size());
}

TEST_CASE("no list of the enumerator lacks a program") {
  const CampaignRequest request = request_for(Engine::Explicit, "synthesis-complete", 4);
  const std::vector<SettledQuestion> results = settle(request, {});
  const std::size_t kinds = 6;  // of hierarchies that a program may be written for
  CHECK(results.size() == kinds * request.dialects.size() * request.systems.size());
  for (const SettledQuestion& result : results) {
    CHECK(result.answer.outcome == Outcome::Established);
  }
}
