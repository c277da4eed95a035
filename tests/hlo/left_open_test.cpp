// What XLA leaves open, and promises that decide it: a rewrite may bring in neither, and runs
// refute nothing by them.

#include <string>
#include <utility>
#include <variant>

#include <doctest/doctest.h>

#include "engine/hlo/equality/equivalence.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {

TEST_CASE("a rewrite may not promise what nobody promised") {
  const auto module = [](const std::string& attributes) {
    return module_text(
        "  x = f32[6] parameter(0)\n  i = s32[3] parameter(1)\n"
        "  u = f32[3] parameter(2)\n"
        "  ROOT r = f32[6] scatter(x, i, u), update_window_dims={}, "
        "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
        "index_vector_dim=1, to_apply=add" +
        attributes + "\n");
  };
  for (const std::string promise : {", indices_are_sorted=true", ", unique_indices=true"}) {
    CHECK(verdicts(module(""), module(promise)) == "unknown; unknown");
    CHECK(verdicts(module(promise), module(promise)) == "valid; valid");
    CHECK(verdicts(module(promise), module("")) == "unknown; valid");
  }
}

TEST_CASE("one vector of indices for every batch is sorted where batches come first, and unique") {
  const auto rows = [](const std::string& attributes) {
    return module_text(
        "  x = f32[6,3,2] parameter(0)\n  i = s32[3,1] parameter(1)\n"
        "  ROOT y = f32[3,2] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
        "start_index_map={0}, operand_batching_dims={1}, start_indices_batching_dims={0}, "
        "index_vector_dim=1, slice_sizes={1,1,2}" +
        attributes + "\n");
  };
  const auto columns = [](const std::string& attributes) {
    return module_text(
        "  x = f32[3,6,2] parameter(0)\n  i = s32[3,1] parameter(1)\n"
        "  ROOT y = f32[3,2] gather(x, i), offset_dims={1}, collapsed_slice_dims={1}, "
        "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
        "index_vector_dim=1, slice_sizes={1,1,2}" +
        attributes + "\n");
  };
  const std::string sorted = ", indices_are_sorted=true";
  CHECK(verdicts(rows(""), rows(sorted)) == "unknown; unknown");
  CHECK(verdicts(columns(""), columns(sorted)) == "unknown; valid");
}

TEST_CASE("no run refutes by indices that are not as the module before promises") {
  const auto gathered = [](const std::string& indices, const std::string& attributes) {
    return module_text(
        "  x = f32[6] parameter(0)\n  i = s32[2,1] parameter(1)\n"
        "  a = s32[1,1] slice(i), slice={[0:1], [0:1]}\n"
        "  b = s32[1,1] slice(i), slice={[1:2], [0:1]}\n"
        "  l = s32[1,1] minimum(a, b)\n  h = s32[1,1] maximum(a, b)\n"
        "  j = s32[2,1] concatenate(" +
        indices +
        "), dimensions={0}\n  ROOT g = f32[2] gather(x, j), offset_dims={}, "
        "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
        "slice_sizes={1}" +
        attributes + "\n");
  };
  const std::string sorted = ", indices_are_sorted=true";
  CHECK(verdicts(gathered("a, b", sorted), gathered("l, h", "")) == "unknown; unknown");
  CHECK(verdicts(gathered("a, b", ""), gathered("l, h", "")) == "unknown; invalid value");
  CHECK(verdicts(gathered("a, b", sorted), gathered("h, l", "")) == "unknown; invalid value");
}

TEST_CASE("a sort that is not stable leaves the order of equal elements open") {
  const auto module = [](const std::string& keys, const std::string& attributes) {
    return "HloModule m\nless {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
           "  c = f32[] parameter(2)\n  d = f32[] parameter(3)\n"
           "  ROOT l = pred[] compare(a, b), direction=LT\n}\nENTRY e {\n"
           "  x = f32[4] parameter(0)\n  i = s32[4] parameter(1)\n  k = s32[4] " +
           keys + "\n  s = (s32[4], f32[4]) sort(k, x), dimensions={0}, to_apply=less" +
           attributes + "\n  ROOT r = f32[4] get-tuple-element(s), index=1\n}\n";
  };
  const std::string stable = ", is_stable=true";
  for (const std::string keys : {"copy(i)", "constant({1, 0, 1, 0})"}) {
    CAPTURE(keys);
    CHECK(verdicts(module(keys, stable), module(keys, stable)) == "valid; valid");
    CHECK(verdicts(module(keys, ""), module(keys, "")) == "valid; valid");
    CHECK(verdicts(module(keys, stable), module(keys, "")) == "unknown; unknown");
  }
  const std::string different = "constant({3, 0, 1, 2})";
  ComparisonOptions interpreter;
  interpreter.engine = ModuleEngine::Interpreter;
  CHECK(summary(compared(module(different, stable), module(different, ""), interpreter)) ==
        "valid");
}

