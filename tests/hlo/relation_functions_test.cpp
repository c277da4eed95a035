// Sorts, reductions of several arrays, windows and convolutions in a relation at every node: along
// which dimensions they may be cut, and along which not.

#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/hlo/modules.h"
#include "tests/hlo/related_pairs.h"

namespace p2::hlo {
namespace {

/// One operation of a module and of one that devices run, with how arrays are held.
struct FunctionCase {
  const char* what;
  const char* before;
  std::vector<std::vector<std::string>> cut;  ///< what stands otherwise in the other module
  const char* held;
  std::vector<std::vector<std::string>> wrong;  ///< changes of that module: from, to
};

const char* const kFunctions =
    "less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  i = s32[] parameter(2)\n"
    "  j = s32[] parameter(3)\n  ROOT l = pred[] compare(a, b), direction=LT\n}\n\n"
    "greater {\n  i = s32[] parameter(2)\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  j = s32[] parameter(3)\n  ROOT l = pred[] compare(a, b), direction=GT\n}\n\n"
    "first {\n  a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n"
    "  j = s32[] parameter(3)\n  g = pred[] compare(a, b), direction=GE\n"
    "  v = f32[] select(g, a, b)\n  k = s32[] select(g, i, j)\n"
    "  ROOT t = (f32[], s32[]) tuple(v, k)\n}\n\n"
    "ge {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT l = pred[] compare(a, b), direction=GE\n}\n\n";
/// The same as `first`, in another order.
const char* const kFirstAgain =
    "first {\n  b = f32[] parameter(2)\n  a = f32[] parameter(0)\n"
    "  g = pred[] compare(a, b), direction=GE\n  j = s32[] parameter(3)\n"
    "  i = s32[] parameter(1)\n  k = s32[] select(g, i, j)\n  v = f32[] select(g, a, b)\n"
    "  ROOT t = (f32[], s32[]) tuple(v, k)\n}\n\n";

std::vector<FunctionCase> function_cases() {
  return {
      {"a stable sort of rows with their numbers",
       "  x = f32[4,8] parameter(0)\n  i = s32[4,8] iota(), iota_dimension=1\n"
       "  s = (f32[4,8], s32[4,8]) sort(x, i), dimensions={1}, is_stable=true, to_apply=less\n"
       "  ROOT y = s32[4,8] get-tuple-element(s), index=1\n",
       {{"[4,8]", "[2,8]"}},
       "a. -> a.",
       {{"is_stable=true, ", ""},
        {"to_apply=less", "to_apply=greater"},
        {"iota_dimension=1", "iota_dimension=0"},
        {"index=1", "index=0"}}},
      {"rows that are cut",
       "  x = f32[4,8] parameter(0)\n  n = f32[4,8] negate(x)\n"
       "  ROOT y = f32[4,8] sort(n), dimensions={1}, is_stable=true, to_apply=ge\n",
       {{"[4,8]", "[2,8]"}},
       "a. -> a.",
       {{"dimensions={1}", "dimensions={0}"}}},
      {"the place of the largest of every row",
       "  x = f32[4,8] parameter(0)\n  i = s32[4,8] iota(), iota_dimension=1\n"
       "  z = f32[] constant(-inf)\n  o = s32[] constant(0)\n"
       "  s = (f32[4], s32[4]) reduce(x, i, z, o), dimensions={1}, to_apply=first\n"
       "  ROOT y = s32[4] get-tuple-element(s), index=1\n",
       {{"[4,8]", "[2,8]"}, {"f32[4]", "f32[2]"}, {"s32[4]", "s32[2]"}},
       "a. -> a",
       {{"constant(0)", "constant(1)"}, {"index=1", "index=0"}}},
      {"sums up to every index of a row",
       "  x = f32[4,8] parameter(0)\n  z = f32[] constant(0)\n"
       "  ROOT y = f32[4,8] reduce-window(x, z), window={size=1x8 pad=0_0x7_0}, to_apply=add\n",
       {{"[4,8]", "[2,8]"}},
       "a. -> a.",
       {{"pad=0_0x7_0", "pad=0_0x0_7"},
        {"constant(0)", "constant(1)"},
        {"to_apply=add", "to_apply=maximum"}}},
      {"where the largest of windows was",
       "  x = f32[4,8] parameter(0)\n  g = f32[4,4] parameter(1)\n  z = f32[] constant(0)\n"
       "  ROOT y = f32[4,8] select-and-scatter(x, g, z), window={size=1x2 stride=1x2}, "
       "select=ge, scatter=add\n",
       {{"[4,8]", "[2,8]"}, {"[4,4]", "[2,4]"}},
       "a. a. -> a.",
       {{"scatter=add", "scatter=maximum"}}},
      {"the largest of every row",
       "  x = f32[4,8] parameter(0)\n  t = (f32[4,2], s32[4,2]) topk(x), k=2, largest=true\n"
       "  ROOT y = f32[4,2] get-tuple-element(t), index=0\n",
       {{"[4,8]", "[2,8]"}, {"[4,2]", "[2,2]"}},
       "a. -> a.",
       {{"largest=true", "largest=false"}}},
      {"a convolution of batches, with features of the result that are cut",
       "  x = f32[4,6,2] parameter(0)\n  k = f32[3,2,4] parameter(1)\n"
       "  ROOT y = f32[4,4,4] convolution(x, k), window={size=3}, dim_labels=b0f_0io->b0f\n",
       {{"f32[4,6,2]", "f32[2,6,2]"}, {"f32[3,2,4]", "f32[3,2,2]"}, {"[4,4,4]", "[2,4,2]"}},
       "a.. ..b -> a.b",
       {{"{size=3}", "{size=3 rhs_reversal=1}"}}},
      {"sums of features that are cut",
       "  x = f32[4,6,2] parameter(0)\n  k = f32[3,2,4] parameter(1)\n"
       "  ROOT y = f32[4,4,4] convolution(x, k), window={size=3}, dim_labels=b0f_0io->b0f\n",
       {{"f32[4,6,2]", "f32[4,6,1]"},
        {"f32[3,2,4]", "f32[3,1,4]"},
        {"ROOT y = f32[4,4,4]", "p = f32[4,4,4]"},
        {"b0f_0io->b0f\n",
         fmt::format("b0f_0io->b0f\n  ROOT y = f32[4,4,4] all-reduce(p), {}, to_apply=add\n",
                     kAlongB)}},
       "..b .b. -> ...",
       {{"all-reduce(p)", "copy(p)"}, {"{{0,1},{2,3}}", "{{0,2},{1,3}}"}}},
      {"a convolution of one feature each, of batches",
       "  x = f32[4,6,2] parameter(0)\n  k = f32[3,1,2] parameter(1)\n"
       "  ROOT y = f32[4,4,2] convolution(x, k), window={size=3}, dim_labels=b0f_0io->b0f, "
       "feature_group_count=2\n",
       {{"f32[4,6,2]", "f32[2,6,2]"}, {"f32[4,4,2]", "f32[2,4,2]"}},
       "a.. ... -> a..",
       {}},
      {"complex numbers",
       "  x = f32[4,8] parameter(0)\n  w = f32[4,8] parameter(1)\n  c = c64[4,8] complex(x, w)\n"
       "  ROOT y = f32[4,8] real(c)\n",
       {{"[4,8]", "[2,4]"}},
       "ab ab -> ab",
       {{"real(c)", "imag(c)"}, {"complex(x, w)", "complex(w, x)"}}},
  };
}

bool is_cut_so(const Pair& pair) {
  return std::holds_alternative<CertificateFiles>(
      related(whole(pair), local(pair), relation_json(pair.held)));
}

TEST_CASE("operations may be cut along dimensions of which they take one index at a time") {
  for (const FunctionCase& each : function_cases()) {
    CAPTURE(std::string(each.what));
    Pair pair{each.before, each.before, each.held, kFunctions, kFunctions};
    for (const auto& cut : each.cut) pair.after = replaced_everywhere(pair.after, cut[0], cut[1]);
    const auto made = related(whole(pair), local(pair), relation_json(pair.held));
    if (made.index() == 1) FAIL(std::get<1>(made));
    CHECK(executed(std::get<0>(made)) != kernel::Verdict::Rejected);
    for (const auto& wrong : each.wrong) {
      CAPTURE(wrong[1]);
      Pair other = pair;
      other.after = replaced(other.after, wrong[0], wrong[1]);
      CHECK_FALSE(is_cut_so(other));
    }
  }
}

TEST_CASE("operations may not be cut along what they take together") {
  const std::string x = "  x = f32[4,8] parameter(0)\n";
  const char* const operations[] = {
      "sort(x), dimensions={1}, is_stable=true, to_apply=ge",
      "reduce-window(x, z), window={size=1x8 pad=0_0x7_0}, to_apply=add",
      "reduce-window(x, z), window={size=1x1 pad=0_0x1_-1}, to_apply=add",
      "reduce-window(x, z), window={size=1x2 lhs_dilate=1x2 stride=1x2 pad=0_0x0_1}, to_apply=add"};
  for (const char* operation : operations) {
    CAPTURE(std::string(operation));
    const std::string body = x + "  z = f32[] constant(0)\n  ROOT y = f32[4,8] " + operation + "\n";
    Pair pair{body, body, ".. -> ..", kFunctions, kFunctions};
    CHECK(is_cut_so(pair));
    pair.after = replaced_everywhere(body, "[4,8]", "[2,8]");
    pair.held = "a. -> a.";
    CHECK(is_cut_so(pair));
    pair.after = replaced_everywhere(body, "[4,8]", "[4,4]");
    pair.held = ".b -> .b";
    CHECK_FALSE(is_cut_so(pair));
  }
}

/// The larger of two numbers with its own number, the smaller one of equal ones; or what `number`
/// and `value` choose by gt, lt and both.
std::string largest(const std::string& name, const std::string& number = "select(o, i, j)",
                    const std::string& value = "select(gt, a, b)") {
  return name +
         " {\n  a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n"
         "  j = s32[] parameter(3)\n  gt = pred[] compare(a, b), direction=GT\n"
         "  eq = pred[] compare(a, b), direction=EQ\n  lt = pred[] compare(i, j), direction=LT\n"
         "  both = pred[] and(eq, lt)\n  o = pred[] or(gt, both)\n  v = f32[] " +
         value + "\n  k = s32[] " + number + "\n  ROOT t = (f32[], s32[]) tuple(v, k)\n}\n\n";
}

/// On every device, the numbers of its columns: of those of x, which are cut along axis b.
const std::string kOwnColumns =
    "  id = u32[] partition-id()\n  c = s32[4] constant({0,4,0,4})\n"
    "  d = s32[1] dynamic-slice(c, id), dynamic_slice_sizes={1}\n  q = s32[] reshape(d)\n"
    "  rb = s32[4] broadcast(q), dimensions={}\n  n = s32[4] iota(), iota_dimension=0\n"
    "  m = s32[4] add(n, rb)\n";

/// What a reduction to the largest elements and their numbers begins with.
const std::string kValues = "  z = f32[] constant(-inf)\n  o = s32[] constant(0)\n";
const std::string kPlaceOfLargest =
    "  x = f32[4,8] parameter(0)\n  i = s32[4,8] iota(), iota_dimension=1\n" + kValues +
    "  s = (f32[4], s32[4]) reduce(x, i, z, o), dimensions={1}, to_apply=largest\n"
    "  ROOT y = s32[4] get-tuple-element(s), index=1\n";

TEST_CASE("the place of the largest of all shards is that of the largest of each") {
  const std::string after =
      "  x = f32[4,4] parameter(0)\n" + kOwnColumns +
      "  i = s32[4,4] broadcast(m), dimensions={1}\n" + kValues +
      fmt::format(
          "  s = (f32[4], s32[4]) reduce(x, i, z, o), dimensions={{1}}, to_apply=largest\n"
          "  s0 = f32[4] get-tuple-element(s), index=0\n"
          "  s1 = s32[4] get-tuple-element(s), index=1\n"
          "  r0 = f32[4,1] reshape(s0)\n  r1 = s32[4,1] reshape(s1)\n"
          "  g0 = f32[4,2] all-gather(r0), {0}, dimensions={{1}}\n"
          "  g1 = s32[4,2] all-gather(r1), {0}, dimensions={{1}}\n"
          "  t = (f32[4], s32[4]) reduce(g0, g1, z, o), dimensions={{1}}, to_apply=again\n"
          "  ROOT y = s32[4] get-tuple-element(t), index=1\n",
          kAlongB);
  const std::string functions = largest("largest") + largest("again");
  const Pair pair{kPlaceOfLargest, after, ".b -> .", functions, functions};
  const auto made = related(whole(pair), local(pair), relation_json(pair.held));
  if (made.index() == 1) FAIL(std::get<1>(made));
  CHECK(executed(std::get<0>(made)) != kernel::Verdict::Rejected);
  const std::pair<const char*, const char*> changes[] = {
      {"{0,4,0,4}", "{0,0,4,4}"},
      {"{0,4,0,4}", "{0,3,0,3}"},
      {"reshape(s1)", "reshape(m)"},
      {"reduce(g0, g1, z, o)", "reduce(g0, g1, z, e)"},
      {"broadcast(m), dimensions={1}", "broadcast(m), dimensions={0}"},
      {"t), index=1", "s), index=1"},
      {"all-gather(r1), replica_groups={{0,1},{2,3}}",
       "all-gather(r1), replica_groups={{0,2},{1,3}}"}};
  for (const auto& [from, to] : changes) {
    CAPTURE(std::string(to));
    Pair other = pair;
    other.after = replaced(other.after, from, to);
    other.after = replaced(other.after, "  n = s32", "  e = s32[] constant(1)\n  n = s32");
    CHECK_FALSE(is_cut_so(other));
  }
  // What devices begin with may be another number on each.
  Pair given = pair;
  given.held = ".b _ -> .";
  for (std::string* text : {&given.before, &given.after})
    *text = replaced(*text, "z = f32[] constant(-inf)", "z = f32[] parameter(1)");
  CHECK_FALSE(is_cut_so(given));
  // Functions that depend on the order of elements: the first of equal ones, the number of the
  // smaller one, and one that does not return what it gets twice.
  for (const char* number : {"select(gt, i, j)", "select(gt, j, i)", "add(i, j)"}) {
    CAPTURE(std::string(number));
    Pair other = pair;
    other.computations_before = other.computations_after =
        largest("largest", number) + largest("again", number);
    CHECK_FALSE(is_cut_so(other));
  }
  Pair other = pair;
  other.computations_after =
      largest("largest") + largest("again", "select(o, i, j)", "select(gt, b, a)");
  CHECK_FALSE(is_cut_so(other));
}

TEST_CASE("the place of the largest of all shards, along the first dimension") {
  const std::string after =
      "  x = f32[4,4] parameter(0)\n" + kOwnColumns + kValues +
      fmt::format(
          "  xt = f32[4,4] transpose(x), dimensions={{1,0}}\n"
          "  it = s32[4,4] broadcast(m), dimensions={{0}}\n"
          "  ix = s32[4,4] broadcast(m), dimensions={{1}}\n"
          "  s = (f32[4], s32[4]) reduce(xt, it, z, o), dimensions={{0}}, to_apply=largest\n"
          "  s0 = f32[4] get-tuple-element(s), index=0\n"
          "  s1 = s32[4] get-tuple-element(s), index=1\n"
          "  r0 = f32[4,1] reshape(s0)\n  r1 = s32[4,1] reshape(s1)\n"
          "  g0 = f32[4,2] all-gather(r0), {0}, dimensions={{1}}\n"
          "  g1 = s32[4,2] all-gather(r1), {0}, dimensions={{1}}\n"
          "  h0 = f32[2,4] transpose(g0), dimensions={{1,0}}\n"
          "  h1 = s32[2,4] transpose(g1), dimensions={{1,0}}\n  h2 = s32[2,4] reshape(g1)\n"
          "  t = (f32[4], s32[4]) reduce(h0, h1, z, o), dimensions={{0}}, to_apply=again\n"
          "  ROOT y = s32[4] get-tuple-element(t), index=1\n",
          kAlongB);
  const std::string functions = largest("largest") + largest("again");
  const Pair pair{kPlaceOfLargest, after, ".b -> .", functions, functions};
  check_related(
      {pair}, {{0, "reduce(xt, it, z, o), dimensions={0}", "reduce(xt, it, z, o), dimensions={1}"},
               {0, "reduce(xt, it,", "reduce(x, it,"},
               {0, "reduce(xt, it,", "reduce(xt, ix,"},
               {0, "transpose(x), dimensions={1,0}", "transpose(x), dimensions={0,1}"},
               {0, "reduce(h0, h1, z, o)", "reduce(h0, h2, z, o)"},
               {0, "{0,4,0,4}", "{4,0,4,0}"}});
}

TEST_CASE("a function of broadcasts is that of broadcasts along other dimensions, moved") {
  const std::string before =
      "  x = f32[4,8] parameter(0)\n  k = s32[4] parameter(1)\n"
      "  i = s32[4,8] iota(), iota_dimension=1\n  kb = s32[4,8] broadcast(k), dimensions={0}\n"
      "  c = pred[4,8] compare(kb, i), direction=EQ\n  z = f32[] constant(0)\n"
      "  zb = f32[4,8] broadcast(z), dimensions={}\n  ROOT y = f32[4,8] select(c, x, zb)\n";
  const std::string after =
      "  x = f32[4,4] parameter(0)\n  k = s32[4] parameter(1)\n" + kOwnColumns +
      "  xt = f32[4,4] transpose(x), dimensions={1,0}\n"
      "  it = s32[4,4] broadcast(m), dimensions={0}\n"
      "  kb = s32[4,4] broadcast(k), dimensions={1}\n"
      "  e = pred[4,4] compare(kb, it), direction=EQ\n  z = f32[] constant(0)\n"
      "  zb = f32[4,4] broadcast(z), dimensions={}\n  s = f32[4,4] select(e, xt, zb)\n"
      "  ROOT y = f32[4,4] transpose(s), dimensions={1,0}\n";
  const Pair pair{before, after, ".b . -> .b"};
  check_related({pair}, {{0, "broadcast(m), dimensions={0}", "broadcast(m), dimensions={1}"},
                         {0, "broadcast(k), dimensions={1}", "broadcast(k), dimensions={0}"},
                         {0, "direction=EQ", "direction=NE"},
                         {0, "compare(kb, it)", "compare(kb, kb)"},
                         {0, "select(e, xt, zb)", "select(e, x, zb)"},
                         {0, "{0,4,0,4}", "{4,0,4,0}"}});
}

TEST_CASE("a computation is what it computes, in whatever order it is written") {
  const std::string body =
      "  x = f32[4,8] parameter(0)\n  i = s32[4,8] iota(), iota_dimension=1\n"
      "  z = f32[] constant(-inf)\n  o = s32[] constant(0)\n"
      "  s = (f32[4], s32[4]) reduce(x, i, z, o), dimensions={1}, to_apply=first\n"
      "  ROOT y = s32[4] get-tuple-element(s), index=1\n";
  Pair pair{body, body, ".. -> .", kFunctions, kFirstAgain};
  CHECK(is_cut_so(pair));
  pair.computations_after = replaced(kFirstAgain, "select(g, i, j)", "select(g, j, i)");
  CHECK_FALSE(is_cut_so(pair));
  pair.computations_after =
      replaced(kFirstAgain, "b = f32[] parameter(2)", "b = f32[] parameter(0)");
  pair.computations_after =
      replaced(pair.computations_after, "a = f32[] parameter(0)", "a = f32[] parameter(2)");
  CHECK_FALSE(is_cut_so(pair));
}

/// Top-k as XLA writes it for CPUs, by this comparator.
Pair called_top_k(const std::string& comparator) {
  return {
      "  x = f32[4,8] parameter(0)\n  t = (f32[4,3], s32[4,3]) topk(x), k=3, largest=true\n"
      "  ROOT y = s32[4,3] get-tuple-element(t), index=1\n",
      "  x = f32[2,8] parameter(0)\n  t = (f32[2,3], s32[2,3]) custom-call(x), "
      "custom_call_target=\"TopK\", called_computations={greater}\n"
      "  ROOT y = s32[2,3] get-tuple-element(t), index=1\n",
      "a. -> a.", "",
      "greater {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n" +
          comparator + "}\n"};
}

TEST_CASE("a call of top-k is the operation, if its comparator is that") {
  const std::string plain = "  ROOT c = pred[] compare(a, b), direction=GT\n";
  const std::string total =
      "  z = s32[] constant(0)\n  m = s32[] constant(2147483647)\n  p = s32[] bitcast(a)\n"
      "  q = s32[] bitcast(b)\n  x = s32[] xor(m, p)\n  y = s32[] xor(m, q)\n"
      "  u = pred[] compare(p, z), direction=LT\n  v = pred[] compare(q, z), direction=LT\n"
      "  k = s32[] select(u, x, p)\n  l = s32[] select(v, y, q)\n"
      "  ROOT c = pred[] compare(k, l), direction=GT\n";
  check_related({called_top_k(plain), called_top_k(total)},
                {{0, "TopK", "BottomK"}, {1, "TopK", "ApproxTopK"}});
  for (const auto& [comparator, from, to] : {std::tuple(plain, "GT", "LT"),
                                             {plain, "GT", "GE"},
                                             {plain, "(a, b)", "(b, a)"},
                                             {plain, "(a, b)", "(i, j)"},
                                             {total, "GT", "LT"},
                                             {total, "(k, l)", "(l, k)"},
                                             {total, "2147483647", "2147483646"},
                                             {total, "select(u, x, p)", "select(u, p, x)"},
                                             {total, "select(v, y, q)", "select(u, y, q)"},
                                             {total, "bitcast(b)", "bitcast(a)"}}) {
    std::string wrong = comparator;
    wrong.replace(wrong.find(from), std::string(from).size(), to);
    CAPTURE(wrong);
    CHECK(verdict_of(called_top_k(wrong)) == Verdict::Incomplete);
  }
}

TEST_CASE("windows along what is cut are those of the whole, where a device has all of them") {
  const auto running = [](const char* before, const char* own) {
    return Pair{
        fmt::format("  x = f32[8,2] parameter(0)\n  z = f32[] constant(0)\n"
                    "  ROOT y = f32[8,2] reduce-window(x, z), window={{{}}}, to_apply=add\n",
                    before),
        fmt::format(
            "  x = f32[4,2] parameter(0)\n  z = f32[] constant(0)\n"
            "  g = f32[8,2] all-gather(x), dimensions={{0}}, replica_groups={{{{0,2}},{{1,3}}}}, "
            "channel_id=1, use_global_device_ids=true\n"
            "  id = u32[] partition-id()\n  t = s32[4] constant({{0,0,4,4}})\n"
            "  d = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={{1}}\n"
            "  o = s32[] reshape(d)\n  n = s32[] constant(0)\n{}",
            own),
        "a. -> a."};
  };
  const char* const sums =
      "  p = f32[15,2] pad(g, z), padding=7_0x0_0\n"
      "  s = f32[11,2] dynamic-slice(p, o, n), dynamic_slice_sizes={11,2}\n"
      "  ROOT y = f32[4,2] reduce-window(s, z), window={size=8x1}, to_apply=add\n";
  const char* const middle =
      "  p = f32[10,2] pad(g, z), padding=1_1x0_0\n"
      "  s = f32[6,2] dynamic-slice(p, o, n), dynamic_slice_sizes={6,2}\n"
      "  ROOT y = f32[4,2] reduce-window(s, z), window={size=3x1}, to_apply=add\n";
  check_related({running("size=8x1 pad=7_0x0_0", sums), running("size=3x1 pad=1_1x0_0", middle)},
                {{0, "padding=7_0", "padding=6_1"},
                 {0, "size=8x1", "size=7x1 pad=1_0x0_0"},
                 {0, "{0,0,4,4}", "{0,0,3,3}"},
                 {0, "to_apply=add\n", "to_apply=maximum\n"},
                 {1, "padding=1_1", "padding=2_0"},
                 {1, "padding=1_1", "padding=0_2"},
                 {1, "{0,0,4,4}", "{0,4,0,4}"},
                 {1, "dynamic-slice(p, o, n)", "dynamic-slice(p, n, n)"}});
}

}  // namespace
}  // namespace p2::hlo
