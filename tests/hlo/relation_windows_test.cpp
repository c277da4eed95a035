// Pooling, its gradients and those of convolutions of groups: windows of what is padded, what XLA's
// backends make of select-and-scatter, a search for the indices of greatest elements and a scatter
// there, and what they make of groups, sums of all pairs that are masked.

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/hlo/modules.h"
#include "tests/hlo/related_pairs.h"

namespace p2::hlo {
namespace {

const Devices kTwo{1, 2};

bool is_proved(const std::string& before, const std::string& after) {
  return related_by_shardings({before, after, {}, {}, {}}, kTwo).index() == 0;
}

/// How windows lie along the second dimension, of 6 indices.
struct Windows {
  const char* text;
  int positions;
};
const Windows kWindows[] = {{"{size=1x2 stride=1x2}", 3},
                            {"{size=1x3 stride=1x2 pad=0_0x1_1}", 3},
                            {"{size=1x3 pad=0_0x1_1}", 6},
                            {"{size=1x2 stride=1x3 pad=0_0x0_2 rhs_dilate=1x2}", 2}};

enum class Scatter { Plain, OfList, OnSource };

/// A module on `rows` rows of truth values, of which many are equal, and of a gradient for every
/// window, that is scattered to where the window has its greatest element.
std::string pooled(bool is_whole, const Windows& windows, const std::string& root,
                   const std::string& computations) {
  const int rows = is_whole ? 4 : 2;
  const std::string cut = is_whole ? ", sharding={devices=[2,1]<=[2]}" : "";
  return fmt::format(
             "HloModule m{}\n\n"
             "add {{\n  l = f32[] parameter(0)\n  r = f32[] parameter(1)\n"
             "  ROOT s = f32[] add(l, r)\n}}\n\n{}"
             "ENTRY e {{\n  n = s32[{},6] parameter(0){}\n  g = f32[{},{}] parameter(1){}\n"
             "  y = f32[{},6] parameter(2){}\n"
             "  one = s32[] constant(1)\n  ones = s32[{},6] broadcast(one), dimensions={{}}\n"
             "  b = s32[{},6] and(n, ones)\n  x = f32[{},6] convert(b)\n"
             "  zero = f32[] constant(0)\n",
             is_whole ? "" : ", num_partitions=2", computations, rows, cut, rows, windows.positions,
             cut, rows, cut, rows, rows, rows) +
         root + "}\n";
}

std::string selecting(const Windows& windows, Scatter scatter) {
  const bool is_sum = scatter == Scatter::OnSource;
  std::string root = fmt::format(
      "  {} = f32[4,6] select-and-scatter(x, g, zero), window={}, select=ge, scatter=add{}\n",
      is_sum ? "s" : "ROOT o", windows.text, is_sum ? "" : ", sharding={devices=[2,1]<=[2]}");
  if (is_sum) root += "  ROOT o = f32[4,6] add(y, s), sharding={devices=[2,1]<=[2]}\n";
  return pooled(true, windows, root,
                "ge {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                "  ROOT l = pred[] compare(a, b), direction=GE\n}\n\n");
}

/// As XLA's expansion has it, and its simplification of scatters.
std::string scattering(const Windows& windows, Scatter scatter) {
  const int p = windows.positions;
  std::string root = fmt::format(
      "  i = s32[2,6] iota(), iota_dimension=0\n  j = s32[2,6] iota(), iota_dimension=1\n"
      "  minus = s32[] constant(-1)\n"
      "  w = (f32[2,{0}], s32[2,{0}], s32[2,{0}]) reduce-window(x, i, j, zero, minus, minus), "
      "window={1}, to_apply=choose\n"
      "  i.w = s32[2,{0}] get-tuple-element(w), index=1\n"
      "  j.w = s32[2,{0}] get-tuple-element(w), index=2\n"
      "  i.v = s32[2,{0},1] reshape(i.w)\n  j.v = s32[2,{0},1] reshape(j.w)\n"
      "  v = s32[2,{0},2] concatenate(i.v, j.v), dimensions={{2}}\n"
      "  base = f32[2,6] broadcast(zero), dimensions={{}}\n",
      p, windows.text);
  if (scatter == Scatter::OfList) {
    root += fmt::format(
        "  list = s32[{0},2] reshape(v)\n  u = f32[{0},1,1] reshape(g)\n"
        "  ROOT o = f32[2,6] scatter(base, list, u), update_window_dims={{1,2}}, "
        "inserted_window_dims={{}}, scatter_dims_to_operand_dims={{0,1}}, index_vector_dim=1, "
        "to_apply=add\n",
        2 * p);
  } else {
    root += fmt::format(
        "  ROOT o = f32[2,6] scatter({}, v, g), update_window_dims={{}}, "
        "inserted_window_dims={{0,1}}, scatter_dims_to_operand_dims={{0,1}}, index_vector_dim=2, "
        "to_apply=add\n",
        scatter == Scatter::OnSource ? "y" : "base");
  }
  return pooled(
      false, windows, root,
      "choose {\n  none = s32[] constant(-1)\n  a = f32[] parameter(0)\n  i = s32[] parameter(1)\n"
      "  j = s32[] parameter(2)\n  b = f32[] parameter(3)\n  k = s32[] parameter(4)\n"
      "  l = s32[] parameter(5)\n  has.first = pred[] compare(i, none), direction=NE\n"
      "  has.second = pred[] compare(k, none), direction=NE\n"
      "  greater = pred[] compare(a, b), direction=GE\n  lacks = pred[] not(has.second)\n"
      "  both = pred[] and(greater, has.first)\n  c = pred[] or(both, lacks)\n"
      "  x = f32[] select(c, a, b)\n  m = s32[] select(c, i, k)\n  n = s32[] select(c, j, l)\n"
      "  ROOT t = (f32[], s32[], s32[]) tuple(x, m, n)\n}\n\n");
}

TEST_CASE("a search for greatest elements and a scatter are the select-and-scatter they were") {
  for (const Windows& windows : kWindows) {
    for (const Scatter scatter : {Scatter::Plain, Scatter::OfList, Scatter::OnSource}) {
      CAPTURE(windows.text);
      const std::string before = selecting(windows, scatter);
      const std::string after = scattering(windows, scatter);
      CHECK(is_proved(before, after));
      CHECK(summary(compared(before, after)) == "unknown");  // no execution differs
    }
  }
}

/// Elements of several windows are added up twice, which is not what is promised.
TEST_CASE("a scatter that promises something of its indices is no select-and-scatter") {
  const Windows& overlapping = kWindows[1];
  const std::string before = selecting(overlapping, Scatter::Plain);
  const std::string after = scattering(overlapping, Scatter::Plain);
  for (const char* promise : {"unique_indices", "indices_are_sorted"}) {
    CHECK_FALSE(
        is_proved(before, replaced(after, "index_vector_dim=2, ",
                                   "index_vector_dim=2, " + std::string(promise) + "=true, ")));
  }
}

/// Execution on equal elements, of which the first is to be chosen, says that these differ.
TEST_CASE("other searches and scatters are not") {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"direction=GE", "direction=GT"},
      {"direction=GE", "direction=LE"},
      {"compare(a, b)", "compare(b, a)"},
      {"compare(i, none), direction=NE", "compare(i, none), direction=EQ"},
      {"compare(k, none), direction=NE", "compare(i, none), direction=NE"},
      {"not(has.second)", "not(has.first)"},
      {"and(greater, has.first)", "or(greater, has.first)"},
      {"or(both, lacks)", "and(both, lacks)"},
      {"or(both, lacks)", "or(both, greater)"},
      {"select(c, i, k)", "select(c, k, i)"},
      {"select(c, j, l)", "select(greater, j, l)"},
      {"tuple(x, m, n)", "tuple(x, n, m)"},
      {"none = s32[] constant(-1)", "none = s32[] constant(0)"},
      {"minus = s32[] constant(-1)", "minus = s32[] constant(0)"},
      {"i = s32[2,6] iota(), iota_dimension=0", "i = s32[2,6] iota(), iota_dimension=1"},
      {"j = s32[2,6] iota(), iota_dimension=1", "j = s32[2,6] iota(), iota_dimension=0"},
      {"reduce-window(x, i, j", "reduce-window(y, i, j"},
      {"reduce-window(x, i, j", "reduce-window(x, i, n"},
      {"(w), index=1", "(w), index=2"},
      {"concatenate(i.v, j.v)", "concatenate(j.v, i.v)"},
      {"scatter_dims_to_operand_dims={0,1}", "scatter_dims_to_operand_dims={1,0}"},
      {"base = f32[2,6] broadcast(zero)", "base = f32[2,6] broadcast(half)"},
      {"ROOT s = f32[] add(l, r)", "ROOT s = f32[] maximum(l, r)"},
      {"size=1x3", "size=1x2"},
      {"pad=0_0x1_1", "pad=0_0x2_0"},
  };
  std::size_t tried = 0, refuted = 0;
  for (const Windows& windows : kWindows) {
    for (const Scatter scatter : {Scatter::Plain, Scatter::OfList, Scatter::OnSource}) {
      const std::string before = selecting(windows, scatter);
      for (const auto& [from, to] : changes) {
        std::string after = replaced_everywhere(scattering(windows, scatter), from, to);
        if (after == scattering(windows, scatter)) continue;
        after = replaced(after, "  zero = f32[] constant(0)\n",
                         "  zero = f32[] constant(0)\n  half = f32[] constant(0.5)\n");
        const std::string says = summary(compared(before, after));
        if (says.starts_with("invalid shape") || says.find("malformed") != std::string::npos)
          continue;
        CAPTURE(windows.text);
        CAPTURE(from + " → " + to);
        ++tried;
        refuted += says.starts_with("invalid") ? 1 : 0;
        CHECK_MESSAGE(!(is_proved(before, after) && says.starts_with("invalid")), says);
        CHECK(says != "valid");
      }
    }
  }
  MESSAGE(tried, " changes, ", refuted, " refuted");
  CHECK(refuted * 10 >= tried * 9);
}

