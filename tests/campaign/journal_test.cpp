// Journals and shards of questions that cost nothing.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <numeric>
#include <set>

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <nlohmann/json.hpp>

#include "engine/campaign/campaign.h"
#include "p2/error.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;
using namespace p2::campaign;

namespace {

const Json kHeader = Json::object().add("journal", "test").add("size", 5).add("shard", "1/1");

/// The square of each number, for the costs given.
class Squares final : public Questions {
 public:
  explicit Squares(std::vector<double> costs) : recorded(costs.size()), costs_(std::move(costs)) {}

  std::size_t count() const override { return costs_.size(); }
  double expected_cost(std::size_t question) const override { return costs_[question]; }
  Answer ask(std::size_t question, const Limits&) override {
    return {std::to_string(question * question)};
  }
  void record(std::size_t question, const nlohmann::ordered_json& answer) override {
    recorded[question] = answer.get<std::size_t>();
  }

  std::vector<std::size_t> recorded;

 private:
  std::vector<double> costs_;
};

std::string message(const std::string& path, const Json& header) {
  try {
    Journal(path, header);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("shards are a partition, and none exceeds the mean by more than the largest question") {
  rc::check("longest processing time first", [] {
    const auto numbers = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1000));
    const auto count = static_cast<std::uint32_t>(*rc::gen::inRange(1, 9));
    const Squares questions(std::vector<double>(numbers.begin(), numbers.end()));
    const auto shards = shard_of_questions(questions, count);
    RC_ASSERT(shards.size() == numbers.size());
    RC_ASSERT(shards == shard_of_questions(questions, count));
    std::vector<double> loads(count + 1);
    for (std::size_t i = 0; i < shards.size(); ++i) {
      RC_ASSERT(shards[i] >= 1 && shards[i] <= count);
      loads[shards[i]] += numbers[i];
    }
    const double mean = std::accumulate(loads.begin(), loads.end(), 0.0) / count;
    const int largest = numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
    for (const double load : loads) RC_ASSERT(load <= mean + largest);
  });
}

TEST_CASE("the shards of a campaign answer every question once") {
  std::vector<std::size_t> times(100);
  for (std::uint32_t shard = 1; shard <= 3; ++shard) {
    const TemporaryFile file("", ".jsonl");
    Squares questions(std::vector<double>(100, 1));
    Journal journal(file.path(), kHeader);
    Collector collector(questions, {shard, 3}, &journal, nullptr);
    run_on_threads(questions, collector, 2, {});
    const JournalText text = read_journal(file.path());
    CHECK(text.answers.size() == collector.open().size());
    CHECK(text.header.at("size") == 5);
    for (const auto& [question, answer] : text.answers) {
      CHECK(answer == question * question);
      ++times[question];
    }
  }
  CHECK(times == std::vector<std::size_t>(100, 1));
}

TEST_CASE("a damaged line is an error, but for the last, which is dropped") {
  const TemporaryFile file("", ".jsonl");
  {
    Journal journal(file.path(), kHeader);
    for (std::size_t i = 0; i < 4; ++i) journal.append(i, std::to_string(i * i), 0.5);
  }
  const std::string text = bytes_of(file.path());
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
  std::size_t errors = 0;
  std::size_t dropped = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char other : {'\1', '7', '"', '\n'}) {
      std::string damaged = text;
      damaged[at] = damaged[at] == other ? '8' : other;
      const TemporaryFile copy(damaged, ".jsonl");
      if (at + 1 < last) {
        CHECK_THROWS_AS(read_journal(copy.path()), InputError);
        CHECK_THROWS_AS(Journal(copy.path(), kHeader), InputError);
        CHECK(bytes_of(copy.path()) == damaged);
        ++errors;
        continue;
      }
      // A newline inside the last line leaves a damaged line before the last.
      if (other == '\n' && at >= last && at + 1 < text.size()) {
        CHECK_THROWS_AS(read_journal(copy.path()), InputError);
        continue;
      }
      const JournalText read = read_journal(copy.path());
      // Without the newline before it the last line begins one line earlier.
      CHECK(read.answers.size() == (at < last ? 2 : 3));
      CHECK(read.whole_bytes <= last);
      ++dropped;
    }
  }
  CHECK(errors > 100);
  CHECK(dropped > 10);
}

TEST_CASE("a journal of something else is refused, and nothing that is no journal is truncated") {
  const TemporaryFile file("", ".jsonl");
  { const Journal journal(file.path(), kHeader); }
  CHECK(message(file.path(), kHeader).empty());
  const Json other = Json::object().add("journal", "test").add("size", 6).add("shard", "1/1");
  CHECK(message(file.path(), other).find("'size' mismatch") != std::string::npos);
  for (const char* text : {"no journal\n", "no journal", "{\"journal\":\"test\"}\n", "\n", "7"}) {
    const TemporaryFile notes(text, ".txt");
    CHECK(message(notes.path(), kHeader).find(":1:1: is not a line of a journal") !=
          std::string::npos);
    CHECK(bytes_of(notes.path()) == text);
  }
  CHECK(message("/nowhere/journal", kHeader).find("cannot be written") != std::string::npos);
  CHECK_THROWS_AS(read_journal("/nowhere/journal"), InputError);
}

TEST_CASE("a journal is used by one campaign at a time") {
  const TemporaryFile file("", ".jsonl");
  const int other = ::open(file.path().c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(other, LOCK_EX | LOCK_NB) == 0);
  CHECK(message(file.path(), kHeader).find("in use by another campaign") != std::string::npos);
  ::close(other);
  CHECK(message(file.path(), kHeader).empty());
}
