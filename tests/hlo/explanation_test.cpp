// Where two modules part ways, and what would repair it: bugs that users of real systems met, each
// as a module of its own, and each with its right version.

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "engine/hlo/explanation/explanation.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

constexpr const char* kReducers = R"(
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
)";

std::string module(const char* entry, const std::string& body) {
  return std::string("HloModule m, num_partitions=4\n") + kReducers + "ENTRY " + entry + " {" +
         body + "}\n";
}

/// One bug: the module before partitioning, or before a pass; the one after it as it should be; and
/// what is wrong in it.
struct Bug {
  const char* name;
  const char* before;
  const char* right;
  const char* from;      ///< a part of `right`, which occurs once
  const char* to;        ///< what stands there in the wrong module
  const char* line;      ///< the line of the wrong module at which it parts ways
  const char* repair;    ///< empty where none is found
  bool is_pass = false;  ///< both are partitioned
};

const Bug kBugs[] = {
    {"the all-reduce after a row-parallel dot is missing", R"(
  x = f32[6,8] parameter(0), sharding={devices=[1,4]<=[4]}
  w = f32[8,4] parameter(1), sharding={devices=[4,1]<=[4]}
  b = f32[6,4] parameter(2), sharding={replicated}
  y = f32[6,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[6,4] add(y, b), sharding={replicated}
)",
     R"(
  x = f32[6,2] parameter(0)
  w = f32[2,4] parameter(1)
  b = f32[6,4] parameter(2)
  p = f32[6,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = f32[6,4] all-reduce(p), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
  ROOT r = f32[6,4] add(y, b)
)",
     "all-reduce(p), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, "
     "to_apply=add",
     "copy(p)", "ROOT r =", "an all-reduce (add) over {0,1,2,3} after p"},

    {"a fused QKV weight is cut at the wrong place", R"(
  x = f32[3,8] parameter(0), sharding={replicated}
  w = f32[8,24] parameter(1), sharding={devices=[1,4]<=[4]}
  h = f32[3,24] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={devices=[1,4]<=[4]}
  s = f32[3,4,6] reshape(h), sharding={devices=[1,4,1]<=[4]}
  q = f32[3,4,2] slice(s), slice={[0:3], [0:4], [0:2]}, sharding={devices=[1,4,1]<=[4]}
  k = f32[3,4,2] slice(s), slice={[0:3], [0:4], [2:4]}, sharding={devices=[1,4,1]<=[4]}
  ROOT r = f32[3,4,2] multiply(q, k), sharding={devices=[1,4,1]<=[4]}
)",
     R"(
  x = f32[3,8] parameter(0)
  w = f32[8,6] parameter(1)
  h = f32[3,6] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[3,1,6] reshape(h)
  q = f32[3,1,2] slice(s), slice={[0:3], [0:1], [0:2]}
  k = f32[3,1,2] slice(s), slice={[0:3], [0:1], [2:4]}
  ROOT r = f32[3,1,2] multiply(q, k)
)",
     "[0:1], [2:4]", "[0:1], [3:5]", "ROOT r =", "[2:4] in place of [3:5] along dimension 2 in k"},

    {"the gradient of a layer norm's scale is not reduced under sequence parallelism", R"(
  dy = f32[8,3] parameter(0), sharding={devices=[4,1]<=[4]}
  xh = f32[8,3] parameter(1), sharding={devices=[4,1]<=[4]}
  z = f32[] constant(0)
  t = f32[8,3] multiply(dy, xh), sharding={devices=[4,1]<=[4]}
  ROOT dg = f32[3] reduce(t, z), dimensions={0}, to_apply=add, sharding={replicated}
)",
     R"(
  dy = f32[2,3] parameter(0)
  xh = f32[2,3] parameter(1)
  z = f32[] constant(0)
  t = f32[2,3] multiply(dy, xh)
  p = f32[3] reduce(t, z), dimensions={0}, to_apply=add
  ROOT dg = f32[3] all-reduce(p), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
)",
     "all-reduce(p), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, "
     "to_apply=add",
     "copy(p)", "p = f32[3] reduce", "an all-reduce (add) over {0,1,2,3} after p"},

    {"accumulated gradients are scaled twice", R"(
  g = f32[8,3] parameter(0), sharding={devices=[4,1]<=[4]}
  z = f32[] constant(0)
  s = f32[3] reduce(g, z), dimensions={0}, to_apply=add, sharding={replicated}
  n = f32[] constant(0.125)
  ns = f32[3] broadcast(n), dimensions={}
  ROOT m = f32[3] multiply(s, ns), sharding={replicated}
)",
     R"(
  g = f32[2,3] parameter(0)
  z = f32[] constant(0)
  s = f32[3] reduce(g, z), dimensions={0}, to_apply=add
  n = f32[] constant(0.5)
  ns = f32[3] broadcast(n), dimensions={}
  m = f32[3] multiply(s, ns)
  a = f32[3] all-reduce(m), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
  q = f32[] constant(0.25)
  qs = f32[3] broadcast(q), dimensions={}
  ROOT r = f32[3] multiply(a, qs)
)",
     "constant(0.5)", "constant(0.125)", "ROOT r =", "multiply without r"},

    {"epsilon is added on every rank, then summed", R"(
  x = f32[8] parameter(0), sharding={devices=[4]<=[4]}
  z = f32[] constant(0)
  q = f32[8] multiply(x, x), sharding={devices=[4]<=[4]}
  s = f32[] reduce(q, z), dimensions={0}, to_apply=add
  e = f32[] constant(0.5)
  ROOT r = f32[] add(s, e), sharding={replicated}
)",
     R"(
  x = f32[2] parameter(0)
  z = f32[] constant(0)
  q = f32[2] multiply(x, x)
  s = f32[] reduce(q, z), dimensions={0}, to_apply=add
  e = f32[] constant(0.5)
  a = f32[] all-reduce(s), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
  ROOT r = f32[] add(a, e)
)",
     R"(a = f32[] all-reduce(s), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
  ROOT r = f32[] add(a, e))",
     R"(t = f32[] add(s, e)
  ROOT r = f32[] all-reduce(t), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add)",
     "t = f32[] add", "an all-reduce (add) over {0,1,2,3} after s in place of r"},

    {"the mean of means over uneven shards", R"(
  x = f32[6] parameter(0), sharding={devices=[4]<=[4]}
  z = f32[] constant(0)
  s = f32[] reduce(x, z), dimensions={0}, to_apply=add
  n = f32[] constant(6)
  ROOT m = f32[] divide(s, n), sharding={replicated}
)",
     R"(
  x = f32[2] parameter(0)
  z = f32[] constant(0)
  p = u32[] partition-id()
  three = u32[] constant(3)
  here = pred[] compare(p, three), direction=LT
  in = pred[2] broadcast(here), dimensions={}
  zs = f32[2] broadcast(z), dimensions={}
  k = f32[2] select(in, x, zs)
  s = f32[] reduce(k, z), dimensions={0}, to_apply=add
  n = f32[] constant(6)
  m = f32[] divide(s, n)
  ROOT r = f32[] all-reduce(m), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
)",
     "constant(6)", "constant(8)", "m = f32[] divide", "6 in place of 8 in n"},

    {"a look-up is clamped per shard", R"(
  t = f32[8,3] parameter(0), sharding={devices=[4,1]<=[4]}
  i = s32[2] parameter(1), sharding={replicated}
  ROOT y = f32[2,3] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}, sharding={replicated}
)",
     R"(
  t = f32[2,3] parameter(0)
  i = s32[2] parameter(1)
  p = u32[] partition-id()
  q = s32[] convert(p)
  two = s32[] constant(2)
  o = s32[] multiply(q, two)
  b = s32[2] broadcast(o), dimensions={}
  z = s32[] constant(0)
  n = s32[] constant(7)
  c = s32[2] clamp(z, i, n)
  l = s32[2] subtract(c, b)
  g = f32[2,3] gather(t, l), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}
  zs = s32[2] broadcast(z), dimensions={}
  ts = s32[2] broadcast(two), dimensions={}
  above = pred[2] compare(l, zs), direction=GE
  below = pred[2] compare(l, ts), direction=LT
  in = pred[2] and(above, below)
  mask = pred[2,3] broadcast(in), dimensions={0}
  f = f32[] constant(0)
  fs = f32[2,3] broadcast(f), dimensions={}
  h = f32[2,3] select(mask, g, fs)
  ROOT y = f32[2,3] all-reduce(h), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
)",
     "select(mask, g, fs)", "copy(g)", "g = f32[2,3] gather", ""},

    {"an update is dropped at the border of a shard", R"(
  x = f32[8] parameter(0), sharding={devices=[4]<=[4]}
  u = f32[2] parameter(1), sharding={replicated}
  i = s32[] constant(3)
  ROOT y = f32[8] dynamic-update-slice(x, u, i), sharding={devices=[4]<=[4]}
)",
     R"(
  x = f32[2] parameter(0)
  u = f32[2] parameter(1)
  w = f32[8] all-gather(x), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0}
  i = s32[] constant(3)
  d = f32[8] dynamic-update-slice(w, u, i)
  p = u32[] partition-id()
  two = u32[] constant(2)
  o = u32[] multiply(p, two)
  ROOT y = f32[2] dynamic-slice(d, o), dynamic_slice_sizes={2}
)",
     R"(w = f32[8] all-gather(x), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0}
  i = s32[] constant(3)
  d = f32[8] dynamic-update-slice(w, u, i)
  p = u32[] partition-id()
  two = u32[] constant(2)
  o = u32[] multiply(p, two)
  ROOT y = f32[2] dynamic-slice(d, o), dynamic_slice_sizes={2})",
     R"(i = s32[] constant(3)
  p = u32[] partition-id()
  q = s32[] convert(p)
  two = s32[] constant(2)
  o = s32[] multiply(q, two)
  l = s32[] subtract(i, o)
  d = f32[2] dynamic-update-slice(x, u, l)
  z = s32[] constant(0)
  above = pred[] compare(l, z), direction=GE
  below = pred[] compare(l, two), direction=LT
  here = pred[] and(above, below)
  mask = pred[2] broadcast(here), dimensions={}
  ROOT y = f32[2] select(mask, d, x))",
     "ROOT y =", ""},

    {"a concatenation doubles what two devices hold", R"(
  a = f32[2,3] parameter(0), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
  b = f32[2,3] parameter(1), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
  ROOT c = f32[4,3] concatenate(a, b), dimensions={0}, sharding={replicated}
)",
     R"(
  a = f32[1,3] parameter(0)
  b = f32[1,3] parameter(1)
  z = f32[] constant(0)
  zs = f32[4,3] broadcast(z), dimensions={}
  p = u32[] partition-id()
  rows = u32[4] constant({0, 0, 1, 1})
  r1 = u32[1] dynamic-slice(rows, p), dynamic_slice_sizes={1}
  r = u32[] reshape(r1)
  two = u32[] constant(2)
  s = u32[] add(r, two)
  zero = u32[] constant(0)
  u = f32[4,3] dynamic-update-slice(zs, a, r, zero)
  v = f32[4,3] dynamic-update-slice(u, b, s, zero)
  ROOT c = f32[4,3] all-reduce(v), channel_id=1, replica_groups={{0,2},{1,3}}, use_global_device_ids=true, to_apply=add
)",
     "replica_groups={{0,2},{1,3}}", "replica_groups={{0,1,2,3}}", "ROOT c = f32[4,3]",
     "{0,2} {1,3} as the groups of c"},

    {"the logarithm of a loss that is cut", R"(
  x = f32[8] parameter(0), sharding={devices=[4]<=[4]}
  z = f32[] constant(0)
  e = f32[8] exponential(x), sharding={devices=[4]<=[4]}
  s = f32[] reduce(e, z), dimensions={0}, to_apply=add
  ROOT y = f32[] log(s), sharding={replicated}
)",
     R"(
  x = f32[2] parameter(0)
  z = f32[] constant(0)
  e = f32[2] exponential(x)
  s = f32[] reduce(e, z), dimensions={0}, to_apply=add
  a = f32[] all-reduce(s), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
  ROOT y = f32[] log(a)
)",
     R"(a = f32[] all-reduce(s), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
  ROOT y = f32[] log(a))",
     R"(l = f32[] log(s)
  ROOT y = f32[] all-reduce(l), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add)",
     "l = f32[] log", "an all-reduce (add) over {0,1,2,3} after s in place of y"},

    {"an embedding is reduced after it was scattered along the sequence", R"(
  h = f32[8,6] parameter(0), sharding={devices=[1,4]<=[4]}
  t = f32[6,3] parameter(1), sharding={devices=[4,1]<=[4]}
  ROOT y = f32[8,3] dot(h, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={devices=[4,1]<=[4]}
)",
     R"(
  h = f32[8,2] parameter(0)
  t = f32[2,3] parameter(1)
  i = u32[] partition-id()
  three = u32[] constant(3)
  here = pred[] compare(i, three), direction=LT
  f = f32[] constant(0)
  fs = f32[8,2] broadcast(f), dimensions={}
  ts = f32[2,3] broadcast(f), dimensions={}
  hm = pred[8,2] broadcast(here), dimensions={}
  tm = pred[2,3] broadcast(here), dimensions={}
  hs = f32[8,2] select(hm, h, fs)
  tt = f32[2,3] select(tm, t, ts)
  p = f32[8,3] dot(hs, tt), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[2,3] reduce-scatter(p), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0}, to_apply=add
  ROOT y = f32[2,3] copy(s)
)",
     "y = f32[2,3] copy(s)",
     "y = f32[2,3] all-reduce(s), channel_id=2, replica_groups={{0,1,2,3}}, "
     "use_global_device_ids=true, to_apply=add",
     "ROOT y =", "all-reduce without y"},

    {"a permutation of two cycles loses one", R"(
  x = f32[3] parameter(0)
  ROOT y = f32[3] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,0},{2,3},{3,2}}
)",
     R"(
  x = f32[3] parameter(0)
  a = f32[3] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,0}}
  b = f32[3] collective-permute(x), channel_id=2, source_target_pairs={{2,3},{3,2}}
  ROOT y = f32[3] add(a, b)
)",
     "ROOT y = f32[3] add(a, b)", "ROOT y = f32[3] copy(a)", "a = f32[3] collective-permute",
     "the pairs of y in a", true},

    {"a device's permutation to itself is dropped", R"(
  x = f32[3] parameter(0)
  ROOT y = f32[3] collective-permute(x), channel_id=1, source_target_pairs={{0,0},{1,2},{2,3},{3,1}}
)",
     R"(
  x = f32[3] parameter(0)
  ROOT y = f32[3] collective-permute(x), channel_id=1, source_target_pairs={{0,0},{1,2},{2,3},{3,1}}
)",
     "{0,0},{1,2}", "{1,2}", "ROOT y =", "the pairs of y in y", true},

    {"a scale that differs by device is moved behind an all-gather", R"(
  x = f32[2] parameter(0)
  p = u32[] partition-id()
  f = f32[] convert(p)
  fs = f32[2] broadcast(f), dimensions={}
  m = f32[2] multiply(x, fs)
  ROOT y = f32[8] all-gather(m), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0}
)",
     R"(
  x = f32[2] parameter(0)
  p = u32[] partition-id()
  f = f32[] convert(p)
  fs = f32[2] broadcast(f), dimensions={}
  m = f32[2] multiply(fs, x)
  ROOT y = f32[8] all-gather(m), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0}
)",
     R"(fs = f32[2] broadcast(f), dimensions={}
  m = f32[2] multiply(fs, x)
  ROOT y = f32[8] all-gather(m), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0})",
     R"(g = f32[8] all-gather(x), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0}
  fs = f32[8] broadcast(f), dimensions={}
  ROOT y = f32[8] multiply(g, fs))",
     "ROOT y =", "", true},

    {"an all-gather of uneven shards loses a row", R"(
  x = f32[7,2] parameter(0), sharding={devices=[4,1]<=[4]}
  ROOT y = f32[7,2] copy(x), sharding={replicated}
)",
     R"(
  x = f32[2,2] parameter(0)
  g = f32[8,2] all-gather(x), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0}
  ROOT y = f32[7,2] slice(g), slice={[0:7], [0:2]}
)",
     "slice={[0:7], [0:2]}", "slice={[1:8], [0:2]}",
     "ROOT y =", "[0:7] in place of [1:8] along dimension 0 in y"},

    {"the gradient of a table, a scatter-add, is not reduced", R"(
  i = s32[8,1] parameter(0), sharding={devices=[4,1]<=[4]}
  d = f32[8,2] parameter(1), sharding={devices=[4,1]<=[4]}
  z = f32[] constant(0)
  zs = f32[5,2] broadcast(z), dimensions={}
  ROOT g = f32[5,2] scatter(zs, i, d), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add, sharding={replicated}
)",
     R"(
  i = s32[2,1] parameter(0)
  d = f32[2,2] parameter(1)
  z = f32[] constant(0)
  zs = f32[5,2] broadcast(z), dimensions={}
  s = f32[5,2] scatter(zs, i, d), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  ROOT g = f32[5,2] all-reduce(s), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
)",
     "all-reduce(s), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, "
     "to_apply=add",
     "copy(s)", "s = f32[5,2] scatter", "an all-reduce (add) over {0,1,2,3} after s"},

    {"a slice is clamped per shard", R"(
  x = f32[8] parameter(0), sharding={devices=[4]<=[4]}
  i = s32[] constant(3)
  ROOT y = f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}, sharding={replicated}
)",
     R"(
  x = f32[2] parameter(0)
  i = s32[] constant(3)
  w = f32[8] all-gather(x), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, dimensions={0}
  ROOT y = f32[2] dynamic-slice(w, i), dynamic_slice_sizes={2}
)",
     "dynamic-slice(w, i), dynamic_slice_sizes={2}", "dynamic-slice(x, i), dynamic_slice_sizes={2}",
     "ROOT y =", ""},

    {"a data-parallel group of one: the all-reduce does nothing", R"(
  g = f32[8,3] parameter(0), sharding={devices=[4,1]<=[4]}
  z = f32[] constant(0)
  ROOT s = f32[3] reduce(g, z), dimensions={0}, to_apply=add, sharding={replicated}
)",
     R"(
  g = f32[2,3] parameter(0)
  z = f32[] constant(0)
  p = f32[3] reduce(g, z), dimensions={0}, to_apply=add
  ROOT s = f32[3] all-reduce(p), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
)",
     "{{0,1,2,3}}", "{{0},{1},{2},{3}}", "ROOT s =", "an all-reduce (add) over {0,1,2,3} after p"},
};