/// Sums of windows of what is padded, between elements and around them, on two devices: a pad and
/// windows, and windows that pad.
TEST_CASE("windows may pad what they are of") {
  const auto text = [](bool is_whole, const std::string& body) {
    const std::string cut = is_whole ? ", sharding={devices=[2,1]<=[2]}" : "";
    const std::string rows = is_whole ? "4" : "2";
    std::string all = "HloModule m" + std::string(is_whole ? "" : ", num_partitions=2") +
                      "\n\nadd {\n  l = f32[] parameter(0)\n  r = f32[] parameter(1)\n"
                      "  ROOT s = f32[] add(l, r)\n}\n\nENTRY e {\n  x = f32[#,5] parameter(0)" +
                      cut + "\n  zero = f32[] constant(0)\n" + body;
    all.insert(all.rfind("\n}"), cut);
    return replaced_everywhere(all, "#", rows);
  };
  const std::string padded =
      "  p = f32[#,{0}] pad(x, zero), padding=0_0x{1}\n"
      "  w = f32[#,{2}] reduce-window(p, zero), window={{size=1x{3}}}, to_apply=add\n"
      "  o.O = f32[#,{2}] negate(w)\n}}\n";
  const std::string windowed =
      "  w = f32[#,{0}] reduce-window(x, zero), window={{{1}}}, to_apply=add\n"
      "  o.O = f32[#,{0}] negate(w)\n}}\n";
  const auto of = [&](bool is_whole, const std::string& body) {
    return replaced(text(is_whole, body), "o.O", "ROOT o");
  };
  const auto before = [&](int size, const char* padding, int positions, int window) {
    return of(true, fmt::format(fmt::runtime(padded), size, padding, positions, window));
  };
  const auto after = [&](int positions, const char* window) {
    return of(false, fmt::format(fmt::runtime(windowed), positions, window));
  };
  CHECK(is_proved(before(11, "1_1_1", 10, 2), after(10, "size=1x2 pad=0_0x1_1 lhs_dilate=1x2")));
  CHECK(is_proved(before(15, "2_0_2", 13, 3), after(13, "size=1x3 pad=0_0x2_0 lhs_dilate=1x3")));
  CHECK(is_proved(before(7, "1_1_0", 6, 2), after(6, "size=1x2 pad=0_0x1_1")));
  // Another border, other holes, other windows.
  const std::string whole = before(11, "1_1_1", 10, 2);
  for (const char* wrong :
       {"size=1x2 pad=0_0x2_0 lhs_dilate=1x2", "size=1x2 pad=0_0x0_2 lhs_dilate=1x2",
        "size=1x2 pad=0_0x3_3", "size=1x1 pad=0_0x1_0 lhs_dilate=1x2",
        "size=1x2 pad=0_0x1_2 lhs_dilate=1x2 rhs_dilate=1x2"}) {
    CAPTURE(wrong);
    CHECK_FALSE(is_proved(whole, after(10, wrong)));
    CHECK(summary(compared(whole, after(10, wrong))).starts_with("invalid"));
  }
}

