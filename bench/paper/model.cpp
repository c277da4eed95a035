#include "bench/paper/model.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "engine/cost/calibration.h"
#include "engine/program/notation.h"
#include "engine/program/synthesis.h"

namespace p2::paper {
namespace {

const System& system_of(const Reduction& reduction, const Systems& systems) {
  const auto found = systems.find(reduction.system);
  if (found != systems.end()) return found->second;
  throw InputError({"tables"},
                   "no system is called " + reduction.system + ", expected one of the paper's");
}

Instance instance_of(const Case& where, const System& system) {
  const Axes axes = parse_axes("axes", where.reduction.axes);
  return {DeviceGrid(system.hierarchy, axes,
                     parse_placement("placement", where.placement, system.hierarchy, axes)),
          parse_reduction("reduce", where.reduction.reduce, axes), HierarchyKind::Collapsed};
}

/// Fits the named bandwidths of a system to the rows that it may be fitted to.
System fit(const System& system, const std::vector<std::string>& names, const Tables& tables) {
  const Network network(system, {system.name});
  StepPricer pricer(network, Algorithm::Ring);
  std::vector<Measurement> measurements;
  for (const MeasuredRow& row : tables.appendix) {
    if (row.where.reduction.system != system.name || !fitted_to(row.where)) continue;
    const Instance instance = instance_of(row.where, system);
    measurements.push_back({price_allreduce(instance.classes(), instance.grid.devices(), pricer),
                            static_cast<double>(kBytes), row.allreduce / kRuns});
  }
  std::vector<std::uint32_t> links;
  for (std::uint32_t i = 0; i < system.interconnects.size(); ++i) {
    if (std::find(names.begin(), names.end(), system.interconnects[i].name) != names.end()) {
      links.push_back(i);
    }
  }
  return fitted(network, links, measurements);
}

}  // namespace

Systems read_systems(const std::string& folder) {
  Systems systems;
  for (const char* name : {"a100-2nodes", "a100-4nodes", "v100-2nodes", "v100-4nodes"}) {
    const std::string path = folder + "/" + name + ".json";
    std::ifstream file(path, std::ios::binary);
    if (!file) throw InputError({path}, "cannot be read, expected a system of the paper");
    systems.emplace(name,
                    parse_system(path, std::string(std::istreambuf_iterator<char>(file), {})));
  }
  return systems;
}

Systems calibrated(const Systems& systems, const Tables& tables) {
  Systems after = systems;
  after["a100-2nodes"] = fit(systems.at("a100-2nodes"), {"NIC"}, tables);
  after["v100-2nodes"] = fit(systems.at("v100-2nodes"), {"NIC", "CPU memory"}, tables);
  for (const std::string machine : {"a100", "v100"}) {
    // The same interconnects in the same order; only their spans are of two nodes or of four.
    const auto& small = after[machine + "-2nodes"].interconnects;
    auto& large = after[machine + "-4nodes"].interconnects;
    for (std::size_t i = 0; i < large.size(); ++i) {
      large[i].bytes_per_second = small[i].bytes_per_second;
    }
  }
  return after;
}

bool fitted_to(const Case& where) {
  return where.algorithm == Algorithm::Ring && where.reduction.system.ends_with("-2nodes");
}

Prediction predict(const Case& where, const Systems& systems) {
  const System& system = system_of(where.reduction, systems);
  const Instance instance = instance_of(where, system);
  const Network network(system, {system.name});
  StepPricer pricer(network, where.algorithm);
  const auto seconds = [](const ProgramCost& cost) {
    return kRuns * to_double(cost.seconds(Rational(kBytes)));
  };
  const ProgramCost allreduce =
      price_allreduce(instance.classes(), instance.grid.devices(), pricer);
  Prediction prediction;
  prediction.allreduce = seconds(allreduce);
  for (const Group& group : instance.classes()) {
    prediction.cross_node =
        prediction.cross_node || network.node_of(group.front()) != network.node_of(group.back());
  }
  ProgramPricer programs(pricer);
  std::vector<ProgramCost> costs;
  std::vector<std::string> names;
  const PlacementPrograms found = synthesise({instance}, {}).front();
  found.for_each([&](const auto& steps) { names.push_back(to_string(steps, &instance)); });
  found.for_each_lowered([&](const Program& program) {
    costs.push_back(programs.price(program, Dialect::Published).cost);
  });
  std::vector<const ProgramCost*> order;
  for (const ProgramCost& cost : costs) {
    order.push_back(&cost);
    prediction.programs.push_back(seconds(cost));
    if (cost.seconds_per_byte < allreduce.seconds_per_byte) ++prediction.faster;
  }
  const std::size_t best = ranking(order, Rational(kBytes)).front();
  prediction.best = prediction.programs[best];
  prediction.best_program = names[best];
  return prediction;
}

std::vector<std::string> placements(const Reduction& reduction, const Systems& systems) {
  std::vector<std::string> all;
  for (const Placement& each : enumerate_placements(system_of(reduction, systems).hierarchy,
                                                    parse_axes("axes", reduction.axes), {"axes"})) {
    all.push_back(to_string(each));
  }
  return all;
}

}  // namespace p2::paper
