#include <map>

#include <doctest/doctest.h>

#include "engine/hlo/stablehlo/parallel_run.h"
#include "modules.h"
#include "tests/shared_data.h"

namespace p2::hlo {

TEST_CASE("the interpreter's tests come out as StableHLO expects") {
  const std::map<std::string, std::size_t> samples = {{"stablehlo/all_gather.mlir", 5},
                                                      {"stablehlo/all_reduce.mlir", 5},
                                                      {"stablehlo/reduce_scatter.mlir", 3}};
  for (const auto& [name, count] : samples) {
    const auto text = shared_text("hlo/" + name);
    if (!text) continue;
    INFO(name);
    const std::vector<StableHloModule> modules = read_stablehlo(name, *text);
    CHECK(modules.size() == count);
    for (StableHloModule module : modules) {
      REQUIRE(module.run.has_value());
      const RunModules right = modules_of(module);
      CHECK(said(compare(right.expected, right.actual, {}, {})) == "valid");
      Literal& expected = module.run->expected.back().value;
      expected.elements.back().number.numerator += 1;
      const RunModules wrong = modules_of(module);
      CHECK(said(compare(wrong.expected, wrong.actual, {}, {})) == "invalid contributions");
    }
  }
  if (const auto text = shared_text("hlo/stablehlo/replica_groups_mesh_axes.mlir")) {
    const std::vector<StableHloModule> modules = read_stablehlo("mesh", *text);
    CHECK(modules.size() == 1);
    CHECK(modules.at(0).module.entry_computation().instructions.at(1).opcode == "custom-call");
  }
}

}  // namespace p2::hlo