/// The line of a text in which `part` first occurs, from 1.
std::size_t line_of(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return 1 + static_cast<std::size_t>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

}  // namespace

TEST_CASE("bugs that users met are refuted with the line and, where there is one, the repair") {
  for (const Bug& bug : kBugs) {
    CAPTURE(bug.name);
    const std::string before = module(bug.is_pass ? "main_spmd" : "main", bug.before);
    const std::string right = module("main_spmd", bug.right);
    const std::string wrong = replaced(right, bug.from, bug.to);
    CHECK(summary(compared(before, right)) == "valid");
    const auto first = module_of(before);
    const auto second = module_of(wrong);
    const ModuleDecision decision = compare(first, second, {}, {});
    CHECK(summary(decision).starts_with("invalid "));
    const auto explanation = explain(*first, *second, decision, {});
    REQUIRE(explanation);
    INFO(explanation->paragraph);
    CHECK(explanation->instruction.position.line == line_of(wrong, bug.line));
    CHECK((explanation->repair ? explanation->repair->words : "") == bug.repair);
  }
}

namespace {

const std::string kMlp = R"(
  x = f32[4,8] parameter(0)
  w = f32[8,4] parameter(1)
  ROOT y = f32[4,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
)";
const std::string kPartitionedMlp = R"(
  x = f32[2,4] parameter(0)
  w = f32[4,4] parameter(1)
  p = f32[2,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="mlp" source_file="model.py" source_line=7}
  ROOT y = f32[2,4] all-reduce(p), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=add
)";
const std::string kMlpReduce =
    "all-reduce(p), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, "
    "to_apply=add";
