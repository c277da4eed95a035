// Unpartitioned modules against partitioned ones: what is right, and the bugs of real systems, each
// as a module of its own.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/hlo/sharding.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

const std::string kAdd =
    "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n";
const std::string kMax =
    "max {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, "
    "b)\n}\n";
const std::string kSum =
    ", channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add\n";
const std::string kLargest =
    ", channel_id=2, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=max\n";
const std::string kRows = ", sharding={devices=[4,1]<=[4]}\n";
const std::string kColumns = ", sharding={devices=[1,4]<=[4]}\n";
const std::string kVector = ", sharding={devices=[4]<=[4]}\n";
const std::string kEverywhere = ", sharding={replicated}\n";

std::string module_of(const std::string& body, const char* entry) {
  return "HloModule m, num_partitions=4\n" + kAdd + kMax + "ENTRY " + entry + " {\n" + body + "}\n";
}
std::string before_partitioning(const std::string& body) { return module_of(body, "main"); }
std::string after_partitioning(const std::string& body) { return module_of(body, "main_spmd"); }

std::string verdict(const std::string& before, const std::string& after) {
  const std::string first = before_partitioning(before);
  const std::string second = after_partitioning(after);
  ComparisonOptions all;
  all.engine = ModuleEngine::All;
  CHECK(compared(first, second, all).outcome != Outcome::Disagreement);
  return summary(compared(first, second));
}

TEST_CASE("a row-parallel dot needs its all-reduce") {
  const std::string single = "  x = f32[6,8] parameter(0)" + kColumns +
                             "  w = f32[8,4] parameter(1)" + kRows +
                             "  ROOT y = f32[6,4] dot(x, w), lhs_contracting_dims={1}, "
                             "rhs_contracting_dims={0}" +
                             kEverywhere;
  const std::string part =
      "  x = f32[6,2] parameter(0)\n  w = f32[2,4] parameter(1)\n  p = f32[6,4] dot(x, w), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  // Without a call of the partitioner, the sharding of the root says which module is global.
  const std::string marked =
      "  s = f32[6,8] custom-call(x), custom_call_target=\"Sharding\"" + kColumns;
  const std::string before = "  x = f32[6,8] parameter(0)" + kColumns + marked +
                             "  w = f32[8,4] parameter(1)" + kRows +
                             "  ROOT y = f32[6,4] dot(s, w), lhs_contracting_dims={1}, "
                             "rhs_contracting_dims={0}" +
                             kEverywhere;
  CHECK(verdict(before, part + "  ROOT y = f32[6,4] all-reduce(p)" + kSum) == "valid");
  CHECK(verdict(before, part + "  ROOT y = f32[6,4] copy(p)\n") == "invalid value");
  CHECK(verdict(single, part + "  ROOT y = f32[6,4] all-reduce(p)" + kSum) == "valid");
}

/// A vector of 8 elements, cut into four, and `body` of one result `y`.
std::string of_vector(const std::string& body) {
  return "  x0 = f32[8] parameter(0)" + kVector +
         "  x = f32[8] custom-call(x0), custom_call_target=\"Sharding\"" + kVector +
         "  zero = f32[] constant(0)\n  low = f32[] constant(-inf)\n" + body;
}
std::string of_part(const std::string& body) {
  return "  x = f32[2] parameter(0)\n  zero = f32[] constant(0)\n  low = f32[] constant(-inf)\n" +
         body;
}

TEST_CASE("what cancels to nothing is not refuted by its rounding") {
  // A softmax sums to 1, so that all elements of the result are 0; their rounding errors depend on
  // the order of sums.
  for (int k = 1; k <= 12; ++k) {
    const std::string factor = "  k = f32[] constant(" + std::to_string(k) + ".125)\n";
    const auto body = [&](const std::string& size, const std::string& reduce_over_all) {
      const auto all = [&](const std::string& name) {
        return reduce_over_all.empty() ? ""
                                       : "  " + name + "a = f32[] all-reduce(" + name + ")" + kSum;
      };
      const std::string shape = "f32[" + size + "]";
      const std::string suffix = reduce_over_all.empty() ? "" : "a";
      return factor + "  kb = " + shape + " broadcast(k), dimensions={}\n  xk = " + shape +
             " multiply(x, kb)\n  e = " + shape + " exponential(xk)\n" +
             "  t = f32[] reduce(e, zero), dimensions={0}, to_apply=add\n" + all("t") +
             "  tb = " + shape + " broadcast(t" + suffix + "), dimensions={}\n  p = " + shape +
             " divide(e, tb)\n  r = f32[] reduce(p, zero), dimensions={0}, to_apply=add\n" +
             all("r") + "  one = f32[] constant(1)\n  ROOT y = f32[] subtract(r" + suffix +
             ", one)";
    };
    CAPTURE(k);
    CHECK(verdict(of_vector(body("8", "") + kEverywhere), of_part(body("2", "all") + "\n")) ==
          "valid");
  }
}