TEST_CASE("a scatter leaves open in which order updates of one element come") {
  const auto module = [](const std::string& indices, const std::string& body) {
    return "HloModule m\nset {\n  a = f32[] parameter(0)\n  ROOT b = f32[] parameter(1)\n}\n"
           "ENTRY e {\n  x = f32[4] parameter(0)\n  u = f32[2] parameter(1)\n"
           "  i = s32[2] parameter(2)\n  two = s32[2] constant({2, 2})\n"
           "  j = s32[2] remainder(i, two)\n  k = s32[2] " +
           indices + "\n" + body + "}\n";
  };
  const std::string numbers =
      ", update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
      "index_vector_dim=1, to_apply=set\n";
  const std::string in_order = "  ROOT s = f32[4] scatter(x, k, u)" + numbers;
  const std::string reversed =
      "  kr = s32[2] reverse(k), dimensions={0}\n  ur = f32[2] reverse(u), dimensions={0}\n"
      "  ROOT s = f32[4] scatter(x, kr, ur)" +
      numbers;
  const std::string last =
      "  one = s32[] constant(1)\n  u1 = f32[1] slice(u), slice={[1:2]}\n"
      "  ROOT s = f32[4] dynamic-update-slice(x, u1, one)\n";
  for (const std::string indices : {"copy(j)", "constant({1, 1})"}) {
    CAPTURE(indices);
    CHECK(verdicts(module(indices, in_order), module(indices, in_order)) == "valid; valid");
    CHECK(verdicts(module(indices, in_order), module(indices, reversed)) == "unknown; unknown");
  }
  const std::string same = "constant({1, 1})";
  CHECK(verdicts(module(same, last), module(same, in_order)) == "unknown; unknown");
  CHECK(verdicts(module(same, in_order), module(same, last)) == "unknown; valid");
  // What no two updates name is not open, nor what they all agree in.
  const std::string different = "constant({3, 1})";
  CHECK(verdicts(module(different, in_order), module(different, reversed)) == "unknown; valid");
  CHECK(verdicts(module(different, in_order), module("constant({1, 3})", in_order)) ==
        "unknown; invalid value");
  const auto ones = [&](const std::string& constant) {
    return module(same, "  c = f32[2] constant({" + constant + "})\n  ROOT s = f32[4] " +
                            "scatter(x, k, c)" + numbers);
  };
  CHECK(verdicts(ones("1, 1"), ones("2, 2")) == "unknown; invalid value");
  CHECK(verdicts(ones("1, 2"), ones("2, 1")) == "unknown; unknown");
}

TEST_CASE("a reduction leaves open in which order it takes elements") {
  const auto module = [](const std::string& reducer, const std::string& body) {
    return "HloModule m, num_partitions=2\nsecond {\n  a = f32[] parameter(0)\n"
           "  ROOT b = f32[] parameter(1)\n}\nr {\n  a = f32[] parameter(0)\n  b = f32[] "
           "parameter(1)\n" +
           reducer + "}\nENTRY e {\n  x = f32[2,3] parameter(0)\n  z = f32[] constant(0)\n" + body +
           "}\n";
  };
  const std::string reduced = "  ROOT y = f32[3] reduce(x, z), dimensions={0}, to_apply=r\n";
  const auto in_order = [](const std::string& opcode) {
    return "  zb = f32[3] broadcast(z), dimensions={}\n"
           "  x0 = f32[1,3] slice(x), slice={[0:1], [0:3]}\n  r0 = f32[3] reshape(x0)\n"
           "  x1 = f32[1,3] slice(x), slice={[1:2], [0:3]}\n  r1 = f32[3] reshape(x1)\n  s = "
           "f32[3] " +
           opcode + "(zb, r0)\n  ROOT y = f32[3] " + opcode + "(s, r1)\n";
  };
  const std::string difference = "  ROOT c = f32[] subtract(a, b)\n";
  CHECK(verdicts(module(difference, reduced), module(difference, reduced)) == "valid; valid");
  CHECK(verdicts(module(difference, in_order("subtract")), module(difference, reduced)) ==
        "unknown; unknown");
  CHECK(verdicts(module(difference, reduced), module(difference, in_order("subtract"))) ==
        "unknown; valid");
  const std::string sum = "  ROOT c = f32[] add(b, a)\n";
  CHECK(verdicts(module(sum, in_order("add")), module(sum, reduced)) == "unknown; valid");
  const std::string rounded =
      "  s = f32[] add(a, b)\n  n = bf16[] convert(s)\n  ROOT c = f32[] convert(n)\n";
  CHECK(verdicts(module(sum, reduced), module(rounded, reduced)) == "unknown; valid");
  // What devices send comes in any order, too.
  const std::string last =
      "  w = f32[2,3] all-reduce(x), channel_id=1, replica_groups={{0,1}}, "
      "use_global_device_ids=true, to_apply=second\n  ROOT y = f32[2,3] copy(w)\n";
  const std::string gathered =
      "  g = f32[4,3] all-gather(x), channel_id=1, replica_groups={{0,1}}, "
      "use_global_device_ids=true, dimensions={0}\n"
      "  ROOT y = f32[2,3] slice(g), slice={[2:4], [0:3]}\n";
  CHECK(verdicts(module(sum, gathered), module(sum, last)) == "unknown; unknown");
  CHECK(verdicts(module(sum, last), module(sum, last)) == "valid; valid");
  // Two updates at once are more open than one after the other.
  const std::string numbers =
      ", update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, "
      "index_vector_dim=1, to_apply=second\n";
  const std::string both = "  i = s32[2,2] constant({{0,1},{0,1}})\n  u = f32[2] constant({5,7})\n";
  const std::string at_once = both + "  ROOT y = f32[2,3] scatter(x, i, u)" + numbers;
  const std::string one_by_one =
      both +
      "  i0 = s32[1,2] slice(i), slice={[0:1], [0:2]}\n  u0 = f32[1] slice(u), slice={[0:1]}\n" +
      "  u1 = f32[1] slice(u), slice={[1:2]}\n  s = f32[2,3] scatter(x, i0, u0)" + numbers +
      "  ROOT y = f32[2,3] scatter(s, i0, u1)" + numbers;
  CHECK(verdicts(module(sum, one_by_one), module(sum, at_once)) == "unknown; unknown");
  CHECK(verdicts(module(sum, one_by_one), module(sum, one_by_one)) == "valid; valid");
}