const std::string kMlpRelation = R"({"format": "p2-relation/1", "devices": 4,
  "mesh": {"data": 2, "model": 2},
  "inputs": {"0": {"after": 0, "relation": {"dims": [["data"], ["model"]]}},
             "1": {"after": 1, "relation": {"dims": [["model"], []]}}},
  "outputs": {"0": {"after": 0, "relation": {"dims": [["data"], []]}}}})";

}  // namespace

TEST_CASE("groups are named by the axes of the mesh") {
  ComparisonOptions options;
  options.relation = kMlpRelation;
  const std::string before = module("main", kMlp);
  const std::string right = module("main_spmd", kPartitionedMlp);
  CHECK(summary(compared(before, right, options)) == "valid");
  const auto explained = [&](const std::string& wrong) {
    const auto first = module_of(before);
    const auto second = module_of(wrong);
    const ModuleDecision decision = compare(first, second, options, {});
    CHECK(summary(decision) == "invalid value");
    const auto explanation = explain(*first, *second, decision, {});
    REQUIRE(explanation);
    REQUIRE(explanation->repair);
    return *explanation;
  };
  const Explanation missing = explained(replaced(right, kMlpReduce, "copy(p)"));
  CHECK(missing.paragraph ==
        "Output 0 is p (dot): partial sums of y before (line 11) over axis model.");
  CHECK(missing.repair->words == "an all-reduce (add) over axis model after p");
  CHECK(missing.repair->is_missing);
  CHECK(missing.repair->groups == std::vector<std::vector<std::uint32_t>>{{0, 1}, {2, 3}});
  const Explanation crossed = explained(replaced(right, "{{0,1},{2,3}}", "{{0,2},{1,3}}"));
  CHECK(crossed.repair->words == "axis model as the groups of y");
  CHECK_FALSE(crossed.repair->is_missing);
  REQUIRE(crossed.operands.size() == 1);
  CHECK(crossed.instruction.name == "y");
  CHECK(crossed.operands[0].held == "add");
  CHECK(crossed.operands[0].tensor->name == "y");
}