TEST_CASE("reductions of shards") {
  const std::string mean = of_vector(
      "  s = f32[] reduce(x, zero), dimensions={0}, to_apply=add\n  n = f32[] constant(8)\n"
      "  ROOT y = f32[] divide(s, n)" +
      kEverywhere);
  const std::string sum = "  s = f32[] reduce(x, zero), dimensions={0}, to_apply=add\n";
  const auto divided = [&](const char* count) {
    return of_part(sum + "  n = f32[] constant(" + count +
                   ")\n  m = f32[] divide(s, n)\n  ROOT y = f32[] all-reduce(m)" + kSum);
  };
  CHECK(verdict(mean, divided("8")) == "valid");
  CHECK(verdict(mean, divided("2")) == "invalid value");
  CHECK(verdict(mean, divided("32")) == "invalid value");  // scaled twice
  // 1/8 as XLA prints it.
  CHECK(verdict(mean, of_part(sum +
                              "  n = f32[] constant(0.125)\n  m = f32[] multiply(s, n)\n  ROOT y = "
                              "f32[] all-reduce(m)" +
                              kSum)) == "valid");

  const std::string root = of_vector(
      "  s = f32[] reduce(x, zero), dimensions={0}, to_apply=add\n  e = f32[] constant(0.5)\n"
      "  ROOT y = f32[] add(s, e)" +
      kEverywhere);
  CHECK(verdict(root, of_part(sum + "  r = f32[] all-reduce(s)" + kSum +
                              "  e = f32[] constant(0.5)\n  ROOT y = f32[] add(r, e)\n")) ==
        "valid");
  CHECK(verdict(
            root,
            of_part(
                sum +
                "  e = f32[] constant(0.5)\n  t = f32[] add(s, e)\n  ROOT y = f32[] all-reduce(t)" +
                kSum)) == "invalid value");

  const std::string logarithm = of_vector(
      "  q = f32[8] multiply(x, x)\n  s = f32[] reduce(q, zero), dimensions={0}, to_apply=add\n"
      "  ROOT y = f32[] log(s)" +
      kEverywhere);
  const std::string squares =
      "  q = f32[2] multiply(x, x)\n  s = f32[] reduce(q, zero), dimensions={0}, to_apply=add\n";
  CHECK(verdict(logarithm, of_part(squares + "  r = f32[] all-reduce(s)" + kSum +
                                   "  ROOT y = f32[] log(r)\n")) == "valid");
  CHECK(verdict(logarithm, of_part(squares + "  l = f32[] log(s)\n  ROOT y = f32[] all-reduce(l)" +
                                   kSum)) == "invalid value");
}

TEST_CASE("a softmax over shards") {
  const std::string before = of_vector(
      "  m = f32[] reduce(x, low), dimensions={0}, to_apply=max\n  b = f32[8] broadcast(m), "
      "dimensions={}\n"
      "  d = f32[8] subtract(x, b)\n  e = f32[8] exponential(d)\n  s = f32[] reduce(e, zero), "
      "dimensions={0}, to_apply=add\n"
      "  t = f32[8] broadcast(s), dimensions={}\n  ROOT y = f32[8] divide(e, t)" +
      kVector);
  const std::string largest =
      "  m = f32[] reduce(x, low), dimensions={0}, to_apply=max\n  g = f32[] all-reduce(m)" +
      kLargest;
  const std::string exponentials =
      "  b = f32[2] broadcast(g), dimensions={}\n  d = f32[2] subtract(x, b)\n  e = f32[2] "
      "exponential(d)\n"
      "  s = f32[] reduce(e, zero), dimensions={0}, to_apply=add\n";
  const std::string quotient =
      "  t = f32[2] broadcast(r), dimensions={}\n  ROOT y = f32[2] divide(e, t)\n";
  CHECK(verdict(before, of_part(largest + exponentials + "  r = f32[] all-reduce(s)" + kSum +
                                quotient)) == "valid");
  CHECK(verdict(before, of_part(largest + exponentials + "  r = f32[] copy(s)\n" + quotient)) ==
        "invalid value");
  // Shifted by the shard's own maximum, the shards do not fit together.
  CHECK(verdict(before, of_part("  g = f32[] reduce(x, low), dimensions={0}, to_apply=max\n" +
                                exponentials + "  r = f32[] all-reduce(s)" + kSum + quotient)) ==
        "invalid value");
  // Not shifted at all, it is the same function of real numbers.
  CHECK(verdict(before, of_part("  g = f32[] constant(0)\n" + exponentials +
                                "  r = f32[] all-reduce(s)" + kSum + quotient)) == "valid");
}

