// Manual parts of a module that is not partitioned: where what devices compute there is related,
// and where it is not.

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/hlo/modules.h"
#include "tests/hlo/related_pairs.h"

namespace p2::hlo {
namespace {

using kernel::Verdict;

constexpr const char* kRows = "sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}";

/// x, cut by rows along axis a, as a manual part has it.
std::string part(const std::string& lines) {
  return fmt::format(
      "  x = f32[4,8] parameter(0)\n"
      "  xs = f32[4,8] custom-call(x), custom_call_target=\"Sharding\", {}\n"
      "  m = f32[2,8] custom-call(xs), custom_call_target=\"SPMDFullToShardShape\", "
      "sharding={{manual}}\n{}",
      kRows, lines);
}
/// The whole of which devices have r.
std::string end(const std::string& sizes, const std::string& whole, const std::string& sharding) {
  return fmt::format(
      "  e = f32[{0}] custom-call(r), custom_call_target=\"Sharding\", sharding={{manual}}\n"
      "  ROOT y = f32[{1}] custom-call(e), custom_call_target=\"SPMDShardToFullShape\", {2}\n",
      sizes, whole, sharding);
}
std::string rows(const std::string& lines) { return part(lines) + end("2,8", "4,8", kRows); }

std::string sum(const std::string& axis) {
  return fmt::format("  s = f32[2,8] all-reduce(n), {}, to_apply=add\n", axis);
}
const std::string kLocal = "  m = f32[2,8] parameter(0)\n";
const std::string kRoot = "  ROOT o = f32[2,8] copy(r)\n";
const std::string kNegated = "  n = f32[2,8] negate(m)\n";
const std::string kAdded = "  r = f32[2,8] add(n, s)\n";
const std::string kSwapped =
    "  s = f32[2,8] collective-permute(n), channel_id=1, "
    "source_target_pairs={{0,2},{1,3},{2,0},{3,1}}\n";
const std::string kNumbered =
    "  id = u32[] partition-id()\n  f = f32[] convert(id)\n"
    "  s = f32[2,8] broadcast(f), dimensions={}\n";

/// With the shardings as JAX 0.12 writes them, by a mesh.
Pair by_mesh(Pair pair, const std::string& rows = "[{'a'}, {}]", const std::string& mesh = "",
             const std::string& manual = "manual") {
  const std::string of = "sharding={mesh['a'=2,'b'=2]" + mesh + ", ";
  pair.before = replaced_everywhere(pair.before, kRows, of + rows + "}");
  pair.before = replaced_everywhere(pair.before, "sharding={manual}", of + manual + "}");
  pair.before =
      replaced_everywhere(pair.before, "sharding={replicated}", "sharding={mesh[], replicated}");
  return pair;
}

TEST_CASE("manual parts are related by what every device computes") {
  const std::vector<Pair> pairs = {
      {rows(kNegated + sum(kAlongA) + kAdded), kLocal + kNegated + sum(kAlongA) + kAdded + kRoot,
       "a. -> a."},
      {rows(kNegated + kSwapped + kAdded), kLocal + kNegated + kSwapped + kAdded + kRoot,
       "a. -> a."},
      // What is summed over the axis that it differs along is equal everywhere.
      {part(kNegated + sum(kAlongA) + "  r = f32[2,8] copy(s)\n") +
           end("2,8", "2,8", "sharding={replicated}"),
       kLocal + kNegated + sum(kAlongA) + "  ROOT r = f32[2,8] copy(s)\n", "a. -> .."},
      // What a part makes goes on as a whole.
      {part(kNegated + sum(kAlongA) + kAdded) +
           "  e = f32[2,8] custom-call(r), custom_call_target=\"Sharding\", sharding={manual}\n"
           "  w = f32[4,8] custom-call(e), custom_call_target=\"SPMDShardToFullShape\", " +
           kRows + "\n  ROOT y = f32[4,8] exponential(w)\n",
       kLocal + kNegated + sum(kAlongA) + kAdded +
           fmt::format("  g = f32[4,8] all-gather(r), dimensions={{0}}, {}\n"
                       "  ROOT y = f32[4,8] exponential(g)\n",
                       kAlongA),
       "a. -> .."},
  };
  for (const Pair& pair : pairs) {
    CAPTURE(pair.after);
    CHECK(verdict_of(pair) == Verdict::Accepted);
    CHECK(verdict_of(by_mesh(pair)) == Verdict::Accepted);
  }
}

TEST_CASE("shardings of manual parts by the axes of a mesh") {
  const Pair pair = {rows(kNegated + sum(kAlongA) + kAdded),
                     kLocal + kNegated + sum(kAlongA) + kAdded + kRoot, "a. -> a."};
  const std::string a = "[{'a'}, {}]";
  const std::string b = "[{'b'}, {}]";
  CHECK(verdict_of(by_mesh(pair, "[{'a'}, {}], replicated={'b'}")) == Verdict::Accepted);
  CHECK(verdict_of(by_mesh(pair, b, ", device_ids=([2,2]T(1,0))")) == Verdict::Accepted);
  CHECK(verdict_of(by_mesh(pair, b, ", device_ids=(0,2,1,3)")) == Verdict::Accepted);
  CHECK(verdict_of(by_mesh(pair, "[{'b':(1)2}, {}]", ", device_ids=(0,2,1,3)")) ==
        Verdict::Accepted);
  CHECK(verdict_of(by_mesh(pair, a, "", "[{}, {}], manual={'a'}")) == Verdict::Accepted);
  for (const char* const rows :
       {"[{'b'}, {}]", "[{}, {'a'}]", "[{'a','b'}, {}]", "[{}, {}]", "[{'a'}, {'a'}]", "[{'a'}]",
        "[{'c'}, {}]", "[{'a'}p1, {}]", "[{'a'}, {}], unreduced={'b'}", "[{'a'}, {}], manual={'b'}",
        "replicated", "manual"}) {
    CAPTURE(std::string(rows));
    CHECK(verdict_of(by_mesh(pair, rows)) == Verdict::Incomplete);
  }
  for (const char* const devices :
       {", device_ids=([2,2]T(1,0))", ", device_ids=(0,2,1,3)", ", device_ids=(2,3,0,1)",
        ", device_ids=(0,1,2,2)", ", device_ids=(0,1,2,7)", ", device_ids=(0,1)"}) {
    CAPTURE(std::string(devices));
    CHECK(verdict_of(by_mesh(pair, a, devices)) == Verdict::Incomplete);
  }
  CHECK(verdict_of(by_mesh(pair, a, "", "[{'b'}, {}], manual={'a'}")) == Verdict::Incomplete);
  // Names that might be read as those of other axes, and numbers beyond all devices.
  const std::pair<const char*, const char*> odd[] = {
      {"['a b'=2,'ab'=2]", "[{'ab'}, {}]"},
      {"['a'=2,'a'=2]", "[{'a'}, {}]"},
      {"['a'=2,'a:(1)2'=2]", "[{'a:(1)2'}, {}]"},
      {"['a=2'=2,'a'=2]", "[{'a'}, {}]"},
      {"['a'=2,'b'=2]", "[{'a':(4611686018427387904)4}, {}]"},
      {"['a'=2,'b'=2]", "[{'a':(1)4}, {}]"},
      {"['a'=1048576,'b'=9223372036854775807]", "[{'a'}, {}]"},
      {"['a'=1048576,'b'=17592186044416]", "[{'a'}, {}]"},
      {"['a'=2,'b'=2], device_ids=()", "[{'a'}, {}]"},
      {"['a'=2,'b'=2], device_ids=([2,2]T(0,0))", "[{'a'}, {}]"},
      {"['a'=2,'b'=2], device_ids=([1048576,1]T(0,0))", "[{'a'}, {}]"}};
  for (const auto& [mesh, rows] : odd) {
    CAPTURE(std::string(mesh));
    CAPTURE(std::string(rows));
    Pair other = by_mesh(pair, rows);
    other.before = replaced_everywhere(other.before, "['a'=2,'b'=2]", mesh);
    CHECK(verdict_of(other) == Verdict::Incomplete);
  }
}

TEST_CASE("parts that are manual over one axis of a mesh") {
  // x is cut along both axes; the two devices along b have tiles of one tensor.
  const auto partial = [](const std::string& whole, const std::string& inside,
                          const std::string& lines, const std::string& end) {
    const std::string of = "sharding={mesh['a'=2,'b'=2], ";
    const std::string manual = of + inside + ", manual={'a'}}";
    return "  x = f32[4,8] parameter(0), " + of + whole +
           "}\n  m = f32[2,8] custom-call(x), custom_call_target=\"SPMDFullToShardShape\", " +
           manual + "\n" + lines + "  e = " + end.substr(0, end.find(' ')) + " copy(r), " + manual +
           "\n  ROOT y = " + end.substr(end.find(' ') + 1, end.find(" [") - end.find(' ')) +
           "custom-call(e), custom_call_target=\"SPMDShardToFullShape\", " + of +
           end.substr(end.find(" [") + 1) + "}\n";
  };
  const std::string both = "[{'a'}, {'b'}]";
  const std::string inside = "[{}, {'b'}]";
  const std::string end = "f32[2,8] f32[4,8] [{'a'}, {'b'}]";
  const std::string local = "  m = f32[2,4] parameter(0)\n";
  const std::string root = "  ROOT o = f32[2,4] copy(r)\n";
  const std::string summed = kNegated + sum(kAlongA) + kAdded;
  const std::string swapped = kNegated + kSwapped + kAdded;
  const auto cut = [&](const std::string& lines) {
    return replaced_everywhere(lines, "[2,8]", "[2,4]");
  };
  const auto pair = [&](const std::string& lines) {
    return Pair{partial(both, inside, lines, end), local + cut(lines) + root, "ab -> ab"};
  };
  CHECK(verdict_of(pair(summed)) == Verdict::Accepted);
  CHECK(verdict_of(pair(swapped)) == Verdict::Accepted);
  const std::string gathered =
      fmt::format("  r = f32[4,8] all-gather(m), dimensions={{0}}, {}\n", kAlongA);
  const Pair gather = {
      partial(both, inside, gathered, "f32[4,8] f32[4,8] [{}, {'b'}]"),
      local + replaced_everywhere(gathered, "[4,8]", "[4,4]") + "  ROOT o = f32[4,4] copy(r)\n",
      "ab -> .b"};
  CHECK(verdict_of(gather) == Verdict::Accepted);
  // Rows along both axes: first along a, within it along b.
  const auto rows_of = [&](const std::string& whole, const std::string& tiles) {
    return Pair{partial(whole, tiles, summed, "f32[2,8] f32[4,8] " + whole),
                "  m = f32[1,8] parameter(0)\n" + replaced_everywhere(summed, "[2,8]", "[1,8]") +
                    "  ROOT o = f32[1,8] copy(r)\n",
                "*. -> *."};
  };
  CHECK(verdict_of(rows_of("[{'a','b'}, {}]", "[{'b'}, {}]")) == Verdict::Accepted);
  CHECK(verdict_of(rows_of("[{'b','a'}, {}]", "[{'b'}, {}]")) == Verdict::Incomplete);
  CHECK(verdict_of(rows_of("[{'a','b'}, {}]", "[{}, {}]")) == Verdict::Incomplete);
  const auto incomplete = [&](const Pair& each) {
    CAPTURE(each.before);
    CAPTURE(each.after);
    CHECK(verdict_of(each) == Verdict::Incomplete);
  };
  // What is summed along b is of two tiles that are not the same.
  incomplete({partial(both, inside, summed, end),
              local + cut(kNegated + sum(kAlongB) + kAdded) + root, "ab -> ab"});
  incomplete(pair(kNegated + sum(kAlongB) + kAdded));
  incomplete(
      pair(kNegated +
           replaced_everywhere(kSwapped, "{{0,2},{1,3},{2,0},{3,1}}", "{{0,1},{1,0},{2,3},{3,2}}") +
           kAdded));
  // Tiles that are gathered along the dimension that is cut lie between those of others.
  const std::string wide =
      fmt::format("  r = f32[2,16] all-gather(m), dimensions={{1}}, {}\n", kAlongA);
  incomplete(
      {partial(both, inside, wide, "f32[2,16] f32[2,16] [{}, {'b'}]"),
       local + replaced_everywhere(wide, "[2,16]", "[2,8]") + "  ROOT o = f32[2,8] copy(r)\n",
       "ab -> .b"});
  // Tiles of the part that are not those of the whole, or of other devices.
  incomplete({partial(both, "[{}, {}]", summed, end), local + cut(summed) + root, "ab -> ab"});
  incomplete(
      {partial("[{'b'}, {'a'}]", inside, summed, end), local + cut(summed) + root, "ba -> ab"});
  incomplete({partial(both, inside, summed, end), local + cut(summed) + root, "ba -> ba"});
}

TEST_CASE("what devices compute each for itself is not exchanged as one tensor") {
  const std::string kept = kNegated + "  r = f32[2,8] copy(n)\n";
  const std::vector<std::pair<const char*, Pair>> pairs = {
      {"a sum over the other axis",
       {rows(kNegated + sum(kAlongA) + kAdded), kLocal + kNegated + sum(kAlongB) + kAdded + kRoot,
        "a. -> a."}},
      {"another function",
       {rows(kNegated + sum(kAlongA) + kAdded),
        kLocal + "  n = f32[2,8] exponential(m)\n" + sum(kAlongA) + kAdded + kRoot, "a. -> a."}},
      {"rows of other devices",
       {rows(kNegated + sum(kAlongB) + kAdded), kLocal + kNegated + sum(kAlongB) + kAdded + kRoot,
        "b. -> b."}},
      {"shards that are not those of the part", {rows(kept), kLocal + kept + kRoot, "b. -> a."}},
      {"no shards where all is expected",
       {part(kept) + end("2,8", "2,8", "sharding={replicated}"), kLocal + kept + kRoot,
        "a. -> .."}},
      {"equal along the other axis only",
       {part(kNegated + sum(kAlongB) + "  r = f32[2,8] copy(s)\n") +
            end("2,8", "2,8", "sharding={replicated}"),
        kLocal + kNegated + sum(kAlongB) + "  ROOT r = f32[2,8] copy(s)\n", "a. -> .."}},
      {"an output that differs from device to device",
       {part("  ROOT r = f32[2,8] negate(m)\n"), kLocal + "  ROOT r = f32[2,8] negate(m)\n",
        "a. -> .."}},
      {"copies that differ from device to device",
       {rows(kNumbered + kNegated + kAdded), kLocal + kNumbered + kNegated + kAdded + kRoot,
        "a. -> a."}},
      {"the largest of what differs",
       {rows(kept),
        kLocal + kNegated +
            fmt::format("  r = f32[2,8] all-reduce(n), {}, to_apply=maximum\n", kAlongA) + kRoot,
        "a. -> a."}},
      {"what another device has",
       {rows(kept), kLocal + kNegated + kSwapped + "  r = f32[2,8] copy(s)\n" + kRoot, "a. -> a."}},
      {"what the first device has",
       {rows(kept),
        kLocal + kNegated +
            fmt::format("  g = f32[4,8] all-gather(n), dimensions={{0}}, {}\n"
                        "  r = f32[2,8] slice(g), slice={{[0:2], [0:8]}}\n",
                        kAlongA) +
            kRoot,
        "a. -> a."}},
      {"a sum of parts of what differs",
       {part("  id = u32[] partition-id()\n  f = f32[] convert(id)\n"
             "  k = f32[8,4] parameter(1)\n  u = f32[8] broadcast(f), dimensions={}\n"
             "  d = f32[4] dot(u, k), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
             "  r = f32[4] all-reduce(d), replica_groups={{0,1,2,3}}, channel_id=1, "
             "use_global_device_ids=true, to_apply=add\n") +
            end("4", "4", "sharding={replicated}"),
        "  x = f32[2,8] parameter(0)\n  id = u32[] partition-id()\n  f = f32[] convert(id)\n"
        "  k = f32[4,4] parameter(1)\n  u = f32[4] broadcast(f), dimensions={}\n"
        "  d = f32[4] dot(u, k), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n" +
            fmt::format("  t = f32[4] all-reduce(d), {}, to_apply=add\n", kAlongB) +
            "  ROOT r = f32[4] all-reduce(t), replica_groups={{0,1,2,3}}, channel_id=1, "
            "use_global_device_ids=true, to_apply=add\n",
        "a. b. -> ."}},
  };
  for (const auto& [why, pair] : pairs) {
    CAPTURE(std::string(why));
    CHECK(verdict_of(pair) == Verdict::Incomplete);
    CHECK(verdict_of(by_mesh(pair)) == Verdict::Incomplete);
  }
}

TEST_CASE("branches that communicate are related where all devices take the same one") {
  const std::string computations = "kept {\n  m = f32[2,8] parameter(0)\n" + kNegated +
                                   "  ROOT r = f32[2,8] copy(n)\n}\n"
                                   "summed {\n  m = f32[2,8] parameter(0)\n" +
                                   kNegated + sum(kAlongA) + "  ROOT r = f32[2,8] copy(s)\n}\n";
  const auto pair = [&](const std::string& number) {
    const std::string choice = number +
                               "  i = s32[] convert(d)\n  r = f32[2,8] conditional(i, m, m), "
                               "branch_computations={kept, summed}\n";
    return Pair{rows(choice), kLocal + choice + kRoot, "a. _ -> a.", computations, computations};
  };
  const std::string same = "  d = u32[] parameter(1)\n";
  CHECK(verdict_of(pair(same)) == Verdict::Accepted);
  // By what differs from device to device; also where the other module sums, and then chooses.
  const std::string own_number = "  d = s32[] reshape(k)\n";
  const std::string chosen = own_number + "  z = s32[] constant(0)\n" + kNegated + sum(kAlongA) +
                             "  c = pred[] compare(d, z), direction=EQ\n"
                             "  cs = pred[2,8] broadcast(c), dimensions={}\n"
                             "  r = f32[2,8] select(cs, n, s)\n";
  const std::string taken = own_number +
                            "  r = f32[2,8] conditional(d, m, m), "
                            "branch_computations={kept, summed}\n";
  const std::string cut = "sharding={devices=[2,2]<=[4] last_tile_dim_replicate}";
  const std::string numbers = fmt::format(
      "  ks = s32[2] parameter(1)\n"
      "  kc = s32[2] custom-call(ks), custom_call_target=\"Sharding\", {}\n"
      "  k = s32[1] custom-call(kc), custom_call_target=\"SPMDFullToShardShape\", "
      "sharding={{manual}}\n",
      cut);
  // Nor where both branches are alike: those that wait in one wait for ever.
  const std::string alike = own_number +
                            "  r = f32[2,8] conditional(d, m, m), "
                            "branch_computations={summed, summed}\n";
  const std::string summed = kNegated + sum(kAlongA) + "  r = f32[2,8] copy(s)\n";
  const std::string local_numbers = kLocal + "  k = s32[1] parameter(1)\n";
  CHECK(verdict_of({rows(numbers + alike), local_numbers + summed + kRoot, "a. a -> a.",
                    computations, ""}) == Verdict::Incomplete);
  CHECK(verdict_of({rows(numbers + summed), local_numbers + summed + kRoot, "a. a -> a."}) ==
        Verdict::Accepted);
  for (const bool is_before : {false, true}) {
    for (const bool is_after : {false, true}) {
      const Pair mixed = {
          rows(numbers + (is_before ? taken : chosen)),
          kLocal + "  k = s32[1] parameter(1)\n" + (is_after ? taken : chosen) + kRoot,
          "a. a -> a.", is_before ? computations : "", is_after ? computations : ""};
      CHECK(verdict_of(mixed) == (is_before || is_after ? Verdict::Incomplete : Verdict::Accepted));
    }
  }
}

TEST_CASE("what is gathered along another dimension in between is the same") {
  const auto gathered = [](const char* dimensions) {
    return kNegated + fmt::format(
                          "  g = f32[4,8] all-gather(n), dimensions={{0}}, {}\n"
                          "  p = f32[2,2,8] reshape(g)\n"
                          "  t = f32[2,2,8] transpose(p), dimensions={{{}}}\n"
                          "  r = f32[2,16] reshape(t)\n",
                          kAlongA, dimensions);
  };
  const std::string straight =
      kNegated + fmt::format("  r = f32[2,16] all-gather(n), dimensions={{1}}, {}\n", kAlongA);
  const std::string before =
      part(straight) +
      end("2,16", "4,16", "sharding={devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}");
  const std::string root = "  ROOT o = f32[2,16] copy(r)\n";
  CHECK(verdict_of({before, kLocal + straight + root, "a. -> b."}) == Verdict::Accepted);
  CHECK(verdict_of({before, kLocal + gathered("1,0,2") + root, "a. -> b."}) == Verdict::Accepted);
  CHECK(verdict_of({before, kLocal + gathered("0,1,2") + root, "a. -> b."}) == Verdict::Incomplete);
}

TEST_CASE("a loop in a manual part is related where all devices go on together") {
  const auto loop = [](const std::string& bound) {
    return "loop_body {\n  p = (s32[], f32[2,8]) parameter(0)\n"
           "  i = s32[] get-tuple-element(p), index=0\n"
           "  n = f32[2,8] get-tuple-element(p), index=1\n  one = s32[] constant(1)\n"
           "  next = s32[] add(i, one)\n" +
           kSwapped +
           "  r = f32[2,8] add(n, s)\n  ROOT t = (s32[], f32[2,8]) tuple(next, r)\n}\n"
           "loop_condition {\n  p = (s32[], f32[2,8]) parameter(0)\n"
           "  i = s32[] get-tuple-element(p), index=0\n" +
           bound + "  ROOT c = pred[] compare(i, b), direction=LT\n}\n";
  };
  const std::string lines =
      "  zero = s32[] constant(0)\n  t = (s32[], f32[2,8]) tuple(zero, m)\n"
      "  l = (s32[], f32[2,8]) while(t), condition=loop_condition, body=loop_body\n"
      "  r = f32[2,8] get-tuple-element(l), index=1\n";
  const std::string three = loop("  b = s32[] constant(3)\n");
  const std::string own = loop("  id = u32[] partition-id()\n  b = s32[] convert(id)\n");
  CHECK(verdict_of({rows(lines), kLocal + lines + kRoot, "a. -> a.", three, three}) ==
        Verdict::Accepted);
  CHECK(verdict_of({rows(lines), kLocal + lines + kRoot, "a. -> a.", three,
                    loop("  b = s32[] constant(2)\n")}) == Verdict::Incomplete);
  CHECK(verdict_of({rows(lines), kLocal + lines + kRoot, "a. -> a.", own, own}) ==
        Verdict::Incomplete);
}

}  // namespace
}  // namespace p2::hlo
