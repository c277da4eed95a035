// Equal modules that are executed, in which rounding of doubles alone tells a difference, and
// modules that differ by more.

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

/// l and r are equal real numbers, of which doubles of either is the larger; k and m likewise, as
/// vectors, and q is about 1, computed from l and r.
const char* const kNumbers = R"(  x0 = f32[16] parameter(0)
  a0 = f32[16] parameter(1)
  b0 = f32[16] parameter(2)
  v = f32[16] parameter(3)
  x = f32[16] exponential(x0)
  a = f32[16] exponential(a0)
  b = f32[16] exponential(b0)
  ab = f32[16] add(a, b)
  l = f32[16] multiply(x, ab)
  xa = f32[16] multiply(x, a)
  xb = f32[16] multiply(x, b)
  r = f32[16] add(xa, xb)
  q = f32[16] divide(l, r)
  d = f32[16] subtract(l, r)
  zero = f32[] constant(0)
  one = f32[] constant(1)
  large0 = f32[] constant(1e18)
  zeros = f32[16] broadcast(zero), dimensions={}
  ones = f32[16] broadcast(one), dimensions={}
  large = f32[16] broadcast(large0), dimensions={}
  s0 = s32[] constant(0)
  s3 = s32[] constant(3)
  nil = s32[16] broadcast(s0), dimensions={}
  three = s32[16] broadcast(s3), dimensions={}
)";