TEST_CASE("a vocabulary-parallel look-up needs its mask, for every token") {
  const std::string before = "  t0 = f32[8,3] parameter(0)" + kRows +
                             "  t = f32[8,3] custom-call(t0), custom_call_target=\"Sharding\"" +
                             kRows + "  i = s32[2] parameter(1)" + kEverywhere +
                             "  ROOT y = f32[2,3] gather(t, i), offset_dims={1}, "
                             "collapsed_slice_dims={0}, start_index_map={0}, "
                             "index_vector_dim=1, slice_sizes={1,3}" +
                             kEverywhere;
  const auto after = [](const std::string& chosen, const char* clamp) {
    return "  t = f32[2,3] parameter(0)\n  i = s32[2] parameter(1)\n  p = u32[] partition-id()\n  "
           "q = s32[] convert(p)\n"
           "  two = s32[] constant(2)\n  o = s32[] multiply(q, two)\n  b = s32[2] broadcast(o), "
           "dimensions={}\n"
           "  z = s32[] constant(0)\n  n = s32[] constant(7)\n  c = s32[2] " +
           std::string(clamp) +
           "\n"
           "  l = s32[2] subtract(c, b)\n"
           "  g = f32[2,3] gather(t, l), offset_dims={1}, collapsed_slice_dims={0}, "
           "start_index_map={0}, "
           "index_vector_dim=1, slice_sizes={1,3}\n"
           "  zs = s32[2] broadcast(z), dimensions={}\n  ts = s32[2] broadcast(two), "
           "dimensions={}\n"
           "  above = pred[2] compare(l, zs), direction=GE\n  below = pred[2] compare(l, ts), "
           "direction=LT\n"
           "  in = pred[2] and(above, below)\n  mask = pred[2,3] broadcast(in), dimensions={0}\n"
           "  f = f32[] constant(0)\n  fs = f32[2,3] broadcast(f), dimensions={}\n" +
           chosen + "  ROOT y = f32[2,3] all-reduce(h)" + kSum;
  };
  const std::string masked = "  h = f32[2,3] select(mask, g, fs)\n";
  CHECK(verdict(before, after(masked, "clamp(z, i, n)")) == "valid");
  CHECK(verdict(before, after("  h = f32[2,3] copy(g)\n", "clamp(z, i, n)")) == "invalid value");
  // Without the clamp, a token beyond the vocabulary is looked up by no device.
  CHECK(verdict(before, after(masked, "copy(i)")) == "invalid value");
}

TEST_CASE("shards that are uneven: what pads them must not count") {
  const std::string before =
      "  x0 = f32[6] parameter(0)" + kVector +
      "  x = f32[6] custom-call(x0), custom_call_target=\"Sharding\"" + kVector +
      "  zero = f32[] constant(0)\n  ROOT y = f32[] reduce(x, zero), dimensions={0}, to_apply=add" +
      kEverywhere;
  const std::string head = "  x = f32[2] parameter(0)\n  zero = f32[] constant(0)\n";
  const std::string tail =
      "  s = f32[] reduce(k, zero), dimensions={0}, to_apply=add\n  ROOT y = f32[] all-reduce(s)" +
      kSum;
  const std::string mask =
      "  p = u32[] partition-id()\n  two = u32[] constant(2)\n  o = u32[] multiply(p, two)\n  b = "
      "u32[2] broadcast(o), dimensions={}\n"
      "  i = u32[2] iota(), iota_dimension=0\n  at = u32[2] add(b, i)\n  six = u32[] constant(6)\n"
      "  sixes = u32[2] broadcast(six), dimensions={}\n  in = pred[2] compare(at, sixes), "
      "direction=LT\n"
      "  zeros = f32[2] broadcast(zero), dimensions={}\n  k = f32[2] select(in, x, zeros)\n";
  CHECK(verdict(before, head + mask + tail) == "valid");
  CHECK(verdict(before, head + "  k = f32[2] copy(x)\n" + tail) == "invalid value");
}

