#include <atomic>
#include <chrono>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include <doctest/doctest.h>

#include "engine/program/derivation.h"
#include "proofs/claims/campaign.h"
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
  const auto expected = answers(settle(request));
  const TemporaryFile file("", ".jsonl");
  const Json header = Json::object().add("journal", "test");
  std::mt19937 random(7);
  std::uint64_t done = 0;
  for (int kill = 0; kill < 10; ++kill) {
    std::atomic<bool> cancelled = false;
    campaign::Counters counters;
    campaign::Journal journal(file.path(), header);
    Limits limits;
    limits.cancelled = &cancelled;
    std::thread killer([&, pause = random() % 20] {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause));
      cancelled = true;
    });
    settle(request, limits, 0, &journal, &counters);
    killer.join();
    done += counters.done;
    CHECK(lines_of(file.path()).size() == done + 1);
    // What a kill in the middle of a write leaves behind.
    std::ofstream(file.path(), std::ios::app) << "{\"question\":1,\"answ";
  }
  campaign::Counters counters;
  campaign::Journal journal(file.path(), header);
  CHECK(answers(settle(request, {}, 0, &journal, &counters)) == expected);
  CHECK(counters.known == done);
  CHECK(counters.known + counters.done == counters.questions);
}

TEST_CASE("a journal cut at any byte is continued, and nothing in it is done twice") {
  const CampaignRequest request = a_request(4);
  const Json header = Json::object().add("journal", "test");
  const TemporaryFile whole("", ".jsonl");
  campaign::Journal first(whole.path(), header);
  const auto expected = answers(settle(request, {}, 1, &first));
  const std::string text = bytes_of(whole.path());
  for (std::size_t cut = 0; cut < text.size(); cut += 17) {
    const TemporaryFile torn(text.substr(0, cut), ".jsonl");
    campaign::Counters counters;
    campaign::Journal journal(torn.path(), header);
    CHECK(answers(settle(request, {}, 1, &journal, &counters)) == expected);
    CHECK(counters.known + counters.done == counters.questions);
    const auto read = campaign::read_journal(torn.path());
    CHECK(read.answers == campaign::read_journal(whole.path()).answers);
  }
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
    const std::vector<SettledQuestion> explicitly = settle(request);
    request.engine = Engine::Sat;
    const std::vector<SettledQuestion> by_sat = settle(request);
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
  const std::vector<SettledQuestion> results = settle(request);
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
  const std::vector<SettledQuestion> results = settle(request);
  const std::size_t kinds = 6;  // of hierarchies that a program may be written for
  CHECK(results.size() == kinds * request.dialects.size() * request.systems.size());
  for (const SettledQuestion& result : results) {
    CHECK(result.answer.outcome == Outcome::Established);
  }
}
