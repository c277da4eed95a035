#include "tests/export/programs.h"

#include "engine/program/synthesis.h"

namespace p2 {

std::vector<Program> programs_of(const std::string& hierarchy) {
  GivenInstance given;
  given.hierarchy = parse_hierarchy("test", hierarchy);
  given.axes = parse_axes("test", std::to_string(given.hierarchy->devices()));
  given.reduction = parse_reduction("test", "0", *given.axes);
  std::vector<Program> programs;
  for (const PlacementPrograms& placement : find_programs({*given.resolve({"test"})}, {})) {
    placement.for_each_lowered([&](const Program& program) { programs.push_back(program); });
  }
  return programs;
}

}  // namespace p2
