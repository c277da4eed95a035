#include <algorithm>
#include <cstdio>

#include <doctest/doctest.h>

#include "engine/pipeline/schedule.h"
#include "tests/shared_data.h"

using namespace p2;

namespace {

std::string text_of(PipelineSchedule schedule, PipelineSize size, std::uint32_t stage) {
  std::string text;
  for (const Work& work : stage_order(schedule, size, stage)) text += to_string(work) + " ";
  return text;
}

constexpr auto kSchedules = {PipelineSchedule::GPipe, PipelineSchedule::OneForwardOneBackward,
                             PipelineSchedule::Eager};

}  // namespace

TEST_CASE("orders worked out by hand") {
  const PipelineSize size{3, 4};
  CHECK(text_of(PipelineSchedule::GPipe, size, 1) == "F0 F1 F2 F3 B0 B1 B2 B3 ");
  CHECK(text_of(PipelineSchedule::OneForwardOneBackward, size, 0) == "F0 F1 F2 B0 F3 B1 B2 B3 ");
  CHECK(text_of(PipelineSchedule::OneForwardOneBackward, size, 1) == "F0 F1 B0 F2 B1 F3 B2 B3 ");
  CHECK(text_of(PipelineSchedule::OneForwardOneBackward, size, 2) == "F0 B0 F1 B1 F2 B2 F3 B3 ");
  CHECK(text_of(PipelineSchedule::Eager, size, 0) == "F0 F1 F2 F3 B0 B1 B2 B3 ");
  CHECK(text_of(PipelineSchedule::Eager, size, 1) == "F0 F1 F2 B0 F3 B1 B2 B3 ");
  CHECK(text_of(PipelineSchedule::Eager, size, 2) == "F0 B0 F1 B1 F2 B2 F3 B3 ");
  CHECK(text_of(PipelineSchedule::Eager, {5, 1}, 0) == "F0 B0 ");
}

TEST_CASE("every stage does every microbatch once each way, forward first, in turn") {
  for (const PipelineSchedule schedule : kSchedules) {
    for (std::uint32_t stages = 1; stages <= 6; ++stages) {
      for (std::uint32_t microbatches = 1; microbatches <= 8; ++microbatches) {
        for (std::uint32_t stage = 0; stage < stages; ++stage) {
          std::uint32_t done[2] = {0, 0};
          for (const Work& work : stage_order(schedule, {stages, microbatches}, stage)) {
            CHECK(work.microbatch == done[static_cast<std::size_t>(work.kind)]++);
            CHECK(done[1] <= done[0]);
          }
          CHECK(done[0] == microbatches);
          CHECK(done[1] == microbatches);
        }
      }
    }
  }
}

TEST_CASE("gradients of weights, worked out by hand") {
  const auto order = stage_order(PipelineSchedule::OneForwardOneBackward, {3, 4}, 1);
  const auto text = [&](std::uint32_t delay) {
    std::string all;
    for (const Work& work : with_delayed_weights(order, delay)) all += to_string(work) + " ";
    return all;
  };
  CHECK(text(0) == "F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 B3 W3 ");
  CHECK(text(1) == "F0 F1 B0 F2 B1 W0 F3 B2 W1 B3 W2 W3 ");
  CHECK(text(9) == "F0 F1 B0 F2 B1 F3 B2 B3 W0 W1 W2 W3 ");
  // An activation is held until its gradient of weights is done.
  CHECK(peak_activations(with_delayed_weights(order, 0)) == 2);
  CHECK(peak_activations(with_delayed_weights(order, 1)) == 3);
  CHECK(peak_activations(with_delayed_weights(order, 9)) == 4);
}

TEST_CASE("the peak of activations is the warm-up, as the formulas say") {
  for (std::uint32_t s = 1; s <= 6; ++s) {
    for (std::uint32_t m = 1; m <= 8; ++m) {
      for (std::uint32_t i = 1; i <= s; ++i) {
        const auto peak = [&](PipelineSchedule schedule) {
          return peak_activations(stage_order(schedule, {s, m}, i - 1));
        };
        CHECK(peak(PipelineSchedule::GPipe) == m);
        CHECK(peak(PipelineSchedule::OneForwardOneBackward) == std::min(m, s - i + 1));
        CHECK(peak(PipelineSchedule::Eager) == std::min(m, 2 * (s - i) + 1));
      }
    }
  }
}