TEST_CASE("a difference that no change near by repairs has a place and no repair") {
  const std::string before = module("main_spmd", R"(
  x = f32[4] parameter(0)
  s = f32[4] sine(x)
  ROOT y = f32[4] tanh(s)
)");
  const auto first = module_of(before);
  const auto second = module_of(replaced(before, "sine(x)", "cosine(x)"));
  const ModuleDecision decision = compare(first, second, {}, {});
  const auto explanation = explain(*first, *second, decision, {});
  REQUIRE(explanation);
  CHECK(explanation->instruction.name == "s");
  CHECK(explanation->instruction.opcode == "cosine");
  CHECK_FALSE(explanation->repair);
  CHECK(explanation->paragraph ==
        "s (cosine) computes what the module before does not. It is computed from x (line 9): x "
        "before (line 9).");
  // What is equal has no explanation.
  CHECK_FALSE(explain(*first, *first, compare(first, first, {}, {}), {}));
}

TEST_CASE("loops and branches are explained inside") {
  const std::string before = std::string("HloModule m, num_partitions=4\n") + kReducers + R"(
body {
  s = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[2] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  r = f32[2] all-reduce(v), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=add
  t = f32[2] tanh(r)
  ROOT n = (s32[], f32[2]) tuple(j, t)
}
goes_on {
  s = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY main_spmd {
  x = f32[2] parameter(0)
  z = s32[] constant(0)
  s = (s32[], f32[2]) tuple(z, x)
  w = (s32[], f32[2]) while(s), condition=goes_on, body=body
  ROOT y = f32[2] get-tuple-element(w), index=1
}
)";
  const auto first = module_of(before);
  const auto second = module_of(replaced(before, "{{0,1},{2,3}}", "{{0,2},{1,3}}"));
  const ModuleDecision decision = compare(first, second, {}, {});
  REQUIRE(decision.outcome == Outcome::Refuted);
  const auto explanation = explain(*first, *second, decision, {});
  REQUIRE(explanation);
  CHECK(explanation->instruction.name == "r");
  REQUIRE(explanation->repair);
  CHECK(explanation->repair->words == "{0,1} {2,3} as the groups of r");
}

