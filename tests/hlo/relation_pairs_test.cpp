// Pairs of modules that are not equal, though operation by operation they look alike.

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/hlo/modules.h"
#include "tests/hlo/related_pairs.h"

namespace p2::hlo {
namespace {

/// Pairs that are not equal, though operation by operation they look alike.
std::vector<std::pair<const char*, Pair>> false_pairs() {
  const std::string infinite =
      "  i = f32[] constant(inf)\n  u = f32[4,4] broadcast(i), dimensions={}\n";
  const std::string zero = "  i = f32[] constant(0)\n  u = f32[4,4] broadcast(i), dimensions={}\n";
  const std::string dot = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  const std::string x =
      "  x = f32[4,8] parameter(0)\n  w = f32[8,4] parameter(1)\n  d = f32[4,4] dot(x, w)" + dot;
  const std::string part =
      "  x = f32[4,4] parameter(0)\n  w = f32[4,4] parameter(1)\n  d = f32[4,4] dot(x, w)" + dot;
  const std::string sum_a = fmt::format("{}, to_apply=add\n", kAlongA);
  const std::string sum_b = fmt::format("{}, to_apply=add\n", kAlongB);
  const std::string all =
      ", replica_groups={{0,1,2,3}}, channel_id=1, use_global_device_ids=true, to_apply=add\n";
  const std::string number =
      "  id = u32[] partition-id()\n  t = s32[4] constant({0,2,0,2})\n"
      "  e = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n"
      "  r = s32[] reshape(e)\n  z = s32[] constant(0)\n";
  const std::string chosen =
      "  id = u32[] partition-id()\n  t = pred[4] constant({})\n"
      "  d = pred[1] dynamic-slice(t, id), dynamic_slice_sizes={{1}}\n"
      "  r = pred[] reshape(d)\n  o = pred[4,{}] broadcast(r), dimensions={{}}\n"
      "  z = f32[] constant(0)\n  zb = f32[4,{}] broadcast(z), dimensions={{}}\n"
      "  k = f32[4,{}] select(o, zb, x)\n";
  const std::string scatter =
      ", update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n";
  const std::string whole_scatter =
      "  i = s32[4,1] parameter(0)\n  u = f32[4,8] parameter(1)\n"
      "  x = f32[4,8] parameter(2)\n  ROOT y = f32[4,8] scatter(x, i, u)" +
      scatter;
  const std::string zeros =
      "  z = f32[] constant(0)\n  x = f32[{},8] broadcast(z), dimensions={{}}\n";
  const std::string whole_cut = "  i = s32[4,1] parameter(0)\n  u = f32[4,8] parameter(1)\n" +
                                fmt::format(fmt::runtime(zeros), 4) +
                                "  ROOT y = f32[4,8] scatter(x, i, u)" + scatter;
  const auto cut = [&](const std::string& offsets) {
    return "  i = s32[2,1] parameter(0)\n  u = f32[2,8] parameter(1)\n" +
           fmt::format(fmt::runtime(zeros), 2) +
           "  id = u32[] partition-id()\n  t = s32[4] constant(" + offsets +
           ")\n  d = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n"
           "  r = s32[] reshape(d)\n  o = s32[2,1] broadcast(r), dimensions={}\n"
           "  j = s32[2,1] subtract(i, o)\n";
  };
  const std::string rows =
      ", offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
      "index_vector_dim=1, slice_sizes={1,4}\n";
  return {
      {"a slice of every shard at data",
       {"  x = f32[4,8] parameter(0)\n  i = s32[] parameter(1)\n  z = s32[] constant(0)\n"
        "  ROOT y = f32[1,8] dynamic-slice(x, i, z), dynamic_slice_sizes={1,8}\n",
        "  x = f32[2,8] parameter(0)\n  i = s32[] parameter(1)\n  z = s32[] constant(0)\n"
        "  ROOT y = f32[1,8] dynamic-slice(x, i, z), dynamic_slice_sizes={1,8}\n",
        "a. _ -> .."}},
      {"the bits of numbers of another type",
       {"  x = f32[4,8] parameter(0)\n  h = bf16[4,8] convert(x)\n"
        "  b = s16[4,8] bitcast-convert(h)\n  ROOT y = f32[4,8] convert(b)\n",
        "  x = f32[2,8] parameter(0)\n  h = f16[2,8] convert(x)\n"
        "  b = s16[2,8] bitcast-convert(h)\n  ROOT y = f32[2,8] convert(b)\n",
        "a. -> a."}},
      {"numbers of another precision",
       {"  x = f32[4,8] parameter(0)\n"
        "  ROOT y = f32[4,8] reduce-precision(x), exponent_bits=8, mantissa_bits=7\n",
        "  x = f32[2,8] parameter(0)\n"
        "  ROOT y = f32[2,8] reduce-precision(x), exponent_bits=2, mantissa_bits=1\n",
        "a. -> a."}},
      {"an update that is added once by every part",
       {x + "  u = f32[4,2] parameter(2)\n  i = s32[] parameter(3)\n  z = s32[] constant(0)\n"
            "  ROOT y = f32[4,4] dynamic-update-slice(d, u, z, i)\n",
        part +
            "  u = f32[4,2] parameter(2)\n  i = s32[] parameter(3)\n  z = s32[] constant(0)\n"
            "  v = f32[4,4] dynamic-update-slice(d, u, z, i)\n"
            "  ROOT y = f32[4,4] all-reduce(v), " +
            sum_b,
        ".b b. .. _ -> .."}},
      {"an index that is a part of a sum",
       {"  x = f32[4,8] parameter(0)\n  k = s32[4] parameter(1)\n  z = s32[] constant(0)\n"
        "  i = s32[] reduce(k, z), dimensions={0}, to_apply=plus\n"
        "  ROOT y = f32[4,2] dynamic-slice(x, z, i), dynamic_slice_sizes={4,2}\n",
        "  x = f32[4,8] parameter(0)\n  k = s32[2] parameter(1)\n  z = s32[] constant(0)\n"
        "  i = s32[] reduce(k, z), dimensions={0}, to_apply=plus\n"
        "  ROOT y = f32[4,2] dynamic-slice(x, z, i), dynamic_slice_sizes={4,2}\n",
        ".. b -> .."}},
      {"rows of a part of a sum",
       {x + "  i = s32[3,1] parameter(2)\n  ROOT y = f32[3,4] gather(d, i)" + rows,
        part + "  i = s32[3,1] parameter(2)\n  ROOT y = f32[3,4] gather(d, i)" + rows,
        ".b b. .. -> .."}},
      {"updates that are parts of a sum",
       {x +
            "  i = s32[4,1] parameter(2)\n  t = f32[4,4] parameter(3)\n"
            "  ROOT y = f32[4,4] scatter(t, i, d)" +
            scatter,
        part +
            "  i = s32[4,1] parameter(2)\n  t = f32[4,4] parameter(3)\n"
            "  ROOT y = f32[4,4] scatter(t, i, d)" +
            scatter,
        ".b b. .. .. -> .."}},
      {"updates of every shard at indices of the whole",
       {"  i = s32[3,1] parameter(0)\n  u = f32[3,8] parameter(1)\n  x = f32[4,8] parameter(2)\n"
        "  ROOT y = f32[4,8] scatter(x, i, u)" +
            scatter,
        "  i = s32[3,1] parameter(0)\n  u = f32[3,8] parameter(1)\n  x = f32[2,8] parameter(2)\n"
        "  ROOT y = f32[2,8] scatter(x, i, u)" +
            scatter,
        ".. .. a. -> a."}},
      {"another row of zeros to which rows are added",
       {"  i = s32[3,1] parameter(0)\n  u = f32[3,8] parameter(1)\n  z = f32[] constant(0)\n"
        "  x = f32[4,8] broadcast(z), dimensions={}\n  s = f32[4,8] scatter(x, i, u)" +
            scatter + "  ROOT y = f32[1,8] slice(s), slice={[2:3], [0:8]}\n",
        "  i = s32[3,1] parameter(0)\n  u = f32[3,8] parameter(1)\n  z = f32[] constant(0)\n"
        "  x = f32[4,8] broadcast(z), dimensions={}\n  s = f32[4,8] scatter(x, i, u)" +
            scatter + "  ROOT y = f32[1,8] slice(s), slice={[0:1], [0:8]}\n",
        ".. .. -> .."}},
      {"rows that are cut by the devices that cut the updates",
       {whole_cut,
        cut("{0,0,2,2}") + "  s = f32[2,8] scatter(x, j, u)" + scatter +
            "  ROOT y = f32[2,8] all-reduce(s), " + sum_a,
        "a. a. -> a."}},
      {"parts of other rows added up",
       {whole_cut,
        cut("{0,2,2,0}") + "  s = f32[2,8] scatter(x, j, u)" + scatter +
            "  ROOT y = f32[2,8] all-reduce(s), " + sum_a,
        "a. a. -> b."}},
      {"parts of rows that are not added up",
       {whole_cut, cut("{0,2,0,2}") + "  ROOT y = f32[2,8] scatter(x, j, u)" + scatter,
        "a. a. -> b."}},
      {"one copy has what is added to, the other has not",
       {whole_scatter,
        "  i = s32[2,1] parameter(0)\n  u = f32[2,8] parameter(1)\n  x = f32[4,8] parameter(2)\n" +
            fmt::format(fmt::runtime(chosen), "{0,1,1,1}", 8, 8, 8) +
            "  s = f32[4,8] scatter(k, i, u)" + scatter + "  ROOT y = f32[4,8] all-reduce(s), " +
            sum_a,
        "a. a. .. -> .."}},
      {"two parts have what is added to",
       {whole_scatter,
        "  i = s32[1,1] parameter(0)\n  u = f32[1,8] parameter(1)\n  x = f32[4,8] parameter(2)\n" +
            fmt::format(fmt::runtime(chosen), "{0,0,1,1}", 8, 8, 8) +
            "  s = f32[4,8] scatter(k, i, u)" + scatter + "  ROOT y = f32[4,8] all-reduce(s)" + all,
        "*. *. .. -> .."}},
      {"a group has none of what is added to",
       {whole_scatter,
        "  i = s32[2,1] parameter(0)\n  u = f32[2,4] parameter(1)\n  x = f32[4,4] parameter(2)\n" +
            fmt::format(fmt::runtime(chosen), "{0,1,1,1}", 4, 4, 4) +
            "  s = f32[4,4] scatter(k, i, u)" + scatter + "  ROOT y = f32[4,4] all-reduce(s), " +
            sum_a,
        "a. ab .b -> .b"}},
      {"parts of rows that other devices have",
       {x + "  ROOT y = f32[4,4] negate(d)\n",
        "  x = f32[4,2] parameter(0)\n  w = f32[2,4] parameter(1)\n  d = f32[4,4] dot(x, w)" + dot +
            number +
            "  s = f32[2,4] dynamic-slice(d, r, z), dynamic_slice_sizes={2,4}\n"
            "  n = f32[2,4] negate(s)\n  ROOT y = f32[2,4] all-reduce(n), " +
            sum_a,
        ".* *. -> b."}},
      {"copies that count twice",
       {x + "  ROOT y = f32[4,4] negate(d)\n",
        part + "  n = f32[4,4] negate(d)\n  ROOT y = f32[4,4] all-reduce(n)" + all, ".b b. -> .."}},
      {"parts that are passed on",
       {x + "  ROOT y = f32[4,4] negate(d)\n",
        part + "  n = f32[4,4] negate(d)\n  ROOT y = f32[4,4] collective-permute(n), channel_id=1, "
               "source_target_pairs={{0,1},{1,0},{2,3},{3,2}}\n",
        ".b b. -> .."}},
      {"parts that are gathered alone",
       {x + "  ROOT y = f32[4,4] negate(d)\n",
        part + "  n = f32[4,4] negate(d)\n  ROOT y = f32[4,4] all-gather(n), dimensions={0}, "
               "channel_id=1, use_global_device_ids=true, replica_groups={{0},{1},{2},{3}}\n",
        ".b b. -> .."}},
      {"other rows side by side",
       {"  x = f32[4,8] parameter(0)\n  ROOT y = f32[4,8] negate(x)\n",
        "  x = f32[2,8] parameter(0)\n  g = f32[2,16] all-gather(x), dimensions={1}, " +
            std::string(kAlongA) +
            "\n  s = f32[2,8] slice(g), slice={[0:2], [0:8]}\n"
            "  ROOT y = f32[2,8] negate(s)\n",
        "a. -> a."}},
      {"an edge of every part",
       {x + "  c = f32[] constant(1)\n  ROOT y = f32[4,5] pad(d, c), padding=0_0x0_1\n",
        part +
            "  c = f32[] constant(1)\n  e = f32[4,5] pad(d, c), padding=0_0x0_1\n"
            "  ROOT y = f32[4,5] all-reduce(e), " +
            sum_b,
        ".b b. -> .."}},
      {"an edge of a part",
       {x + "  c = f32[] constant(1)\n  ROOT y = f32[4,5] pad(d, c), padding=0_0x0_1\n",
        part + "  c = f32[] constant(1)\n  ROOT y = f32[4,5] pad(d, c), padding=0_0x0_1\n",
        ".b b. -> .."}},
      {"a sum of what is whole on every device",
       {x + "  ROOT y = f32[4,8] negate(x)\n",
        x + "  n = f32[4,8] negate(x)\n  ROOT y = f32[4,8] all-reduce(n), " + sum_b,
        ".. .. -> .."}},
      {"the largest of different rows",
       {"  x = f32[4,8] parameter(0)\n  ROOT y = f32[4,8] negate(x)\n",
        "  x = f32[2,8] parameter(0)\n  n = f32[2,8] negate(x)\n"
        "  ROOT y = f32[2,8] all-reduce(n), " +
            std::string(kAlongA) + ", to_apply=maximum\n",
        "a. -> a."}},
      {"parts over different axes",
       {x + "  u = f32[4,8] parameter(2)\n  v = f32[8,4] parameter(3)\n  e = f32[4,4] dot(u, v)" +
            dot + "  ROOT y = f32[4,4] add(d, e)\n",
        part +
            "  u = f32[4,4] parameter(2)\n  v = f32[4,4] parameter(3)\n  e = f32[4,4] dot(u, v)" +
            dot + "  f = f32[4,4] add(d, e)\n  ROOT y = f32[4,4] all-reduce(f), " + sum_b,
        ".b b. .a a. -> .."}},
      {"parts over different axes, of which the last is summed",
       {x + "  u = f32[4,8] parameter(2)\n  v = f32[8,4] parameter(3)\n  e = f32[4,4] dot(u, v)" +
            dot + "  ROOT y = f32[4,4] add(e, d)\n",
        part +
            "  u = f32[4,4] parameter(2)\n  v = f32[4,4] parameter(3)\n  e = f32[4,4] dot(u, v)" +
            dot + "  f = f32[4,4] add(e, d)\n  ROOT y = f32[4,4] all-reduce(f), " + sum_b,
        ".b b. .a a. -> .."}},
      {"what every part is added to",
       {x + "  k = f32[4,4] parameter(2)\n  ROOT y = f32[4,4] add(k, d)\n",
        part +
            "  k = f32[4,4] parameter(2)\n  e = f32[4,4] add(k, d)\n"
            "  ROOT y = f32[4,4] all-reduce(e), " +
            sum_b,
        ".b b. .. -> .."}},
      {"a choice between parts and what is whole",
       {x + "  k = f32[4,4] parameter(2)\n  p = pred[] parameter(3)\n"
            "  ROOT y = f32[4,4] select(p, d, k)\n",
        part +
            "  k = f32[4,4] parameter(2)\n  p = pred[] parameter(3)\n"
            "  e = f32[4,4] select(p, d, k)\n  ROOT y = f32[4,4] all-reduce(e), " +
            sum_b,
        ".b b. .. _ -> .."}},
      {"a choice between what is whole and parts",
       {x + "  k = f32[4,4] parameter(2)\n  p = pred[] parameter(3)\n"
            "  ROOT y = f32[4,4] select(p, k, d)\n",
        part +
            "  k = f32[4,4] parameter(2)\n  p = pred[] parameter(3)\n"
            "  e = f32[4,4] select(p, k, d)\n  ROOT y = f32[4,4] all-reduce(e), " +
            sum_b,
        ".b b. .. _ -> .."}},
      {"parts that are rounded to integers",
       {x + "  i = s32[4,4] convert(d)\n  ROOT y = s32[4,4] negate(i)\n",
        part +
            "  i = s32[4,4] convert(d)\n  n = s32[4,4] negate(i)\n"
            "  ROOT y = s32[4,4] all-reduce(n), " +
            std::string(kAlongB) + ", to_apply=plus\n",
        ".b b. -> .."}},
      {"integers that wrap around in parts",
       {"  k = s32[4,8] parameter(0)\n  z = s32[] constant(0)\n"
        "  i = s32[4] reduce(k, z), dimensions={1}, to_apply=plus\n"
        "  ROOT y = f32[4] convert(i)\n",
        "  k = s32[4,4] parameter(0)\n  z = s32[] constant(0)\n"
        "  i = s32[4] reduce(k, z), dimensions={1}, to_apply=plus\n"
        "  f = f32[4] convert(i)\n  ROOT y = f32[4] all-reduce(f), " +
            sum_b,
        ".b -> ."}},
      {"quotients of integers in parts",
       {"  k = s32[4,8] parameter(0)\n  z = s32[] constant(0)\n  t = s32[] constant(2)\n"
        "  ts = s32[4] broadcast(t), dimensions={}\n"
        "  i = s32[4] reduce(k, z), dimensions={1}, to_apply=plus\n"
        "  ROOT y = s32[4] divide(i, ts)\n",
        "  k = s32[4,4] parameter(0)\n  z = s32[] constant(0)\n  t = s32[] constant(2)\n"
        "  ts = s32[4] broadcast(t), dimensions={}\n"
        "  i = s32[4] reduce(k, z), dimensions={1}, to_apply=plus\n"
        "  f = s32[4] divide(i, ts)\n  ROOT y = s32[4] all-reduce(f), " +
            std::string(kAlongB) + ", to_apply=plus\n",
        ".b -> ."}},
      {"an edge that is a part of a sum",
       {x + "  z = f32[] constant(0)\n  p = f32[] reduce(x, z), dimensions={0,1}, to_apply=add\n"
            "  k = f32[4,4] parameter(2)\n  ROOT y = f32[4,5] pad(k, p), padding=0_0x0_1\n",
        part + "  z = f32[] constant(0)\n  p = f32[] reduce(x, z), dimensions={0,1}, to_apply=add\n"
               "  k = f32[4,4] parameter(2)\n  ROOT y = f32[4,5] pad(k, p), padding=0_0x0_1\n",
        ".b b. .. -> .."}},
      {"a reduction in an order that is not known, of parts",
       {x + "  z = f32[] constant(0)\n"
            "  ROOT y = f32[4] reduce(d, z), dimensions={1}, to_apply=subtract\n",
        part +
            "  z = f32[] constant(0)\n"
            "  r = f32[4] reduce(d, z), dimensions={1}, to_apply=subtract\n"
            "  ROOT y = f32[4] all-reduce(r), " +
            sum_b,
        ".b b. -> ."}},
      {"a sum over rows that are cut, of parts of which all are summed",
       {x + "  z = f32[] constant(0)\n"
            "  ROOT y = f32[4] reduce(d, z), dimensions={0}, to_apply=add\n",
        "  x = f32[2,4] parameter(0)\n  w = f32[4,4] parameter(1)\n  d = f32[2,4] dot(x, w)" + dot +
            "  z = f32[] constant(0)\n"
            "  r = f32[4] reduce(d, z), dimensions={0}, to_apply=add\n"
            "  ROOT y = f32[4] all-reduce(r), " +
            sum_b,
        "ab b. -> ."}},
      {"a dot over rows that are cut, of parts of which all are summed",
       {x + "  u = f32[4,3] parameter(2)\n  ROOT y = f32[4,3] dot(d, u), "
            "lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
        "  x = f32[2,4] parameter(0)\n  w = f32[4,4] parameter(1)\n  d = f32[2,4] dot(x, w)" + dot +
            "  u = f32[2,3] parameter(2)\n  e = f32[4,3] dot(d, u), lhs_contracting_dims={0}, "
            "rhs_contracting_dims={0}\n  ROOT y = f32[4,3] all-reduce(e), " +
            sum_b,
        "ab b. a. -> .."}},
      {"a reduction that is none of parts",
       {"  x = f32[4,8] parameter(0)\n  z = f32[] constant(0)\n"
        "  ROOT y = f32[4] reduce(x, z), dimensions={1}, to_apply=subtract\n",
        "  x = f32[4,4] parameter(0)\n  z = f32[] constant(0)\n"
        "  ROOT y = f32[4] reduce(x, z), dimensions={1}, to_apply=subtract\n",
        ".b -> ."}},
      {"a sum that begins with a part",
       {x + "  z = f32[] constant(0)\n  p = f32[] reduce(x, z), dimensions={0,1}, to_apply=add\n"
            "  k = f32[4,4] parameter(2)\n  ROOT y = f32[4] reduce(k, p), dimensions={1}, "
            "to_apply=add\n",
        part + "  z = f32[] constant(0)\n  p = f32[] reduce(x, z), dimensions={0,1}, to_apply=add\n"
               "  k = f32[4,4] parameter(2)\n  ROOT y = f32[4] reduce(k, p), dimensions={1}, "
               "to_apply=add\n",
        ".b b. .. -> ."}},
      {"a constant without its elements in a function",
       {"  x = f32[4,8] parameter(0)\n"
        "  ROOT y = f32[4,8] sort(x), dimensions={1}, to_apply=left_out\n",
        "  x = f32[4,8] parameter(0)\n"
        "  ROOT y = f32[4,8] sort(x), dimensions={1}, to_apply=left_out\n",
        ".. -> .."}},
      {"a function of the device",
       {"  x = f32[4,8] parameter(0)\n  ROOT y = f32[4,8] map(x), dimensions={0,1}, "
        "to_apply=numbered\n",
        "  x = f32[4,8] parameter(0)\n  ROOT y = f32[4,8] map(x), dimensions={0,1}, "
        "to_apply=numbered\n",
        ".. -> .."}},
      {"a part beside what is whole",
       {x + "  k = f32[4,4] parameter(2)\n  ROOT y = f32[4,8] concatenate(d, k), dimensions={1}\n",
        part +
            "  k = f32[4,4] parameter(2)\n  e = f32[4,8] concatenate(d, k), dimensions={1}\n"
            "  ROOT y = f32[4,8] all-reduce(e), " +
            sum_b,
        ".b b. .. -> .."}},
      {"parts times an infinite number",
       {x + infinite + "  ROOT y = f32[4,4] multiply(d, u)\n",
        part + infinite + "  e = f32[4,4] multiply(d, u)\n  ROOT y = f32[4,4] all-reduce(e), " +
            sum_b,
        ".b b. -> .."}},
      {"parts times what is computed from an infinite number",
       {x + infinite + "  v = f32[4,4] exponential(u)\n  ROOT y = f32[4,4] multiply(v, d)\n",
        part + infinite +
            "  v = f32[4,4] exponential(u)\n  e = f32[4,4] multiply(v, d)\n"
            "  ROOT y = f32[4,4] all-reduce(e), " +
            sum_b,
        ".b b. -> .."}},
      {"parts over zero",
       {x + zero + "  ROOT y = f32[4,4] divide(d, u)\n",
        part + zero + "  e = f32[4,4] divide(d, u)\n  ROOT y = f32[4,4] all-reduce(e), " + sum_b,
        ".b b. -> .."}},
      {"parts over a sum of zeros",
       {x + "  i = f32[] constant(0)\n  o = f32[4,4,2] broadcast(i), dimensions={}\n  v = f32[4,4] "
            "reduce(o, i), dimensions={2}, to_apply=add\n  ROOT y = f32[4,4] divide(d, v)\n",
        part +
            "  i = f32[] constant(0)\n  o = f32[4,4,2] broadcast(i), dimensions={}\n  v = f32[4,4] "
            "reduce(o, i), dimensions={2}, to_apply=add\n  e = f32[4,4] divide(d, v)\n  ROOT y = "
            "f32[4,4] all-reduce(e), " +
            sum_b,
        ".b b. -> .."}},
      {"parts over what is bounded by zero",
       {x + "  i = f32[] constant(0)\n  u = f32[4,4] broadcast(i), dimensions={}\n  s = f32[4,4] "
            "parameter(2)\n  v = f32[4,4] clamp(u, s, u)\n  ROOT y = f32[4,4] divide(d, v)\n",
        part +
            "  i = f32[] constant(0)\n  u = f32[4,4] broadcast(i), dimensions={}\n  s = f32[4,4] "
            "parameter(2)\n  v = f32[4,4] clamp(u, s, u)\n  e = f32[4,4] divide(d, v)\n  ROOT y = "
            "f32[4,4] all-reduce(e), " +
            sum_b,
        ".b b. .. -> .."}},
      {"parts over the least of what is larger than zero",
       {x + "  i = f32[] constant(0)\n  u = f32[4,4] broadcast(i), dimensions={}\n  s = f32[4,4] "
            "parameter(2)\n  m = f32[4,4] minimum(s, u)\n  v = f32[4,4] maximum(m, u)\n  ROOT y = "
            "f32[4,4] divide(d, v)\n",
        part +
            "  i = f32[] constant(0)\n  u = f32[4,4] broadcast(i), dimensions={}\n  s = f32[4,4] "
            "parameter(2)\n  m = f32[4,4] minimum(s, u)\n  v = f32[4,4] maximum(m, u)\n  e = "
            "f32[4,4] divide(d, v)\n  ROOT y = f32[4,4] all-reduce(e), " +
            sum_b,
        ".b b. .. -> .."}},
      {"parts over minus zero",
       {x + zero + "  v = f32[4,4] negate(u)\n  ROOT y = f32[4,4] divide(d, v)\n",
        part + zero +
            "  v = f32[4,4] negate(u)\n  e = f32[4,4] divide(d, v)\n"
            "  ROOT y = f32[4,4] all-reduce(e), " +
            sum_b,
        ".b b. -> .."}},
      {"parts over a difference of equal numbers",
       {x + "  k = f32[4,4] parameter(2)\n  v = f32[4,4] subtract(k, k)\n"
            "  ROOT y = f32[4,4] divide(d, v)\n",
        part +
            "  k = f32[4,4] parameter(2)\n  v = f32[4,4] subtract(k, k)\n"
            "  e = f32[4,4] divide(d, v)\n  ROOT y = f32[4,4] all-reduce(e), " +
            sum_b,
        ".b b. .. -> .."}},
      {"parts over a sum of a number and its negative",
       {x + "  k = f32[4,4] parameter(2)\n  m = f32[4,4] negate(k)\n  v = f32[4,4] add(m, k)\n"
            "  ROOT y = f32[4,4] divide(d, v)\n",
        part +
            "  k = f32[4,4] parameter(2)\n  m = f32[4,4] negate(k)\n  v = f32[4,4] add(m, k)\n"
            "  e = f32[4,4] divide(d, v)\n  ROOT y = f32[4,4] all-reduce(e), " +
            sum_b,
        ".b b. .. -> .."}},
      {"parts times the logarithm of a product with zero",
       {x + zero +
            "  k = f32[4,4] parameter(2)\n  p = f32[4,4] multiply(k, u)\n"
            "  v = f32[4,4] log(p)\n  ROOT y = f32[4,4] multiply(d, v)\n",
        part + zero +
            "  k = f32[4,4] parameter(2)\n  p = f32[4,4] multiply(k, u)\n"
            "  v = f32[4,4] log(p)\n  e = f32[4,4] multiply(d, v)\n"
            "  ROOT y = f32[4,4] all-reduce(e), " +
            sum_b,
        ".b b. .. -> .."}},
      {"parts times one over zero",
       {x + zero + "  v = f32[4,4] rsqrt(u)\n  ROOT y = f32[4,4] multiply(d, v)\n",
        part + zero +
            "  v = f32[4,4] rsqrt(u)\n  e = f32[4,4] multiply(d, v)\n"
            "  ROOT y = f32[4,4] all-reduce(e), " +
            sum_b,
        ".b b. -> .."}},
      {"a dot of parts and infinite numbers",
       {x + infinite + "  ROOT y = f32[4,4] dot(d, u)" + dot,
        part + infinite + "  e = f32[4,4] dot(d, u)" + dot + "  ROOT y = f32[4,4] all-reduce(e), " +
            sum_b,
        ".b b. -> .."}},
      {"a dot of two parts",
       {x + "  ROOT y = f32[4,4] dot(d, d)" + dot,
        part + "  e = f32[4,4] dot(d, d)" + dot + "  ROOT y = f32[4,4] all-reduce(e), " + sum_b,
        ".b b. -> .."}},
      {"a dot of largest parts",
       {"  x = f32[4,8] parameter(0)\n  w = f32[4,3] parameter(1)\n  z = f32[] constant(-9)\n"
        "  m = f32[4] reduce(x, z), dimensions={1}, to_apply=maximum\n"
        "  ROOT y = f32[3] dot(m, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
        "  x = f32[4,4] parameter(0)\n  w = f32[4,3] parameter(1)\n  z = f32[] constant(-9)\n"
        "  m = f32[4] reduce(x, z), dimensions={1}, to_apply=maximum\n"
        "  e = f32[3] dot(m, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
        "  ROOT y = f32[3] all-reduce(e), " +
            std::string(kAlongB) + ", to_apply=maximum\n",
        ".b .. -> ."}},
      {"rows at numbers of which one bit is left",
       {"  x = f32[4,8] parameter(0)\n  i = s32[3] parameter(1)\n"
        "  ROOT y = f32[3,8] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
        "start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}\n",
        "  x = f32[2,8] parameter(0)\n  i = s32[3] parameter(1)\n" + number +
            "  zs = s32[3] broadcast(z), dimensions={}\n  h = s32[] constant(3)\n"
            "  hs = s32[3] broadcast(h), dimensions={}\n  c = s32[3] clamp(zs, i, hs)\n"
            "  o = s32[3] broadcast(r), dimensions={}\n  one = s32[] constant(1)\n"
            "  re = s32[] add(r, one)\n  q = s32[3] broadcast(re), dimensions={}\n"
            "  lt = pred[3] compare(c, o), direction=LT\n"
            "  gt = pred[3] compare(c, q), direction=GT\n  or = pred[3] or(lt, gt)\n"
            "  m = pred[3,8] broadcast(or), dimensions={0}\n"
            "  s = s32[3] subtract(c, o)\n  sr = s32[3,1] reshape(s)\n"
            "  b = s32[3] reduce(sr, one), dimensions={1}, to_apply=both\n"
            "  g = f32[3,8] gather(x, b), offset_dims={1}, collapsed_slice_dims={0}, "
            "start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}\n"
            "  fz = f32[] constant(0)\n  zb = f32[3,8] broadcast(fz), dimensions={}\n"
            "  k = f32[3,8] select(m, zb, g)\n  ROOT y = f32[3,8] all-reduce(k), " +
            sum_b,
        "b. . -> .."}},
      {"a sum of largest parts",
       {"  x = f32[4,8] parameter(0)\n  z = f32[] constant(-9)\n  o = f32[] constant(0)\n"
        "  m = f32[4] reduce(x, z), dimensions={1}, to_apply=maximum\n"
        "  ROOT y = f32[] reduce(m, o), dimensions={0}, to_apply=add\n",
        "  x = f32[4,4] parameter(0)\n  z = f32[] constant(-9)\n  o = f32[] constant(0)\n"
        "  m = f32[4] reduce(x, z), dimensions={1}, to_apply=maximum\n"
        "  e = f32[] reduce(m, o), dimensions={0}, to_apply=add\n"
        "  ROOT y = f32[] all-reduce(e), " +
            std::string(kAlongB) + ", to_apply=maximum\n",
        ".b -> _"}},
  };
}

TEST_CASE("what looks alike and is not equal has no certificate") {
  const std::string plus =
      "both {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT c = s32[] and(a, b)\n}\n"
      "plus {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT c = s32[] add(a, b)\n}\n"
      "left_out {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  d = f32[] constant({...})\n  ROOT c = f32[] add(a, d)\n}\n"
      "numbered {\n  a = f32[] parameter(0)\n  i = u32[] partition-id()\n"
      "  f = f32[] convert(i)\n  ROOT c = f32[] add(a, f)\n}\n";
  for (const auto& [why, pair] : false_pairs()) {
    CAPTURE(std::string(why));
    CAPTURE(pair.after);
    std::string before = whole(pair);
    std::string after = local(pair);
    before.insert(before.find("ENTRY"), plus);
    after.insert(after.find("ENTRY"), plus);
    CHECK(related(before, after, relation_json(pair.held)).index() == 1);
    // With a finite number they are equal.
    const std::string infinite = "i = f32[] constant(inf)";
    if (before.find(infinite) == std::string::npos) continue;
    for (std::string* text : {&before, &after})
      text->replace(text->find(infinite), infinite.size(), "i = f32[] constant(2)");
    CHECK(related(before, after, relation_json(pair.held)).index() == 0);
  }
}

}  // namespace
}  // namespace p2::hlo