const EqualPair kEqualPairs[] = {
    {"the start of a slice", R"(
  c = pred[16] compare(l, r), direction=GT
  i = s32[16] select(c, three, nil)
  i1 = s32[1] slice(i), slice={[0:1]}
  i0 = s32[] reshape(i1)
  o = f32[4] dynamic-slice(v, i0), dynamic_slice_sizes={4}
)",
     "dynamic-slice(v, i0)", "dynamic-slice(v, s0)"},
    {"the start of an update", R"(
  c = pred[16] compare(l, r), direction=GT
  i = s32[16] select(c, three, nil)
  i1 = s32[1] slice(i), slice={[0:1]}
  i0 = s32[] reshape(i1)
  u = f32[4] slice(x0), slice={[0:4]}
  o = f32[16] dynamic-update-slice(v, u, i0)
)",
     "dynamic-update-slice(v, u, i0)", "dynamic-update-slice(v, u, s0)"},
    {"indices of a gather", R"(
  c = pred[16] compare(l, r), direction=LT
  i = s32[16] select(c, three, nil)
  o = f32[16] gather(v, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
)",
     "gather(v, i)", "gather(v, nil)"},
    {"indices of a scatter", R"(
  c = pred[16] compare(l, r), direction=LT
  i = s32[16] select(c, three, nil)
  o = f32[16] scatter(v, i, x0), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
)",
     "scatter(v, i, x0)", "scatter(v, nil, x0)"},
    {"an order of equal keys", R"(
  k0 = f32[16,1] reshape(l)
  k1 = f32[16,1] reshape(r)
  k = f32[16,2] concatenate(k0, k1), dimensions={1}
  p0 = f32[16,1] reshape(v)
  p1 = f32[16,1] reshape(x0)
  p = f32[16,2] concatenate(p0, p1), dimensions={1}
  s = (f32[16,2], f32[16,2]) sort(k, p), dimensions={1}, is_stable=true, to_apply=less
  o = f32[16,2] get-tuple-element(s), index=1
)",
     "k1 = f32[16,1] reshape(r)", "k1 = f32[16,1] reshape(l)"},
    {"where the largest of equal numbers is", R"(
  k0 = f32[16,1] reshape(l)
  k1 = f32[16,1] reshape(r)
  k = f32[16,2] concatenate(k0, k1), dimensions={1}
  s = (f32[16,1], s32[16,1]) topk(k), k=1, largest=true
  o = s32[16,1] get-tuple-element(s), index=1
)",
     "k1 = f32[16,1] reshape(r)", "k1 = f32[16,1] reshape(l)"},
    {"a comparison with what a large number absorbed", R"(
  y = f32[16] add(x0, large)
  w = f32[16] subtract(y, large)
  c = pred[16] compare(w, zeros), direction=GT
  o = f32[16] select(c, v, a0)
)",
     "compare(w, zeros)", "compare(x0, zeros)"},
    {"which of two maxima is larger", R"(
  w1 = f32[16] add(b0, large)
  w2 = f32[16] add(w1, large)
  w = f32[16] subtract(w2, large)
  u1 = f32[16] add(x0, large)
  u2 = f32[16] add(a0, large)
  mu = f32[16] maximum(u1, w)
  mv = f32[16] maximum(u2, w)
  mx = f32[16] maximum(x0, b0)
  my = f32[16] maximum(a0, b0)
  p = pred[16] compare(mu, mv), direction=GT
  o = f32[16] select(p, x, a)
)",
     "compare(mu, mv)", "compare(mx, my)"},
    {"the order of zeros with signs", R"(
  n = f32[16] negate(zeros)
  p = pred[16] compare(n, zeros), direction=LT, type=TOTALORDER
  o = f32[16] select(p, x, a)
)",
     "select(p, x, a)", "copy(x)"},
    {"a comparison of numbers near one", R"(
  f0 = f32[] constant(-100)
  f = f32[16] broadcast(f0), dimensions={}
  g = f32[16] subtract(f, x)
  e = f32[16] exponential(g)
  w = f32[16] subtract(ones, e)
  c = pred[16] compare(w, ones), direction=LT
  o = f32[16] select(c, v, a0)
)",
     "compare(w, ones), direction=LT", "compare(ones, ones), direction=EQ"},
    {"a comparison with what underflows", R"(
  f0 = f32[] constant(-1000)
  f = f32[16] broadcast(f0), dimensions={}
  g = f32[16] subtract(f, x)
  e = f32[16] exponential(g)
  c = pred[16] compare(e, zeros), direction=GT
  o = f32[16] select(c, v, a0)
)",
     "compare(e, zeros), direction=GT", "compare(ones, ones), direction=EQ"},
    {"a quotient of numbers that underflow", R"(
  f0 = f32[] constant(-1000)
  f = f32[16] broadcast(f0), dimensions={}
  g = f32[16] subtract(f, x)
  e = f32[16] exponential(g)
  w = f32[16] divide(e, e)
  o = f32[16] multiply(w, v)
)",
     "multiply(w, v)", "multiply(ones, v)"},
    {"the logarithm of a number that underflows", R"(
  f0 = f32[] constant(-1000)
  f = f32[16] broadcast(f0), dimensions={}
  e = f32[16] exponential(f)
  w = f32[16] log(e)
  o = f32[16] multiply(w, v)
)",
     "multiply(w, v)", "multiply(f, v)"},
    {"a product of what overflows and what underflows", R"(
  f0 = f32[] constant(1000)
  f = f32[16] broadcast(f0), dimensions={}
  n = f32[16] negate(f)
  e = f32[16] exponential(f)
  h = f32[16] exponential(n)
  w = f32[16] multiply(e, h)
  o = f32[16] multiply(w, v)
)",
     "multiply(w, v)", "multiply(ones, v)"},
    {"an exponential of what a large number absorbed", R"(
  f0 = f32[] constant(300)
  f = f32[16] broadcast(f0), dimensions={}
  t = f32[16] multiply(f, x)
  y = f32[16] add(t, large)
  w = f32[16] subtract(y, large)
  e = f32[16] exponential(w)
  o = f32[16] multiply(e, v)
)",
     "exponential(w)", "exponential(t)"},
    {"the integer below a number", R"(
  f = f32[16] floor(q)
  o = f32[16] multiply(f, v)
)",
     "multiply(f, v)", "multiply(ones, v)"},
    {"the integer above a number", R"(
  f = f32[16] ceil(q)
  o = f32[16] multiply(f, v)
)",
     "multiply(f, v)", "multiply(ones, v)"},
    {"the integer next to a half", R"(
  h0 = f32[] constant(0.5)
  h = f32[16] broadcast(h0), dimensions={}
  qh = f32[16] multiply(q, h)
  f = f32[16] round-nearest-afz(qh)
  o = f32[16] multiply(f, v)
)",
     "multiply(f, v)", "multiply(ones, v)"},
    {"the even integer next to a half", R"(
  h0 = f32[] constant(1.5)
  h = f32[16] broadcast(h0), dimensions={}
  qh = f32[16] multiply(q, h)
  f = f32[16] round-nearest-even(qh)
  o = f32[16] multiply(f, v)
)",
     "o = f32[16] multiply(f, v)", "o = f32[16] add(v, v)"},
    {"a sign", R"(
  f = f32[16] sign(d)
  o = f32[16] multiply(f, v)
)",
     "multiply(f, v)", "multiply(zeros, v)"},
    {"a remainder", R"(
  f = f32[16] remainder(l, r)
  o = f32[16] multiply(f, v)
)",
     "multiply(f, v)", "multiply(zeros, v)"},
    {"a number as an integer", R"(
  i = s32[16] convert(q)
  f = f32[16] convert(i)
  o = f32[16] multiply(f, v)
)",
     "multiply(f, v)", "multiply(ones, v)"},
    {"a number as a truth value", R"(
  c = pred[16] convert(d)
  o = f32[16] select(c, v, a0)
)",
     "select(c, v, a0)", "select(never, v, a0)"},
    {"the bits of a number", R"(
  i = s32[16] bitcast-convert(q)
  m = s32[16] bitcast-convert(ones)
  c = pred[16] compare(i, m), direction=EQ
  o = f32[16] select(c, v, a0)
)",
     "compare(i, m)", "compare(m, m)"},
    {"the bits of a product", R"(
  i = s32[16] bitcast-convert(xa)
  w = f32[16] bitcast-convert(i)
  c = pred[16] compare(w, xa), direction=EQ
  o = f32[16] select(c, v, a0)
)",
     "compare(w, xa)", "compare(xa, xa)"},
    {"long integers as numbers", R"(
  i = s64[16] iota(), iota_dimension=0
  k0 = s64[] constant(1152921504606846976)
  k = s64[16] broadcast(k0), dimensions={}
  s = s64[16] add(i, k)
  f = f32[16] convert(s)
  g = f32[16] convert(k)
  j = f32[16] convert(i)
  w = f32[16] subtract(f, g)
  o = f32[16] multiply(w, v)
)",
     "multiply(w, v)", "multiply(j, v)"},
    {"what long integers as numbers compare as", R"(
  i = s64[16] iota(), iota_dimension=0
  k0 = s64[] constant(4611686018427387904)
  k = s64[16] broadcast(k0), dimensions={}
  s = s64[16] add(i, k)
  f = f32[16] convert(s)
  g = f32[16] convert(k)
  c = pred[16] compare(f, g), direction=GT
  o = f32[16] select(c, v, a0)
)",
     "compare(f, g)", "compare(s, k)"},
    {"a product in a dot that underflows", R"(
  t0 = f32[] constant(1e-30)
  t = f32[16] broadcast(t0), dimensions={}
  t2 = f32[16] multiply(t, t)
  t4 = f32[16] multiply(t2, t2)
  t6 = f32[16] multiply(t4, t2)
  w = f32[16] multiply(x, t6)
  e = f32[16] dot(w, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={}, rhs_contracting_dims={}
  c = pred[16] compare(e, zeros), direction=GT
  o = f32[16] select(c, v, a0)
)",
     "compare(e, zeros)", "compare(ones, zeros)"},
    {"dots that differ by what a number absorbs", R"(
  t0 = f32[] constant(1e-20)
  t = f32[16] broadcast(t0), dimensions={}
  y1 = f32[16] multiply(x, t)
  y2 = f32[16] add(y1, y1)
  k1 = f32[16,1] reshape(y1)
  k2 = f32[16,1] reshape(y2)
  n = f32[16,1] reshape(a0)
  g = f32[16,2] concatenate(n, k1), dimensions={1}
  h = f32[16,2] concatenate(n, k2), dimensions={1}
  two = f32[2] broadcast(one), dimensions={}
  s1 = f32[16] dot(g, two), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s2 = f32[16] dot(h, two), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = pred[16] compare(s1, s2), direction=LT
  o = f32[16] select(c, v, a0)
)",
     "compare(s1, s2)", "compare(zeros, ones)"},
    {"how often a loop runs", R"(
  c = pred[16] compare(l, r), direction=GT
  i = s32[16] select(c, three, nil)
  i1 = s32[1] slice(i), slice={[0:1]}
  i0 = s32[] reshape(i1)
  t = (s32[], f32[16]) tuple(i0, v)
  w = (s32[], f32[16]) while(t), condition=is_positive, body=halved
  o = f32[16] get-tuple-element(w), index=1
)",
     "tuple(i0, v)", "tuple(s0, v)"},
    {"a branch", R"(
  c = pred[16] compare(l, r), direction=GT
  c1 = pred[1] slice(c), slice={[0:1]}
  c0 = pred[] reshape(c1)
  o = f32[16] conditional(c0, v, v), true_computation=negated, false_computation=twice
)",
     "conditional(c0, v, v)", "conditional(no, v, v)"},
};