TEST_CASE(
    "what pads a window is its initial value to StableHLO, and nothing to XLA: no certificate") {
  const auto body = [](const std::string& first, const std::string& last) {
    return module_text("  x = f32[4] parameter(0)\n  i = f32[] parameter(1)\n" + first + last, 2);
  };
  const auto padded = [&](const std::string& first, const std::string& reducer) {
    return body(first, "  ROOT w = f32[4] reduce-window(x, z), window={size=2 pad=1_0}, to_apply=" +
                           reducer + "\n");
  };
  const auto written = [&](const std::string& first, const std::string& reducer) {
    return body(first,
                "  p = f32[5] pad(x, z), padding=1_0\n"
                "  ROOT w = f32[4] reduce-window(p, z), window={size=2}, to_apply=" +
                    reducer + "\n");
  };
  const std::string given = "  z = f32[] copy(i)\n", zero = "  z = f32[] constant(0)\n",
                    one = "  z = f32[] constant(1)\n", least = "  z = f32[] constant(-inf)\n";
  for (const std::string& first : {given, one}) {
    CHECK_FALSE(is_certified(padded(first, "add"), written(first, "add")));
    CHECK(compared(padded(first, "add"), written(first, "add")).outcome == Outcome::Undecided);
    CHECK(compared(written(first, "add"), padded(first, "add")).outcome == Outcome::Undecided);
    CHECK(compared(padded(first, "add"), padded(first, "add")).outcome == Outcome::Established);
  }
  // In whatever way it is written, and wherever.
  for (const char* const first : {"  c = s32[] constant(1)\n  z = f32[] convert(c)\n",
                                  "  c = f32[] constant(-1)\n  z = f32[] negate(c)\n",
                                  "  c = f32[1] constant({1})\n  z = f32[] reshape(c)\n",
                                  "  c = f32[] constant(0.5)\n  z = f32[] add(c, c)\n"})
    CHECK(compared(padded(first, "add"), written(first, "add")).outcome == Outcome::Undecided);
  // Holes between elements are padding, too.
  CHECK(compared(body(one,
                      "  s = f32[2] slice(x), slice={[0:2]}\n  ROOT w = f32[2] "
                      "reduce-window(s, z), window={size=2 lhs_dilate=2}, to_apply=add\n"),
                 body(one,
                      "  s = f32[2] slice(x), slice={[0:2]}\n  o = f32[2] broadcast(z), "
                      "dimensions={}\n  a = f32[2] add(s, o)\n  ROOT w = f32[2] add(a, o)\n"))
            .outcome != Outcome::Established);
  const std::string window =
      " = f32[4] reduce-window(x, z), window={size=2 pad=1_0}, to_apply=add\n";
  const std::string explicit_one =
      "  p = f32[5] pad(x, z), padding=1_0\n  v = f32[4] reduce-window(p, z), window={size=2}, "
      "to_apply=add\n";
  const auto pair = [&](const char* outputs) {
    return body(one, "  w" + window + explicit_one + "  ROOT t = (f32[4], f32[4]) tuple(" +
                         outputs + ")\n");
  };
  CHECK(compared(pair("w, v"), pair("v, w")).outcome == Outcome::Undecided);
  CHECK(compared(pair("w, v"), pair("w, v")).outcome == Outcome::Established);
  const std::string converted = "  c = s32[] constant(0)\n  z = f32[] convert(c)\n";
  CHECK(compared(padded(converted, "add"), written(converted, "add")).outcome ==
        Outcome::Established);
  for (const auto& [first, reducer] : {std::pair(zero, "add"), std::pair(least, "maximum")}) {
    CHECK(compared(padded(first, reducer), written(first, reducer)).outcome ==
          Outcome::Established);
    CHECK(is_certified(padded(first, reducer), written(first, reducer)));
  }
}

