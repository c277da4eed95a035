#pragma once

#include <string>

#include "engine/cost/program_cost.h"
#include "engine/program/instance.h"
#include "engine/topology/system.h"
#include "tests/file_bytes.h"

namespace p2 {

/// One of examples/systems.
inline System shipped_system(const std::string& name) {
  const std::string path = std::string(P2_SOURCE_DIR) + "/examples/systems/" + name + ".json";
  return parse_system(path, bytes_of(path));
}

inline System system_from(const std::string& hierarchy, std::vector<Interconnect> interconnects) {
  return {"test", parse_hierarchy("test", hierarchy), std::move(interconnects)};
}

/// The exact time of one step in which every device still holds the whole buffer.
inline Rational step_seconds(const System& system, Algorithm algorithm, Collective collective,
                             const std::vector<Group>& groups, const Rational& bytes) {
  const Network network(system, {"test"});
  StepPricer pricer(network, algorithm);
  const std::uint32_t devices = system.hierarchy.devices();
  const std::vector<std::uint32_t> rows(groups.size(), devices);
  return pricer.price({collective, groups, std::nullopt}, rows, devices).seconds(bytes);
}

inline Instance placed(const System& system, const std::string& axes, const std::string& reduce,
                       const std::string& placement) {
  const Axes named = parse_axes("test", axes);
  return {DeviceGrid(system.hierarchy, named,
                     parse_placement("test", placement, system.hierarchy, named)),
          parse_reduction("test", reduce, named), HierarchyKind::Collapsed};
}

}  // namespace p2
