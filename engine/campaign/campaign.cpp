#include "engine/campaign/campaign.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <queue>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include "p2/error.h"

namespace p2::campaign {

std::string to_string(const Shard& shard) {
  return fmt::format("{}/{}", shard.number, shard.count);
}

bool may_be_cut_short(const Limits& limits) {
  return limits.deadline || limits.memory_bytes || limits.work ||
         (limits.cancelled != nullptr && *limits.cancelled);
}

std::vector<std::uint32_t> shard_of_questions(const Questions& questions, std::uint32_t count) {
  std::vector<std::size_t> by_cost(questions.count());
  std::iota(by_cost.begin(), by_cost.end(), std::size_t{0});
  std::vector<double> costs(by_cost.size());
  for (const std::size_t question : by_cost) costs[question] = questions.expected_cost(question);
  std::ranges::stable_sort(by_cost,
                           [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  using Load = std::pair<double, std::uint32_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (std::uint32_t shard = 1; shard <= count; ++shard) least.emplace(0.0, shard);
  std::vector<std::uint32_t> shards(by_cost.size());
  for (const std::size_t question : by_cost) {
    const auto [load, shard] = least.top();
    least.pop();
    shards[question] = shard;
    least.emplace(load + costs[question], shard);
  }
  return shards;
}

Collector::Collector(Questions& questions, const Shard& shard, Journal* journal, Counters* counters)
    : questions_(questions), journal_(journal), counters_(counters) {
  const auto shards = shard_of_questions(questions, shard.count);
  std::uint64_t known = 0;
  for (std::size_t question = 0; question < shards.size(); ++question) {
    if (shards[question] != shard.number) continue;
    const auto* answers = journal != nullptr ? &journal->answers() : nullptr;
    if (answers != nullptr && answers->contains(question)) {
      try {
        questions.record(question, answers->at(question));
      } catch (const nlohmann::json::exception&) {
        throw InputError({"--resume"}, fmt::format("the journal's answer to question {} is none, "
                                                   "expected one that --resume has written",
                                                   question));
      }
      ++known;
    } else {
      open_.push_back(question);
    }
  }
  if (counters != nullptr) {
    counters->questions = known + open_.size();
    counters->known = known;
  }
}

void Collector::deliver(std::size_t question, const Questions::Answer& answer, double seconds) {
  questions_.record(question, nlohmann::ordered_json::parse(answer.json));
  if (!answer.final) return;
  if (journal_ != nullptr) journal_->append(question, answer.json, seconds);
  if (counters_ != nullptr) ++counters_->done;
}

void run_on_threads(Questions& questions, Collector& collector, unsigned jobs,
                    const Limits& limits) {
  const unsigned threads = jobs == 0 ? std::max(1U, std::thread::hardware_concurrency()) : jobs;
  const tbb::global_control at_most(tbb::global_control::max_allowed_parallelism, threads);
  tbb::parallel_for(
      std::size_t{0}, collector.open().size(),
      [&](std::size_t i) {
        if (limits.cancelled != nullptr && *limits.cancelled) return;
        const auto start = std::chrono::steady_clock::now();
        const std::size_t question = collector.open()[i];
        const Questions::Answer answer = questions.ask(question, limits);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        collector.deliver(question, answer, taken.count());
      },
      tbb::simple_partitioner());
}

}  // namespace p2::campaign