TEST_CASE("an index that may be any number, and one from 2^63 on") {
  // The last shard of the indices is padded: what is looked up there is arbitrary.
  const std::string before =
      "  i = s32[3] parameter(0), sharding={devices=[4]<=[4]}\n"
      "  t = f32[8] parameter(1), sharding={replicated}\n"
      "  c = s32[3] custom-call(i), custom_call_target=\"Sharding\", sharding={devices=[4]<=[4]}\n"
      "  l = s32[1] custom-call(c), custom_call_target=\"SPMDFullToShardShape\", "
      "sharding={manual}\n"
      "  g = f32[1] gather(t, l), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
      "index_vector_dim=1, slice_sizes={1}\n"
      "  ROOT y = f32[3] custom-call(g), custom_call_target=\"SPMDShardToFullShape\", "
      "sharding={devices=[4]<=[4]}\n";
  const std::string after =
      "  i = s32[1] parameter(0)\n  t = f32[8] parameter(1)\n"
      "  ROOT y = f32[1] gather(t, i), offset_dims={}, collapsed_slice_dims={0}, "
      "start_index_map={0}, index_vector_dim=1, slice_sizes={1}\n";
  CHECK(verdict(before, after) == "valid");

  const auto slice = [](const char* row) {
    return std::string("  x = f32[4,6] parameter(0)\n  i = s32[] parameter(1)\n  r = ") + row +
           "\n  ROOT y = f32[2,2] dynamic-slice(x, r, i), dynamic_slice_sizes={2,2}\n";
  };
  const auto compared_slices = [&](const char* a, const char* b) {
    return summary(compared(after_partitioning(slice(a)), after_partitioning(slice(b))));
  };
  CHECK(compared_slices("u64[] constant(18446744073709551615)", "u64[] constant(2)") == "unknown");
  CHECK(compared_slices("u64[] constant(18446744073709551615)", "u64[] constant(0)")
            .starts_with("invalid"));
}

TEST_CASE("what has no meaning is not executed") {
  const std::string x = "  x = f32[4,6] parameter(0), sharding={devices=[2,1]<=[2]}\n";
  const std::string out = ", sharding={devices=[2,1]<=[2]}\n";
  const std::string own = "  x = f32[2,6] parameter(0)\n";
  const std::string zero = "  z = f32[] constant(0)\n";
  CHECK(verdicts(before_text(x + zero +
                             "  s = f32[4] reduce(x, z), dimensions={1}, to_apply=add\n"
                             "  ROOT r = f32[4] copy(s), sharding={devices=[2]<=[2]}\n"),
                 after_text(own + zero +
                            "  s = f32[1,2] reduce(x, z), dimensions={1}, to_apply=add\n"
                            "  ROOT r = f32[2] reshape(s)\n")) == "invalid shapes; invalid shapes");
  CHECK(verdicts(before_text(x + "  ROOT r = f32[4,6] copy(x)" + out),
                 after_text(own + "  ROOT r = f32[2,6] reverse(x), dimensions={2}\n")) ==
        "invalid shapes; invalid shapes");
}

TEST_CASE("windows of a gather have the sizes of its slices, along dimensions in ascending order") {
  const auto read = [](const std::string& numbers, const std::string& result) {
    const std::string text =
        "  x = f32[5,6] parameter(0)\n  i = s32[3,1] parameter(1)\n  ROOT r = " + result +
        " gather(x, i), " + numbers +
        ", collapsed_slice_dims={}, start_index_map={0}, "
        "index_vector_dim=1, slice_sizes={2,6}\n";
    return verdicts(module_text(text, 1), module_text(text, 1));
  };
  CHECK(read("offset_dims={1,2}", "f32[3,2,6]") == "valid; valid");
  for (const auto& [numbers, result] :
       {std::pair("offset_dims={2,1}", "f32[3,6,2]"), std::pair("offset_dims={1,2}", "f32[3,6,2]"),
        std::pair("offset_dims={1,2}", "f32[3,1,6]")}) {
    CHECK(read(numbers, result) == "invalid shapes; invalid shapes");
  }
}

