#include <map>
#include <random>

#include <doctest/doctest.h>

#include "engine/msccl/verdict.h"
#include "interleavings.h"
#include "schedules.h"

namespace p2::msccl {
namespace {

constexpr std::size_t kUnbounded = 1000;

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

Region random_region(Random& random, std::uint32_t count) {
  return {static_cast<Buffer>(random.below(3)), random.below(3 - count)};
}

Step random_step(Random& random, std::uint32_t number) {
  Step step;
  step.type = static_cast<StepType>(random.below(9));
  step.number = number;
  step.count = random.one_in(4) ? 2 : 1;
  step.source = random_region(random, step.count);
  step.destination = random_region(random, step.count);
  if (random.one_in(3)) step.waits_for = {random.below(2), random.below(3)};
  step.publishes = step.type != StepType::Nop && !random.one_in(4);
  return step;
}

/// Two GPUs with two thread blocks each and up to 3 steps in each: mostly wrong.
Algorithm random_algorithm(Random& random) {
  Algorithm algorithm = ring_allreduce(2);
  algorithm.in_place = random.one_in(2);
  algorithm.out_of_place = !algorithm.in_place;
  algorithm.protocol = random.one_in(2) ? Protocol::Simple : Protocol::LL;
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
    algorithm.gpus[gpu].chunks[2] = 2;
    algorithm.gpus[gpu].blocks.clear();
    for (std::uint32_t block = 0; block < 2; ++block) {
      ThreadBlock made{block, 1 - gpu, 1 - gpu, block};
      const std::uint32_t steps = random.below(4);
      for (std::uint32_t i = 0; i < steps; ++i) made.steps.push_back(random_step(random, i));
      algorithm.gpus[gpu].blocks.push_back(made);
    }
  }
  return algorithm;
}

/// An allreduce of two GPUs that is right: they exchange their inputs through scratch, and a second
/// thread block adds. Then up to two of its steps are changed.
Algorithm nearly_right(Random& random) {
  Algorithm algorithm = ring_allreduce(2);
  algorithm.in_place = random.one_in(2);
  algorithm.out_of_place = !algorithm.in_place;
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
    const Region in{Buffer::Input, 0}, out{Buffer::Output, 0}, scratch{Buffer::Scratch, 0};
    algorithm.gpus[gpu].chunks[2] = 2;
    algorithm.gpus[gpu].blocks = {
        {0,
         1 - gpu,
         1 - gpu,
         0,
         {{StepType::Send, 0, in, in, 2, {}, true},
          {StepType::Receive, 1, in, scratch, 2, {}, true}}},
        {1,
         {},
         {},
         0,
         {{StepType::Copy, 0, in, out, 2, Dependency{0, 0}, true},
          {StepType::Reduce, 1, scratch, out, 2, Dependency{0, 1}, true}}}};
  }
  const std::uint32_t changes = random.below(3);
  for (std::uint32_t i = 0; i < changes; ++i) {
    ThreadBlock& block = algorithm.gpus[random.below(2)].blocks[random.below(2)];
    Step& step = block.steps[random.below(2)];
    const Step other = random_step(random, step.number);
    switch (random.below(5)) {
      case 0:
        step.waits_for = other.waits_for;
        break;
      case 1:
        step.source = {other.source.buffer, 0};
        break;
      case 2:
        step.destination = {other.destination.buffer, 0};
        break;
      case 3:
        std::swap(block.steps[0].type, block.steps[1].type);
        break;
      default:
        step.publishes = other.publishes;
    }
  }
  return algorithm;
}

/// Two GPUs that send each other up to 4 messages, in any order with what they receive.
Algorithm random_exchange(Random& random) {
  Algorithm algorithm = ring_allreduce(2);
  algorithm.in_place = false;
  const std::uint32_t messages = 1 + random.below(4);
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
    std::vector<Step>& steps = algorithm.gpus[gpu].blocks[0].steps;
    steps.clear();
    std::uint32_t sends_left = messages;
    for (std::uint32_t i = 0; i < 2 * messages; ++i) {
      const std::uint32_t left = 2 * messages - i;
      const bool send = random.below(left) < sends_left;
      sends_left -= send ? 1 : 0;
      steps.push_back({send ? StepType::Send : StepType::Receive,
                       i,
                       {Buffer::Input, random.below(2)},
                       {Buffer::Output, random.below(2)},
                       1});
    }
  }
  return algorithm;
}

bool is_deadlock(Fault::Kind kind) {
  return kind == Fault::Kind::NeverPublished || kind == Fault::Kind::OrderDeadlock ||
         kind == Fault::Kind::DependencyDeadlock || kind == Fault::Kind::CapacityDeadlock;
}

void compare(const Algorithm& algorithm, const Verdict& verdict) {
  const std::size_t capacity = fifo_capacity(algorithm.protocol);
  const AllInterleavings all = all_interleavings(algorithm, algorithm.in_place, capacity);
  const bool refuted = verdict.kind == Verdict::Kind::Invalid;
  REQUIRE(verdict.kind != Verdict::Kind::Unknown);
  CHECK(all.some_get_stuck == (refuted && is_deadlock(verdict.fault->kind)));
  if (all.some_get_stuck) {
    CHECK(!all.some_finish);
    const bool full = verdict.fault->kind == Fault::Kind::CapacityDeadlock;
    CHECK(all_interleavings(algorithm, algorithm.in_place, kUnbounded).some_get_stuck != full);
    return;
  }
  if (refuted && verdict.fault->kind == Fault::Kind::DataRace) {
    const StepPlace a = verdict.fault->steps[0];
    const StepPlace b = verdict.fault->steps[1];
    CHECK((a == b || all.races.contains({a, b})));
    CHECK(can_run(algorithm, verdict.fault->schedule, a, b, capacity));
    return;
  }
  CHECK(all.races.empty());
  CHECK(all.results.size() == 1);
  CHECK(all.all_correct == !refuted);
}

/// Larger messages cut steps: the sizes that are safe are those at which the cut algorithm is.
void compare_sizes(const Algorithm& algorithm, const Verdict& verdict) {
  const Algorithm finer = cut(algorithm, 1);
  const bool safe = judge(finer, {}).kind == Verdict::Kind::Valid;
  CHECK(safe == !verdict.safe_sizes->most_bytes.has_value());
}

}  // namespace

TEST_CASE("happens-before says what all interleavings show") {
  std::map<std::string, int> seen;
  for (std::uint32_t seed = 0; seed < 60000; ++seed) {
    Random random(seed);
    const Algorithm algorithm = seed % 10 == 0   ? nearly_right(random)
                                : seed % 50 == 1 ? random_exchange(random)
                                                 : random_algorithm(random);
    const std::vector<Connection> all = connections(algorithm);
    if (mismatch(algorithm, all)) continue;
    CAPTURE(seed);
    const Verdict verdict = judge(algorithm, {});
    ++seen[std::string(verdict.fault ? to_string(verdict.fault->kind) : to_string(verdict.kind))];
    compare(algorithm, verdict);
    if (verdict.kind == Verdict::Kind::Valid) compare_sizes(algorithm, verdict);
  }
  for (const char* kind :
       {"valid", "never-published", "order-deadlock", "dependency-deadlock", "data-race",
        "missing-data", "wrong-chunk", "double-count", "lost-contribution"}) {
    CAPTURE(kind);
    CHECK(seen[kind] >= 10);
  }
}

}  // namespace p2::msccl
