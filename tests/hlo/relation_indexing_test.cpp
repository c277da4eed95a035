// Choices, slices, scatters and all-to-alls of modules that are not what they should be, and of
// facts that other rules do not make: nothing follows.

#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/hlo/related_pairs.h"

namespace p2::hlo::small {
namespace {

using kernel::xla::Fact;
using kernel::xla::Index;
using kernel::xla::Op;
using kernel::xla::Partial;
using kernel::xla::Relation;
using kernel::xla::View;

kernel::xla::Module module_of(const std::string& entry, std::size_t devices) {
  return kernel::xla::read_module(
      fmt::format("HloModule m, num_partitions={}\n\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] "
                  "parameter(1)\n  ROOT c = f32[] add(a, b)\n}}\n\nENTRY main {{\n{}}}\n",
                  devices, entry),
      "m");
}

/// Facts about a module's instructions, by their names.
class Named {
 public:
  Named(const std::string& whole, const std::string& local, std::size_t devices,
        const std::vector<Relation>& inputs)
      : whole_(module_of(whole, devices)),
        local_(module_of(local, devices)),
        modules(whole_, local_, {1, static_cast<std::int64_t>(devices)}, inputs, {}, budget_) {
    for (std::size_t k = 0; k < modules.local().nodes.size(); ++k)
      nodes_[modules.local().nodes[k].instruction->name] = k;
    for (std::size_t k = 0; k < modules.facts().size(); ++k)
      facts_[modules.local().nodes[modules.facts()[k].node].instruction->name] = k;
  }

  std::optional<Fact> follow(const std::string& name, const std::vector<std::string>& operands,
                             const Index& hint = {}) {
    std::vector<std::size_t> all;
    for (const std::string& each : operands) all.push_back(facts_.at(each));
    return modules.follows(nodes_.at(name), all, hint);
  }
  void derive(const std::string& name, const std::vector<std::string>& operands,
              const Index& hint = {}) {
    facts_[name] = modules.add(follow(name, operands, hint).value());
  }
  /// A fact about this instruction that follows from nothing.
  void take(const std::string& name, Fact fact) {
    fact.node = nodes_.at(name);
    facts_[name] = modules.add(std::move(fact));
  }
  const Fact& at(const std::string& name) const { return modules.facts()[facts_.at(name)]; }

 private:
  kernel::Budget budget_;
  kernel::xla::Module whole_, local_;
  std::map<std::string, std::size_t> nodes_, facts_;

