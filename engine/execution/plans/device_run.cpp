#include "engine/execution/plans/device_link.h"

namespace p2::reshard {
namespace {

using Clock = std::chrono::steady_clock;

/// Calls `visit` with every element of the box in row-major order.
template <typename Visit>
void for_each_element(const Box& box, Visit visit) {
  if (box.elements() == 0) return;
  for (Element at = box.low;;) {
    visit(at);
    std::size_t i = at.size();
    while (i > 0 && ++at[i - 1] == box.high[i - 1]) {
      at[i - 1] = box.low[i - 1];
      --i;
    }
    if (i == 0) return;
  }
}

std::vector<Word> values_of(const TensorShape& shape, const Box& box) {
  std::vector<Word> values;
  values.reserve(static_cast<std::size_t>(box.elements()));
  for_each_element(box, [&](const Element& at) { values.push_back(value_of(shape, at)); });
  return values;
}

void audit(const TensorShape& shape, const Box& region, std::span<const Word> words,
           DeviceResult& result) {
  std::size_t i = 0;
  for_each_element(region, [&](const Element& at) {
    const Word got = words[i++];
    const Word expected = value_of(shape, at);
    if (got == expected) return;
    if (result.wrong++ == 0) {
      result.where = expected - 1;
      result.got = got;
    }
  });
}

}  // namespace

DeviceResult run_device(DeviceLink& link, std::uint32_t device, const PlanJob& job,
                        execution::RankProgress& progress) {
  const Reshard& problem = job.plan.problem;
  const Box region = problem.regions(problem.to)[device];
  const std::vector<Word> source = values_of(problem.shape, problem.regions(problem.from)[device]);
  const std::vector<Word> nothing(static_cast<std::size_t>(region.elements()), 0);
  const std::size_t steps = job.plan.programs[device].size();
  progress.program = job.number;
  DeviceResult result;
  for (unsigned i = 0; i < job.warmup + job.iterations; ++i) {
    link.fill(source, nothing);
    link.meet();
    const Clock::time_point start = Clock::now();
    for (std::size_t step = 0; step < steps; ++step) {
      progress.step = static_cast<std::uint32_t>(step + 1);
      ++progress.begun;
      link.take(step);
      ++progress.ended;
    }
    const std::chrono::duration<double> taken = Clock::now() - start;
    if (i >= job.warmup) result.seconds.push_back(taken.count());
  }
  link.show([&](std::span<const Word> words) { audit(problem.shape, region, words, result); });
  link.meet();
  return result;
}

}  // namespace p2::reshard
