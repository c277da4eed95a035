// Symbolic evaluation of many devices at once, and of tensors by their names: in any order of the
// devices the answer must be that of looking at each of them.

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

constexpr int kDevices = 12;
using DeviceOrder = std::vector<int>;

/// Devices in an order of which parts are regular: of blocks, of strides, turned, with a swap.
DeviceOrder random_order(std::mt19937& random) {
  const auto below = [&](int end) {
    return std::uniform_int_distribution<int>(0, end - 1)(random);
  };
  DeviceOrder order(kDevices);
  const int block = std::array{1, 2, 3, 4, 6}[static_cast<std::size_t>(below(5))];
  const int turn = below(2) == 0 ? 0 : below(kDevices);
  const bool in_blocks = below(2) == 0;
  for (int d = 0; d < kDevices; ++d) {
    const int strided = d % block * (kDevices / block) + d / block;
    const int turned = d / block * block + block - 1 - d % block;
    order[static_cast<std::size_t>((d + turn) % kDevices)] = in_blocks ? turned : strided;
  }
  if (below(3) == 0) {
    std::swap(order[static_cast<std::size_t>(below(kDevices))],
              order[static_cast<std::size_t>(below(kDevices))]);
  }
  if (below(10) == 0) std::shuffle(order.begin(), order.end(), random);
  return order;
}

/// Device d holds elements `first(d)` … of a tensor.
template <typename First>
std::string boxes_of(const First& first, int size) {
  std::vector<std::string> boxes;
  for (int d = 0; d < kDevices; ++d) {
    boxes.push_back(fmt::format(R"({{"device":{},"of":[[{},{}]],"at":[[0,{}]]}})", d, first(d),
                                first(d) + size, size));
  }
  return fmt::format(R"({{"boxes":[{}]}})", fmt::join(boxes, ","));
}

std::string order_relation(const std::string& input, const std::string& output) {
  return fmt::format(R"({{"format":"p2-relation/1","devices":{},"inputs":{{"0":{{"after":0,)"
                     R"("relation":{}}}}},"outputs":{{"0":{{"after":0,"relation":{}}}}}}})",
                     kDevices, input, output);
}

TEST_CASE("blocks that move between devices in any order are found where they are") {
  std::mt19937 random(1);
  int wrong = 0;
  for (int run = 0; run < 1500; ++run) {
    const DeviceOrder held = random_order(random);
    const DeviceOrder source = random_order(random);
    const auto at = [](const DeviceOrder& order, int d) {
      return order[static_cast<std::size_t>(d)];
    };
    DeviceOrder result;
    for (int d = 0; d < kDevices; ++d) result.push_back(at(held, at(source, d)));
    const DeviceOrder right = result;
    if (run % 2 == 1) {
      const int by = 1 + run % 3;
      if (run % 4 == 1) std::rotate(result.begin(), result.begin() + by, result.end());
      if (run % 4 == 3) std::swap(result[static_cast<std::size_t>(run % 11)], result[11]);
    }
    std::vector<std::string> pairs;
    for (int d = 0; d < kDevices; ++d) pairs.push_back(fmt::format("{{{},{}}}", at(source, d), d));
    const std::string before = "  x = f32[24] parameter(0)\n  ROOT e = f32[24] exponential(x)\n";
    const std::string after = fmt::format(
        "  x = f32[2] parameter(0)\n  e = f32[2] exponential(x)\n  ROOT p = f32[2] "
        "collective-permute(e), channel_id=1, source_target_pairs={{{}}}\n",
        fmt::join(pairs, ","));
    const auto block = [&](const DeviceOrder& order) {
      return boxes_of([&](int d) { return 2 * at(order, d); }, 2);
    };
    CAPTURE(after);
    CAPTURE(run);
    CHECK((symbolic_verdict(before_text(before), after_text(after, kDevices),
                            order_relation(block(held), block(result))) == "valid") ==
          (result == right));
    wrong += result == right ? 0 : 1;
  }
  CHECK(wrong > 700);
}