/// The module before, or what two devices run.
std::string one_of(bool is_whole, const std::string& entry) {
  return is_whole ? before_text(entry) : after_text(entry);
}

/// Rows of 8 positions and two features, on two devices, with what a device has of its neighbours.
std::string spatial(bool is_whole, const std::string& body) {
  const std::string cut = is_whole ? ", sharding={devices=[1,2,1]<=[2]}" : "";
  return one_of(is_whole,
                fmt::format("  x = f32[1,{0},2] parameter(0){1}\n  g = f32[1,{0},2] "
                            "parameter(1){1}\n  k = f32[3,2,2] parameter(2)\n  zero = f32[] "
                            "constant(0)\n{2}",
                            is_whole ? 8 : 4, cut, body));
}
const std::string kBorders =
    "  last = f32[1,1,2] slice(x), slice={[0:1],[3:4],[0:2]}\n"
    "  low = f32[1,1,2] collective-permute(last), source_target_pairs={{0,1}}, channel_id=1\n"
    "  first = f32[1,1,2] slice(x), slice={[0:1],[0:1],[0:2]}\n"
    "  high = f32[1,1,2] collective-permute(first), source_target_pairs={{1,0}}, channel_id=2\n"
    "  all = f32[1,6,2] concatenate(low, x, high), dimensions={1}\n";