 public:
  RelatedOnDevices modules;
};

Relation held(std::size_t number, const std::vector<Index>& begins, const Index& sizes) {
  Relation relation{number, {}, 1, {}};
  for (std::size_t device = 0; device < begins.size(); ++device)
    relation.pieces.push_back({device, 0, begins[device], Index(sizes.size(), 0), sizes});
  return relation;
}

const std::string kChosen =
    "  x = f32[2,1] parameter(0)\n  p = f32[2,1] parameter(1)\n  z = f32[] constant(0)\n"
    "  zs = f32[2,1] broadcast(z), dimensions={}\n  id = u32[] partition-id()\n"
    "  t = pred[2] constant({true, false})\n"
    "  e = pred[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n  r = pred[] reshape(e)\n"
    "  c = pred[2,1] broadcast(r), dimensions={}\n";
const std::vector<Relation> kChosenInputs = {held(0, {{0, 0}, {0, 0}}, {2, 1}),
                                             held(1, {{0, 0}, {0, 0}}, {2, 1})};
const std::string kWholes =
    "  x = f32[2,1] parameter(0)\n  p = f32[2,1] parameter(1)\n  i = s32[2,1] parameter(2)\n"
    "  u = f32[2,1] parameter(3)\n  ROOT y = f32[2,1] negate(x)\n";

TEST_CASE("a choice is by truth values, between a tensor and what is zero on every device") {
  auto inputs = kChosenInputs;
  for (const std::size_t number : {2, 3}) inputs.push_back(held(number, {{0, 0}, {1, 0}}, {1, 1}));
  Named named(kWholes,
              kChosen +
                  "  i = s32[1,1] parameter(2)\n  u = f32[1,1] parameter(3)\n"
                  "  s = f32[2,1] select(c, x, zs)\n  same = f32[2,1] select(c, zs, zs)\n"
                  "  w = f32[2,1] select(c, x, p)\n"
                  "  ROOT a = f32[2,1] add(s, w)\n",
              2, inputs);
  named.derive("z", {});
  named.derive("zs", {"z"}, {2, 1});
  const Fact chosen = named.follow("s", {"x", "zs"}).value();
  REQUIRE(chosen.view);
  CHECK(chosen.view->from == Index{1, 0});
  CHECK(!named.follow("same", {"zs", "zs"}).value().view);
  // Of the zeros of p some are not zero where it is a sum, or on one device.
  auto& places = named.modules.places();
  Fact zero = named.at("p");
  zero.tensor = named.at("zs").tensor;
  named.take("p", zero);
  CHECK(named.follow("w", {"x", "p"}));
  zero.partial = places.partial({Op::Add, {0, 0}, {0, 1}});
  named.take("p", zero);
  CHECK(!named.follow("w", {"x", "p"}));
  zero.partial.reset();
  zero.places[0] = places.segments(2, 2, {{{0, 0, 2}}, {{0, 0, 1}}});
  named.take("p", zero);
  CHECK(!named.follow("w", {"x", "p"}));
}

TEST_CASE("a scatter into what one device has is of updates that devices have") {
  auto inputs = kChosenInputs;
  for (const std::size_t number : {2, 3}) inputs.push_back(held(number, {{0, 0}, {1, 0}}, {1, 1}));
  const auto follows = [&](const std::vector<Index>& begins, const Index& sizes) {
    auto others = inputs;
    others[2] = others[3] = held(0, begins, sizes);
    others[2].number = 2;
    others[3].number = 3;
    const auto shape = fmt::format("[{},1]", sizes[0]);
    Named named(kWholes,
                kChosen + "  i = s32" + shape + " parameter(2)\n  u = f32" + shape +
                    " parameter(3)\n  s = f32[2,1] select(c, x, zs)\n"
                    "  ROOT a = f32[2,1] scatter(s, i, u), update_window_dims={1}, "
                    "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                    "index_vector_dim=1, to_apply=add\n",
                2, others);
    named.derive("z", {});
    named.derive("zs", {"z"}, {2, 1});
    named.derive("s", {"x", "zs"});
    return named.follow("a", {"s", "i", "u"});
  };
  CHECK(follows({{0, 0}, {1, 0}}, {1, 1}).value().partial);
}

TEST_CASE("numbers are combined with an array, and a slice has elements") {
  Named named("  i = s32[2] parameter(0)\n  ROOT y = s32[2] negate(i)\n",
              "  i = s32[2] parameter(0)\n  n = s32[] constant(1)\n"
              "  ns = s32[2] broadcast(n), dimensions={}\n  d = s32[2] subtract(i, ns)\n"
              "  one = s32[1] dynamic-slice(i, n), "
              "dynamic_slice_sizes={1}\n  none = s32[0] dynamic-slice(i, n), "
              "dynamic_slice_sizes={0}\n  ROOT a = s32[2] add(d, d)\n",
              2, {held(0, {{0}, {0}}, {2})});
  CHECK(named.follow("d", {"i"}));
  CHECK(named.follow("one", {"i"}));
  CHECK(!named.follow("none", {"i"}));
}

TEST_CASE("what a function that is not understood makes is no number that devices know") {
  Named named("  x = f32[4] parameter(0)\n  ROOT y = f32[4] negate(x)\n",
              "  x = f32[4] parameter(0)\n  id = u32[] partition-id()\n"
              "  k = u32[] custom-call(id), custom_call_target=\"f\"\n"
              "  s = f32[2] dynamic-slice(x, id), dynamic_slice_sizes={2}\n"
              "  ROOT t = f32[2] dynamic-slice(x, k), dynamic_slice_sizes={2}\n",
              2, {held(0, {{0}, {0}}, {4})});
  CHECK(named.follow("s", {"x"}));
  CHECK(!named.follow("t", {"x"}));
}

TEST_CASE("an all-to-all says along which dimension, and every device takes part") {
  const std::string attributes = ", channel_id=1, replica_groups={{0,1}}";
  const auto made = [&](std::size_t devices, const std::string& more) {
    std::vector<Index> begins;
    for (std::size_t device = 0; device < devices; ++device)
      begins.push_back({0, 0, static_cast<std::int64_t>(device) % 2 * 2});
    Named named("  x = f32[2,1,4] parameter(0)\n  ROOT y = f32[2,1,4] negate(x)\n",
                "  x = f32[2,1,2] parameter(0)\n  ROOT a = f32[2,1,2] all-to-all(x)" + attributes +
                    more + "\n",
                devices, {held(0, begins, {2, 1, 2})});
    return named.follow("a", {"x"});
  };
  CHECK(made(2, ", dimensions={0}"));
  CHECK(!made(2, ""));
  CHECK(!made(3, ", dimensions={0}"));
}

TEST_CASE("dimensions that are put together have the elements that devices have of each") {
  using kernel::xla::Segments;
  kernel::Budget budget;
  kernel::xla::Places places(2);
  const std::size_t rows = places.segments(2, 4, {{{0, 0, 2}}, {{0, 2, 2}}});
  const std::size_t all = places.identity(2);
  const std::size_t one = places.segments(2, 2, {{{0, 0, 2}}, {}});
  CHECK(places.joined({rows, all}, budget) == std::vector<Segments>{{{0, 0, 4}}, {{0, 4, 4}}});
  CHECK(places.joined({rows, one}, budget) == std::vector<Segments>{{{0, 0, 4}}, {}});
  CHECK(places.split({rows, all}, {4}, {8}, budget));
  // Longer than the whole, or too many pieces.
  CHECK(!places.joined({rows, places.free(2, 1)}, budget));
  CHECK(!places.split({rows, places.free(2, 1)}, {4}, {4}, budget));
  const std::int64_t many = 1 << 14;
  const std::size_t pieces = places.segments(2, 3, {{{0, 0, 1}, {1, 2, 1}}, {{0, 0, 2}}});
  const std::size_t long_one = places.segments(many, many, {{{0, 0, many}}, {{0, 0, many}}});
  CHECK(!places.joined({long_one, pieces}, budget));
}

/// How many instructions are written in place of a gather at indices that are put together.
std::size_t written(const std::string& lines) {
  const auto module = module_of(lines, 2);
  kernel::Budget budget;
  return kernel::xla::FlatModule(module, budget).written.size();
}

TEST_CASE("only what a compiler expands a gather to is taken apart") {
  const auto gather = [](const std::string& x, const std::string& parts, const std::string& indices,
                         const std::string& attributes, const std::string& result = "f32[2]") {
    return "  x = f32" + x + " parameter(0)\n  i = s32[2,1] parameter(1)\n" +
           "  n = s32[2,1] iota(), iota_dimension=0\n  m = s32[2,1] iota(), iota_dimension=1\n" +
           "  c = " + indices + " concatenate(" + parts +
           "), dimensions={1}\n  ROOT g = " + result + " gather(x, c), " + attributes + "\n";
  };
  const std::string two =
      "offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, "
      "slice_sizes={1,1}";
  const std::string three =
      "offset_dims={}, collapsed_slice_dims={0,1,2}, start_index_map={0,1,2}, "
      "index_vector_dim=1, slice_sizes={1,1,1}";
  CHECK(written(gather("[2,4]", "n, i", "s32[2,2]", two)) == 1);
  CHECK(written(gather("[4,2]", "i, n", "s32[2,2]", two)) == 1);
  // Not as many batches, none by data, and iotas of the dimension of vectors, or twice of one.
  CHECK(written(gather("[3,4]", "n, i", "s32[2,2]", two)) == 0);
  CHECK(written(gather("[2,2]", "n, n", "s32[2,2]", two)) == 0);
  CHECK(written(gather("[1,4]", "m, i", "s32[2,2]", two)) == 0);
  CHECK(written(gather("[2,2,4]", "n, n, i", "s32[2,3]", three)) == 0);
  // Windows of two batches.
  CHECK(written(gather("[2,4]", "n, i", "s32[2,2]",
                       "offset_dims={1}, collapsed_slice_dims={1}, start_index_map={0,1}, "
                       "index_vector_dim=1, slice_sizes={2,1}",
                       "f32[2,2]")) == 0);
  // An iota of so many indices wraps around in some types.
  for (const std::int64_t size : {2147483646, 2147483647}) {
    const std::string text = fmt::format(
        "  x = f32[{0},4] parameter(0)\n  i = s32[{0},1] parameter(1)\n"
        "  n = s32[{0},1] iota(), iota_dimension=0\n"
        "  c = s32[{0},2] concatenate(n, i), dimensions={{1}}\n"
        "  ROOT g = f32[{0}] gather(x, c), {1}\n",
        size, two);
    CHECK(written(text) == (size == 2147483646 ? 1 : 0));
  }
  // Batches that a gather has already stay.
  const std::string batched =
      "  x = f32[6,4] parameter(0)\n  i = s32[2,3,1] parameter(1)\n"
      "  r = s32[6,1] reshape(i)\n  ROOT g = f32[6] gather(x, r), offset_dims={}, "
      "collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, "
      "start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,1}\n";
  CHECK(written(batched) == 0);
}

}  // namespace
}  // namespace p2::hlo::small