TEST_CASE("what memory contains that nobody has written to is anything, each time") {
  const std::string x = "  x = f32[4] parameter(0)\n";
  const std::string buffer = "= f32[4] custom-call(), custom_call_target=\"AllocateBuffer\"\n";
  const std::string given = module_text(x + "  ROOT r = f32[4] copy(x)\n", 1);
  const auto plus = [&](const std::string& lines) {
    return module_text(
        x + "  a " + buffer + "  b " + buffer + lines + "  ROOT r = f32[4] add(x, d)\n", 1);
  };
  const std::string of_two = plus("  d = f32[4] subtract(a, b)\n");
  const std::string of_one = plus("  d = f32[4] subtract(a, a)\n");
  CHECK(verdicts(given, of_two) == "unknown; invalid value");
  CHECK(is_certified_different(given, of_two));
  CHECK_FALSE(is_certified(given, of_two));
  CHECK(verdicts(given, of_one) == "valid; valid");
  CHECK(is_certified(given, of_one));
  // For some contents the module before is what the other one is.
  CHECK(verdicts(of_two, given) == "unknown; unknown");
  CHECK_FALSE(is_certified_different(of_two, given));
  CHECK(verdicts(of_two, plus("  d = f32[4] multiply(a, b)\n")) == "unknown; unknown");
  CHECK(verdicts(of_two, of_two) == "unknown; valid");
  // Other contents in every iteration.
  const auto in_a_loop = [&](const std::string& sum) {
    std::string text =
        module_text(x + "  a " + buffer +
                        "  z = s32[] constant(0)\n"
                        "  t = (s32[], f32[4], f32[4]) tuple(z, a, x)\n"
                        "  w = (s32[], f32[4], f32[4]) while(t), condition=goes_on, body=step\n"
                        "  ROOT r = f32[4] get-tuple-element(w), index=2\n",
                    1);
    const std::string loop =
        "goes_on {\n  s = (s32[], f32[4], f32[4]) parameter(0)\n"
        "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(2)\n"
        "  ROOT c = pred[] compare(i, n), direction=LT\n}\n\n"
        "step {\n  s = (s32[], f32[4], f32[4]) parameter(0)\n"
        "  i = s32[] get-tuple-element(s), index=0\n  o = s32[] constant(1)\n"
        "  k = s32[] add(i, o)\n  p = f32[4] get-tuple-element(s), index=1\n"
        "  q = f32[4] get-tuple-element(s), index=2\n  b " +
        buffer + sum +
        "  y = f32[4] add(q, d)\n  ROOT u = (s32[], f32[4], f32[4]) tuple(k, b, y)\n}\n\n";
    return text.insert(text.find("ENTRY"), loop);
  };
  CHECK(verdicts(given, in_a_loop("  d = f32[4] subtract(b, b)\n")) == "unknown; valid");
  CHECK(verdicts(given, in_a_loop("  d = f32[4] subtract(b, p)\n")) == "unknown; invalid value");
}

TEST_CASE("memory of a module that is not partitioned is not that of every device") {
  const auto compare = [](const std::string& factor) {
    const std::string lines =
        "  a = f32[4] custom-call(), custom_call_target=\"AllocateBuffer\"\n"
        "  o = f32[] constant(1)\n  b = f32[4] broadcast(o), dimensions={}\n" +
        factor;
    const std::string before =
        before_text("  x = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n" + lines +
                    "  ROOT r = f32[4] multiply(x, f)\n");
    const std::string after = after_text(
        "  x = f32[2] parameter(0)\n"
        "  g = f32[4] all-gather(x), channel_id=1, replica_groups={{0,1}}, dimensions={0}, "
        "use_global_device_ids=true\n" +
        lines + "  ROOT r = f32[4] multiply(g, f)\n");
    return compared(before, after).outcome;
  };
  CHECK(compare("  f = f32[4] copy(b)\n") == Outcome::Established);
  CHECK(compare("  f = f32[4] copy(a)\n") == Outcome::Undecided);
  CHECK(compare("  s = f32[4] subtract(a, a)\n  f = f32[4] add(s, b)\n") == Outcome::Established);
}

}  // namespace p2::hlo