/// Each of the changes makes another module, which is refuted.
void check_changes(const std::string& before, const std::string& after,
                   const std::vector<std::pair<const char*, const char*>>& changes) {
  CHECK(is_proved(before, after));
  CHECK(summary(compared(before, after)) == "valid");
  for (const auto& [from, to] : changes) {
    const std::string other = replaced(after, from, to);
    CAPTURE(other);
    CHECK_FALSE(is_proved(before, other));
    CHECK(summary(compared(before, other)).starts_with("invalid"));
  }
}

TEST_CASE("a convolution over positions that are cut takes its neighbours' borders") {
  const std::string labels = ", dim_labels=b0f_0io->b0f";
  const std::string before =
      spatial(true, "  ROOT o = f32[1,8,2] convolution(x, k), window={size=3 pad=1_1}" + labels +
                        ", sharding={devices=[1,2,1]<=[2]}\n");
  const std::string product = " = f32[1,4,2] convolution(all, k), window={size=3}" + labels + "\n";
  // Nothing that is sent is zero.
  check_changes(before, spatial(false, kBorders + "  ROOT o" + product),
                {{"[3:4]", "[2:3]"},
                 {"{{0,1}}", "{{1,0}}"},
                 {"concatenate(low, x, high)", "concatenate(high, x, low)"},
                 {"source_target_pairs={{1,0}}", "source_target_pairs={{0,1},{1,0}}"},
                 {"window={size=3}", "window={size=3 rhs_reversal=1}"}});
  // The same by a mask, and with other borders beyond the ends.
  const std::string masked = replaced(
      kBorders +
          "  id = u32[] partition-id()\n  t = s32[2] constant({0,4})\n"
          "  d = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n  f = s32[] reshape(d)\n"
          "  fb = s32[1,6,2] broadcast(f), dimensions={}\n"
          "  n = s32[1,6,2] iota(), iota_dimension=1\n  at = s32[1,6,2] add(n, fb)\n"
          "  one = s32[] constant(1)\n  from = s32[1,6,2] broadcast(one), dimensions={}\n"
          "  nine = s32[] constant(9)\n  to = s32[1,6,2] broadcast(nine), dimensions={}\n"
          "  begun = pred[1,6,2] compare(at, from), direction=GE\n"
          "  open = pred[1,6,2] compare(at, to), direction=LT\n"
          "  mask = pred[1,6,2] and(begun, open)\n"
          "  zeros = f32[1,6,2] broadcast(zero), dimensions={}\n"
          "  inside = f32[1,6,2] select(mask, all, zeros)\n  ROOT o" +
          product,
      "convolution(all, k)", "convolution(inside, k)");
  check_changes(before,
                spatial(false, replaced(replaced(masked, "pairs={{0,1}}", "pairs={{0,1},{1,0}}"),
                                        "pairs={{1,0}}", "pairs={{1,0},{0,1}}")),
                {{"constant({0,4})", "constant({0,3})"},
                 {"constant(9)", "constant(10)"},
                 {"direction=GE", "direction=GT"},
                 {"select(mask, all, zeros)", "select(mask, zeros, all)"}});
  // Every second position, of which the last one needs one element more.
  const std::string half = ", sharding={devices=[1,2,1]<=[2]}\n";
  check_changes(
      spatial(true, "  ROOT o = f32[1,4,2] convolution(x, k), window={size=3 stride=2 pad=0_1}" +
                        labels + half),
      spatial(false, kBorders +
                         "  own = f32[1,5,2] concatenate(x, high), dimensions={1}\n  ROOT o = "
                         "f32[1,2,2] convolution(own, k), window={size=3 stride=2}" +
                         labels + "\n"),
      {{"concatenate(x, high)", "concatenate(high, x)"},
       {"concatenate(x, high)", "concatenate(low, x)"},
       {"[0:1],[0:1]", "[0:1],[1:2]"}});
}

