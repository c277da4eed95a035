#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/single_allreduce.h"
#include "engine/execution/in_process.h"
#include "engine/execution/measurement.h"

namespace {

using namespace p2;
using namespace p2::execution;

/// Seconds that so many threads take to copy `bytes` each: the same traffic as an AllReduce, whose
/// every buffer has to be read and written once.
double copy_seconds(std::uint32_t ranks, std::size_t bytes) {
  const std::vector<std::vector<std::byte>> from(ranks, std::vector<std::byte>(bytes));
  std::vector<std::vector<std::byte>> to(ranks, std::vector<std::byte>(bytes));
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] { std::memcpy(to[rank].data(), from[rank].data(), bytes); });
    }
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The single AllReduce of all ranks. `of_copy` is its bandwidth by that of plain copies, best
/// against best in the same run.
void allreduce_in_process(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const auto bytes = static_cast<std::size_t>(state.range(1));
  const Program program = single_allreduce(ranks);
  const Plan plan = plan_of(program);
  const Expectation expectation(program, Dialect::Published);
  Job job{plan, expectation, {}};
  job.inputs.ranks = ranks;
  job.chunk_elements = bytes / sizeof(float) / ranks;
  job.check = Check::Nothing;
  job.iterations = 1;
  double best = 1e9;
  double copy = 1e9;
  InProcess backend;
  for (auto _ : state) {
    const std::vector<RankResult> results = backend.run(job);
    best = std::min(best, measure_program(job, results).seconds);
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