TEST_CASE("groups of devices in any order add what their members hold") {
  std::mt19937 random(2);
  int wrong = 0;
  int proved = 0;
  for (int run = 0; run < 1500; ++run) {
    const int size = std::array{1, 2, 3, 4, 6}[static_cast<std::size_t>(run % 5)];
    const DeviceOrder members = random_order(random);
    DeviceOrder held = members;  // the block of a device: its place in the list of groups
    for (int k = 0; k < kDevices; ++k) {
      held[static_cast<std::size_t>(members[static_cast<std::size_t>(k)])] = k;
    }
    const DeviceOrder right = held;
    if (run % 2 == 1) {
      std::swap(held[static_cast<std::size_t>(random() % kDevices)],
                held[static_cast<std::size_t>(random() % kDevices)]);
    }
    bool is_right = true;  // a block may be with another member of its group
    for (std::size_t d = 0; d < held.size(); ++d) {
      is_right = is_right && held[d] / size == right[d] / size;
    }
    std::vector<std::string> groups;
    for (int k = 0; k < kDevices; k += size) {
      groups.push_back(
          fmt::format("{{{}}}", fmt::join(members.begin() + k, members.begin() + k + size, ",")));
    }
    const int sums = kDevices / size;
    const std::string before = fmt::format(
        "  x = f32[12] parameter(0)\n  e = f32[12] exponential(x)\n  r = f32[{0},{1}] reshape(e)\n"
        "  c = f32[] constant(0)\n  s = f32[{0}] reduce(r, c), dimensions={{1}}, to_apply=add\n"
        "  ROOT l = f32[{0}] log(s)\n",
        sums, size);
    const std::string after = fmt::format(
        "  x = f32[1] parameter(0)\n  e = f32[1] exponential(x)\n  s = f32[1] all-reduce(e), "
        "channel_id=1, replica_groups={{{}}}, use_global_device_ids=true, to_apply=add\n"
        "  ROOT l = f32[1] log(s)\n",
        fmt::join(groups, ","));
    const std::string relation = order_relation(
        boxes_of([&](int d) { return held[static_cast<std::size_t>(d)]; }, 1),
        boxes_of([&](int d) { return right[static_cast<std::size_t>(d)] / size; }, 1));
    CAPTURE(after);
    const bool valid =
        symbolic_verdict(before_text(before), after_text(after, kDevices), relation) == "valid";
    if (!is_right) CHECK(!valid);
    wrong += is_right ? 0 : 1;
    proved += valid ? 1 : 0;
  }
  CHECK(wrong > 400);
  CHECK(proved == 1500 - wrong);
}

/// A tower of layers, each with weights of its own.
std::string tower(const std::vector<int>& weights, int width, bool reduces) {
  const int layers = static_cast<int>(weights.size());
  std::string text = "  x0 = f32[512,1024] parameter(0)\n";
  for (int k = 0; k < layers; ++k) {
    text += fmt::format(
        "  a{0} = f32[1024,{1}] parameter({2})\n  b{0} = f32[{1},1024] parameter({3})\n", k, width,
        2 * k + 1, 2 * k + 2);
  }
  for (int k = 0; k < layers; ++k) {
    const int w = weights[static_cast<std::size_t>(k)];
    text += fmt::format(
        "  n{0} = f32[512,1024] tanh(x{0})\n  u{0} = f32[512,{2}] dot(n{0}, a{1}), "
        "lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  g{0} = f32[512,{2}] "
        "logistic(u{0})\n"
        "  h{0} = f32[512,{2}] multiply(u{0}, g{0})\n  d{0} = f32[512,1024] dot(h{0}, b{1}), "
        "lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n",
        k, w, width);
    if (reduces) {
      text += fmt::format(
          "  s{0} = f32[512,1024] all-reduce(d{0}), channel_id={1}, replica_groups={{{{0,1}}}}, "
          "use_global_device_ids=true, to_apply=add\n",
          k, k + 1);
    }
    text += fmt::format("  {3}x{1} = f32[512,1024] add(x{0}, {2}{0})\n", k, k + 1,
                        reduces ? "s" : "d", k + 1 == layers ? "ROOT " : "");
  }
  return text;
}

