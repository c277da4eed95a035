#include <random>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/onesided/judge.h"
#include "engine/onesided/plan_file.h"
#include "tests/shared_data.h"

namespace p2::onesided {
namespace {

/// One or two random changes: an op left out, repeated, exchanged with the next, made relaxed or
/// strong, moved to another chunk or channel, a nop, a flag of the plan.
Plan changed(Plan plan, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::uint64_t change = 1 + random() % 2; change > 0; --change) {
    Gpu& gpu = plan.gpus[random() % plan.gpus.size()];
    if (gpu.blocks.empty()) continue;
    std::vector<Op>* ops = &gpu.blocks[random() % gpu.blocks.size()].ops;
    if (ops->empty()) continue;
    std::size_t at = random() % ops->size();
    if (!(*ops)[at].body.empty()) {
      ops = &(*ops)[at].body;
      at = random() % ops->size();
    }
    const auto place = ops->begin() + static_cast<std::ptrdiff_t>(at);
    Op& op = *place;
    const auto exchange_type = [&](OpType a, OpType b) {
      op.type = op.type == a ? b : op.type == b ? a : op.type;
    };
    switch (random() % 10) {
      case 0:
        ops->erase(place);
        break;
      case 1:
        ops->insert(place, Op(op));
        break;
      case 2:
        if (at + 1 < ops->size()) std::swap(op, (*ops)[at + 1]);
        break;
      case 3:
        exchange_type(OpType::Signal, OpType::RelaxedSignal);
        exchange_type(OpType::Wait, OpType::RelaxedWait);
        exchange_type(OpType::PutWithSignal, OpType::PutWithSignalAndFlush);
        break;
      case 4:
        if (!op.sources.empty()) op.sources[random() % op.sources.size()].index ^= 1U;
        break;
      case 5:
        if (!op.targets.empty()) op.targets[random() % op.targets.size()].index ^= 1U;
        break;
      case 6:
        plan.double_scratch = !plan.double_scratch;
        break;
      case 7:
        plan.in_place = !plan.in_place;
        break;
      case 8:
        ops->insert(place, Op{});
        break;
      default:
        if (!op.channels.empty()) op.channels[random() % op.channels.size()] = random() % 4;
        break;
    }
  }
  return plan;
}

}  // namespace

TEST_CASE("the engines agree about mutants of MSCCL++ plans, and no valid one fails in a run") {
  const auto text = shared_text("mscclpp/verdicts.csv");
  if (!text) return;
  constexpr std::size_t kMaxGpus = 8;
  constexpr std::uint64_t kMutants = 12;
  const Limits limits;
  LimitWatch watch(limits, "test");
  std::istringstream lines(*text);
  std::string line;
  std::getline(lines, line);
  std::size_t valid = 0;
  std::size_t invalid = 0;
  for (std::uint64_t number = 0; std::getline(lines, line); ++number) {
    const std::string file = line.substr(0, line.find(','));
    const auto plan_text = shared_text("mscclpp/" + file);
    if (!plan_text) continue;
    const auto read = read_plan(file, *plan_text);
    const auto* const plan = std::get_if<Plan>(&read);
    if (plan == nullptr || plan->gpus.size() > kMaxGpus) continue;
    for (std::uint64_t seed = 0; seed < kMutants; ++seed) {
      const Plan mutant = changed(*plan, number * kMutants + seed);
      const auto unrolled =
          unroll(mutant, file, sizes_to_check(mutant).front(), launches_to_check(mutant));
      const auto* const unrolling = std::get_if<Unrolling>(&unrolled);
      if (unrolling == nullptr) continue;
      const UnrollingDecision decision = judge(*unrolling, limits);
      if (decision.open && decision.open->name == "ambiguous-match") continue;
      const bool refuted = decision.violation.has_value();
      if (!refuted) {
        const auto failure = find_failing_run(*unrolling, 4, watch);
        CHECK_MESSAGE(!failure, file << " mutant " << seed << ": " << failure->reason);
      }
      const UnrollingDecision explored = explore(*unrolling, {.max_states = 1000}, watch);
      if (explored.open && explored.open->name != "unknown-collective") continue;
      ++(refuted ? invalid : valid);
      CHECK_MESSAGE(refuted == explored.violation.has_value(),
                    fmt::format("{} mutant {}: {}, explorer {}", file, seed,
                                refuted ? decision.violation->reason : "valid",
                                explored.violation ? explored.violation->reason : "valid"));
    }
  }
  MESSAGE(valid << " valid, " << invalid << " invalid");
  CHECK(valid > 300);
  CHECK(invalid > 600);
}

}  // namespace p2::onesided
