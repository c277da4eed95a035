#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "engine/pipeline/least_memory.h"

using namespace p2;

namespace {

std::vector<std::vector<Work>> orders_of(const PipelineRun& run) {
  std::vector<std::vector<Work>> orders;
  for (const auto& stage : run.stages) {
    for (auto& order = orders.emplace_back(); const TimedWork& each : stage) {
      order.push_back(each.work);
    }
  }
  return orders;
}

/// All orders of a stage that hold at most `most` activations.
std::vector<std::vector<Work>> all_orders(std::uint32_t microbatches, std::uint32_t most) {
  std::vector<std::vector<Work>> all;
  for (std::uint32_t bits = 0; bits < 1U << 2 * microbatches; ++bits) {
    std::vector<Work> order;
    std::uint32_t done[2] = {0, 0};
    bool right = true;
    for (std::uint32_t i = 0; i < 2 * microbatches && right; ++i) {
      const std::uint32_t kind = bits >> i & 1U;
      order.push_back({kind == 0 ? WorkKind::Forward : WorkKind::Backward, done[kind]++});
      right = done[1] <= done[0] && done[0] <= microbatches && done[0] - done[1] <= most;
    }
    if (right) all.push_back(order);
  }
  return all;
}

/// The makespan under `delay`, or nothing where the orders wait for each other in a circle.
std::optional<std::int64_t> makespan_of(const std::vector<std::vector<Work>>& orders,
                                        const PipelineTimes& times) {
  std::map<std::pair<std::size_t, std::string>, std::int64_t> ends;
  std::vector<std::size_t> done(orders.size());
  std::vector<std::int64_t> free(orders.size());
  std::size_t left = orders.size() * orders[0].size();
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      if (done[i] == orders[i].size()) continue;
      const Work work = orders[i][done[i]];
      const bool backward = work.kind == WorkKind::Backward;
      std::int64_t start = free[i];
      if (i != (backward ? orders.size() - 1 : 0)) {
        const auto before = ends.find({backward ? i + 1 : i - 1, to_string(work)});
        if (before == ends.end()) continue;
        start = std::max(start, before->second + times.latency);
      }
      free[i] = ends[{i, to_string(work)}] = start + times.of(work.kind);
      ++done[i];
      --left;
      moved = true;
    }
  }
  if (left > 0) return std::nullopt;
  return *std::max_element(free.begin(), free.end());
}

/// Whether some orders with these peaks take no longer than full overlap, by trying all of them.
bool some_overlaps(PipelineSize size, const PipelineTimes& times,
                   const std::vector<std::uint32_t>& most) {
  std::vector<std::vector<std::vector<Work>>> choices;
  for (const std::uint32_t each : most) choices.push_back(all_orders(size.microbatches, each));
  std::vector<std::size_t> pick(size.stages);
  for (;;) {
    std::vector<std::vector<Work>> orders;
    for (std::size_t i = 0; i < pick.size(); ++i) orders.push_back(choices[i][pick[i]]);
    if (makespan_of(orders, times) == full_overlap(size, times)) return true;
    std::size_t i = 0;
    while (i < pick.size() && ++pick[i] == choices[i].size()) pick[i++] = 0;
    if (i == pick.size()) return false;
  }
}

}  // namespace

TEST_CASE("no schedule is faster than full overlap, and GPipe always is as fast") {
  for (std::uint32_t s = 1; s <= 5; ++s) {
    for (std::uint32_t m = 1; m <= 6; ++m) {
      for (const std::int64_t c : {0, 1, 2, 5, 9}) {
        const PipelineTimes times{2, 3, c};
        const std::int64_t least = full_overlap({s, m}, times);
        CHECK(simulate(PipelineSchedule::GPipe, {s, m}, times, PipelineLink::Delay).makespan ==
              least);
        for (const PipelineSchedule schedule :
             {PipelineSchedule::OneForwardOneBackward, PipelineSchedule::Eager}) {
          CHECK(simulate(schedule, {s, m}, times, PipelineLink::Delay).makespan >= least);
        }
      }
    }
  }
}

TEST_CASE(
    "the least memory has a schedule that holds it, and each stage needs what it is said to") {
  for (const PipelineSize size : {PipelineSize{2, 3}, PipelineSize{2, 5}, PipelineSize{3, 4},
                                  PipelineSize{3, 7}, PipelineSize{4, 5}, PipelineSize{1, 4}}) {
    for (const PipelineTimes times : {PipelineTimes{1, 1, 0}, PipelineTimes{1, 2, 1},
                                      PipelineTimes{2, 2, 1}, PipelineTimes{2, 1, 4}}) {
      const auto least = least_memory(size, times, {});
      REQUIRE(least);
      const auto orders = orders_of(least->run);
      CHECK(simulate(orders, times, PipelineLink::Delay).makespan == full_overlap(size, times));
      for (std::size_t i = 0; i < size.stages; ++i) {
        CHECK(peak_activations(orders[i]) <= least->peaks[i]);
        CHECK(least->each[i] <= least->peaks[i]);
      }
    }
  }
}

TEST_CASE("the search says what simulating every order says") {
  std::mt19937_64 random(17);
  int possible = 0;
  int impossible = 0;
  for (int i = 0; i < 300; ++i) {
    const PipelineSize size{static_cast<std::uint32_t>(2 + random() % 2),
                            static_cast<std::uint32_t>(2 + random() % 2)};
    const PipelineTimes times{static_cast<std::int64_t>(1 + random() % 3),
                              static_cast<std::int64_t>(1 + random() % 3),
                              static_cast<std::int64_t>(random() % 4)};
    std::vector<std::uint32_t> most;
    for (std::uint32_t s = 0; s < size.stages; ++s) {
      most.push_back(static_cast<std::uint32_t>(1 + random() % size.microbatches));
    }
    const bool found = search_overlap(size, times, most, {}).kind == OverlapAnswer::Kind::Exists;
    CHECK(found == some_overlaps(size, times, most));
    (found ? possible : impossible) += 1;
  }
  CHECK(possible > 30);
  CHECK(impossible > 30);
}

TEST_CASE("a search that meets its deadline says nothing") {
  Limits over;
  over.deadline = std::chrono::steady_clock::now();
  CHECK(!least_memory({6, 12}, {2, 3, 2}, over));
}