TEST_CASE("the gradient of a kernel is the sum of those of the positions that devices have") {
  const std::string labels = ", dim_labels=f0b_i0o->0bf\n";
  check_changes(
      spatial(true, "  ROOT o = f32[3,2,2] convolution(x, g), window={size=8 pad=1_1}" + labels),
      spatial(false, kBorders + "  p = f32[3,2,2] convolution(all, g), window={size=4}" + labels +
                         "  ROOT o = f32[3,2,2] all-reduce(p), replica_groups={{0,1}}, "
                         "channel_id=3, use_global_device_ids=true, to_apply=add\n"),
      {{"[3:4]", "[2:3]"},
       {"concatenate(low, x, high)", "concatenate(high, x, low)"},
       {"convolution(all, g)", "convolution(all, x)"},
       {"window={size=4}", "window={size=4 rhs_reversal=1}"},
       {"all-reduce(p), replica_groups={{0,1}}", "all-reduce(p), replica_groups={{0},{1}}"}});
}

TEST_CASE("windows side by side choose from what a device has of them") {
  const auto text = [](bool is_whole, const char* window) {
    const std::string cut = is_whole ? ", sharding={devices=[1,2,1]<=[2]}" : "";
    const std::string computations =
        "ge {\n  l = f32[] parameter(0)\n  r = f32[] parameter(1)\n"
        "  ROOT s = pred[] compare(l, r), direction=GE\n}\n\nENTRY main {";
    const std::string body = fmt::format(
        "  s = f32[1,{0},2] reduce-window(g, zero), window={{size=1x2x1 stride=1x2x1}}, "
        "to_apply=add\n  ROOT o = f32[1,{1},2] select-and-scatter(x, s, zero), window={{{2}}}, "
        "select=ge, scatter=add{3}\n",
        is_whole ? 4 : 2, is_whole ? 8 : 4, window, cut);
    return replaced(spatial(is_whole, body), "ENTRY main {", computations);
  };
  const std::string before = text(true, "size=1x2x1 stride=1x2x1");
  CHECK(is_proved(before, text(false, "size=1x2x1 stride=1x2x1")));
  for (const char* other :
       {"size=1x3x1 stride=1x2x1 pad=0_0x0_1x0_0", "size=1x1x1 stride=1x2x1 pad=0_0x0_-1x0_0",
        "size=1x2x1 stride=1x2x1 pad=0_0x1_-1x0_0"}) {
    CAPTURE(other);
    CHECK_FALSE(is_proved(before, text(false, other)));
    CHECK(summary(compared(before, text(false, other))).starts_with("invalid"));
  }
  // Windows of the whole that lie on both devices are others.
  const std::string wide = text(true, "size=1x3x1 stride=1x2x1 pad=0_0x0_1x0_0");
  CHECK_FALSE(is_proved(wide, text(false, "size=1x3x1 stride=1x2x1 pad=0_0x0_1x0_0")));
}

