#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/single_allreduce.h"
#include "engine/execution/in_process.h"
#include "engine/execution/runtime.h"
#include "engine/execution/workloads.h"

namespace {

using namespace p2;
using namespace p2::execution;

/// Calls in a row, of which the mean counts, as `run` does.
unsigned calls(std::size_t bytes) { return bytes > (8U << 20U) ? 2 : 40; }

/// Seconds that so many threads take to copy `bytes` each: the same traffic as an AllReduce, whose
/// every buffer has to be read and written once. As there, all begin together, and of every call
/// the slowest thread counts.
double copy_seconds(std::uint32_t ranks, std::size_t bytes) {
  const std::vector<std::vector<std::byte>> from(ranks, std::vector<std::byte>(bytes));
  std::vector<std::vector<std::byte>> to(ranks, std::vector<std::byte>(bytes));
  std::vector<std::vector<double>> seconds(ranks);
  Barrier barrier(ranks, std::nullopt);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        for (unsigned call = 0; call <= calls(bytes); ++call) {  // the first is to warm up
          barrier.arrive_and_wait();
          const auto start = std::chrono::steady_clock::now();
          std::memcpy(to[rank].data(), from[rank].data(), bytes);
          barrier.arrive_and_wait();
          const auto end = std::chrono::steady_clock::now();
          if (call > 0) seconds[rank].push_back(std::chrono::duration<double>(end - start).count());
        }
      });
    }
  }
  double sum = 0;
  for (unsigned call = 0; call < calls(bytes); ++call) {
    double slowest = 0;
    for (const std::vector<double>& thread : seconds) slowest = std::max(slowest, thread[call]);
    sum += slowest;
  }
  return sum / calls(bytes);
}

/// The single AllReduce of all ranks. `of_copy` is its bandwidth by that of plain copies, best
/// against best in the same run.
void allreduce_in_process(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const auto bytes = static_cast<std::size_t>(state.range(1));
  const Program program = single_allreduce(ranks);
  const Plan plan = plan_of(program);
  const Expectation expectation(program, Dialect::Published);
  const ProgramRun run(plan, expectation, {}, bytes / sizeof(float) / ranks);
  Job job{run};
  job.check = Check::Nothing;
  job.iterations = calls(bytes);
  double best = 1e9;
  double copy = 1e9;
  InProcess backend;
  for (auto _ : state) {
    const std::vector<RankResult> results = backend.run(job);
    best = std::min(best, measure_program(run, job, results).seconds);
    copy = std::min(copy, copy_seconds(ranks, bytes));
  }
  state.counters["algbw_GBps"] = static_cast<double>(bytes) / best * 1e-9;
  state.counters["of_copy"] = copy / best;
}
BENCHMARK(allreduce_in_process)
    ->Args({2, 64 << 20})
    ->Args({4, 64 << 20})
    ->Args({8, 64 << 20})
    ->Args({8, 1 << 20})
    ->Iterations(10)
    ->Unit(benchmark::kMillisecond);

}  // namespace
