#include <chrono>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include <doctest/doctest.h>

#include "p2/error.h"
#include "proofs/claims/journal.h"
#include "proofs/claims/summary.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;
using namespace p2::claims;

namespace {

Request a_request(std::uint32_t devices) {
  Request request;
  request.claims = {claim_called("expressiveness")};
  request.systems = placed_systems(devices);
  return request;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::istringstream text(bytes_of(path));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::vector<Answer> answers(const std::vector<Result>& results) {
  std::vector<Answer> all;
  for (const Result& result : results) all.push_back(result.answer);
  return all;
}

}  // namespace

TEST_CASE("a campaign stopped at ten random moments ends as if it had not been stopped") {
  const Request request = a_request(8);
  const auto expected = answers(settle(request, {}));
  const TemporaryFile journal("", ".jsonl");
  std::mt19937 random(7);
  std::uint64_t done = 0;
  for (int kill = 0; kill < 10; ++kill) {
    std::atomic<bool> stop = false;
    CampaignProgress progress;
    CampaignOptions options;
    options.journal = journal.path();
    options.stop = &stop;
    options.progress = &progress;
    std::thread killer([&, pause = random() % 20] {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause));
      stop = true;
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

TEST_CASE("a journal cut at any byte is gone on from, and nothing in it is done twice") {
  const Request request = a_request(4);
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
  Request printed = a_request(4);
  printed.dialects = {Dialect::Printed};
  CHECK_THROWS_AS(settle(printed, options), InputError);
  const TemporaryFile text("no journal\n", ".jsonl");
  options.journal = text.path();
  CHECK_THROWS_AS(settle(a_request(4), options), InputError);
  CHECK(bytes_of(text.path()) == "no journal\n");
}

TEST_CASE("a journal is used by one campaign at a time") {
  const TemporaryFile file("", ".jsonl");
  const Journal first(file.path(), "a campaign");
  CHECK_THROWS_AS(Journal(file.path(), "a campaign"), InputError);
}