TEST_CASE("towers of layers are compared however high they are") {
  constexpr int kLayers = 60;
  std::vector<int> weights(kLayers);
  std::iota(weights.begin(), weights.end(), 0);
  std::vector<std::string> inputs = {R"("0":{"after":0,"relation":"replicated"})"};
  for (int k = 0; k < kLayers; ++k) {
    inputs.push_back(
        fmt::format(R"("{0}":{{"after":{0},"relation":{{"dims":[[],["d"]]}}}})", 2 * k + 1));
    inputs.push_back(
        fmt::format(R"("{0}":{{"after":{0},"relation":{{"dims":[["d"],[]]}}}})", 2 * k + 2));
  }
  const std::string relation =
      fmt::format(R"({{"format":"p2-relation/1","devices":2,"mesh":{{"d":2}},"inputs":{{{}}},)"
                  R"("outputs":{{"0":{{"after":0,"relation":"replicated"}}}}}})",
                  fmt::join(inputs, ","));
  const std::string before = before_text(tower(weights, 4096, false));
  CHECK(symbolic_verdict(before, after_text(tower(weights, 2048, true)), relation) == "valid");
  std::swap(weights[30], weights[31]);
  CHECK(symbolic_verdict(before, after_text(tower(weights, 2048, true)), relation) == "unknown");
}

TEST_CASE("a tensor with infinities does not cancel itself under its name either") {
  const std::string relation =
      R"({"format":"p2-relation/1","devices":1,"inputs":{"0":{"after":0,"relation":"replicated"}},)"
      R"("outputs":{"0":{"after":0,"relation":"replicated"}}})";
  const auto before = [](const std::string& constant) {
    return before_text("  x = f32[8] parameter(0)\n  c = f32[] constant(" + constant +
                       ")\n  b = f32[8] broadcast(c), dimensions={}\n  e = f32[8] exponential(x)\n"
                       "  m = f32[8] maximum(e, b)\n  t = f32[8] tanh(m)\n"
                       "  ROOT y = f32[8] subtract(t, t)\n");
  };
  const std::string after = after_text(
      "  x = f32[8] parameter(0)\n  z = f32[] constant(0)\n"
      "  ROOT y = f32[8] broadcast(z), dimensions={}\n",
      1);
  CHECK(symbolic_verdict(before("3"), after, relation) == "valid");
  CHECK(symbolic_verdict(before("inf"), after, relation) == "unknown");
}

TEST_CASE("a function of an index is not the function of another one") {
  const auto text = [](const std::string& product, const std::string& slice) {
    return "  x = f32[8,8] parameter(0)\n  t = f32[8,8] transpose(x), dimensions={1,0}\n  m = "
           "f32[8,8] multiply(" +
           product + ")\n  e = f32[8,8] exponential(m)\n  ROOT y = f32[1,4] slice(e), slice={" +
           slice + "}\n";
  };
  const std::string relation =
      R"({"format":"p2-relation/1","devices":1,"inputs":{"0":{"after":0,"relation":"replicated"}},)"
      R"("outputs":{"0":{"after":0,"relation":"replicated"}}})";
  const auto verdict = [&](const std::string& product, const std::string& slice) {
    return symbolic_verdict(before_text(text("x, t", "[2:3], [0:4]")),
                            after_text(text(product, slice), 1), relation);
  };
  CHECK(verdict("x, t", "[2:3], [0:4]") == "valid");
  CHECK(verdict("t, x", "[2:3], [0:4]") == "valid");
  CHECK(verdict("x, x", "[2:3], [0:4]") == "unknown");
  CHECK(verdict("t, t", "[2:3], [0:4]") == "unknown");
  CHECK(verdict("x, t", "[3:4], [0:4]") == "unknown");
  CHECK(verdict("x, t", "[2:3], [1:5]") == "unknown");
}

}  // namespace
}  // namespace p2::hlo