TEST_CASE("positions and ids wrap around in their type") {
  const auto iota = [](const char* first, const char* second) {
    return summary(compared(
        after_partitioning(std::string("  i = u8[300] iota(), iota_dimension=0\n") + first),
        after_partitioning(std::string("  i = s32[300] iota(), iota_dimension=0\n") + second)));
  };
  const char* const widened = "  ROOT y = s32[300] convert(i)\n";
  CHECK(iota(widened, "  ROOT y = s32[300] copy(i)\n") == "invalid value");
  CHECK(iota(widened,
             "  c = s32[] constant(256)\n  b = s32[300] broadcast(c), dimensions={}\n"
             "  ROOT y = s32[300] remainder(i, b)\n") == "valid");
}

TEST_CASE("two partitioned modules are not taken for one before and one after") {
  // Shardings are left over: with independent inputs the all-reduce matters.
  const std::string plain =
      "  x = f32[2] parameter(0)\n  ROOT y = f32[2] copy(x), sharding={devices=[4]<=[4]}\n";
  const std::string largest =
      "  x = f32[2] parameter(0)\n  ROOT y = f32[2] all-reduce(x)" + kLargest;
  CHECK(summary(compared(after_partitioning(plain), after_partitioning(largest))) ==
        "invalid contributions");
  CHECK(summary(compared(after_partitioning(largest), after_partitioning(plain))) ==
        "invalid contributions");
  CHECK(summary(compared(before_partitioning(plain), after_partitioning(plain))) == "valid");
}

/// `2×1: 00 00 10 10, parts 0101, groups …` with the tile of every partition; `unknown` if it is
/// not understood.
std::string reading(const std::string& text, std::size_t rank, std::int64_t partitions) {
  const std::map<std::string, std::string> meshes = {
      {"mesh", "<[\"x\"=2, \"y\"=4]>"}, {"alone", "<[], device_ids=[3]>"}, {"none", "<[]>"}};
  const auto found = read_sharding(text, rank, partitions, meshes);
  if (!found) return "unknown";
  if (found->kind == Sharding::Kind::Manual) return "manual";
  if (found->kind == Sharding::Kind::Maximal)
    return "device " + std::to_string(found->only_partition);
  std::string all = found->coordinates.empty() ? "whole" : "";
  for (const std::vector<std::int64_t>& tile : found->coordinates) {
    all += all.empty() ? "" : " ";
    for (const std::int64_t each : tile) all += std::to_string(each);
  }
  for (const auto& [name, numbers] :
       {std::pair(", parts ", &found->part), {", groups ", &found->group}}) {
    if (!numbers->empty()) all += name;
    for (const std::int64_t each : *numbers) all += std::to_string(each);
  }
  return all;
}

TEST_CASE("an output whose sharding XLA chooses is no difference in signature") {
  // As JAX writes it before the partitioner: of parameters alone.
  const auto text = [](const char* sizes, const std::string& sharding, const char* entry) {
    return module_of(fmt::format("  x = f32[{0}] parameter(0){1}\n  ROOT y = f32[{0}] tanh(x)\n",
                                 sizes, sharding),
                     entry);
  };
  const std::string cut = ", sharding={devices=[4,1]<=[4]}";
  const std::string whole = text("8,6", cut, "main");
  for (const char* const entry : {"main", "main_spmd"}) {
    const ModuleDecision decision = compared(whole, text("2,6", "", entry));
    CHECK(decision.outcome == Outcome::Undecided);
    CHECK(decision.reason.find("compare with the module before the partitioner") !=
          std::string::npos);
  }
  // Inputs that do not fit differ, as before.
  CHECK(summary(compared(whole, text("3,6", "", "main_spmd"))) == "invalid signature");
  CHECK(summary(compared(text("8,6", "", "main"), text("2,6", "", "main_spmd"))) ==
        "invalid signature");
}

