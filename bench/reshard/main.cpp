// Prints the times of figures 5, 6 and 8 of "On Optimizing the Communication of Model Parallelism"
// as Markdown, by its formulas and by simulation on the systems it was measured on.
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "engine/base/invariant.h"
#include "engine/reshard/plan_simulation.h"
#include "engine/reshard/plans/plan.h"
#include "engine/reshard/plans/plan_check.h"
#include "engine/reshard/scheduling.h"
#include "engine/topology/system.h"

namespace {

using namespace p2;
using namespace p2::reshard;

constexpr std::int64_t kChunks = 100;
constexpr std::int64_t kBytes = 4;
constexpr double kBytesPerSecond = 1.25e9;  // 10 Gbit/s

enum class Order : std::uint8_t { Naive, LoadBalance, Exact };

struct Setting {
  TensorShape shape;
  std::string from;
  std::string to;
  bool pad = false;
};

struct Times {
  double formula = 0;  // seconds
  double simulated = 0;
};

p2::Network network() {
  const std::string path = std::string(P2_SOURCE_DIR) + "/examples/systems/p3.8xlarge-5nodes.json";
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return {parse_system(path, text), {path}};
}

TaskSchedule schedule_of(const UnitTasks& tasks, Order order) {
  if (order == Order::Naive) return naive_schedule(tasks);
  if (order == Order::LoadBalance) return load_balanced_schedule(tasks);
  ScheduleSearchProgress progress;
  return exact_schedule(tasks, SchedulingProblem(tasks), 1, {}, progress).schedule;
}

Times times_of(const Setting& setting, TransferStrategy strategy, Order order) {
  static const p2::Network on = network();
  const Sharding from = parse_sharding("from", setting.from, setting.shape.size());
  const Sharding to = parse_sharding("to", setting.to, setting.shape.size());
  const TensorShape shape = setting.pad ? padded(setting.shape, from, to, "shape") : setting.shape;
  const Reshard problem = reshard_between(shape, from, to, from.mesh[0]);
  const UnitTasks tasks = decompose(shape, from, to, Decomposition::Intersection, "shape");
  const PlanChoice choice{strategy, Decomposition::Intersection, kChunks};
  const TaskSchedule schedule = schedule_of(tasks, order);
  const FormulaTime formula = time_by_formula(problem, tasks, choice, schedule);
  const Plan plan = make_plan(problem, choice, schedule);
  invariant(!judge(plan).violation, "a plan is wrong");
  return {static_cast<double>(formula.time) / static_cast<double>(formula.parts) * kBytes /
              kBytesPerSecond,
          simulated_time(plan, on, devices_on(on, problem, "system"), kBytes).seconds};
}

std::string cell(const Times& times) {
  return fmt::format("{:.2f} ({:.2f})", times.simulated, times.formula);
}

void figure5() {
  fmt::print("| receivers | send/recv | all-gather | broadcast | all-gather / broadcast |\n");
  fmt::print("|---|---|---|---|---|\n");
  for (const auto& [nodes, devices] :
       {std::pair(1, 1), {1, 2}, {1, 3}, {1, 4}, {2, 2}, {3, 2}, {4, 2}}) {
    const Setting setting{
        {1024, 1024, 256}, "1x1:R,R,R", fmt::format("{}x{}:R,R,R", nodes, devices)};
    const Times gather = times_of(setting, TransferStrategy::GlobalAllGather, Order::LoadBalance);
    const Times ours = times_of(setting, TransferStrategy::Broadcast, Order::Exact);
    fmt::print("| {} node{} of {} | {} | {} | {} | {:.2f} |\n", nodes, nodes == 1 ? "" : "s",
               devices, cell(times_of(setting, TransferStrategy::SendRecv, Order::LoadBalance)),
               cell(gather), cell(ours), gather.simulated / ours.simulated);
  }
}

const std::pair<const char*, const char*> kCases[] = {
    {"2x4:S0,R,R", "2x4:S0,R,R"},   {"2x4:R,R,R", "2x4:S0,R,R"},  {"2x4:R,S0,R", "2x4:S0,R,R"},
    {"2x4:R,S01,R", "2x4:S01,R,R"}, {"2x4:S1,R,R", "2x4:S0,R,R"}, {"2x4:S0,R,R", "3x4:S0,R,R"},
    {"1x4:S1,R,R", "2x4:R,R,R"},    {"2x3:R,R,R", "3x2:R,R,R"},   {"2x4:R,S0,R", "2x4:R,R,S0"}};

Setting setting_of(std::size_t number) {
  return {{1024, 1024, 512}, kCases[number].first, kCases[number].second, number == 5};
}

void figure6() {
  fmt::print("| case | send/recv | all-gather | broadcast | all-gather / broadcast |\n");
  fmt::print("|---|---|---|---|---|\n");
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    const Setting setting = setting_of(i);
    const Times gather = times_of(setting, TransferStrategy::GlobalAllGather, Order::LoadBalance);
    const Times ours = times_of(setting, TransferStrategy::Broadcast, Order::Exact);
    fmt::print("| {} | {} | {} | {} | {:.2f} |\n", i + 1,
               cell(times_of(setting, TransferStrategy::SendRecv, Order::LoadBalance)),
               cell(gather), cell(ours), gather.simulated / ours.simulated);
  }
}

void figure8() {
  fmt::print(
      "| case | naive | load balance only | exact | naive / exact | load balance / exact |\n");
  fmt::print("|---|---|---|---|---|---|\n");
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    const Setting setting = setting_of(i);
    const Times naive = times_of(setting, TransferStrategy::Broadcast, Order::Naive);
    const Times balance = times_of(setting, TransferStrategy::Broadcast, Order::LoadBalance);
    const Times exact = times_of(setting, TransferStrategy::Broadcast, Order::Exact);
    fmt::print("| {} | {} | {} | {} | {:.2f} | {:.2f} |\n", i + 1, cell(naive), cell(balance),
               cell(exact), naive.simulated / exact.simulated, balance.simulated / exact.simulated);
  }
}

}  // namespace

int main() {
  fmt::print("Figure 5\n\n");
  figure5();
  fmt::print("\nFigure 6\n\n");
  figure6();
  fmt::print("\nFigure 8\n\n");
  figure8();
}