const char* const kChoices = R"(
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  ROOT l = pred[] compare(a, b), direction=LT
}
is_positive {
  t = (s32[], f32[16]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  z = s32[] constant(0)
  ROOT l = pred[] compare(i, z), direction=GT
}
halved {
  t = (s32[], f32[16]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  o = s32[] constant(1)
  n = s32[] subtract(i, o)
  v = f32[16] get-tuple-element(t), index=1
  h = f32[16] negate(v)
  ROOT r = (s32[], f32[16]) tuple(n, h)
}
negated {
  q = f32[16] parameter(0)
  ROOT r = f32[16] negate(q)
}
twice {
  q = f32[16] parameter(0)
  ROOT r = f32[16] add(q, q)
}
)";

}  // namespace

TEST_CASE("what rounding does not decide is refuted") {
  const std::string attention =
      "  s = f32[4,8] parameter(0)\n  v = f32[8,8] parameter(1)\n  g = f32[4] parameter(2)\n"
      "  i = s32[4] parameter(3)\n  z = f32[] constant(0)\n  n = f32[] constant(-inf)\n"
      "  d = f32[4,8] dot(s, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  zs = f32[4,8] broadcast(z), dimensions={}\n  r = s32[4,8] iota(), iota_dimension=0\n"
      "  c = s32[4,8] iota(), iota_dimension=1\n";
  const char* const modules[][2] = {
      // the gradient of a maximum
      {"  m = f32[4] reduce(d, n), dimensions={1}, to_apply=maximum\n"
       "  mb = f32[4,8] broadcast(m), dimensions={0}\n"
       "  e = pred[4,8] compare(d, mb), direction=EQ\n  f = f32[4,8] convert(e)\n"
       "  gb = f32[4,8] broadcast(g), dimensions={0}\n  ROOT o = f32[4,8] multiply(f, gb)\n",
       "  m = f32[4] reduce(d, n), dimensions={1}, to_apply=minimum\n"},
      // positions, counted by a dot
      {"  ib = s32[4,8] broadcast(i), dimensions={0}\n"
       "  h = pred[4,8] compare(ib, c), direction=EQ\n  f = f32[4,8] convert(h)\n"
       "  r4 = s32[4,4] iota(), iota_dimension=0\n  c4 = s32[4,4] iota(), iota_dimension=1\n"
       "  t = pred[4,4] compare(r4, c4), direction=GT\n  u = f32[4,4] convert(t)\n"
       "  p = f32[4,8] dot(u, f), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
       "  ROOT o = s32[4,8] convert(p)\n",
       "  t = pred[4,4] compare(r4, c4), direction=GE\n"},
      // a softmax with a mask, whose numbers are looked at
      {"  k = pred[4,8] compare(r, c), direction=GE\n  b0 = f32[] constant(-1e9)\n"
       "  b1 = f32[4,8] broadcast(b0), dimensions={}\n  b = f32[4,8] select(k, zs, b1)\n"
       "  a = f32[4,8] add(d, b)\n  m = f32[4] reduce(a, n), dimensions={1}, to_apply=maximum\n"
       "  mb = f32[4,8] broadcast(m), dimensions={0}\n  q = f32[4,8] subtract(a, mb)\n"
       "  e = f32[4,8] exponential(q)\n  t = f32[4] reduce(e, z), dimensions={1}, to_apply=add\n"
       "  tb = f32[4,8] broadcast(t), dimensions={0}\n  p = f32[4,8] divide(e, tb)\n"
       "  l = pred[4,8] compare(p, p), direction=NE\n  ROOT o = f32[4,8] select(l, zs, p)\n",
       "  k = pred[4,8] compare(r, c), direction=GT\n"},
  };
  for (const auto& [lines, changed] : modules) {
    std::string after = lines;
    const std::string name = std::string(changed).substr(0, std::string(changed).find(" = ") + 3);
    const std::size_t at = after.find(name);
    REQUIRE(at != std::string::npos);
    after.replace(at, after.find('\n', at) + 1 - at, changed);
    CHECK(compared(module_text(attention + lines, 1), module_text(attention + after, 1)).outcome ==
          Outcome::Refuted);
  }
}

TEST_CASE("what rounding alone decides refutes nothing") {
  for (const EqualPair& pair : kEqualPairs) {
    CAPTURE(std::string(pair.why));
    const auto text = [&](std::string lines) {
      lines.insert(lines.rfind("  o = ") + 2, "ROOT ");
      const std::string entry = fmt::format(
          "{}  no = pred[] constant(false)\n  never = pred[16] broadcast(no), dimensions={{}}\n{}",
          kNumbers, lines);
      std::string module = module_text(entry, 1);
      module.insert(module.find('\n') + 1, kChoices);
      return module;
    };
    const std::string changed = replaced(pair.before, pair.from, pair.to);
    const ModuleDecision both[] = {compared(text(pair.before), text(changed)),
                                   compared(text(changed), text(pair.before))};
    for (const ModuleDecision& decision : both) {
      CHECK(decision.outcome != Outcome::Refuted);
      CHECK(decision.outcome != Outcome::Disagreement);
    }
  }
}

}  // namespace p2::hlo