TEST_CASE("shardings are said in words, with the axes of the mesh where they have names") {
  const std::map<std::string, std::string> meshes = {{"mesh", "<[\"x\"=2, \"y\"=4]>"}};
  const auto words = [&](const std::string& text, std::size_t rank) {
    Sharding sharding = read_sharding(text, rank, 8, meshes).value();
    name_axes(sharding, mesh_axes(meshes, 8));
    return tiling_words(sharding.tiles, sharding.axes);
  };
  CHECK(words("{replicated}", 2) == "replicated");
  CHECK(words("{mesh['a'=2,'b'=4], [{'a'}, {'b'}]}", 2) == "rows over a, columns over b");
  CHECK(words("#sdy.sharding<@mesh, [{\"y\":(1)2}, {}, {\"x\"}]>", 3) ==
        "dimension 0 over y:(1)2, dimension 2 over x");
  // Tiles by numbers, as far as axes of the mesh cut so.
  CHECK(words("{devices=[2,4]<=[8]}", 2) == "rows over x, columns over y");
  CHECK(words("{devices=[4,2]<=[2,4]T(1,0)}", 2) == "rows over y, columns over x");
  CHECK(words("{devices=[8]<=[8]}", 1) == "over x × y");
  CHECK(words("{devices=[8]<=[2,4]T(1,0)}", 1) == "over y × x");
  CHECK(words("{devices=[1,2,4]<=[8] last_tile_dim_replicate}", 2) == "columns over x");
  CHECK(words("{devices=[4,2]<=[8]}", 2) == "rows in 4, columns in 2");
  CHECK(words("{devices=[8]1,0,2,3,4,5,6,7}", 1) == "in 8");
}

TEST_CASE("shardings are read as XLA and Shardy print them") {
  // As jaxlib's HloSharding has their tiles, devices and subgroups.
  CHECK(reading("{replicated}", 2, 4) == "whole");
  CHECK(reading("{manual}", 2, 4) == "manual");
  CHECK(reading("{maximal device=3}", 2, 4) == "device 3");
  CHECK(reading("{unreduced}", 2, 4) == "whole, parts 0123");
  CHECK(reading("{devices=[2,1,2]0,1,3,2 last_tile_dim_replicate}", 2, 4) == "00 00 10 10");
  CHECK(reading("{devices=[2,2]<=[2,2]T(1,0) metadata={op_name=\"a\"}}", 2, 4) == "00 10 01 11");
  CHECK(reading("{devices=[2,2]<=[4] last_tile_dims={manual}}", 1, 4) == "0 0 1 1, groups 0101");
  CHECK(reading("{devices=[2,2]<=[4] last_tile_dims={unreduced}}", 1, 4) == "0 0 1 1, parts 0101");
  CHECK(reading("{devices=[1,2,2,2]<=[8] last_tile_dims={manual, replicated, unreduced}}", 1, 8) ==
        "whole, parts 01010101, groups 00001111");
  CHECK(reading("{mesh['x'=2,'y'=4], [{'y':(1)2}, {'x'}]}", 2, 8) == "00 00 10 10 01 01 11 11");
  CHECK(reading("{mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)), [{'x'}], unreduced={'y'}}", 1, 4) ==
        "0 1 0 1, parts 0011");
  CHECK(reading("{mesh['x'=2,'y'=2], device_ids=(3,2,1,0), [{'x'}], manual={'y'}}", 1, 4) ==
        "1 1 0 0, groups 1010");
  CHECK(reading("{mesh['<an axis>'=2,'z/w'=2], [{'z/w'}, {'<an axis>', ?}]}", 2, 4) ==
        "00 10 01 11");
  CHECK(reading("{mesh['x'=4], [], unreduced={'x'}}", 2, 4) == "whole, parts 0123");
  CHECK(reading("{mesh[], replicated}", 2, 4) == "whole");
  CHECK(reading("{mesh['x'=2,'y'=2], replicated, metadata={{op_name=\"a\"}}}", 1, 4) == "whole");
  CHECK(reading("{mesh['x'=2,'y'=2], manual}", 1, 4) == reading("{manual}", 1, 4));
  CHECK(reading("{mesh['x'=2,'y'=2], unreduced}", 1, 4) == "whole, parts 0123");
  CHECK(reading("{maximal_mesh[device_id=3]}", 2, 4) == "device 3");
  CHECK(reading("#sdy.sharding<@mesh, [{\"x\", ?}p1, {?}p0], replicated={\"y\"}>", 2, 8) ==
        "00 00 00 00 10 10 10 10");
  CHECK(reading("#sdy.sharding<@mesh, [{}], unreduced={\"x\", \"y\":(2)2}>", 1, 8) ==
        "whole, parts 01012323");
  CHECK(reading("<mesh<[\"x\"=2, \"y\"=2]>, [{\"y\"}]>", 1, 4) == "0 1 0 1");
  CHECK(reading("#sdy.sharding<@alone, []>", 2, 4) == "device 3");
  CHECK(reading("#sdy.sharding<@none, [{}, {}]>", 2, 4) == "whole");
  for (const char* const text : {"{unknown}",
                                 "{maximal}",
                                 "{maximal device=4}",
                                 "{maximal device=-1}",
                                 "{unreduced",
                                 "{replicated shard_as 1}",
                                 "{unreduced} {manual}",
                                 "{devices=[2,2]<=[4]}",
                                 "{devices=[2]<=[4]}",
                                 "{devices=[4]0,1,2,2}",
                                 "{devices=[4]0,1,2,4}",
                                 "{devices=[2,2]<=[4] last_tile_dims={maximal}}",
                                 "{devices=[2,2]<=[4] last_tile_dims={}}",
                                 "{devices=[4]<=[4] last_tile_dims={manual}}",
                                 "{devices=[0]<=[4]}",
                                 "{mesh['x'=4], [{'y'}]}",
                                 "{mesh['x'=4], [{'x','x'}]}",
                                 "{mesh['x'=2], [{'x'}]}",
                                 "{mesh['x'=4], [{'x'}], unreduced={'x'}}",
                                 "{mesh['x'=4], [{'x'}, {}]}",
                                 "{mesh['x'=4], [{'x'}], other={}}",
                                 "{mesh['x'=2,'y'=2], [{'x':(1)2}], unreduced={'x'}}",
                                 "{mesh['x'=4], device_ids=(0,1), [{'x'}]}",
                                 "{mesh['x'=4], [{'x':(3)2}]}",
                                 "{mesh['x'=2], manual}",
                                 "{mesh['x'=4], unreduced=max{'x'}}",
                                 "{mesh['x'=4], [{}], unreduced=max{'x'}}",
                                 "{mesh['x'=4], other}",
                                 "{maximal_mesh[device_id=4]}",
                                 "{maximal_mesh[]}",
                                 "{}",
                                 "#sdy.sharding<@other, [{}]>",
                                 "#sdy.sharding<@mesh, [{\"x\"}]>",
                                 "#sdy.sharding<@alone, [{\"x\"}]>",
                                 "<mesh<[\"x\"=4]>, [{\"x\"}q1]>"}) {
    CAPTURE(text);
    CHECK(reading(text, 1, 4) == "unknown");
  }
}

