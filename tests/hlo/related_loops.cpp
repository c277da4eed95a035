#include <fmt/format.h>

#include "tests/hlo/related_pairs.h"

namespace p2::hlo {
namespace {

/// The body and the condition of a loop whose first variable i counts from 0 to 3, over tuples of
/// `shape`, with these lines.
std::string loop(const std::string& shape, const std::string& lines) {
  return fmt::format(
      "loop_body {{\n  p = {0} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
      "  one = s32[] constant(1)\n  next = s32[] add(i, one)\n  zero = s32[] constant(0)\n{1}}}\n"
      "loop_condition {{\n  p = {0} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
      "  n = s32[] constant(3)\n  ROOT c = pred[] compare(i, n), direction=LT\n}}\n",
      shape, lines);
}

constexpr const char* kLoop = "condition=loop_condition, body=loop_body\n";
constexpr const char* kDot = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";

/// Layers of two products with weights that are stacked, cut by columns and by rows.
Pair layers() {
  const auto entry = [](int rows, int inner) {
    return fmt::format(
        "  x = f32[{0},8] parameter(0)\n  v = f32[3,8,{1}] parameter(1)\n"
        "  w = f32[3,{1},8] parameter(2)\n  zero = s32[] constant(0)\n"
        "  t = (s32[], f32[{0},8], f32[3,8,{1}], f32[3,{1},8]) tuple(zero, x, v, w)\n"
        "  l = (s32[], f32[{0},8], f32[3,8,{1}], f32[3,{1},8]) while(t), {2}"
        "  y = f32[{0},8] get-tuple-element(l), index=1\n  ROOT n = f32[{0},8] negate(y)\n",
        rows, inner, kLoop);
  };
  const auto body = [](int rows, int inner, const std::string& sum) {
    return loop(
        fmt::format("(s32[], f32[{0},8], f32[3,8,{1}], f32[3,{1},8])", rows, inner),
        fmt::format(
            "  x = f32[{0},8] get-tuple-element(p), index=1\n"
            "  v = f32[3,8,{1}] get-tuple-element(p), index=2\n"
            "  w = f32[3,{1},8] get-tuple-element(p), index=3\n"
            "  vs = f32[1,8,{1}] dynamic-slice(v, i, zero, zero), dynamic_slice_sizes={{1,8,{1}}}\n"
            "  vi = f32[8,{1}] reshape(vs)\n"
            "  ws = f32[1,{1},8] dynamic-slice(w, i, zero, zero), dynamic_slice_sizes={{1,{1},8}}\n"
            "  wi = f32[{1},8] reshape(ws)\n  h = f32[{0},{1}] dot(x, vi){2}"
            "  e = f32[{0},{1}] exponential(h)\n  d = f32[{0},8] dot(e, wi){2}{3}"
            "  ROOT r = (s32[], f32[{0},8], f32[3,8,{1}], f32[3,{1},8]) tuple(next, a, v, w)\n",
            rows, inner, kDot, sum));
  };
  return {entry(4, 8), entry(2, 4), "a. ..b .b. -> a.", body(4, 8, "  a = f32[4,8] add(x, d)\n"),
          body(2, 4,
               fmt::format("  s = f32[2,8] all-reduce(d), {}, to_apply=add\n"
                           "  a = f32[2,8] add(x, s)\n",
                           kAlongB))};
}

/// Gradients that are added up, parts of a sum until the loop ends, and results that are stacked.
Pair gradients() {
  const auto entry = [](int rows, const std::string& sum) {
    return fmt::format(
        "  x = f32[3,{0},8] parameter(0)\n  zero = s32[] constant(0)\n  z = f32[] constant(0)\n"
        "  g = f32[8,8] broadcast(z), dimensions={{}}\n"
        "  s = f32[3,{0}] broadcast(z), dimensions={{}}\n"
        "  t = (s32[], f32[8,8], f32[3,{0}], f32[3,{0},8]) tuple(zero, g, s, x)\n"
        "  l = (s32[], f32[8,8], f32[3,{0}], f32[3,{0},8]) while(t), {1}"
        "  y = f32[8,8] get-tuple-element(l), index=1\n"
        "  q = f32[3,{0}] get-tuple-element(l), index=2\n{2}",
        rows, kLoop, sum);
  };
  const auto body = [](int rows) {
    return loop(
        fmt::format("(s32[], f32[8,8], f32[3,{0}], f32[3,{0},8])", rows),
        fmt::format(
            "  g = f32[8,8] get-tuple-element(p), index=1\n"
            "  s = f32[3,{0}] get-tuple-element(p), index=2\n"
            "  x = f32[3,{0},8] get-tuple-element(p), index=3\n"
            "  xs = f32[1,{0},8] dynamic-slice(x, i, zero, zero), dynamic_slice_sizes={{1,{0},8}}\n"
            "  xi = f32[{0},8] reshape(xs)\n  xt = f32[8,{0}] transpose(xi), dimensions={{1,0}}\n"
            "  d = f32[8,8] dot(xt, xi){1}  a = f32[8,8] add(g, d)\n  z = f32[] constant(0)\n"
            "  r = f32[{0}] reduce(xi, z), dimensions={{1}}, to_apply=add\n"
            "  rs = f32[1,{0}] reshape(r)\n"
            "  u = f32[3,{0}] dynamic-update-slice(s, rs, i, zero)\n"
            "  ROOT o = (s32[], f32[8,8], f32[3,{0}], f32[3,{0},8]) tuple(next, a, u, x)\n",
            rows, kDot));
  };
  return {entry(4, "  ROOT o = (f32[8,8], f32[3,4]) tuple(y, q)\n"),
          entry(2, fmt::format("  a = f32[8,8] all-reduce(y), {}, to_apply=add\n"
                               "  ROOT o = (f32[8,8], f32[3,2]) tuple(a, q)\n",
                               kAlongA)),
          ".a. -> .. .a", body(4), body(2)};
}

/// Two variables that begin alike.
Pair twins() {
  const auto entry = [](int rows) {
    return fmt::format(
        "  x = f32[{0},8] parameter(0)\n  zero = s32[] constant(0)\n"
        "  t = (s32[], f32[{0},8], f32[{0},8]) tuple(zero, x, x)\n"
        "  l = (s32[], f32[{0},8], f32[{0},8]) while(t), {1}"
        "  y = f32[{0},8] get-tuple-element(l), index=1\n"
        "  q = f32[{0},8] get-tuple-element(l), index=2\n"
        "  ROOT o = (f32[{0},8], f32[{0},8]) tuple(y, q)\n",
        rows, kLoop);
  };
  const auto body = [](int rows) {
    return loop(fmt::format("(s32[], f32[{0},8], f32[{0},8])", rows),
                fmt::format("  x = f32[{0},8] get-tuple-element(p), index=1\n"
                            "  q = f32[{0},8] get-tuple-element(p), index=2\n"
                            "  a = f32[{0},8] add(x, q)\n  m = f32[{0},8] multiply(x, q)\n"
                            "  ROOT o = (s32[], f32[{0},8], f32[{0},8]) tuple(next, a, m)\n",
                            rows));
  };
  return {entry(4), entry(2), "a. -> a. a.", body(4), body(2)};
}

/// An array that begins with a constant, which is chosen in the first iteration after.
Pair begun_within() {
  const auto entry = [](int rows, const std::string& begin) {
    return fmt::format(
        "  x = f32[{0},8] parameter(0)\n  zero = s32[] constant(0)\n{2}"
        "  t = (s32[], f32[{0},8], f32[{0},8]) tuple(zero, b, x)\n"
        "  l = (s32[], f32[{0},8], f32[{0},8]) while(t), {1}"
        "  ROOT y = f32[{0},8] get-tuple-element(l), index=1\n",
        rows, kLoop, begin);
  };
  const auto body = [](int rows, const std::string& begin) {
    return loop(fmt::format("(s32[], f32[{0},8], f32[{0},8])", rows),
                fmt::format("  m = f32[{0},8] get-tuple-element(p), index=1\n"
                            "  x = f32[{0},8] get-tuple-element(p), index=2\n{1}"
                            "  d = f32[{0},8] multiply(s, s)\n  n = f32[{0},8] add(d, x)\n"
                            "  ROOT o = (s32[], f32[{0},8], f32[{0},8]) tuple(next, n, x)\n",
                            rows, begin));
  };
  return {entry(4, "  k = f32[] constant(1.5)\n  b = f32[4,8] broadcast(k), dimensions={}\n"),
          entry(2, "  b = f32[2,8] custom-call(), custom_call_target=\"AllocateBuffer\"\n"),
          "a. -> a.", body(4, "  s = f32[4,8] copy(m)\n"),
          body(2,
               "  f = pred[] compare(i, zero), direction=EQ\n"
               "  w = pred[2,8] broadcast(f), dimensions={}\n  k = f32[] constant(1.5)\n"
               "  c = f32[2,8] broadcast(k), dimensions={}\n  s = f32[2,8] select(w, c, m)\n")};
}

/// What an iteration makes is turned at its end, or in the next one but for the first.
Pair turned_later() {
  const auto entry = [](int rows) {
    return fmt::format(
        "  x = f32[{0},8] parameter(0)\n  zero = s32[] constant(0)\n  k = f32[] constant(0)\n"
        "  b = f32[{0},8] broadcast(k), dimensions={{}}\n"
        "  t = (s32[], f32[{0},8], f32[{0},8]) tuple(zero, x, b)\n"
        "  l = (s32[], f32[{0},8], f32[{0},8]) while(t), {1}"
        "  ROOT y = f32[{0},8] get-tuple-element(l), index=2\n",
        rows, kLoop);
  };
  const auto body = [](int rows, const std::string& begin, const std::string& end) {
    return loop(fmt::format("(s32[], f32[{0},8], f32[{0},8])", rows),
                fmt::format("  m = f32[{0},8] get-tuple-element(p), index=1\n"
                            "  a = f32[{0},8] get-tuple-element(p), index=2\n"
                            "  j = f32[] convert(i)\n"
                            "  js = f32[{0},8] broadcast(j), dimensions={{}}\n{1}"
                            "  t = f32[{0},8] tanh(s)\n  c = f32[{0},8] add(a, t)\n{2}"
                            "  ROOT o = (s32[], f32[{0},8], f32[{0},8]) tuple(next, n, c)\n",
                            rows, begin, end));
  };
  return {entry(4), entry(2), "a. -> a.",
          body(4, "  s = f32[4,8] copy(m)\n",
               "  g = f32[4,8] negate(t)\n  n = f32[4,8] reverse(g), dimensions={1}\n"),
          body(2,
               "  f = pred[] compare(zero, i), direction=EQ\n"
               "  w = pred[2,8] broadcast(f), dimensions={}\n  g = f32[2,8] negate(m)\n"
               "  q = f32[] constant(2)\n"
               "  r = f32[2,8] reverse(g), dimensions={1}\n  s = f32[2,8] select(w, m, r)\n",
               "  n = f32[2,8] copy(t)\n")};
}

}  // namespace

std::vector<Pair> loop_pairs() {
  return {layers(),
          gradients(),
          twins(),
          // rows are cut before, columns after
          {"  x = f32[4,8] parameter(0)\n  ROOT y = f32[4,8] negate(x)\n",
           fmt::format("  x = f32[2,8] parameter(0)\n  s = f32[2,2,4] reshape(x)\n"
                       "  e = f32[2,2,4] all-to-all(s), dimensions={{1}}, {}\n"
                       "  t = f32[2,2,4] transpose(e), dimensions={{1,0,2}}\n"
                       "  j = f32[4,4] reshape(t)\n  ROOT y = f32[4,4] negate(j)\n",
                       "replica_groups={{0,2},{1,3}}, channel_id=1"),
           "a. -> .a"},
          begun_within(),
          turned_later()};
}

}  // namespace p2::hlo