TEST_CASE("a reducer that others call is not named as a mistake of one that calls it") {
  const auto sums = [](const char* first) {
    return module("main", fmt::format(R"(
  x = f32[4,4] parameter(0)
  y = f32[4,4] negate(x)
  s = f32[4,4] all-reduce(x), channel_id=1, replica_groups={{{{0,1,2,3}}}}, use_global_device_ids=true, to_apply={}
  t = f32[4,4] all-reduce(y), channel_id=2, replica_groups={{{{0,1,2,3}}}}, use_global_device_ids=true, to_apply=maximum
  ROOT r = f32[4,4] add(s, t)
)",
                                      first));
  };
  const auto with_maximum = [](std::string text) {
    return replaced(std::move(text), "\nadd {", R"(
maximum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}
add {)");
  };
  const auto first = module_of(with_maximum(sums("add")));
  const auto second = module_of(with_maximum(sums("maximum")));
  const ModuleDecision decision = compare(first, second, {}, {});
  REQUIRE(decision.outcome == Outcome::Refuted);
  const auto explanation = explain(*first, *second, decision, {});
  REQUIRE((explanation && explanation->repair));
  // As it says: s alone is reduced otherwise.
  CHECK(explanation->repair->words == "add in place of maximum as the reducer of s");
}

TEST_CASE("the drawing of an element has the devices whose pieces make it up") {
  ComparisonOptions options;
  options.relation = kMlpRelation;
  const auto first = module_of(module("main", kMlp));
  const auto second = module_of(module("main_spmd", kPartitionedMlp));
  const ModuleDecision decision = compare(first, second, options, {});
  CHECK(draw_output(*first, *second, decision, {}) ==
        "output 0 [0,0] on device 0\n"
        "└ device 0: y[0,0] = all-reduce (add), y[0,0] before\n"
        "  ├ device 0: p[0,0] = dot over 0:4 of dimension 1 of x before, a partial sum of y[0,0] "
        "before\n"
        "  └ device 1: p[0,0] = dot over 4:8 of dimension 1 of x before, a partial sum of y[0,0] "
        "before\n");
}