TEST_CASE("a tensor on one device alone") {
  const auto before = [](const std::string& from, const std::string& to) {
    return "  x = f32[2] parameter(0), sharding=" + from +
           "\n  ROOT y = f32[2] negate(x), sharding=" + to + "\n";
  };
  const auto after = [](const std::string& pairs) {
    return "  x = f32[2] parameter(0)\n  p = f32[2] collective-permute(x), channel_id=1, "
           "source_target_pairs={" +
           pairs + "}\n  ROOT y = f32[2] negate(p)\n";
  };
  const std::string moved = before("{maximal device=1}", "{maximal device=2}");
  CHECK(verdict(moved, after("{1,2}")) == "valid");
  CHECK(verdict(moved, after("{1,2},{0,1}")) == "valid");
  CHECK(verdict(moved, after("{0,2},{1,0}")) == "invalid value");
  CHECK(verdict(moved, after("{1,0}")) == "invalid value");
  CHECK(verdict(before("{maximal device=1}", "{replicated}"), after("{1,2}")) == "invalid value");
  CHECK(verdict(before("{replicated}", "{maximal device=2}"), after("{1,2}")) == "valid");
  CHECK(verdict(before("{maximal device=4}", "{maximal device=2}"), after("{1,2}")) == "unknown");
}

