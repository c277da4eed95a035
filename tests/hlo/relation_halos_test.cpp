// Halos in a relation at every node: rolls, shifts and uneven lengths of what is cut over devices.

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/hlo/modules.h"
#include "tests/hlo/related_pairs.h"

namespace p2::hlo {
namespace {

/// Device d's first index of 4 along the axis b.
const char* const kFirst =
    "  id = u32[] partition-id()\n  t = s32[4] constant({0,4,0,4})\n"
    "  d = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n  f = s32[] reshape(d)\n"
    "  fb = s32[4,6] broadcast(f), dimensions={}\n  n = s32[4,6] iota(), iota_dimension=0\n"
    "  at = s32[4,6] add(n, fb)\n";
const char* const kNext = "source_target_pairs={{0,1},{2,3}}, channel_id=2";
const char* const kPrevious = "source_target_pairs={{1,0},{3,2}}, channel_id=2";

struct HaloCase {
  const char* what;
  Pair pair;
  std::vector<std::pair<const char*, const char*>> wrong;  ///< changes of what devices run
  /// A change of what is chosen at the border, where those that are sent nothing have zeros anyway.
  std::pair<const char*, const char*> equal = {};
};

std::vector<HaloCase> halo_cases() {
  const std::string x = "  x = f32[8,6] parameter(0)\n", own = "  x = f32[4,6] parameter(0)\n";
  const std::string zeros =
      "  z = f32[] constant(0)\n  zb = f32[4,6] broadcast(z), dimensions={}\n";
  return {
      {"a roll",
       {x + "  a = f32[1,6] slice(x), slice={[7:8],[0:6]}\n"
            "  b = f32[7,6] slice(x), slice={[0:7],[0:6]}\n"
            "  c = f32[8,6] concatenate(a, b), dimensions={0}\n  ROOT y = f32[8,6] tanh(c)\n",
        own +
            "  a = f32[1,6] slice(x), slice={[3:4],[0:6]}\n"
            "  p = f32[1,6] collective-permute(a), source_target_pairs={{0,1},{1,0},{2,3},{3,2}}, "
            "channel_id=1\n  b = f32[3,6] slice(x), slice={[0:3],[0:6]}\n"
            "  c = f32[4,6] concatenate(p, b), dimensions={0}\n  ROOT y = f32[4,6] tanh(c)\n",
        "b. -> b."},
       {{"slice={[3:4]", "slice={[2:3]"},
        {"slice={[3:4]", "slice={[0:1]"},
        {"{{0,1},{1,0},{2,3},{3,2}}", "{{0,1},{1,0},{3,2}}"},
        {"{{0,1},{1,0},{2,3},{3,2}}", "{{0,0},{1,1},{2,2},{3,3}}"},
        {"concatenate(p, b)", "concatenate(a, b)"},
        {"slice={[0:3]", "slice={[1:4]"}}},
      {"a shift with zeros before",
       {x + "  z = f32[] constant(0)\n  p = f32[9,6] pad(x, z), padding=1_0x0_0\n"
            "  s = f32[8,6] slice(p), slice={[0:8],[0:6]}\n  ROOT y = f32[8,6] subtract(x, s)\n",
        own +
            "  a = f32[1,6] slice(x), slice={[3:4],[0:6]}\n"
            "  p = f32[1,6] collective-permute(a), " +
            kNext +
            "\n  b = f32[3,6] slice(x), slice={[0:3],[0:6]}\n"
            "  c = f32[4,6] concatenate(p, b), dimensions={0}\n" +
            kFirst + zeros +
            "  o = s32[] constant(1)\n  ob = s32[4,6] broadcast(o), dimensions={}\n"
            "  m = pred[4,6] compare(at, ob), direction=GE\n"
            "  s = f32[4,6] select(m, c, zb)\n  ROOT y = f32[4,6] subtract(x, s)\n",
        "b. -> b."},
       {{"{0,4,0,4}", "{0,0,0,0}"},
        {"direction=GE", "direction=GT"},
        {"select(m, c, zb)", "select(m, zb, c)"},
        {"constant(0)", "constant(1)"},
        {"{{0,1},{2,3}}", "{{0,1},{3,2}}"},
        {"concatenate(p, b)", "concatenate(b, p)"},
        {"o = s32[] constant(1)", "o = s32[] constant(2)"}},
       {"{0,4,0,4}", "{4,4,4,4}"}},
      {"a sum of all but the last",
       {x + "  s = f32[7,6] slice(x), slice={[0:7],[0:6]}\n  e = f32[7,6] exponential(s)\n"
            "  z = f32[] constant(0)\n  ROOT y = f32[6] reduce(e, z), dimensions={0}, "
            "to_apply=add\n",
        own + "  e = f32[4,6] exponential(x)\n" + kFirst + zeros +
            "  o = s32[] constant(7)\n  ob = s32[4,6] broadcast(o), dimensions={}\n"
            "  m = pred[4,6] compare(at, ob), direction=LT\n  s = f32[4,6] select(m, e, zb)\n"
            "  r = f32[6] reduce(s, z), dimensions={0}, to_apply=add\n"
            "  ROOT y = f32[6] all-reduce(r), " +
            kAlongB + ", to_apply=add\n",
        "b. -> ."},
       {{"select(m, e, zb)", "select(m, zb, e)"},
        {"constant(7)", "constant(8)"},
        {"constant(7)", "constant(6)"},
        {"direction=LT", "direction=LE"},
        {"z = f32[] constant(0)", "z = f32[] constant(1)"},
        {"iota_dimension=0", "iota_dimension=1"},
        {"reduce(s, z)", "reduce(e, z)"}}},
      {"products of neighbours, added up",
       {x + "  a = f32[7,6] slice(x), slice={[0:7],[0:6]}\n"
            "  b = f32[7,6] slice(x), slice={[1:8],[0:6]}\n  m = f32[7,6] multiply(a, b)\n"
            "  z = f32[] constant(0)\n  ROOT y = f32[6] reduce(m, z), dimensions={0}, "
            "to_apply=add\n",
        own +
            "  l = f32[1,6] slice(x), slice={[0:1],[0:6]}\n"
            "  p = f32[1,6] collective-permute(l), " +
            kPrevious +
            "\n  h = f32[3,6] slice(x), slice={[1:4],[0:6]}\n"
            "  b = f32[4,6] concatenate(h, p), dimensions={0}\n  k = f32[4,6] multiply(x, b)\n" +
            kFirst + zeros +
            "  o = s32[] constant(7)\n  ob = s32[4,6] broadcast(o), dimensions={}\n"
            "  m = pred[4,6] compare(at, ob), direction=LT\n  s = f32[4,6] select(m, k, zb)\n"
            "  r = f32[6] reduce(s, z), dimensions={0}, to_apply=add\n"
            "  ROOT y = f32[6] all-reduce(r), " +
            kAlongB + ", to_apply=add\n",
        "b. -> ."},
       {{"{{1,0},{3,2}}", "{{0,1},{2,3}}"},
        {"concatenate(h, p)", "concatenate(p, h)"},
        {"slice={[0:1]", "slice={[1:2]"},
        {"constant(7)", "constant(8)"},
        {"multiply(x, b)", "multiply(b, b)"},
        {"reduce(s, z)", "reduce(k, z)"}}},
      {"zeros after what is shifted",
       {x + "  a = f32[7,6] slice(x), slice={[1:8],[0:6]}\n  z = f32[] constant(0)\n"
            "  zb = f32[1,6] broadcast(z), dimensions={}\n"
            "  ROOT y = f32[8,6] concatenate(a, zb), dimensions={0}\n",
        own +
            "  l = f32[1,6] slice(x), slice={[0:1],[0:6]}\n"
            "  p = f32[1,6] collective-permute(l), " +
            kPrevious +
            "\n  h = f32[3,6] slice(x), slice={[1:4],[0:6]}\n"
            "  b = f32[4,6] concatenate(h, p), dimensions={0}\n" +
            kFirst + zeros +
            "  o = s32[] constant(7)\n  ob = s32[4,6] broadcast(o), dimensions={}\n"
            "  m = pred[4,6] compare(at, ob), direction=LT\n  ROOT y = f32[4,6] select(m, b, zb)\n",
        "b. -> b."},
       {{"z = f32[] constant(0)", "z = f32[] constant(2)"},
        {"constant(7)", "constant(6)"},
        {"slice={[1:4]", "slice={[0:3]"}},
       {"{0,4,0,4}", "{0,3,0,3}"}}};
}

TEST_CASE("what a neighbour's border makes is a slice, a concatenation or what is padded") {
  for (const HaloCase& each : halo_cases()) {
    CAPTURE(std::string(each.what));
    const auto made = related(whole(each.pair), local(each.pair), relation_json(each.pair.held));
    if (made.index() == 1) {
      CHECK_MESSAGE(false, std::get<1>(made));
      continue;
    }
    CHECK(std::get<0>(made).contains("relation.json"));
    CHECK(executed(std::get<0>(made)) == kernel::Verdict::Accepted);
    if (each.equal.first != nullptr) {
      Pair other = each.pair;
      other.after = replaced(other.after, each.equal.first, each.equal.second);
      const auto again = related(whole(other), local(other), relation_json(other.held));
      REQUIRE(again.index() == 0);
      CHECK(executed(std::get<0>(again)) == kernel::Verdict::Accepted);
    }
    for (const auto& [from, to] : each.wrong) {
      CAPTURE(std::string(to));
      REQUIRE(each.pair.after.find(from) != std::string::npos);
      Pair other = each.pair;
      other.after = replaced(other.after, from, to);
      CHECK(related(whole(other), local(other), relation_json(other.held)).index() == 1);
    }
  }
}

TEST_CASE("what a pad cuts away does not come back") {
  const std::string after = "  x = f32[2,3] parameter(0)\n  z = f32[] constant(0)\n";
  // All of it is cut, and two zeros stand in its place.
  const std::string cut = after + "  q = f32[1,3] pad(x, z), padding=-3_2x0_0\n";
  const Pair sum{cut + "  ROOT y = f32[3] reduce(q, z), dimensions={0}, to_apply=add\n",
                 after + "  ROOT y = f32[3] reduce(x, z), dimensions={0}, to_apply=add\n",
                 ".. -> ."};
  CHECK(related(whole(sum), local(sum), relation_json(sum.held)).index() == 1);
  const Pair again{cut + "  ROOT y = f32[4,3] pad(q, z), padding=3_0x0_0\n",
                   after + "  ROOT y = f32[4,3] pad(x, z), padding=0_2x0_0\n", ".. -> .."};
  CHECK(related(whole(again), local(again), relation_json(again.held)).index() == 1);
  const Pair part{after +
                      "  q = f32[3,3] pad(x, z), padding=-1_2x0_0\n"
                      "  ROOT y = f32[3] reduce(q, z), dimensions={0}, to_apply=add\n",
                  after +
                      "  s = f32[1,3] slice(x), slice={[1:2],[0:3]}\n"
                      "  ROOT y = f32[3] reduce(s, z), dimensions={0}, to_apply=add\n",
                  ".. -> ."};
  CHECK(related(whole(part), local(part), relation_json(part.held)).index() == 0);
}

TEST_CASE("positions are counted from where a device's tokens begin, as real numbers, too") {
  // Rotary positions: both halves of a row are turned by the same angles.
  const auto pair = [](const std::string& type) {
    const std::string before = fmt::format(
        "  x = f32[8,6] parameter(0)\n  i = {0}[8] iota(), iota_dimension=0\n"
        "  j = {0}[8] iota(), iota_dimension=0\n  k = f32[3] iota(), iota_dimension=0\n"
        "  is = f32[8] convert(i)\n  js = f32[8] convert(j)\n"
        "  ib = f32[8,3] broadcast(is), dimensions={{0}}\n"
        "  jb = f32[8,3] broadcast(js), dimensions={{0}}\n"
        "  kb = f32[8,3] broadcast(k), dimensions={{1}}\n  a = f32[8,3] multiply(ib, kb)\n"
        "  b = f32[8,3] multiply(jb, kb)\n  c = f32[8,3] cosine(a)\n  d = f32[8,3] cosine(b)\n"
        "  e = f32[8,6] concatenate(c, d), dimensions={{1}}\n"
        "  ROOT y = f32[8,6] multiply(x, e)\n",
        type);
    const std::string after = fmt::format(
        "  x = f32[4,6] parameter(0)\n  n = {0}[4] iota(), iota_dimension=0\n"
        "  t = s32[4] constant({{0, 0, 4, 4}})\n  id = u32[] partition-id()\n"
        "  s = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={{1}}\n"
        "  r = s32[] reshape(s)\n  f = {0}[] convert(r)\n"
        "  fb = {0}[4] broadcast(f), dimensions={{}}\n  i = {0}[4] add(n, fb)\n"
        "  is = f32[4] convert(i)\n  k = f32[3] iota(), iota_dimension=0\n"
        "  ib = f32[4,3] broadcast(is), dimensions={{0}}\n"
        "  kb = f32[4,3] broadcast(k), dimensions={{1}}\n  a = f32[4,3] multiply(ib, kb)\n"
        "  c = f32[4,3] cosine(a)\n  e = f32[4,6] concatenate(c, c), dimensions={{1}}\n"
        "  ROOT y = f32[4,6] multiply(x, e)\n",
        type);
    return Pair{before, after, "a. -> a."};
  };
  check_related({pair("f32"), pair("bf16"), pair("s32")}, {{0, "{0, 0, 4, 4}", "{0, 4, 0, 4}"},
                                                           {0, "{0, 0, 4, 4}", "{0, 0, 3, 3}"},
                                                           {0, "{0, 0, 4, 4}", "{0, 0, 5, 5}"},
                                                           {0, "{0, 0, 4, 4}", "{0, 0, -4, -4}"},
                                                           {0, "add(n, fb)", "subtract(n, fb)"},
                                                           {0, "add(n, fb)", "multiply(n, fb)"},
                                                           {0, "convert(r)", "bitcast-convert(r)"},
                                                           {1, "{0, 0, 4, 4}", "{4, 4, 0, 0}"},
                                                           {2, "{0, 0, 4, 4}", "{0, 0, 3, 3}"}});
}

}  // namespace
}  // namespace p2::hlo
