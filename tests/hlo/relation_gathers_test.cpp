// An all-reduce as a reduce-scatter and an all-gather, in all groups of four devices: what has a
// certificate is so by execution, and what is so by groups has one.

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

const char* const kGroupOrders[] = {"{0,1},{2,3}", "{1,0},{2,3}", "{0,2},{1,3}", "{0,1,2,3}",
                                    "{0,2,1,3}"};

std::string in_groups(const std::string& groups, int channel) {
  return fmt::format(", channel_id={}, replica_groups={{{}}}, use_global_device_ids=true", channel,
                     groups);
}

/// Whether two modules that four devices run are related at every node.
bool are_related_on_four(const std::string& before, const std::string& after) {
  const ModuleRelation same{};
  return related_certificate({before, after}, same, {1, 4}, {}, {}).index() == 0;
}

std::string verdict_of_execution(const std::string& before, const std::string& after) {
  ComparisonOptions options;
  options.engine = ModuleEngine::Interpreter;
  return summary(compared(before, after, options));
}

}  // namespace

TEST_CASE("what is scattered and gathered in the same groups and order is an all-reduce") {
  constexpr std::int64_t kSize = 8;
  const auto all_reduce = [&](const std::string& groups, std::int64_t size) {
    return module_text(fmt::format("  x = f32[{0},{0}] parameter(0)\n  ROOT y = f32[{0},{0}] "
                                   "all-reduce(x){1}, to_apply=add\n",
                                   size, in_groups(groups, 1)),
                       4);
  };
  const auto steps = [&](const std::string& scattered, const std::string& gathered, int along,
                         std::int64_t size) {
    const std::int64_t part = size / (scattered.find("},{") == std::string::npos ? 4 : 2);
    return module_text(
        fmt::format("  x = f32[{0},{0}] parameter(0)\n  s = f32[{1},{2}] reduce-scatter(x){3}, "
                    "dimensions={{{5}}}, to_apply=add\n  ROOT y = f32[{0},{0}] all-gather(s){4}, "
                    "dimensions={{{5}}}\n",
                    size, along == 0 ? part : size, along == 0 ? size : part,
                    in_groups(scattered, 1), in_groups(gathered, 2), along),
        4);
  };
  int related = 0;
  for (const std::string groups : {kGroupOrders[0], kGroupOrders[2], kGroupOrders[3]}) {
    for (const std::string scattered : kGroupOrders) {
      for (const std::string gathered : kGroupOrders) {
        const bool is_pairs = scattered.find("},{") != std::string::npos;
        if (is_pairs != (gathered.find("},{") != std::string::npos)) continue;
        for (const int along : {0, 1}) {
          const bool is_related = are_related_on_four(all_reduce(groups, kSize),
                                                      steps(scattered, gathered, along, kSize));
          const std::string found = verdict_of_execution(all_reduce(groups, kSize),
                                                         steps(scattered, gathered, along, kSize));
          CAPTURE(groups);
          CAPTURE(scattered);
          CAPTURE(gathered);
          CHECK(is_related == (found == "valid"));
          if (is_related) ++related;
        }
      }
    }
  }
  CHECK(related == 10);
}

TEST_CASE("what is gathered of slices is what they are slices of, where members have the same") {
  const std::string table = "  t = s32[4] constant({0, 2, 0, 2})\n  id = u32[] partition-id()\n";
  const auto text = [&](const std::string& sliced, const std::string& starts) {
    return module_text(
        "  x = f32[4,6] parameter(0)\n  y = f32[4,6] all-reduce(x)" + in_groups("{0,1},{2,3}", 1) +
            ", to_apply=add\n" + replaced(table, "{0, 2, 0, 2}", starts) +
            "  at = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n  start = s32[] "
            "reshape(at)\n  zero = s32[] constant(0)\n  s = f32[2,6] dynamic-slice(" +
            sliced +
            ", start, zero), dynamic_slice_sizes={2,6}\n  ROOT g = f32[4,6] "
            "all-gather(s)" +
            in_groups("{0,1},{2,3}", 2) + ", dimensions={0}\n",
        4);
  };
  const std::string whole =
      module_text("  x = f32[4,6] parameter(0)\n  ROOT y = f32[4,6] all-reduce(x)" +
                      in_groups("{0,1},{2,3}", 1) + ", to_apply=add\n",
                  4);
  CHECK(are_related_on_four(whole, text("y", "{0, 2, 0, 2}")));
  for (const char* const starts : {"{2, 0, 0, 2}", "{0, 2, 2, 0}", "{0, 1, 0, 2}", "{0, 0, 0, 0}"})
    CHECK(!are_related_on_four(whole, text("y", starts)));
  // Where slices begin is not known.
  const auto with_number = [](const std::string& of) {
    return replaced(of, "  x = f32[4,6] parameter(0)\n",
                    "  x = f32[4,6] parameter(0)\n  k = s32[] parameter(1)\n");
  };
  const std::string unknown =
      replaced(with_number(text("y", "{0, 2, 0, 2}")), "dynamic-slice(y, start, zero)",
               "dynamic-slice(y, k, zero)");
  CHECK(!are_related_on_four(with_number(whole), unknown));
  // Not of the inputs, which every device has its own of.
  const std::string inputs =
      module_text("  x = f32[4,6] parameter(0)\n  ROOT y = f32[4,6] copy(x)\n", 4);
  CHECK(!are_related_on_four(inputs, text("x", "{0, 2, 0, 2}")));
}

}  // namespace p2::hlo
