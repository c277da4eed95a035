#include <doctest/doctest.h>

#include <algorithm>

#include "engine/pipeline/schedule.h"

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
