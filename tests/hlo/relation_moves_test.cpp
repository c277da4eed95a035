// Bitcasts are moves, element by element, and modules are related through moves.

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/module_relation.h"
#include "proofs/certificate/subject_certificates.h"
#include "tests/hlo/modules.h"
#include "tests/hlo/related_pairs.h"
#include "tests/hlo/small_relations.h"

namespace p2::hlo::small {
namespace {

using kernel::xla::Instruction;
using kernel::xla::Shape;
using kernel::xla::type_called;

/// Of every element in row-major order its place in memory, as XLA defines layouts and tiles.
std::vector<std::int64_t> memory(const Shape& shape) {
  std::vector<std::int64_t> places;
  for (const Index& index : indices_of(shape.sizes)) {
    Index at, sizes;
    for (std::size_t k = shape.sizes.size(); k-- > 0;) {
      const auto dimension = shape.layout.empty() ? shape.sizes.size() - 1 - k
                                                  : static_cast<std::size_t>(shape.layout[k]);
      at.push_back(index[dimension]);
      sizes.push_back(shape.sizes[dimension]);
    }
    for (const Index& tile : shape.tiles) {
      while (at.size() < tile.size()) {
        at.insert(at.begin(), 0);
        sizes.insert(sizes.begin(), 1);
      }
      const std::size_t first = at.size() - tile.size();
      for (std::size_t k = 0; k < tile.size(); ++k) {
        at.push_back(at[first + k] % tile[k]);
        sizes.push_back(tile[k]);
        at[first + k] /= tile[k];
        sizes[first + k] = (sizes[first + k] + tile[k] - 1) / tile[k];
      }
    }
    std::int64_t place = 0;
    for (std::size_t k = 0; k < at.size(); ++k) place = place * sizes[k] + at[k];
    places.push_back(place);
  }
  return places;
}

Instruction bitcast_to(const Shape& shape) {
  Instruction bitcast;
  bitcast.name = "b";
  bitcast.opcode = "bitcast";
  bitcast.shape = shape;
  bitcast.operands = {0};
  return bitcast;
}

TEST_CASE("a bitcast is the transposes and the reshape that keep elements where they are") {
  std::mt19937 random(1);
  const auto below = [&](std::size_t end) { return random() % end; };
  int moved = 0, tiled = 0, retiled = 0, refused = 0;
  for (int k = 0; k < 40000; ++k) {
    const std::int64_t all = std::vector<std::int64_t>{1, 2, 6, 8, 12, 16, 24}[below(7)];
    const std::vector<std::vector<Index>> tiles = {{},
                                                   {},
                                                   {},
                                                   {{2, 4}},
                                                   {{4}},
                                                   {{2, 4}, {2, 1}},
                                                   {{1, 2}},
                                                   {{4, 4}},
                                                   {{1, 4}},
                                                   {{4, 4}, {2, 1}},
                                                   {{6, 4}, {3, 1}},
                                                   {{6, 4}, {2, 1}},
                                                   {{6, 4}, {4, 1}},
                                                   {{4, 4}, {4, 1}},
                                                   {{2, 2, 2}}};
    const auto drawn = [&] {
      Index sizes;
      std::int64_t left = all;
      while (left > 1 || below(3) == 0) {
        std::int64_t size = 1 + static_cast<std::int64_t>(below(static_cast<std::size_t>(left)));
        while (left % size != 0) --size;
        sizes.push_back(size);
        left /= size;
        if (sizes.size() == 4) sizes.back() *= std::exchange(left, 1);
        if (sizes.size() == 4) break;
      }
      Shape shape = shape_of("f32", sizes);
      shape.layout.resize(shape.sizes.size());
      std::iota(shape.layout.rbegin(), shape.layout.rend(), 0);
      if (below(3) != 0) std::shuffle(shape.layout.begin(), shape.layout.end(), random);
      return shape;
    };
    Shape from = drawn();
    Shape to = drawn();
    from.tiles = to.tiles = tiles[below(tiles.size())];
    if (below(3) == 0) to.tiles = tiles[below(tiles.size())];
    const auto steps = kernel::xla::steps_of_bitcast(bitcast_to(to), from);
    if (!steps) {
      ++refused;
      CHECK(!from.tiles.empty() + !to.tiles.empty() > 0);
      continue;
    }
    Array array{from.sizes, {}};
    for (const std::int64_t each : memory(from)) array.cells.push_back(static_cast<double>(each));
    for (const Instruction& each : *steps) {
      const Form form{
          each.opcode,
          "",
          {each.opcode == "reshape" ? each.shape.sizes.all() : each.numbers("dimensions")}};
      array = evaluate(form, {&array}, each.shape.sizes, "f32");
    }
    REQUIRE(array.sizes == to.sizes);
    const auto places = memory(to);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (array.cells[i] != static_cast<double>(places[i]))
        FAIL("from ", fmt::format("{} {} {}", from.sizes, from.layout, from.tiles), " to ",
             fmt::format("{} {}", to.sizes, to.layout));
    }
    moved += steps->size() > 1;
    tiled += !from.tiles.empty();
    retiled += from.tiles != to.tiles;
  }
  CHECK(moved > 2500);
  CHECK(tiled > 1000);
  CHECK(retiled > 100);
  CHECK(refused > 1000);
}

TEST_CASE("a bitcast that reads elements otherwise is not taken as a move") {
  const auto steps = [](Shape from, Shape to) {
    return kernel::xla::steps_of_bitcast(bitcast_to(to), from).has_value();
  };
  const auto with = [](const char* type, const Index& sizes, const Index& layout,
                       const std::vector<Index>& tiles = {}) {
    Shape shape = shape_of(type, sizes);
    shape.layout = layout;
    shape.tiles = tiles;
    return shape;
  };
  const Shape x = with("f32", {2, 3}, {1, 0});
  CHECK(steps(x, with("f32", {3, 2}, {0, 1})));
  CHECK(!steps(x, with("s32", {2, 3}, {1, 0})));   // the same bits
  CHECK(!steps(x, with("bf16", {4, 3}, {1, 0})));  // of another width
  CHECK(!steps(x, with("f32", {2, 2}, {1, 0})));   // fewer elements
  CHECK(!steps(x, with("f32", {3, 2}, {0, 0})));   // no permutation
  CHECK(!steps(x, with("f32", {3, 2}, {0})));
  CHECK(!steps(x, with("f32", {3, 2}, {1, 2})));
  CHECK(!steps(x, with("f32", {2, 3}, {1, 0}, {{2, 2}})));
  const std::vector<Index> tile = {{2, 4}};
  CHECK(steps(with("f32", {1, 3, 4}, {2, 1, 0}, tile), with("f32", {3, 4}, {1, 0}, tile)));
  CHECK(!steps(with("f32", {2, 3, 4}, {2, 1, 0}, tile), with("f32", {6, 4}, {1, 0}, tile)));
  CHECK(!steps(with("f32", {2, 6}, {1, 0}, tile), with("f32", {6, 2}, {1, 0}, tile)));
  const std::vector<Index> rows_of_6 = {{6, 4}, {4, 1}}, rows_of_4 = {{4, 4}, {4, 1}};
  CHECK(!steps(with("f32", {12, 4}, {1, 0}, rows_of_6), with("f32", {12, 4}, {1, 0}, rows_of_4)));
  CHECK(steps(x, x));
  CHECK(!steps(with("f32", {2, 3}, {1, 0}, {{0, 4}}), with("f32", {2, 3}, {1, 0}, {{0, 4}})));
}

TEST_CASE("modules are related through moves and expansions, and not where these differ") {
  check_related(moved_pairs(),
                {{0, "f32[8,2]{0,1} bitcast", "f32[8,2]{1,0} bitcast"},
                 {0, "f32[8,2]{0,1} bitcast", "f32[8,2]{0,1:T(2,4)} bitcast"},
                 {1, "f32[8,2]{0,1} bitcast", "f32[8,2]{1,0} bitcast"},
                 {1, "subtract(t, v)", "subtract(v, t)"},
                 {2, "n = f32[16] negate(r)", "n = f32[16] reverse(r), dimensions={0}"},
                 {3, "t = f32[4,4] transpose(e), dimensions={1,0}", "t = f32[4,4] negate(e)"},
                 {3, "rhs_contracting_dims={1}", "rhs_contracting_dims={0}"},
                 {4, "constant(0)", "constant(1)"},
                 {4, "to_apply=add", "to_apply=maximum"},
                 {4, "rhs_batch_dims={0}, rhs_contracting_dims={1}",
                  "rhs_batch_dims={0}, rhs_contracting_dims={2}"},
                 {5, "[0:4], [0:2]", "[0:4], [2:4]"},
                 {5, "[0:4], [0:2]", "[0:4], [1:3]"},
                 {5, "concatenate(w, v)", "concatenate(v, w)"},
                 {6, "r = f32[2] reduce(t, z), dimensions={0}, to_apply=add",
                  "r = f32[2] reduce(t, z), dimensions={0}, to_apply=maximum"},
                 {6, "constant(0)", "constant(1)"},
                 {7, "iota_dimension=0", "iota_dimension=1"},
                 {7, "concatenate(o, r)", "concatenate(r, o)"},
                 {7, "start_index_map={0,1}", "start_index_map={1,0}"},
                 {8, "iota_dimension=0", "iota_dimension=1"},
                 {8, "concatenate(o, r)", "concatenate(r, o)"},
                 {8, "to_apply=add", "to_apply=maximum"},
                 {9, "padding=0_0x0_1", "padding=0_0x1_0"},
                 {9, "constant(0)", "constant(1)"},
                 {9, "scatter_dims_to_operand_dims={0,1}", "scatter_dims_to_operand_dims={1,0}"},
                 {9, "to_apply=add", "to_apply=maximum"},
                 {10, "start_index_map={0,1}", "start_index_map={1,0}"},
                 {11, "concatenate(o, r, n)", "concatenate(r, o, n)"},
                 {11, "iota_dimension=0", "iota_dimension=1"}});
}

// What counts digits would divide by zero.
TEST_CASE("arrays without elements are not moved") {
  const std::string text =
      "  x = f32[0,3] parameter(0)\n  r = f32[3,0] reshape(x)\n"
      "  t = f32[0,3] transpose(r), dimensions={1,0}\n  s = f32[0,3] reshape(t)\n"
      "  ROOT y = f32[0,2] slice(s), slice={[0:0], [0:2]}\n";
  CHECK(verdict_of({text, text, ".. -> .."}) == kernel::Verdict::Incomplete);
}

TEST_CASE("numbers that devices know are the same however they are computed") {
  const std::string id = "  x = f32[8,4] parameter(0)\n  id = u32[] partition-id()\n";
  const std::string ending =
      "  z = s32[] constant(0)\n"
      "  ROOT y = f32[2,4] dynamic-slice(x, r, z), dynamic_slice_sizes={2,4}\n";
  const auto table = [&](const char* numbers) {
    return module_text(id + "  t = s32[4] constant(" + numbers +
                       ")\n  d = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n"
                       "  r = s32[] reshape(d)\n" +
                       ending);
  };
  const std::string computed = module_text(id +
                                           "  n = s32[] convert(id)\n  two = s32[] constant(2)\n"
                                           "  r = s32[] multiply(n, two)\n" +
                                           ending);
  const auto is_related = [&](const std::string& before, const std::string& after) {
    const Devices devices{1, 4};
    const ModuleRelation relation = relation_of(*module_of(before), *module_of(after), devices);
    return related_certificate({before, after}, relation, devices, {}, {}).index() == 0;
  };
  CHECK(is_related(table("{0,2,4,6}"), computed));
  CHECK(is_related(computed, table("{0,2,4,6}")));
  CHECK(!is_related(table("{0,2,6,4}"), computed));
  CHECK(!is_related(computed, table("{0,2,4,5}")));
}

TEST_CASE("collectives of what is joined or moved are those of what it is made of") {
  const std::string body = "  x = f32[4,6] parameter(0)\n  w = f32[2,3] parameter(1)\n";
  const std::string add = ", to_apply=add\n";
  const std::string before = body + "  a = f32[4,6] all-reduce(x), " + kAlongA + add +
                             "  b = f32[2,3] all-reduce(w), " + kAlongA + add +
                             "  g = f32[8,6] all-gather(x), dimensions={0}, " + kAlongB +
                             "\n  ROOT t = (f32[4,6], f32[2,3], f32[8,6]) tuple(a, b, g)\n";
  const auto after = [&](const char* groups, const char* slice) {
    return body +
           "  t = f32[6,4]{0,1} bitcast(x)\n  f = f32[24] reshape(x)\n  h = f32[6] reshape(w)\n"
           "  c = f32[30] concatenate(f, h), dimensions={0}\n  r = f32[30] all-reduce(c), " +
           groups + add + "  p = f32[24] slice(r), slice={[0:24]}\n  q = f32[6] slice(r), slice={" +
           slice + "}\n  a = f32[4,6] reshape(p)\n  b = f32[2,3] reshape(q)\n" +
           "  n = f32[6,8] all-gather(t), dimensions={1}, " + kAlongB +
           "\n  g = f32[8,6] transpose(n), dimensions={1,0}\n"
           "  ROOT o = (f32[4,6], f32[2,3], f32[8,6]) tuple(a, b, g)\n";
  };
  const auto is_related = [&](const std::string& changed) {
    const Devices devices{1, 4};
    const std::string first = module_text(before);
    const std::string second = module_text(changed);
    const ModuleRelation relation = relation_of(*module_of(first), *module_of(second), devices);
    return related_certificate({first, second}, relation, devices, {}, {}).index() == 0;
  };
  CHECK(is_related(after(kAlongA, "[24:30]")));
  CHECK(!is_related(after(kAlongB, "[24:30]")));
  CHECK(!is_related(after(kAlongA, "[18:24]")));
  std::string other = after(kAlongA, "[24:30]");
  const std::string gathered = "n = f32[6,8] all-gather(t), dimensions={1}, ";
  other.replace(other.find(gathered + kAlongB) + gathered.size(), std::string(kAlongB).size(),
                kAlongA);
  CHECK(!is_related(other));
}

TEST_CASE("a reduce-scatter is every device's part of an all-reduce") {
  const std::string x = "  x = f32[4,6] parameter(0)\n";
  const auto before = [&](const char* table) {
    return module_text(x + "  a = f32[4,6] all-reduce(x), " + kAlongA +
                       ", to_apply=add\n  id = u32[] partition-id()\n  t = s32[4] constant(" +
                       table +
                       ")\n  d = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n"
                       "  r = s32[] reshape(d)\n  z = s32[] constant(0)\n"
                       "  ROOT y = f32[2,6] dynamic-slice(a, r, z), dynamic_slice_sizes={2,6}\n");
  };
  const auto after = [&](const char* groups, const char* reducer) {
    return module_text(x + "  ROOT y = f32[2,6] reduce-scatter(x), dimensions={0}, " + groups +
                       ", to_apply=" + reducer + "\n");
  };
  const auto is_related = [&](const std::string& first, const std::string& second) {
    const Devices devices{1, 4};
    const ModuleRelation relation = relation_of(*module_of(first), *module_of(second), devices);
    return related_certificate({first, second}, relation, devices, {}, {}).index() == 0;
  };
  // Groups {0,2} and {1,3}: the first members have the first half.
  CHECK(is_related(before("{0,0,2,2}"), after(kAlongA, "add")));
  CHECK(is_related(after(kAlongA, "add"), before("{0,0,2,2}")));
  CHECK(!is_related(before("{2,2,0,0}"), after(kAlongA, "add")));
  CHECK(!is_related(before("{0,2,0,2}"), after(kAlongA, "add")));
  CHECK(!is_related(before("{0,0,2,2}"), after(kAlongA, "maximum")));
  CHECK(!is_related(before("{0,0,2,2}"), after(kAlongB, "add")));
  CHECK(!is_related(before("{0,0,1,1}"), after(kAlongA, "add")));
}

}  // namespace
}  // namespace p2::hlo::small