TEST_CASE("a convolution pads with zeros only where its kernel is finite") {
  const auto text = [](const std::string& kernel, const std::string& body) {
    return spatial(false,
                   "  c = f32[] constant(inf)\n  i = f32[3,2,2] broadcast(c), "
                   "dimensions={}\n" +
                       replaced(body, "K", kernel));
  };
  const std::string window =
      "  ROOT o = f32[1,4,2] convolution(x, K), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f\n";
  const std::string pad =
      "  p = f32[1,6,2] pad(x, zero), padding=0_0x1_1x0_0\n  ROOT o = f32[1,4,2] convolution(p, "
      "K), window={size=3}, dim_labels=b0f_0io->b0f\n";
  CHECK(is_certified(text("k", window), text("k", pad)));
  CHECK_FALSE(is_certified(text("k", window), text("k", replaced(pad, "1_1", "2_0"))));
  CHECK_FALSE(is_certified(text("i", window), text("i", pad)));
}

/// The gradient of the kernel of a convolution of two features, each by itself, of rows on two
/// devices.
std::string grouped(bool is_whole, const std::string& body) {
  const std::string cut = is_whole ? ", sharding={devices=[2,1,1]<=[2]}" : "";
  return one_of(is_whole, fmt::format("  x = f32[{0},6,2] parameter(0){1}\n  g = f32[{0},6,2] "
                                      "parameter(1){1}\n  zero = f32[] constant(0)\n{2}",
                                      is_whole ? 4 : 2, cut, body));
}
const std::string kSumOfDevices =
    "  ROOT o = f32[3,1,2] all-reduce(p), replica_groups={{0,1}}, channel_id=1, "
    "use_global_device_ids=true, to_apply=add\n";

TEST_CASE("a convolution of groups of batches adds up what devices have of its features") {
  const std::string attributes =
      " f32[3,1,2] convolution(x, g), window={size=6 pad=1_1}, dim_labels=f0b_i0o->0bf, "
      "batch_group_count=2\n";
  const std::string before = grouped(true, "  ROOT o =" + attributes);
  const std::string after = grouped(false, "  p =" + attributes + kSumOfDevices);
  CHECK(is_proved(before, after));
  CHECK(summary(compared(before, after)) == "valid");
  for (const auto& [from, to] : {std::pair{"pad=1_1", "pad=0_2"},
                                 {"convolution(x, g)", "convolution(g, x)"},
                                 {"ROOT o = f32[3,1,2] all-reduce(p)",
                                  "q = f32[] add(zero, zero)\n"
                                  "  ROOT o = f32[3,1,2] all-reduce(p)"}}) {
    const std::string other = replaced(after, from, to);
    CAPTURE(other);
    CHECK(is_proved(before, other) == (summary(compared(before, other)) == "valid"));
  }
  const std::string alone = grouped(false, "  ROOT o =" + attributes);
  CHECK_FALSE(is_proved(before, alone));
}

