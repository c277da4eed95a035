#include <benchmark/benchmark.h>

#include "engine/program/program.h"
#include "engine/program/synthesis.h"
#include "tests/synthesis/appendix.h"
#include "tests/synthesis/brute_force.h"

namespace {

using namespace p2;

std::vector<Instance> instances_of(const char* hierarchy, const char* axes, const char* reduce) {
  const Hierarchy levels = parse_hierarchy("hierarchy", hierarchy);
  const Axes named = parse_axes("axes", axes);
  std::vector<Instance> instances;
  for (const Placement& placement : enumerate_placements(levels, named, {"axes"})) {
    instances.emplace_back(DeviceGrid(levels, named, placement),
                           parse_reduction("reduce", reduce, named), HierarchyKind::Collapsed);
  }
  return instances;
}

SynthesisOptions single_thread(std::uint32_t size) {
  SynthesisOptions options;
  options.size = size;
  options.jobs = 1;
  return options;
}

/// All 42 rows of the paper's appendix, every program printed. The paper's own synthesis takes up
/// to 1.161 s for one row.
void appendix_listed(benchmark::State& state) {
  std::size_t programs = 0;
  for (auto _ : state) {
    programs = 0;
    for (const AppendixRow& row : kAppendix) {
      for (const auto& found :
           find_programs(instances_of(row.hierarchy, row.axes, row.reduce), single_thread(5))) {
        found.for_each([&](const std::vector<Step>& steps) {
          benchmark::DoNotOptimize(to_string(steps, &found.instance()));
          ++programs;
        });
      }
    }
  }
  state.counters["programs"] = static_cast<double>(programs);
}
BENCHMARK(appendix_listed)->Unit(benchmark::kMillisecond);

void count(benchmark::State& state, const char* hierarchy, const char* devices,
           std::uint32_t size) {
  std::uint64_t programs = 0;
  std::size_t states = 0;
  for (auto _ : state) {
    const auto found = find_programs(instances_of(hierarchy, devices, "0"), single_thread(size));
    programs = found[0].list().count();
    states = found[0].list().states();
  }
  state.counters["programs"] = static_cast<double>(programs);
  state.counters["states"] = static_cast<double>(states);
}
BENCHMARK_CAPTURE(count, 2x2x2_to_5, "2,2,2", "8", 5)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(count, 2x2x2x2_to_5, "2,2,2,2", "16", 5)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(count, 8x8x8x8_to_4, "8,8,8,8", "4096", 4)->Unit(benchmark::kMillisecond);

/// The baseline: all sequences of legal instructions on k × k matrices, no state remembered.
void naive(benchmark::State& state, const char* hierarchy, const char* devices,
           std::uint32_t size) {
  const std::vector<Instance> instances = instances_of(hierarchy, devices, "0");
  std::size_t programs = 0;
  for (auto _ : state) {
    programs = brute_force::programs(instances[0], Dialect::Published, size).size();
  }
  state.counters["programs"] = static_cast<double>(programs);
}
BENCHMARK_CAPTURE(naive, 2x2x2_to_5, "2,2,2", "8", 5)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(naive, 2x2x2x2_to_5, "2,2,2,2", "16", 5)->Unit(benchmark::kMillisecond);

}  // namespace