namespace {

constexpr auto kEager = PipelineSchedule::Eager;
constexpr auto k1F1B = PipelineSchedule::OneForwardOneBackward;
constexpr auto kGPipe = PipelineSchedule::GPipe;

}  // namespace

TEST_CASE("makespans worked out by hand") {
  struct Row {
    PipelineSchedule schedule;
    PipelineSize size;
    PipelineTimes times;
    PipelineLink link;
    std::int64_t makespan;
  };
  const Row rows[] = {
      // One stage sends nothing.
      {k1F1B, {1, 3}, {2, 5, 9}, PipelineLink::Blocking, 21},
      // One microbatch goes there and back.
      {kGPipe, {3, 1}, {2, 3, 4}, PipelineLink::Delay, 3 * 2 + 3 * 3 + 4 * 4},
      // Forwards end at 1 and 2, arrive at 4 and 5; stage 1 works from 4 to 8, 8 - 1 + 3 + 1 = 11.
      {kGPipe, {2, 2}, {1, 1, 3}, PipelineLink::Delay, 12},
      // The second transfer each way waits for the first: F arrive at 4 and 7; B0 8-9, B1 9-10 are
      // sent until 12 and 15.
      {kGPipe, {2, 2}, {1, 1, 3}, PipelineLink::Link, 16},
      // F0 0-1, sent until 4, F1 4-5, sent until 8; F 4-5, 8-9, B0 9-10, sent until 13, B1 13-14,
      // sent until 17.
      {kGPipe, {2, 2}, {1, 1, 3}, PipelineLink::Blocking, 18},
      // Stage 1: F0 3-4, B0 4-5, F1 5-6 (here at 4), B1 6-7, here at 9.
      {k1F1B, {2, 2}, {1, 1, 2}, PipelineLink::Delay, 10},
  };
  for (const Row& row : rows) {
    CAPTURE(to_string(row.schedule));
    CAPTURE(to_string(row.link));
    CAPTURE(row.makespan);
    CHECK(simulate(row.schedule, row.size, row.times, row.link).makespan == row.makespan);
  }
}

TEST_CASE("work starts once the stage is free and its input has arrived, and no later") {
  const PipelineTimes times{2, 3, 4};
  const PipelineRun run = simulate(kEager, {3, 5}, times, PipelineLink::Delay);
  const auto end_of = [&](std::size_t stage, Work work) {
    for (const TimedWork& each : run.stages[stage]) {
      if (each.work == work) return each.end;
    }
    return std::int64_t{-1};
  };
  for (std::size_t stage = 0; stage < 3; ++stage) {
    std::int64_t free = 0;
    for (const TimedWork& each : run.stages[stage]) {
      const bool backward = each.work.kind == WorkKind::Backward;
      const bool from_outside = stage == (backward ? 2 : 0);
      const std::int64_t arrival =
          from_outside ? 0 : end_of(backward ? stage + 1 : stage - 1, each.work) + times.latency;
      CHECK(each.start == std::max(free, arrival));
      CHECK(each.end == each.start + (backward ? times.backward : times.forward));
      free = each.end;
    }
  }
}

TEST_CASE("eager-1F1B hides the latency exactly as long as it is at most half a round") {
  for (std::uint32_t s = 2; s <= 6; ++s) {
    for (std::uint32_t m = 4; m <= 8; ++m) {
      for (std::int64_t f = 1; f <= 4; ++f) {
        for (std::int64_t b = 1; b <= 4; ++b) {
          const auto makespan = [&](std::int64_t c) {
            return simulate(kEager, {s, m}, {f, b, c}, PipelineLink::Delay).makespan;
          };
          for (std::int64_t c = 0; c <= f + b; ++c) {
            CAPTURE(s);
            CAPTURE(m);
            CAPTURE(f);
            CAPTURE(b);
            CAPTURE(c);
            const bool hidden = makespan(c) == makespan(0) + 2 * (s - 1) * c;
            CHECK(hidden == (2 * c <= f + b));
          }
        }
      }
    }
  }
}