TEST_CASE("sums of all pairs that are masked are a convolution of groups") {
  const std::string before =
      grouped(true,
              "  ROOT o = f32[3,1,2] convolution(x, g), window={size=6 pad=1_1}, "
              "dim_labels=f0b_i0o->0bf, batch_group_count=2\n");
  const std::string after = grouped(
      false,
      "  u = f32[2,6,2] transpose(x), dimensions={2,1,0}\n"
      "  v = f32[6,2,2] transpose(g), dimensions={1,0,2}\n"
      "  c = f32[2,3,2] convolution(u, v), window={size=6 pad=1_1}, dim_labels=b0f_0io->b0f\n"
      "  t = f32[3,2,2] transpose(c), dimensions={1,0,2}\n"
      "  i = s32[3,2,2] iota(), iota_dimension=1\n  j = s32[3,2,2] iota(), iota_dimension=2\n"
      "  e = pred[3,2,2] compare(i, j), direction=EQ\n"
      "  z = f32[3,2,2] broadcast(zero), dimensions={}\n"
      "  m = f32[3,2,2] select(e, t, z)\n"
      "  p = f32[3,1,2] reduce-window(m, zero), window={size=1x2x1 stride=1x2x1}, to_apply=add\n" +
          kSumOfDevices);
  CHECK(is_proved(before, after));
  CHECK(summary(compared(before, after)) == "valid");
  const std::pair<const char*, const char*> changes[] = {
      {"direction=EQ", "direction=NE"},
      {"direction=EQ", "direction=GE"},
      {"iota_dimension=1", "iota_dimension=2"},
      {"iota_dimension=2", "iota_dimension=0"},
      {"select(e, t, z)", "select(e, z, t)"},
      {"select(e, t, z)", "select(e, t, t)"},
      {"broadcast(zero)", "broadcast(one)"},
      {"reduce-window(m, zero)", "reduce-window(m, one)"},
      {"stride=1x2x1}, to_apply=add", "stride=1x2x1}, to_apply=maximum"},
      {"transpose(c), dimensions={1,0,2}", "transpose(c), dimensions={1,2,0}"},
      {"transpose(x), dimensions={2,1,0}", "transpose(g), dimensions={2,1,0}"},
      {"pad=1_1", "pad=2_0"},
      {"p = f32[3,1,2] reduce-window(m, zero), window={size=1x2x1 stride=1x2x1}, to_apply=add",
       "q = f32[3,2,1] reduce-window(m, zero), window={size=1x1x2 stride=1x1x2}, to_apply=add\n"
       "  p = f32[3,1,2] reshape(q)"},
      {"  ROOT o = f32[3,1,2] all-reduce(p), ", "  ROOT o = f32[3,1,2] all-reduce(zp), "}};
  int equal = 0;  // where what has one number is counted along the other dimension
  for (const auto& [from, to] : changes) {
    std::string other = replaced(after, from, to);
    other = replaced(other, "  zero = f32[] constant(0)\n",
                     "  zero = f32[] constant(0)\n  one = f32[] constant(1)\n");
    other = replaced_everywhere(other, "all-reduce(zp)", "all-reduce(w)");
    if (other.find("all-reduce(w)") != std::string::npos)
      other = replaced(other, "  ROOT o", "  w = f32[3,1,2] add(p, p)\n  ROOT o");
    CAPTURE(std::string(from) + " → " + to);
    const std::string says = summary(compared(before, other));
    CHECK(is_proved(before, other) == (says == "valid"));
    equal += says == "valid" ? 1 : 0;
    CHECK(says != "unknown");
  }
  CHECK(equal == 2);
}

}  // namespace
}  // namespace p2::hlo