TEST_CASE("a tensor that is not reduced yet is the sum of its parts") {
  const auto before = [](const std::string& from, const std::string& to,
                         const std::string& operation) {
    return "  x = f32[4] parameter(0), sharding=" + from + "\n  ROOT y = f32[4] " + operation +
           ", sharding=" + to + "\n";
  };
  const auto after = [](const std::string& groups, const std::string& operation) {
    return "  x = f32[2] parameter(0)\n  r = f32[2] all-reduce(x), channel_id=1, replica_groups={" +
           groups + "}, use_global_device_ids=true, to_apply=add\n  ROOT y = f32[2] " + operation +
           "\n";
  };
  const std::string cut = "{devices=[2,2]<=[4] last_tile_dim_replicate}";
  for (const char* const parts : {"{devices=[2,2]<=[4] last_tile_dims={unreduced}}",
                                  "{mesh['a'=2,'b'=2], [{'a'}], unreduced={'b'}}"}) {
    CAPTURE(parts);
    CHECK(verdict(before(parts, cut, "exponential(x)"), after("{0,1},{2,3}", "exponential(r)")) ==
          "valid");
    CHECK(verdict(before(parts, cut, "exponential(x)"), after("{0,2},{1,3}", "exponential(r)")) ==
          "invalid value");
    CHECK(verdict(before(parts, cut, "exponential(x)"), after("{0,1},{2,3}", "exponential(x)")) ==
          "invalid value");
    // Linear functions may be taken of the parts, others not.
    CHECK(verdict(before(parts, parts, "negate(x)"), after("{0,1},{2,3}", "negate(x)")) == "valid");
    CHECK(verdict(before(parts, parts, "negate(x)"), after("{0,1},{2,3}", "negate(r)")) ==
          "invalid value");
    CHECK(verdict(before(parts, parts, "tanh(x)"), after("{0,1},{2,3}", "tanh(x)")) ==
          "invalid value");
  }
  const std::string all = "{0,1,2,3}";
  const std::string sum = "  x = f32[4] parameter(0), sharding={unreduced}\n";
  const std::string own = "  x = f32[4] parameter(0)\n";
  const std::string whole = "  ROOT y = f32[4] copy(x), sharding={replicated}\n";
  CHECK(verdict(sum + whole, own + "  ROOT y = f32[4] all-reduce(x)" + kSum) == "valid");
  CHECK(verdict(sum + whole, own + "  ROOT y = f32[4] all-reduce(x)" + kLargest) ==
        "invalid value");
  CHECK(verdict(sum + whole, own + whole) == "invalid value");
  // Booleans have no sums.
  const std::string flags = "  x = pred[4] parameter(0)";
  CHECK(
      verdict(flags + ", sharding={unreduced}\n  ROOT y = pred[4] not(x), sharding={replicated}\n",
              flags + "\n  ROOT y = pred[4] not(x)\n") == "unknown");
  // Where shardings alone tell which module is unpartitioned, both readings must hold.
  CHECK(summary(compared(before_partitioning(sum + whole), before_partitioning(own + whole))) ==
        "unknown");
}

TEST_CASE("a part that is manual over some axes only") {
  // Devices are 2 manual groups × 2 tiles.
  const auto before = [](const std::string& outside, const std::string& inside,
                         const std::string& groups) {
    return "  x = f32[8] parameter(0), sharding=" + outside +
           "\n  s = f32[8] custom-call(x), custom_call_target=\"Sharding\", sharding=" + outside +
           "\n  l = f32[4] custom-call(s), custom_call_target=\"SPMDFullToShardShape\", sharding=" +
           inside + "\n  r = f32[4] all-reduce(l), channel_id=1, replica_groups={" + groups +
           "}, use_global_device_ids=true, to_apply=add\n  e = f32[4] custom-call(r), "
           "custom_call_target=\"Sharding\", sharding=" +
           inside +
           "\n  ROOT y = f32[4] custom-call(e), custom_call_target=\"SPMDShardToFullShape\", "
           "sharding={devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}\n";
  };
  const auto after = [](const std::string& groups) {
    return "  x = f32[2] parameter(0)\n  ROOT r = f32[2] all-reduce(x), channel_id=1, "
           "replica_groups={" +
           groups + "}, use_global_device_ids=true, to_apply=add\n";
  };
  const std::string tiles = "{devices=[4]<=[4]}";
  for (const char* const inside : {"{devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual}}",
                                   "{mesh['g'=2,'t'=2], [{'t'}], manual={'g'}}"}) {
    CAPTURE(inside);
    CHECK(verdict(before(tiles, inside, "{0,2},{1,3}"), after("{0,2},{1,3}")) == "valid");
    CHECK(verdict(before(tiles, inside, "{0,2},{1,3}"), after("{0,1},{2,3}")) == "invalid value");
    CHECK(verdict(before(tiles, inside, "{0,2},{1,3}"), after("{0,3},{1,2}")) == "invalid value");
  }
  // The tiles do not make up the groups' tensors, or a form is not known.
  for (const char* const inside : {"{devices=[2,2]<=[4] last_tile_dims={manual}}",
                                   "{devices=[4,1]<=[4] last_tile_dims={manual}}",
                                   "{devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual,odd}}",
                                   "{devices=[1,2,2]<=[4] last_tile_dims={manual,unreduced}}"}) {
    CAPTURE(inside);
    CHECK(verdict(before(tiles, inside, "{0,2},{1,3}"), after("{0,2},{1,3}")) == "unknown");
  }
}

}  // namespace
}  // namespace p2::hlo
