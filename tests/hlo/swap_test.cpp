#include <algorithm>
#include <array>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "modules.h"

namespace p2::hlo {

TEST_CASE("swapping all-reduce and reduce-scatter is right for 48 of 144 pairs of groupings") {
  std::vector<std::string> groupings;
  std::array<int, 4> ids = {0, 1, 2, 3};
  do {
    if (std::min(ids[0], ids[1]) != 0) continue;  // groups have no order among themselves
    groupings.push_back(fmt::format("{{{{{},{}}},{{{},{}}}}}", ids[0], ids[1], ids[2], ids[3]));
  } while (std::next_permutation(ids.begin(), ids.end()));
  REQUIRE(groupings.size() == 12);
  const auto reduced = [](const std::string& of, const std::string& groups, const char* size) {
    return fmt::format(
        "f32[{}] all-reduce({}), channel_id=1, replica_groups={}, "
        "use_global_device_ids=true, to_apply=add\n",
        size, of, groups);
  };
  const auto scattered = [](const std::string& of, const std::string& groups) {
    return fmt::format(
        "f32[4] reduce-scatter({}), channel_id=1, replica_groups={}, "
        "use_global_device_ids=true, dimensions={{0}}, to_apply=add\n",
        of, groups);
  };
  const std::string input = "  x = f32[8] parameter(0)\n";
  std::size_t equal = 0;
  for (const std::string& one : groupings) {
    for (const std::string& other : groupings) {
      const Verdict verdict = compared(
          module_text(input + "  y = " + reduced("x", one, "8") + "  z = " + scattered("y", other)),
          module_text(input + "  y = " + scattered("x", other) +
                      "  z = " + reduced("y", one, "4")));
      CHECK(verdict.kind != Verdict::Kind::Unknown);
      if (verdict.kind == Verdict::Kind::Valid) ++equal;
    }
  }
  CHECK(equal == 48);
}

}  // namespace p2::hlo