TEST_CASE("a stricter model of communication is never faster, and all agree without latency") {
  for (const PipelineSchedule schedule : {kGPipe, k1F1B, kEager}) {
    for (std::uint32_t s = 1; s <= 5; ++s) {
      for (std::uint32_t m = 1; m <= 6; ++m) {
        for (std::int64_t c = 0; c <= 5; ++c) {
          const auto makespan = [&](PipelineLink link) {
            return simulate(schedule, {s, m}, {2, 3, c}, link).makespan;
          };
          CHECK(makespan(PipelineLink::Delay) <= makespan(PipelineLink::Link));
          CHECK(makespan(PipelineLink::Link) <= makespan(PipelineLink::Blocking));
          if (c == 0) CHECK(makespan(PipelineLink::Blocking) == (s + m - 1) * 5);
        }
      }
    }
  }
}

TEST_CASE("a split backward sends before the gradient of weights, worked out by hand") {
  const PipelineTimes times{1, 1, 1, 2};
  // Stage 1: F0 2-3, B0 3-4, W0 4-6, F1 6-7, B1 7-8, W1 8-10. Stage 0: B0 5-6, W0 6-8, B1 9-10,
  // W1 10-12.
  const PipelineRun run = simulate_split(PipelineSchedule::OneForwardOneBackward, {2, 2}, times,
                                         PipelineLink::Delay, 0);
  CHECK(run.makespan == 12);
  CHECK(run.stages[0][2].start == 5);
  CHECK(run.stages[0][5].end == 12);
  // Weights last: F1 4-5 on stage 1, B1 5-6, here at 7; stage 0: B0 5-6, B1 7-8, W0 8-10, W1 10-12.
  CHECK(
      simulate_split(PipelineSchedule::OneForwardOneBackward, {2, 2}, times, PipelineLink::Delay, 2)
          .stages[0][3]
          .start == 7);
  CHECK(least_delay(PipelineSchedule::OneForwardOneBackward, {2, 2}, times, PipelineLink::Delay) ==
        0);
}

TEST_CASE(
    "splitting a backward never makes a pipeline slower, nor changes it where nothing is sent") {
  for (const PipelineSchedule schedule : {kGPipe, k1F1B, kEager}) {
    for (const PipelineLink link :
         {PipelineLink::Delay, PipelineLink::Link, PipelineLink::Blocking}) {
      for (std::uint32_t s = 1; s <= 4; ++s) {
        for (std::uint32_t m = 1; m <= 6; ++m) {
          for (const std::int64_t c : {0, 1, 3}) {
            const std::int64_t whole = simulate(schedule, {s, m}, {2, 5, c}, link).makespan;
            const std::int64_t split =
                simulate_split(schedule, {s, m}, {2, 3, c, 2}, link, 0).makespan;
            CHECK(split <= whole);
            if (s == 1) CHECK(split == whole);
          }
        }
      }
    }
  }
}

using nlohmann::json;

namespace {

PipelineSchedule schedule_called(const std::string& name) {
  if (name == "gpipe") return PipelineSchedule::GPipe;
  return name == "1f1b" ? PipelineSchedule::OneForwardOneBackward : PipelineSchedule::Eager;
}

PipelineLink link_called(const std::string& name) {
  if (name == "delay") return PipelineLink::Delay;
  return name == "link" ? PipelineLink::Link : PipelineLink::Blocking;
}

}  // namespace

TEST_CASE("orders, peaks and makespans agree with those of another simulator") {
  const auto points = shared_data("reshard/pipeline.json");
  if (!points) return;
  REQUIRE(!(*points)["rows"].empty());
  for (const json& row : (*points)["rows"]) {
    const PipelineSchedule schedule = schedule_called(row["schedule"]);
    const PipelineSize size{row["stages"], row["microbatches"]};
    for (std::uint32_t stage = 0; stage < size.stages; ++stage) {
      const auto order = stage_order(schedule, size, stage);
      CHECK(peak_activations(order) == row["peak_in_flight"][stage]);
      std::vector<std::string> words;
      for (const Work& work : order) words.push_back(to_string(work));
      CHECK(words == row["order"][stage].get<std::vector<std::string>>());
    }
    REQUIRE(!row["makespan"].empty());
    for (const auto& [name, makespan] : row["makespan"].items()) {
      PipelineTimes times;
      char link[16] = {};
      REQUIRE(std::sscanf(name.c_str(), "f%ld_b%ld_c%ld_%15s", &times.forward, &times.backward,
                          &times.latency, link) == 4);
      CAPTURE(name);
      CHECK(simulate(schedule, size, times, link_called(link)).makespan == makespan);
    }
  }
}
