#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <map>

#include "engine/cost/program_cost.h"
#include "engine/program/synthesis.h"
#include "tests/synthesis/appendix.h"

namespace {

using namespace p2;

System system_of(const std::string& hierarchy) {
  static const std::map<std::string, std::string> kFiles = {{"2,16", "a100-2nodes"},
                                                            {"4,16", "a100-4nodes"},
                                                            {"2,8", "v100-2nodes"},
                                                            {"4,8", "v100-4nodes"}};
  const std::string path =
      std::string(P2_SOURCE_DIR) + "/examples/systems/" + kFiles.at(hierarchy) + ".json";
  std::ifstream file(path);
  return parse_system(path, std::string(std::istreambuf_iterator<char>(file), {}));
}

/// A row of the appendix with the programs of all its placements.
struct Row {
  System system;
  std::vector<PlacementPrograms> placements;
};

std::vector<Row> appendix() {
  std::vector<Row> rows;
  for (const AppendixRow& row : kAppendix) {
    const System system = system_of(row.hierarchy);
    const Axes axes = parse_axes("bench", row.axes);
    std::vector<Instance> instances;
    for (const Placement& placement : enumerate_placements(system.hierarchy, axes, {"bench"})) {
      instances.emplace_back(DeviceGrid(system.hierarchy, axes, placement),
                             parse_reduction("bench", row.reduce, axes), HierarchyKind::Collapsed);
    }
    rows.push_back({system, find_programs(std::move(instances), {})});
  }
  return rows;
}

std::size_t rank(const Row& row, Algorithm algorithm) {
  const Network network(row.system, {"bench"});
  StepPricer pricer(network, algorithm);
  std::vector<ProgramCost> costs;
  for (const PlacementPrograms& placement : row.placements) {
    ProgramPricer programs(pricer);
    placement.for_each_lowered([&](const Program& program) {
      costs.push_back(programs.price(program, Dialect::Published).cost);
    });
  }
  std::vector<const ProgramCost*> all;
  for (const ProgramCost& cost : costs) all.push_back(&cost);
  return ranking(all, Rational(Rational(std::int64_t{1} << 31))).size();
}

/// Judging, pricing and ranking all programs of all placements of all 42 rows, under one algorithm.
void rank_appendix(benchmark::State& state) {
  const std::vector<Row> rows = appendix();
  const auto algorithm = static_cast<Algorithm>(state.range(0));
  std::size_t programs = 0;
  for (auto _ : state) {
    programs = 0;
    for (const Row& row : rows) programs += rank(row, algorithm);
  }
  state.counters["programs"] = static_cast<double>(programs);
}
BENCHMARK(rank_appendix)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
