// Modules as compilers write them after the partitioner, and mistakes in them.

#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/hlo/related_pairs.h"

namespace p2::hlo {
namespace {

TEST_CASE("modules are related as compilers write them, and not where these differ") {
  const std::vector<Pair> pairs = compiled_pairs();
  check_related(
      pairs,
      {{0, "constant(1)", "constant(2)"},
       {0, "divide(os, s)", "divide(s, os)"},
       {0, "multiply(e, b)", "divide(e, b)"},
       {1, "0.000208333338", "0.000208333352"},
       {1, "0.000208333338", "0.01"},
       {1, "multiply(t, ls)", "divide(t, ls)"},
       {2, "select(w, x, n)", "select(w, n, x)"},
       {3, "multiply(ws, xs)", "add(ws, xs)"},
       {3, "to_apply=add", "to_apply=maximum"},
       {3, "z = f32[] constant(0)", "z = f32[] constant(1)"},
       {4, "to_apply=add", "to_apply=maximum"},
       {5, "v = f32[8,6,1] reshape(w)",
        "u = f32[8,6] reverse(w), dimensions={0}\n  v = f32[8,6,1] reshape(u)"},
       {6, "window={size=3}", "window={size=3 rhs_reversal=1}"},
       {6, "window={size=3}", "window={size=3 pad=-1_1}"},
       {7, "all-to-all(r, s)", "all-to-all(s, r)"},
       {7, "concatenate(f, g)", "concatenate(g, f)"},
       {7, "concatenate(f, g)", "concatenate(f, f)"},
       {7, "transpose(c), dimensions={1,0,2}", "transpose(c), dimensions={0,1,2}"},
       {8, "bitcast(x)", "convert(x)"},
       {9, "{0,0,4,4}", "{0,4,0,4}"},
       {9, "{0,0,4,4}", "{0,0,5,5}"},
       {11, "v = f32[4,4] reshape(u)",
        "t = f32[2,2,4] transpose(u), dimensions={1,0,2}\n  v = f32[4,4] reshape(t)"},
       {11, "to_apply=add", "to_apply=maximum"},
       {12, "size=1x3 stride=1x3 pad=0_0x0_1", "size=1x3 stride=1x2 pad=0_0x0_0"},
       {12, "size=1x2 stride=1x2 pad=0_0x1_0", "size=1x2 stride=1x1 pad=0_0x0_0"},
       {12, "pad=0_0x0_1}, to_apply=add", "pad=0_0x0_1}, to_apply=maximum"},
       {12, "z = f32[] constant(0)", "z = f32[] constant(1)"},
       {12, "reduce(u, z), dimensions={1}, to_apply=add",
        "reduce(u, z), dimensions={1}, to_apply=maximum"},
       {13, "{twice, summed}", "{summed, twice}"},
       {14, "true_computation=twice, false_computation=summed",
        "true_computation=summed, false_computation=twice"},
       {16, "{twice, summed, x2}", "{twice, x2, summed}"},
       {17, "true_computation=twice, false_computation=summed",
        "true_computation=summed, false_computation=twice"},
       {15, "constant({5, 7, 11, 13})", "constant({5, 7, 11, 17})"},
       {15, "tuple(z, x, v, w)", "tuple(z, x, w, v)"},
       {18, "dimensions={0,2}, to_apply=add", "dimensions={0,2}, to_apply=maximum"},
       {18, "reduce(p, z), dimensions={0}, to_apply=rounded",
        "reduce(p, z), dimensions={0}, to_apply=maximum"},
       {18, "z = f32[] constant(0)", "z = f32[] constant(1)"},
       {18, "transpose(e)", "transpose(x)"},
       {18, "b = f32[2,2,2] reshape(t)",
        "s = f32[4,1] slice(t), slice={[0:4],[0:1]}\n  c = f32[4] reshape(s)\n  d = f32[4,2] "
        "broadcast(c), dimensions={0}\n  b = f32[2,2,2] reshape(d)"},
       {19, "dimensions={0}, to_apply=maximum", "dimensions={0}, to_apply=minimum"},
       {19, "z = f32[] constant(-inf)", "z = f32[] constant(0)"},
       {19, "reshape(e)", "reshape(x)"},
       {20, "concatenate(p, q)", "concatenate(q, p)"},
       {20, "slice={[0:8]}", "slice={[4:12]}"},
       {20, "slice={[8:12]}", "slice={[7:11]}"},
       {20, "slice={[8:12]}", "slice={[0:4]}"},
       {20, "replica_groups={{0,2},{1,3}}", "replica_groups={{0,1},{2,3}}"},
       {20, "tuple(s, t)", "tuple(p, t)"},
       {20, "use_global_device_ids=true, to_apply=add",
        "use_global_device_ids=true, to_apply=maximum"},
       {21, "concatenate(n, i)", "concatenate(i, n)"},
       {21, "s32[1,3,2] concatenate(n, i), dimensions={2}\n  k = s32[3,2] reshape(j)",
        "s32[1,3,2] concatenate(n, i), dimensions={2}\n  r = s32[1,3,2] reverse(j), "
        "dimensions={1}\n  k = s32[3,2] reshape(r)"},
       {22, "exponential(x)", "negate(x)"},
       {22, "constant(-0.25)", "constant(-0.5)"},
       {22, "to_apply=add", "to_apply=maximum"},
       {22, "scatter(e, i, us)", "scatter(x, i, us)"},
       {23, "  w = f32[1,8] reshape(v)",
        "  u = f32[8] reverse(v), dimensions={0}\n  w = f32[1,8] reshape(u)"},
       {24, "  l = f32[4] reshape(m)",
        "  n = f32[1,4] reverse(m), dimensions={1}\n  l = f32[4] reshape(n)"},
       {25, "transpose(g), dimensions={1,0,2}", "transpose(g), dimensions={0,1,2}"},
       {25, "convolution(t, h), window={size=4}",
        "convolution(t, h), window={size=4 rhs_reversal=1}"},
       {25, "dim_labels=b0f_0io->b0f", "dim_labels=b0f_i0o->b0f"},
       {26, "size=1x3", "size=1x2"},
       {26, "constant(false)", "constant(true)"},
       {27, "n = s32[] constant(0)", "n = s32[] constant(1)"},
       {27, "constant(-0.25)", "constant(0.25)"},
       {27, "z = f32[] constant(0)", "z = f32[] constant(1)"},
       {28, "constant({0, 0, 1, 1})", "constant({0, 1, 0, 1})"},
       {28, "constant({4})", "constant({3})"},
       {28, "replica_groups={{0,1},{2,3}}", "replica_groups={{0,2},{1,3}}"},
       {28, "replica_groups={{0,1},{2,3}}", "replica_groups={{1,0},{3,2}}"},
       {29, "replica_groups={{0,2},{1,3}}", "replica_groups={{0,1},{2,3}}"},
       {29, "to_apply=add", "to_apply=maximum"},
       {29, "reshape(n)", "reshape(x)"},
       {30, "  r = f32[4,5] reshape(w)",
        "  v = f32[1,4,5] reverse(w), dimensions={1}\n  r = f32[4,5] reshape(v)"},
       {30, "replica_groups={{0,2},{1,3}}", "replica_groups={{0,1},{2,3}}"},
       {30, "to_apply=add", "to_apply=maximum"},
       {31, "concatenate(h, i)", "concatenate(i, h)"},
       {31, "convert(g)", "convert(f)"},
       {31, "all-to-all(p, q)", "all-to-all(q, p)"},
       {32, "r = f32[2,3,4] reshape(k)",
        "t = f32[3,2,1,4] transpose(k), dimensions={1,0,2,3}\n  r = f32[2,3,4] reshape(t)"},
       {32, "reshape(e)", "reshape(s)"},
       {33, "r = f32[4,2] reshape(b)", "h = f32[4,2] reshape(b)\n  r = f32[4,2] negate(h)"},
       {34, "padding=0_0x2_0", "padding=0_0x0_2"},
       {34, "select(cs, w, x)", "select(cs, x, w)"},
       {34, "{{0,2},{1,3}}", "{{2,0},{3,1}}"},
       {34, "slice={[0:2], [2:4]}", "slice={[0:2], [0:2]}"},
       {35, "direction=EQ", "direction=NE"},
       {35, "at = s32[] multiply(r, two)", "at = s32[] add(r, two)"},
       {35, "{{2,0},{3,1}}", "{{0,2},{1,3}}"},
       {39, "padding=0_0x16_0", "padding=0_0x8_8"},
       {39, "padding=0_0x0_16", "padding=0_0x16_0"},
       {39, "pad(t, m), padding=0_0x16_0", "pad(t, m), padding=0_0x15_1"},
       {39, "constant(-inf)", "constant(0)"},
       {39, "maximum(s, p)", "minimum(s, p)"},
       {39, "maximum(u, r)", "add(u, r)"},
       {39, "maximum(u, r)", "maximum(u, p)"},
       {40, "to_apply=add", "to_apply=maximum"},
       {40, "constant(0)", "constant(1)"},
       {40, "t = f32[3] tanh(s)", "r = f32[3] reverse(s), dimensions={0}\n  t = f32[3] tanh(r)"},
       {41, "select(w, u, o)", "select(w, o, u)"},
       {41, "dynamic-slice(x, i, k)", "dynamic-slice(x, k, k)"},
       {41, "dynamic-slice(x, i, k)", "dynamic-slice(x, z, k)"},
       {41, "dynamic-update-slice(x, n, i, k)", "dynamic-update-slice(x, u, i, k)"},
       {42, "lhs_dilate=3", "lhs_dilate=3 rhs_reversal=1"},
       {42, "size=3 stride=2 lhs_dilate=3", "size=3 pad=1_1"},
       {43, " rhs_reversal=1", ""},
       {43, "pad=2_2", "pad=3_1"}});
  // What every tile begins with is added once for every tile.
  Pair begun = pairs[12];
  for (std::string* text : {&begun.before, &begun.after})
    text->replace(text->find("constant(0)"), 11, "constant(1)");
  CHECK(verdict_of(begun) == kernel::Verdict::Incomplete);
  // Numbers are rounded, but not cut off.
  Pair truncated = pairs[10];
  const std::size_t at = truncated.computations_after.find("bf16");
  truncated.computations_after.replace(at, 4, "s32");
  CHECK(verdict_of(truncated) == kernel::Verdict::Incomplete);
}

TEST_CASE("an all-to-all of fewer arrays than its groups have members is none") {
  const std::string relation =
      R"({"format": "p2-relation/1", "devices": 4, "mesh": {"a": 2, "b": 2},)"
      R"( "inputs": {"0": {"after": 0, "relation": {"dims": [[], ["a", "b"]]}}},)"
      R"( "outputs": {"0": {"after": 0, "relation": {"dims": [["a", "b"], []]}}}})";
  const auto pair = [](int arrays) {
    std::string lines =
        "  x = f32[4,4] parameter(0)\n  n = f32[4,1,4] reshape(x)\n  m = f32[4,1,4] negate(n)\n";
    std::string sent, shapes, made, gathered;
    for (int k = 0; k < arrays; ++k) {
      const int rows = 4 / arrays;
      const char* const comma = k == 0 ? "" : ", ";
      lines += fmt::format("  s{0} = f32[{1},1,4] slice(m), slice={{[{2}:{3}], [0:1], [0:4]}}\n", k,
                           rows, k * rows, (k + 1) * rows);
      sent += fmt::format("{}s{}", comma, k);
      shapes += fmt::format("{}f32[{},1,4]", comma, rows);
      made += fmt::format("  g{0} = f32[{1},1,4] get-tuple-element(e), index={0}\n", k, rows);
      gathered += fmt::format("{}g{}", comma, k);
    }
    lines += fmt::format(
        "  e = ({}) all-to-all({}), replica_groups={{{{0,1,2,3}}}}, channel_id=1, "
        "use_global_device_ids=true\n{}  c = f32[4,1,4] concatenate({}), dimensions={{0}}\n"
        "  t = f32[1,4,4] transpose(c), dimensions={{1,0,2}}\n  ROOT y = f32[1,16] reshape(t)\n",
        shapes, sent, made, gathered);
    return Pair{"  x = f32[4,16] parameter(0)\n  ROOT y = f32[4,16] negate(x)\n", lines, ""};
  };
  CHECK(related(whole(pair(4)), local(pair(4)), relation).index() == 0);
  CHECK(related(whole(pair(2)), local(pair(2)), relation).index() == 1);
}

}  // namespace
}  // namespace p2::hlo