TEST_CASE("check says where modules part ways, in text, JSON and SARIF") {
  const TemporaryFile before(module("main", kMlp), ".hlo");
  const TemporaryFile relation(kMlpRelation, ".json");
  const TemporaryFile wrong(replaced(module("main_spmd", kPartitionedMlp), kMlpReduce, "copy(p)"),
                            ".hlo");
  const std::vector<std::string> asked = {"check",      "--before", before.path(),  "--after",
                                          wrong.path(), "--relate", relation.path()};
  const auto ran = [&](std::vector<std::string> more) {
    more.insert(more.begin(), asked.begin(), asked.end());
    const Ran result = run(more);
    CHECK(result.exit == kRefuted);
    return result.out;
  };
  const std::string text = ran({"--explain"});
  CHECK(text.find(wrong.path() + ":11:3: (model.py:7) Output 0 is p (dot)") != std::string::npos);
  CHECK(text.find("An all-reduce (add) over axis model after p (line 11) is missing: with it, the "
                  "modules are equal.") != std::string::npos);
  CHECK(text.find("└ device 0: p[0,0] = dot over 0:4") != std::string::npos);
  const auto json = nlohmann::json::parse(ran({"--format", "json"})).at("results").at(0);
  const auto& explanation = json.at("explanation");
  CHECK(explanation.at("instruction") == "p");
  CHECK(explanation.at("line") == 11);
  CHECK(explanation.at("source") == nlohmann::json{"model.py:7"});
  CHECK(explanation.at("repair").at("groups") == nlohmann::json{{0, 1}, {2, 3}});
  const auto sarif = nlohmann::json::parse(ran({"--format", "sarif"}));
  const auto& result = sarif.at("runs").at(0).at("results").at(0);
  CHECK(result.at("locations").at(0).at("physicalLocation").at("region").at("startLine") == 11);
  CHECK(result.at("message").at("text").get<std::string>().find("over axis model") !=
        std::string::npos);
}

}  // namespace p2::hlo
