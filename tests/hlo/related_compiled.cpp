// Pairs as compilers write them after the partitioner: products with inverses, convolutions in
// place of dots, exchanges of several arrays, branches.

#include <fmt/format.h>

#include "tests/hlo/related_pairs.h"

namespace p2::hlo {
namespace {

/// A branch by a number or truth value: of x the double, or its sum over all rows.
Pair branches(const std::string& index, const std::string& attributes) {
  const auto entry = [&](const char* sizes) {
    return fmt::format(
        "  x = f32[{0}] parameter(0)\n  i = {1} parameter(1)\n"
        "  ROOT y = f32[{0}] conditional(i, x, x), {2}\n",
        sizes, index, attributes);
  };
  const auto computations = [](const char* sizes, const std::string& sum) {
    return fmt::format(
        "twice {{\n  x = f32[{0}] parameter(0)\n  ROOT y = f32[{0}] add(x, x)\n}}\n"
        "summed {{\n  x = f32[{0}] parameter(0)\n  z = f32[] constant(0)\n"
        "  s = f32[8] reduce(x, z), dimensions={{0}}, to_apply=add\n{1}"
        "  ROOT y = f32[{0}] broadcast(t), dimensions={{1}}\n}}\n",
        sizes, sum);
  };
  return {
      entry("4,8"), entry("2,8"), "a. _ -> a.", computations("4,8", "  t = f32[8] copy(s)\n"),
      computations("2,8", fmt::format("  t = f32[8] all-reduce(s), {}, to_apply=add\n", kAlongA))};
}

/// The same as a choice before the partitioner: by a number, of three branches.
Pair choices(const std::string& index, const std::string& conditions,
             const std::string& conditional) {
  const Pair conditionals = branches(index, conditional);
  const std::string before =
      "  x = f32[4,8] parameter(0)\n  i = " + index +
      " parameter(1)\n  z = f32[] constant(0)\n"
      "  s = f32[8] reduce(x, z), dimensions={0}, to_apply=add\n"
      "  t = f32[4,8] broadcast(s), dimensions={1}\n  d = f32[4,8] add(x, x)\n" +
      conditions;
  const std::string third = "x2 {\n  x = f32[2,8] parameter(0)\n  ROOT y = f32[2,8] negate(x)\n}\n";
  std::string after = conditionals.after;
  if (conditional.find("x2") != std::string::npos)
    after.replace(after.find("(i, x, x)"), 9, "(i, x, x, x)");
  return {before, after, "a. _ -> a.", "", conditionals.computations_after + third};
}

/// The gradient of a loss at labels, as JAX has it: of a column, and of the labels' columns.
std::string labels(const char* rows) {
  return fmt::format(
      "  i = s32[{0},1,1] parameter(0)\n  z = f32[] constant(0)\n  m = f32[] constant(-0.25)\n"
      "  us = f32[{0}] broadcast(m), dimensions={{}}\n"
      "  zs = f32[{0},1] broadcast(z), dimensions={{}}\n  n = s32[] constant(0)\n"
      "  k = s32[1] reshape(n)\n"
      "  t = f32[{0},1] scatter(zs, k, us), update_window_dims={{0}}, inserted_window_dims={{1}}, "
      "scatter_dims_to_operand_dims={{1}}, index_vector_dim=0, to_apply=add\n"
      "  ws = f32[{0},8] broadcast(z), dimensions={{}}\n"
      "  ROOT y = f32[{0},8] scatter(ws, i, t), update_window_dims={{}}, "
      "inserted_window_dims={{1}}, scatter_dims_to_operand_dims={{1}}, input_batching_dims={{0}}, "
      "scatter_indices_batching_dims={{0}}, index_vector_dim=2, to_apply=add\n",
      rows);
}

/// Two counters of a loop that are one after the partitioner, and tables that change places.
Pair counters() {
  const auto computations = [](const char* sizes, bool has_both) {
    const std::string shape =
        fmt::format("(s32[], {}f32[{}], f32[4], f32[4])", has_both ? "s32[], " : "", sizes);
    const int first = has_both ? 2 : 1;
    return fmt::format(
        "loop_body {{\n  p = {0} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
        "  one = s32[] constant(1)\n  next = s32[] add(i, one)\n{1}"
        "  x = f32[{2}] get-tuple-element(p), index={3}\n"
        "  v = f32[4] get-tuple-element(p), index={4}\n"
        "  w = f32[4] get-tuple-element(p), index={5}\n  c = f32[] convert(j)\n"
        "  cs = f32[{2}] broadcast(c), dimensions={{}}\n"
        "  vs = f32[{2}] broadcast(v), dimensions={{1}}\n  a = f32[{2}] multiply(x, vs)\n"
        "  b = f32[{2}] add(a, cs)\n  ROOT r = {0} tuple(next, {6}b, w, v)\n}}\n"
        "loop_condition {{\n  p = {0} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
        "  n = s32[] constant(3)\n  ROOT c = pred[] compare(i, n), direction=LT\n}}\n",
        shape,
        has_both ? "  j = s32[] get-tuple-element(p), index=1\n  other = s32[] add(j, one)\n"
                 : "  j = s32[] copy(i)\n",
        sizes, first, first + 1, first + 2, has_both ? "other, " : "");
  };
  const auto entry = [](const char* sizes, bool has_both) {
    const std::string shape =
        fmt::format("(s32[], {}f32[{}], f32[4], f32[4])", has_both ? "s32[], " : "", sizes);
    return fmt::format(
        "  x = f32[{0}] parameter(0)\n  z = s32[] constant(0)\n"
        "  v = f32[4] constant({{1, 2, 3, 4}})\n  w = f32[4] constant({{5, 7, 11, 13}})\n"
        "  t = {1} tuple(z, {2}x, v, w)\n"
        "  l = {1} while(t), condition=loop_condition, body=loop_body\n"
        "  y = f32[{0}] get-tuple-element(l), index={3}\n  ROOT n = f32[{0}] negate(y)\n",
        sizes, shape, has_both ? "z, " : "", has_both ? 2 : 1);
  };
  return {entry("4,4", true), entry("2,4", false), "a. -> a.", computations("4,4", true),
          computations("2,4", false)};
}

/// A half of what is negated.
std::string halves(const std::string& ranges) {
  return "  x = f32[2,8] parameter(0)\n  h = f32[2,4] slice(x), slice={" + ranges +
         "}\n  ROOT y = f32[2,4] negate(h)\n";
}

/// Two elements of `other` on devices of this number along a, and else of x: the first two on the
/// first devices, and the last two on the last.
std::string own_half(const std::string& number, const std::string& other) {
  return "  id = u32[] partition-id()\n  t = s32[4] constant({0, 0, 1, 1})\n"
         "  d = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n  r = s32[] reshape(d)\n"
         "  n = s32[] constant(" +
         number +
         ")\n  c = pred[] compare(r, n), direction=EQ\n"
         "  cs = pred[2,4] broadcast(c), dimensions={}\n  m = f32[2,4] select(cs, " +
         other +
         ", x)\n  two = s32[] constant(2)\n  at = s32[] multiply(r, two)\n"
         "  none = s32[] constant(0)\n"
         "  h = f32[2,2] dynamic-slice(m, none, at), dynamic_slice_sizes={2,2}\n"
         "  ROOT y = f32[2,2] negate(h)\n";
}

}  // namespace

std::vector<Pair> compiled_pairs() {
  const std::string x = "  x = f32[4,8] parameter(0)\n";
  const std::string rows = "  x = f32[2,8] parameter(0)\n";
  const std::string zero = "  z = f32[] constant(0)\n";
  const std::string sum_a = fmt::format("{}, to_apply=add\n", kAlongA);
  const std::string rounded =
      "rounded {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = f32[] add(a, b)\n"
      "  d = bf16[] convert(c)\n  ROOT e = f32[] convert(d)\n}\n";
  const std::string either =
      "either {\n  a = pred[] parameter(0)\n  b = pred[] parameter(1)\n"
      "  ROOT c = pred[] or(a, b)\n}\n";
  const std::string sum_b = fmt::format("{}, to_apply=add\n", kAlongB);
  return {
      // 0: a quotient as a product with the inverse, before it is made wide
      {x + zero +
           "  e = f32[4,8] exponential(x)\n"
           "  s = f32[4] reduce(e, z), dimensions={1}, to_apply=add\n"
           "  b = f32[4,8] broadcast(s), dimensions={0}\n  ROOT y = f32[4,8] divide(e, b)\n",
       rows + zero +
           "  e = f32[2,8] exponential(x)\n"
           "  s = f32[2] reduce(e, z), dimensions={1}, to_apply=add\n  o = f32[] constant(1)\n"
           "  os = f32[2] broadcast(o), dimensions={}\n  r = f32[2] divide(os, s)\n"
           "  b = f32[2,8] broadcast(r), dimensions={0}\n  ROOT y = f32[2,8] multiply(e, b)\n",
       "a. -> a."},
      // 1: constants as one, as they are in f32
      {x + zero +
           "  s = f32[8] reduce(x, z), dimensions={0}, to_apply=add\n  n = f32[] constant(48)\n"
           "  ns = f32[8] broadcast(n), dimensions={}\n  m = f32[8] divide(s, ns)\n"
           "  l = f32[] constant(0.01)\n  ls = f32[8] broadcast(l), dimensions={}\n"
           "  ROOT y = f32[8] multiply(m, ls)\n",
       rows + zero +
           "  s = f32[8] reduce(x, z), dimensions={0}, to_apply=add\n  t = f32[8] all-reduce(s), " +
           sum_a +
           "  l = f32[] constant(0.000208333338)\n  ls = f32[8] broadcast(l), dimensions={}\n"
           "  ROOT y = f32[8] multiply(t, ls)\n",
       "a. -> ."},
      // 2: a maximum with -inf, and a choice of truth values
      {x + "  w = pred[4,8] parameter(1)\n  t = pred[] constant(true)\n"
           "  f = pred[] constant(false)\n  ts = pred[4,8] broadcast(t), dimensions={}\n"
           "  fs = pred[4,8] broadcast(f), dimensions={}\n  c = pred[4,8] select(w, ts, fs)\n"
           "  i = f32[] constant(-inf)\n  is = f32[4,8] broadcast(i), dimensions={}\n"
           "  m = f32[4,8] maximum(is, x)\n  n = f32[4,8] negate(m)\n"
           "  ROOT y = f32[4,8] select(c, m, n)\n",
       rows + "  w = pred[2,8] parameter(1)\n  n = f32[2,8] negate(x)\n"
              "  ROOT y = f32[2,8] select(w, x, n)\n",
       "a. a. -> a."},
      // 3: a dot as a sum of products
      {x + "  w = f32[8,4] parameter(1)\n"
           "  ROOT y = f32[4,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
       rows + "  w = f32[8,4] parameter(1)\n" + zero +
           "  xs = f32[2,4,8] broadcast(x), dimensions={0,2}\n"
           "  t = f32[4,8] transpose(w), dimensions={1,0}\n"
           "  ws = f32[2,4,8] broadcast(t), dimensions={1,2}\n  p = f32[2,4,8] multiply(ws, xs)\n"
           "  ROOT y = f32[2,4] reduce(p, z), dimensions={2}, to_apply=add\n",
       "a. .. -> a."},
      // 4: a dot as a convolution without windows, of features that are cut
      {x + "  w = f32[6,8] parameter(1)\n"
           "  ROOT y = f32[6,4] dot(w, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n",
       "  x = f32[4,4] parameter(0)\n  w = f32[6,4] parameter(1)\n"
       "  c = f32[6,4] convolution(x, w), dim_labels=bf_oi->fb\n"
       "  ROOT y = f32[6,4] all-reduce(c), " +
           sum_b,
       ".b .b -> .."},
      // 5: batches as windows of one element, and a contraction of two dimensions as a window
      {"  x = f32[4,3,8] parameter(0)\n  w = f32[8,6] parameter(1)\n"
       "  ROOT y = f32[4,3,6] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}\n",
       "  x = f32[2,3,8] parameter(0)\n  w = f32[8,6] parameter(1)\n  v = f32[8,6,1] reshape(w)\n"
       "  ROOT y = f32[2,3,6] convolution(x, v), window={size=1}, dim_labels=0bf_io0->0bf\n",
       "a.. .. -> a.."},
      {"  x = f32[4,3,8] parameter(0)\n  w = f32[3,8,6] parameter(1)\n"
       "  ROOT y = f32[4,6] dot(x, w), lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}\n",
       "  x = f32[2,3,8] parameter(0)\n  w = f32[3,8,6] parameter(1)\n"
       "  c = f32[2,1,6] convolution(x, w), window={size=3}, dim_labels=b0f_0io->b0f\n"
       "  ROOT y = f32[2,6] reshape(c)\n",
       "a.. ... -> a."},
      // 7: an all-to-all of several arrays
      {x + "  ROOT y = f32[4,8] negate(x)\n",
       "  x = f32[4,4] parameter(0)\n  n = f32[4,4] negate(x)\n  p = f32[2,2,4] reshape(n)\n"
       "  r = f32[1,2,4] slice(p), slice={[0:1], [0:2], [0:4]}\n"
       "  s = f32[1,2,4] slice(p), slice={[1:2], [0:2], [0:4]}\n"
       "  e = (f32[1,2,4], f32[1,2,4]) all-to-all(r, s), " +
           std::string(kAlongA) +
           "\n  f = f32[1,2,4] get-tuple-element(e), index=0\n"
           "  g = f32[1,2,4] get-tuple-element(e), index=1\n"
           "  c = f32[2,2,4] concatenate(f, g), dimensions={0}\n"
           "  t = f32[2,2,4] transpose(c), dimensions={1,0,2}\n  ROOT y = f32[2,8] reshape(t)\n",
       ".a -> a."},
      // 8: the same bits as another type
      {"  x = u32[4,8] parameter(0)\n  ROOT y = f32[4,8] bitcast-convert(x)\n",
       "  x = u32[2,8] parameter(0)\n  ROOT y = f32[2,8] bitcast(x)\n", "a. -> a."},
      // 9: indices of the whole from those of a part
      {"  x = f32[8] parameter(0)\n  i = s32[8] iota(), iota_dimension=0\n"
       "  s = s32[8] multiply(i, i)\n  c = f32[8] convert(s)\n  ROOT y = f32[8] add(x, c)\n",
       "  x = f32[4] parameter(0)\n  i = s32[4] iota(), iota_dimension=0\n"
       "  id = u32[] partition-id()\n  t = s32[4] constant({0,0,4,4})\n"
       "  d = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n  r = s32[] reshape(d)\n"
       "  o = s32[4] broadcast(r), dimensions={}\n  j = s32[4] add(i, o)\n"
       "  s = s32[4] multiply(j, j)\n  c = f32[4] convert(s)\n  ROOT y = f32[4] add(x, c)\n",
       "a -> a"},
      // 10: a reducer that rounds, and a scatter at a table of indices, which is made a list
      {x + zero + "  ROOT y = f32[8] reduce(x, z), dimensions={0}, to_apply=add\n",
       rows + zero +
           "  s = f32[8] reduce(x, z), dimensions={0}, to_apply=rounded\n"
           "  ROOT y = f32[8] all-reduce(s), " +
           kAlongA + ", to_apply=rounded\n",
       "a. -> .", "", rounded},
      {"  x = f32[6,8] parameter(0)\n  i = s32[2,2] parameter(1)\n"
       "  u = f32[2,2,8] parameter(2)\n  j = s32[2,2,1] reshape(i)\n"
       "  ROOT y = f32[6,8] scatter(x, j, u), update_window_dims={2}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=2, to_apply=add\n",
       "  x = f32[6,4] parameter(0)\n  i = s32[2,2] parameter(1)\n"
       "  u = f32[2,2,4] parameter(2)\n  j = s32[4] reshape(i)\n  k = s32[4,1] reshape(j)\n"
       "  v = f32[4,4] reshape(u)\n"
       "  ROOT y = f32[6,4] scatter(x, k, v), update_window_dims={1}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n",
       ".b .. ..b -> .b"},
      // 12: a sum in tiles, twice, the last of them padded
      {x + zero + "  ROOT y = f32[4] reduce(x, z), dimensions={1}, to_apply=add\n",
       rows + zero +
           "  t = f32[2,3] reduce-window(x, z), window={size=1x3 stride=1x3 pad=0_0x0_1}, "
           "to_apply=add\n"
           "  u = f32[2,2] reduce-window(t, z), window={size=1x2 stride=1x2 pad=0_0x1_0}, "
           "to_apply=rounded\n"
           "  ROOT y = f32[2] reduce(u, z), dimensions={1}, to_apply=add\n",
       "a. -> a", "", rounded},
      branches("s32[]", "branch_computations={twice, summed}"),
      branches("pred[]", "true_computation=twice, false_computation=summed"),
      counters(),
      choices("s32[]",
              "  one = s32[] constant(1)\n  two = s32[] constant(0)\n"
              "  e = pred[] compare(i, one), direction=EQ\n"
              "  f = pred[] compare(i, two), direction=EQ\n"
              "  es = pred[4,8] broadcast(e), dimensions={}\n"
              "  fs = pred[4,8] broadcast(f), dimensions={}\n  n = f32[4,8] negate(x)\n"
              "  m = f32[4,8] select(es, t, n)\n  ROOT y = f32[4,8] select(fs, d, m)\n",
              "branch_computations={twice, summed, x2}"),
      choices("pred[]",
              "  is = pred[4,8] broadcast(i), dimensions={}\n"
              "  ROOT y = f32[4,8] select(is, d, t)\n",
              "true_computation=twice, false_computation=summed"),
      // 18: the sum of all elements, of what is put in other dimensions, in two steps
      {x + zero +
           "  e = f32[4,8] exponential(x)\n  ROOT y = f32[] reduce(e, z), dimensions={0,1}, "
           "to_apply=add\n",
       "  x = f32[2,4] parameter(0)\n" + zero +
           "  e = f32[2,4] exponential(x)\n  t = f32[4,2] transpose(e), dimensions={1,0}\n  b = "
           "f32[2,2,2] reshape(t)\n  p = f32[2] reduce(b, z), dimensions={0,2}, to_apply=add\n  q "
           "= f32[] reduce(p, z), dimensions={0}, to_apply=rounded\n  ROOT y = f32[] "
           "all-reduce(q), replica_groups={{0,1,2,3}}, channel_id=1, use_global_device_ids=true, "
           "to_apply=add\n",
       "ab -> _", "", rounded},
      // 19: the largest of all
      {x + "  z = f32[] constant(-inf)\n  e = f32[4,8] negate(x)\n  ROOT y = f32[] reduce(e, z), "
           "dimensions={0,1}, to_apply=maximum\n",
       rows +
           "  z = f32[] constant(-inf)\n  e = f32[2,8] negate(x)\n  b = f32[16] reshape(e)\n  q = "
           "f32[] reduce(b, z), dimensions={0}, to_apply=maximum\n  ROOT y = f32[] "
           "all-reduce(q), " +
           std::string(kAlongA) + ", to_apply=maximum\n",
       "a. -> _"},
      // 20: sums of two gradients in one all-reduce
      {x + "  v = f32[6,4] parameter(1)\n" + zero +
           "  p = f32[8] reduce(x, z), dimensions={0}, to_apply=add\n  q = f32[4] reduce(v, z), "
           "dimensions={0}, to_apply=add\n  ROOT y = (f32[8], f32[4]) tuple(p, q)\n",
       rows + "  v = f32[3,4] parameter(1)\n" + zero +
           "  p = f32[8] reduce(x, z), dimensions={0}, to_apply=add\n  q = f32[4] reduce(v, z), "
           "dimensions={0}, to_apply=add\n  c = f32[12] concatenate(p, q), dimensions={0}\n  r = "
           "f32[12] all-reduce(c), " +
           sum_a +
           "  s = f32[8] slice(r), slice={[0:8]}\n  t = f32[4] slice(r), slice={[8:12]}\n  ROOT y "
           "= "
           "(f32[8], f32[4]) tuple(s, t)\n",
       "a. a. -> . ."},
      // 21: a gather along rows of which every device has one, whose numbers are zeros there
      {"  x = f32[2,6] parameter(0)\n  i = s32[2,3,1] parameter(1)\n"
       "  ROOT y = f32[2,3] gather(x, i), offset_dims={}, collapsed_slice_dims={1}, "
       "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
       "index_vector_dim=2, slice_sizes={1,1}\n",
       "  x = f32[1,6] parameter(0)\n  i = s32[1,3,1] parameter(1)\n  z = s32[] constant(0)\n"
       "  n = s32[1,3,1] broadcast(z), dimensions={}\n"
       "  j = s32[1,3,2] concatenate(n, i), dimensions={2}\n  k = s32[3,2] reshape(j)\n"
       "  g = f32[3,1,1] gather(x, k), offset_dims={1,2}, collapsed_slice_dims={}, "
       "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}\n"
       "  ROOT y = f32[1,3] reshape(g)\n",
       "a. a.. -> a."},
      // 22: the gradient of a loss at labels: what is added to the product is what is added into
      {x + "  i = s32[4,1,1] parameter(1)\n" + zero +
           "  e = f32[4,8] exponential(x)\n  zs = f32[4,8] broadcast(z), dimensions={}\n"
           "  m = f32[] constant(-0.25)\n  us = f32[4,1] broadcast(m), dimensions={}\n"
           "  s = f32[4,8] scatter(zs, i, us), update_window_dims={}, inserted_window_dims={1}, "
           "scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
           "scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=add\n"
           "  ROOT y = f32[4,8] add(e, s)\n",
       rows +
           "  i = s32[2,1,1] parameter(1)\n  e = f32[2,8] exponential(x)\n"
           "  m = f32[] constant(-0.25)\n  us = f32[2,1] broadcast(m), dimensions={}\n"
           "  ROOT y = f32[2,8] scatter(e, i, us), update_window_dims={}, "
           "inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
           "scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=add\n",
       "a. a.. -> a."},
      // 23: a row for every element of a batch of which every device has one
      {"  x = f32[2,8] parameter(0)\n  v = f32[8] parameter(1)\n"
       "  w = f32[2,8] broadcast(v), dimensions={1}\n  ROOT y = f32[2,8] multiply(x, w)\n",
       "  x = f32[1,8] parameter(0)\n  v = f32[8] parameter(1)\n  w = f32[1,8] reshape(v)\n"
       "  ROOT y = f32[1,8] multiply(x, w)\n",
       "a. . -> a."},
      // 24: a mask of a batch of which every device has one element, and all of it
      {"  x = f32[2,4,3] parameter(0)\n  m = f32[2,4] parameter(1)\n"
       "  w = f32[2,4,3] broadcast(m), dimensions={0,1}\n  ROOT y = f32[2,4,3] add(x, w)\n",
       "  x = f32[1,4,3] parameter(0)\n  m = f32[1,4] parameter(1)\n  l = f32[4] reshape(m)\n"
       "  w = f32[1,4,3] broadcast(l), dimensions={1}\n  ROOT y = f32[1,4,3] add(x, w)\n",
       "a.. a. -> a.."},
      // 25: the gradient of a convolution's kernel, with dimensions in another order
      {"  x = f32[4,5,3] parameter(0)\n  g = f32[4,4,6] parameter(1)\n"
       "  ROOT y = f32[2,3,6] convolution(x, g), window={size=4}, dim_labels=f0b_i0o->0bf\n",
       "  x = f32[4,5,3] parameter(0)\n  g = f32[4,4,3] parameter(1)\n"
       "  t = f32[3,5,4] transpose(x), dimensions={2,1,0}\n"
       "  h = f32[4,4,3] transpose(g), dimensions={1,0,2}\n"
       "  c = f32[3,2,3] convolution(t, h), window={size=4}, dim_labels=b0f_0io->b0f\n"
       "  ROOT y = f32[2,3,3] transpose(c), dimensions={1,0,2}\n",
       "... ..a -> ..a"},
      // 26: whether anything is true, in tiles
      {"  x = pred[4,6] parameter(0)\n  f = pred[] constant(false)\n"
       "  ROOT y = pred[4] reduce(x, f), dimensions={1}, to_apply=either\n",
       "  x = pred[2,6] parameter(0)\n  f = pred[] constant(false)\n"
       "  t = pred[2,2] reduce-window(x, f), window={size=1x3 stride=1x3}, to_apply=either\n"
       "  ROOT y = pred[2] reduce(t, f), dimensions={1}, to_apply=either\n",
       "a. -> a", either, either},
      // 27: what is added at labels was put into one column before
      {labels("4"), labels("2"), "a.. -> a."},
      // 28: the gradient of an embedding whose rows are cut, of labels that are gathered as numbers
      // of the device's rows
      {"  i = s32[4,1] parameter(0)\n  u = f32[4,3] parameter(1)\n" + zero +
           "  zs = f32[8,3] broadcast(z), dimensions={}\n"
           "  ROOT y = f32[8,3] scatter(zs, i, u), update_window_dims={1}, "
           "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
           "to_apply=add\n",
       "  i = s32[2,1] parameter(0)\n  u = f32[2,3] parameter(1)\n" + zero +
           "  zs = f32[4,3] broadcast(z), dimensions={}\n  id = u32[] partition-id()\n"
           "  t = u32[4] constant({0, 0, 1, 1})\n"
           "  r = u32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n"
           "  s = s32[1] convert(r)\n  four = s32[1] constant({4})\n"
           "  o = s32[1] multiply(s, four)\n  p = s32[] reshape(o)\n"
           "  os = s32[2,1] broadcast(p), dimensions={}\n  j = s32[2,1] subtract(i, os)\n"
           "  k = s32[4,1] all-gather(j), dimensions={0}, " +
           std::string(kAlongB) +
           "\n"
           "  v = f32[4,3] all-gather(u), dimensions={0}, " +
           std::string(kAlongB) +
           "\n"
           "  ROOT y = f32[4,3] scatter(zs, k, v), update_window_dims={1}, "
           "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
           "to_apply=add\n",
       "b. b. -> a."},
      // 29: the sum over a batch of which every device has one element
      {"  x = f32[2,4] parameter(0)\n" + zero +
           "  n = f32[2,4] negate(x)\n"
           "  ROOT y = f32[4] reduce(n, z), dimensions={0}, to_apply=add\n",
       "  x = f32[1,4] parameter(0)\n  n = f32[1,4] negate(x)\n  l = f32[4] reshape(n)\n"
       "  ROOT y = f32[4] all-reduce(l), " +
           sum_a,
       "a. -> ."},
      // 30: a product over all elements of a batch of which every device has one, moved behind
      // others
      {"  x = f32[2,3,4] parameter(0)\n  w = f32[2,4,5] parameter(1)\n"
       "  ROOT y = f32[3,5] dot(x, w), lhs_contracting_dims={0,2}, rhs_contracting_dims={0,1}\n",
       "  x = f32[1,3,4] parameter(0)\n  w = f32[1,4,5] parameter(1)\n"
       "  l = f32[3,4] reshape(x)\n  r = f32[4,5] reshape(w)\n"
       "  d = f32[3,5] dot(l, r), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
       "  ROOT y = f32[3,5] all-reduce(d), " +
           sum_a,
       "a.. a.. -> .."},
      // 31: an all-to-all of slices, each in a dimension of its own, and converted before they are
      // put together
      {x + "  n = f32[4,8] negate(x)\n  ROOT y = bf16[4,8] convert(n)\n",
       "  x = f32[4,4] parameter(0)\n  n = f32[4,4] negate(x)\n"
       "  r = f32[2,4] slice(n), slice={[0:2], [0:4]}\n"
       "  s = f32[2,4] slice(n), slice={[2:4], [0:4]}\n"
       "  p = f32[1,2,4] reshape(r)\n  q = f32[1,2,4] reshape(s)\n"
       "  e = (f32[1,2,4], f32[1,2,4]) all-to-all(p, q), " +
           std::string(kAlongA) +
           "\n  f = f32[1,2,4] get-tuple-element(e), index=0\n"
           "  g = f32[1,2,4] get-tuple-element(e), index=1\n"
           "  h = bf16[1,2,4] convert(f)\n  i = bf16[1,2,4] convert(g)\n"
           "  c = bf16[2,2,4] concatenate(h, i), dimensions={0}\n"
           "  t = bf16[2,2,4] transpose(c), dimensions={1,0,2}\n  ROOT y = bf16[2,8] reshape(t)\n",
       ".a -> a."},
      // 32: attention of one group of heads on every device, whose dimension is left out
      {"  q = f32[2,3,2,2,4] parameter(0)\n  k = f32[2,3,2,4] parameter(1)\n"
       "  s = f32[2,2,3,2,3] dot(q, k), lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, "
       "lhs_contracting_dims={4}, rhs_contracting_dims={3}\n"
       "  ROOT y = f32[2,2,3,2,3] exponential(s)\n",
       "  q = f32[2,3,1,2,4] parameter(0)\n  k = f32[2,3,1,4] parameter(1)\n"
       "  p = f32[2,6,4] reshape(q)\n  r = f32[2,3,4] reshape(k)\n"
       "  s = f32[2,6,3] dot(p, r), lhs_batch_dims={0}, rhs_batch_dims={0}, "
       "lhs_contracting_dims={2}, rhs_contracting_dims={2}\n"
       "  e = f32[2,6,3] exponential(s)\n  ROOT y = f32[2,1,3,2,3] reshape(e)\n",
       "..a.. ..a. -> .a..."},
      // 33: a constant that is reshaped, where the last device's part is padded
      {"  x = f32[4,3] parameter(0)\n  z = f32[] constant(2)\n"
       "  b = f32[4,3] broadcast(z), dimensions={}\n  ROOT y = f32[4,3] multiply(x, b)\n",
       "  x = f32[4,2] parameter(0)\n  z = f32[] constant(2)\n"
       "  b = f32[8] broadcast(z), dimensions={}\n  r = f32[4,2] reshape(b)\n"
       "  ROOT y = f32[4,2] multiply(x, r)\n",
       ".a -> .a"},
      // 34: halves of a dimension that is cut, each cut again
      {halves("[0:2], [0:4]"),
       "  x = f32[2,4] parameter(0)\n  s = f32[2,2] slice(x), slice={[0:2], [2:4]}\n"
       "  q = f32[2,2] collective-permute(s), channel_id=1, source_target_pairs={{0,2},{1,3}}\n" +
           zero + "  w = f32[2,4] pad(q, z), padding=0_0x2_0\n" + own_half("1", "w"),
       ".a -> .a"},
      {halves("[0:2], [4:8]"),
       "  x = f32[2,4] parameter(0)\n"
       "  w = f32[2,4] collective-permute(x), channel_id=1, source_target_pairs={{2,0},{3,1}}\n" +
           own_half("0", "w"),
       ".a -> .a"},
      // 36: a table of pairs, of the one sequence that every device has
      {"  x = f32[2,3] parameter(0)\n  p = f32[2,3,3] broadcast(x), dimensions={0,1}\n"
       "  q = f32[2,3,3] broadcast(x), dimensions={0,2}\n  m = f32[2,3,3] subtract(p, q)\n"
       "  t = f32[2,3,3] tanh(m)\n  z = f32[] constant(0)\n"
       "  ROOT y = f32[] reduce(t, z), dimensions={0,1,2}, to_apply=add\n",
       "  x = f32[1,3] parameter(0)\n  r = f32[3] reshape(x)\n"
       "  p = f32[1,3,3] broadcast(r), dimensions={1}\n"
       "  q = f32[1,3,3] broadcast(r), dimensions={2}\n  m = f32[1,3,3] subtract(p, q)\n"
       "  t = f32[1,3,3] tanh(m)\n  z = f32[] constant(0)\n"
       "  s = f32[] reduce(t, z), dimensions={0,1,2}, to_apply=add\n"
       "  ROOT y = f32[] all-reduce(s), " +
           sum_a,
       "a. -> _"},
      // 37: attention in one sequence per device
      {"  x = f32[2,3,2,2] parameter(0)\n"
       "  s = f32[2,2,3,3] dot(x, x), lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, "
       "lhs_contracting_dims={3}, rhs_contracting_dims={3}\n"
       "  z = f32[] constant(0)\n  l = f32[] constant(-inf)\n"
       "  h = f32[2,2,3] reduce(s, l), dimensions={3}, to_apply=maximum\n"
       "  b = f32[2,2,3,3] broadcast(h), dimensions={0,1,2}\n"
       "  d = f32[2,2,3,3] subtract(s, b)\n  e = f32[2,2,3,3] exponential(d)\n"
       "  o = f32[2,2,3,2] dot(e, x), lhs_batch_dims={0,1}, rhs_batch_dims={0,2}, "
       "lhs_contracting_dims={3}, rhs_contracting_dims={1}\n"
       "  t = f32[2,2,3,2] tanh(o)\n"
       "  ROOT y = f32[] reduce(t, z), dimensions={0,1,2,3}, to_apply=add\n",
       "  x = f32[1,3,2,2] parameter(0)\n"
       "  v = f32[1,2,3,2] transpose(x), dimensions={0,2,1,3}\n"
       "  r = f32[2,3,2] reshape(v)\n"
       "  s = f32[2,3,3] dot(r, r), lhs_batch_dims={0}, rhs_batch_dims={0}, "
       "lhs_contracting_dims={2}, rhs_contracting_dims={2}\n"
       "  z = f32[] constant(0)\n  l = f32[] constant(-inf)\n"
       "  h = f32[2,3] reduce(s, l), dimensions={2}, to_apply=maximum\n"
       "  b = f32[2,3,3] broadcast(h), dimensions={0,1}\n"
       "  d = f32[2,3,3] subtract(s, b)\n  e = f32[2,3,3] exponential(d)\n"
       "  o = f32[2,3,2] dot(e, r), lhs_batch_dims={0}, rhs_batch_dims={0}, "
       "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n"
       "  u = f32[1,2,3,2] reshape(o)\n  t = f32[1,2,3,2] tanh(u)\n"
       "  w = f32[] reduce(t, z), dimensions={0,1,2,3}, to_apply=add\n"
       "  ROOT y = f32[] all-reduce(w), " +
           sum_a,
       "a... -> _"},
      // 38: an all-to-all of slices, which are rounded before they are put together
      {x + "  ROOT y = f32[4,8] negate(x)\n",
       "  x = f32[4,4] parameter(0)\n  n = f32[4,4] negate(x)\n"
       "  r = f32[2,4] slice(n), slice={[0:2], [0:4]}\n"
       "  s = f32[2,4] slice(n), slice={[2:4], [0:4]}\n"
       "  p = f32[1,2,4] reshape(r)\n  q = f32[1,2,4] reshape(s)\n"
       "  e = (f32[1,2,4], f32[1,2,4]) all-to-all(p, q), " +
           std::string(kAlongA) +
           "\n  f = f32[1,2,4] get-tuple-element(e), index=0\n"
           "  g = f32[1,2,4] get-tuple-element(e), index=1\n"
           "  h = bf16[1,2,4] convert(f)\n  i = bf16[1,2,4] convert(g)\n"
           "  j = f32[1,2,4] convert(h)\n  k = f32[1,2,4] convert(i)\n"
           "  c = f32[2,2,4] concatenate(j, k), dimensions={0}\n"
           "  t = f32[2,2,4] transpose(c), dimensions={1,0,2}\n  ROOT y = f32[2,8] reshape(t)\n",
       ".a -> a."},
      // 39: a concatenation as a maximum of what is padded, and rounded
      {x + "  n = f32[4,8] negate(x)\n  t = f32[4,8] tanh(x)\n"
           "  ROOT y = f32[4,24] concatenate(x, n, t), dimensions={1}\n",
       "  x = f32[2,8] parameter(0)\n  n = f32[2,8] negate(x)\n  t = f32[2,8] tanh(x)\n"
       "  m = f32[] constant(-inf)\n  o = bf16[2,8] convert(n)\n"
       "  p = f32[2,24] pad(x, m), padding=0_0x0_16\n"
       "  q = bf16[2,24] pad(o, m), padding=0_0x8_8\n  r = f32[2,24] convert(q)\n"
       "  s = f32[2,24] pad(t, m), padding=0_0x16_0\n  u = f32[2,24] maximum(s, p)\n"
       "  ROOT y = f32[2,24] maximum(u, r)\n",
       "a. -> a."},
      // 40: batches of one on every device, which are reduced with what is summed over
      {"  x = f32[2,3,4] parameter(0)\n  z = f32[] constant(0)\n"
       "  s = f32[2,3] reduce(x, z), dimensions={2}, to_apply=add\n"
       "  ROOT y = f32[2,3] tanh(s)\n",
       "  x = f32[1,3,4] parameter(0)\n  z = f32[] constant(0)\n"
       "  s = f32[3] reduce(x, z), dimensions={0,2}, to_apply=add\n  t = f32[3] tanh(s)\n"
       "  ROOT y = f32[1,3] reshape(t)\n",
       "a.. -> a."},
      // 41: an update where a scalar says so, of what is updated alone
      {x + "  u = f32[1,8] parameter(1)\n  c = pred[] parameter(2)\n  i = s32[] parameter(3)\n"
           "  z = s32[] constant(0)\n  d = f32[4,8] dynamic-update-slice(x, u, i, z)\n"
           "  w = pred[4,8] broadcast(c), dimensions={}\n  ROOT y = f32[4,8] select(w, d, x)\n",
       "  x = f32[4,4] parameter(0)\n  u = f32[1,4] parameter(1)\n  c = pred[] parameter(2)\n"
       "  i = s32[] parameter(3)\n  z = u8[] constant(9)\n"
       "  k = s32[] constant(0)\n  o = f32[1,4] dynamic-slice(x, i, k), "
       "dynamic_slice_sizes={1,4}\n  w = pred[1,4] broadcast(c), dimensions={}\n"
       "  n = f32[1,4] select(w, u, o)\n"
       "  ROOT y = f32[4,4] dynamic-update-slice(x, n, i, k)\n",
       ".a .a _ _ -> .a"},
      // 42: a dot of a batch as a convolution of what is dilated by its size
      {"  x = f32[3,4,2] parameter(0)\n  w = f32[3,2,5] parameter(1)\n"
       "  ROOT y = f32[3,4,5] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, "
       "lhs_contracting_dims={2}, rhs_contracting_dims={1}\n",
       "  x = f32[3,2,2] parameter(0)\n  w = f32[3,2,5] parameter(1)\n"
       "  ROOT y = f32[3,2,5] convolution(x, w), window={size=3 stride=2 lhs_dilate=3}, "
       "dim_labels=0bf_0io->0bf\n",
       ".a. ... -> .a."},
      // 43: a dot as a convolution of which the kernel alone has a window's dimension
      {x + "  w = f32[3,8,5] parameter(1)\n"
           "  ROOT y = f32[4,3,5] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n",
       "  x = f32[2,8] parameter(0)\n  w = f32[3,8,5] parameter(1)\n  r = f32[1,2,8] reshape(x)\n"
       "  ROOT y = f32[2,3,5] convolution(r, w), window={size=3 pad=2_2 rhs_reversal=1}, "
       "dim_labels=0bf_0io->b0f\n",
       "a. ... -> a.."},
  };
}

}  // namespace p2::hlo
