#include <benchmark/benchmark.h>

#include "engine/program/derivation.h"
#include "engine/program/program_file.h"

namespace {

using namespace p2;

std::string header(const std::string& hierarchy, std::uint32_t devices) {
  return "hierarchy " + hierarchy + "\naxes " + std::to_string(devices) + "\nreduce 0\n";
}

const char* const kFiveSteps =
    "ReduceScatter(l2, InsideGroup); ReduceScatter(l2, Parallel(l1)); AllReduce(l1, "
    "Parallel(root)); "
    "AllGather(l2, Parallel(l1)); AllGather(l2, InsideGroup)";

/// A valid program of five steps on 4096 devices, judged from its groups, without reading it.
void check_4096(benchmark::State& state) {
  const ProgramFile file = read_program("bench", header("8,8,8,8", 4096) + kFiveSteps, {});
  for (auto _ : state) {
    StateTable states(file.program.devices);
    const ProgramDecision verdict = check(file.program, file.dialect, states);
    if (verdict.outcome != Outcome::Established) state.SkipWithError("not valid");
  }
}
BENCHMARK(check_4096)->Unit(benchmark::kMillisecond);

/// The same with reading its 200 kB of JSON.
void read_and_check_4096(benchmark::State& state) {
  const ProgramFile file = read_program("bench", header("8,8,8,8", 4096) + kFiveSteps, {});
  const std::string json = to_json(file.program, nullptr, file.dialect);
  for (auto _ : state) {
    const ProgramFile read = read_program("bench", json, {});
    StateTable states(read.program.devices);
    benchmark::DoNotOptimize(check(read.program, read.dialect, states));
  }
  state.counters["bytes"] = static_cast<double>(json.size());
}
BENCHMARK(read_and_check_4096)->Unit(benchmark::kMillisecond);

}  // namespace
