// What gathers and scatters promise of their indices: a module may promise what the one before it
// promises of the same indices, or of some of them in their order, and nothing else.

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/hlo/module_relation.h"
#include "proofs/certificate/subject_certificates.h"
#include "tests/hlo/modules.h"
#include "tests/hlo/related_pairs.h"

namespace p2::hlo {
namespace {

constexpr const char* kSorted = ", indices_are_sorted=true";
constexpr const char* kUnique = ", unique_indices=true";

/// A row of x for every batch, at an index of its own, is another one.
std::string written_rows(int batches, const std::string& indices, const std::string& promises) {
  return fmt::format(
      "  x = f32[{0},6,2] parameter(0)\n  i = s32[{0},1] parameter(1)\n"
      "  u = f32[{0},2] parameter(2)\n{1}"
      "  ROOT y = f32[{0},6,2] scatter(x, j, u), update_window_dims={{1}}, "
      "inserted_window_dims={{1}}, scatter_dims_to_operand_dims={{1}}, input_batching_dims={{0}}, "
      "scatter_indices_batching_dims={{0}}, index_vector_dim=1{2}, to_apply=add\n",
      batches, indices, promises);
}
/// The same at vectors of the batch and the index.
std::string expanded_rows(int batches, const std::string& promises) {
  return fmt::format(
      "  x = f32[{0},6,2] parameter(0)\n  i = s32[{0},1] parameter(1)\n"
      "  u = f32[{0},2] parameter(2)\n  n = s32[{0},1] iota(), iota_dimension=0\n"
      "  z = s32[] constant(0)\n  zs = s32[{0},1] broadcast(z), dimensions={{}}\n"
      "  j = s32[{0},3] concatenate(n, i, zs), dimensions={{1}}\n"
      "  v = f32[{0},1,1,2] reshape(u)\n"
      "  ROOT y = f32[{0},6,2] scatter(x, j, v), update_window_dims={{1,2,3}}, "
      "inserted_window_dims={{}}, scatter_dims_to_operand_dims={{0,1,2}}, "
      "index_vector_dim=1{1}, to_apply=add\n",
      batches, promises);
}
std::string as_they_are(int batches) { return fmt::format("  j = s32[{},1] copy(i)\n", batches); }

Pair pair_of(const std::string& before, const std::string& after,
             const std::string& held = "a.. a. a. -> a..") {
  return {before, after, held};
}
bool is_related(const Pair& pair) { return verdict_of(pair) == kernel::Verdict::Accepted; }

std::string promises_in(const Pair& pair) {
  const auto made = related(whole(pair), local(pair), relation_json(pair.held));
  if (made.index() == 1) return "";
  return check_certificate(std::get<0>(made)).reason;
}

}  // namespace

TEST_CASE("a promise follows from the same one before, of all that devices have some of") {
  const std::string both = std::string(kSorted) + kUnique;
  const std::vector<std::string> all = {"", kSorted, kUnique, both};
  for (const std::string& before : all) {
    for (const std::string& after : all) {
      const bool follows = before == both || after.empty() || before == after;
      CAPTURE(before);
      CAPTURE(after);
      const std::string whole = written_rows(4, as_they_are(4), before);
      CHECK(is_related(pair_of(whole, written_rows(2, as_they_are(2), after))) == follows);
      CHECK(is_related(pair_of(whole, expanded_rows(2, after))) == follows);
      CHECK(is_related(pair_of(expanded_rows(4, before), written_rows(2, as_they_are(2), after))) ==
            follows);
    }
  }
  const Pair right =
      pair_of(written_rows(4, as_they_are(4), both), written_rows(2, as_they_are(2), both));
  CHECK(promises_in(right).find("for which indices are as the module before promises") !=
        std::string::npos);
  CHECK(
      promises_in(pair_of(written_rows(4, as_they_are(4), ""), written_rows(2, as_they_are(2), "")))
          .find("promises") == std::string::npos);
}

TEST_CASE("a promise of indices is none of others") {
  const auto clamped = [](int batches) {
    return fmt::format(
        "  z = s32[] constant(0)\n  zs = s32[{0},1] broadcast(z), dimensions={{}}\n"
        "  five = s32[] constant(5)\n  fs = s32[{0},1] broadcast(five), dimensions={{}}\n"
        "  j = s32[{0},1] clamp(zs, i, fs)\n",
        batches);
  };
  const std::string two =
      "  y1 = f32[4,6,2] scatter(x, j, u), update_window_dims={1}, inserted_window_dims={1}, "
      "scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
      "scatter_indices_batching_dims={0}, index_vector_dim=1";
  CHECK(is_related(
      pair_of(written_rows(4, clamped(4), kSorted), written_rows(2, clamped(2), kSorted))));
  CHECK(!is_related(
      pair_of(written_rows(4, as_they_are(4), kSorted), written_rows(2, clamped(2), kSorted))));
  // The other scatter of two promises it.
  const auto pair_of_two = [](int batches, const std::string& first, const std::string& second) {
    std::string text = fmt::format(
        "  x = f32[{0},6,2] parameter(0)\n  i = s32[{0},1] parameter(1)\n"
        "  u = f32[{0},2] parameter(2)\n  k = s32[{0},1] negate(i)\n",
        batches);
    for (const auto& [name, of, indices, promise] :
         {std::tuple("  w", "x", "i", first), std::tuple("  ROOT y", "w", "k", second)})
      text += fmt::format(
          "{1} = f32[{0},6,2] scatter({2}, {3}, u), update_window_dims={{1}}, "
          "inserted_window_dims={{1}}, scatter_dims_to_operand_dims={{1}}, "
          "input_batching_dims={{0}}, scatter_indices_batching_dims={{0}}, index_vector_dim=1{4}, "
          "to_apply=add\n",
          batches, name, of, indices, promise);
    return text;
  };
  for (const std::string promise : {kSorted, kUnique}) {
    CHECK(is_related(pair_of(pair_of_two(4, promise, ""), pair_of_two(2, promise, ""))));
    CHECK(is_related(pair_of(pair_of_two(4, promise, promise), pair_of_two(2, "", promise))));
    CHECK(!is_related(pair_of(pair_of_two(4, promise, ""), pair_of_two(2, promise, promise))));
    CHECK(!is_related(pair_of(pair_of_two(4, promise, ""), pair_of_two(2, "", promise))));
  }
}

TEST_CASE("devices with indices in another order, or one of them twice, keep no promise") {
  const auto gather = [](int size, const std::string& indices, const std::string& promises) {
    return fmt::format(
        "  x = f32[6,2] parameter(0)\n  i = s32[{0},1] parameter(1)\n{1}"
        "  ROOT y = f32[{0},2] gather(x, j), offset_dims={{1}}, collapsed_slice_dims={{0}}, "
        "start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,2}}{2}\n",
        size, indices, promises);
  };
  const std::string held = ".. a. -> a.";
  CHECK(is_related(
      pair_of(gather(4, as_they_are(4), kSorted), gather(2, as_they_are(2), kSorted), held)));
  // A device's first index comes last; the result is put into the order of the indices.
  const auto turned = [](const std::string& promises) {
    return "  x = f32[6,2] parameter(0)\n  i = s32[2,1] parameter(1)\n"
           "  a = s32[1,1] slice(i), slice={[0:1], [0:1]}\n"
           "  b = s32[1,1] slice(i), slice={[1:2], [0:1]}\n"
           "  j = s32[2,1] concatenate(b, a), dimensions={0}\n"
           "  g = f32[2,2] gather(x, j), offset_dims={1}, collapsed_slice_dims={0}, "
           "start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}" +
           promises +
           "\n  c = f32[1,2] slice(g), slice={[1:2], [0:2]}\n"
           "  d = f32[1,2] slice(g), slice={[0:1], [0:2]}\n"
           "  ROOT y = f32[2,2] concatenate(c, d), dimensions={0}\n";
  };
  CHECK(is_related(pair_of(gather(4, as_they_are(4), kSorted), turned(""), held)));
  CHECK(!is_related(pair_of(gather(4, as_they_are(4), kSorted), turned(kSorted), held)));
}

TEST_CASE("a promise that is not always made is none elsewhere") {
  // In a loop, at indices that it does not change.
  const auto loop = [](int batches, const std::string& inside, const std::string& outside) {
    const auto rows = [&](const char* of, const std::string& promises) {
      return fmt::format(
          "scatter({1}, i, u), update_window_dims={{1}}, inserted_window_dims={{1}}, "
          "scatter_dims_to_operand_dims={{1}}, input_batching_dims={{0}}, "
          "scatter_indices_batching_dims={{0}}, index_vector_dim=1{2}, to_apply=add",
          batches, of, promises);
    };
    const std::string tuple = fmt::format("(s32[], f32[{0},6,2], s32[{0},1], f32[{0},2])", batches);
    const auto elements = [&](const char* of) {
      return fmt::format(
          "  c = s32[] get-tuple-element({1}), index=0\n"
          "  x = f32[{0},6,2] get-tuple-element({1}), index=1\n"
          "  i = s32[{0},1] get-tuple-element({1}), index=2\n"
          "  u = f32[{0},2] get-tuple-element({1}), index=3\n",
          batches, of);
    };
    const std::string computations =
        "condition {\n  p = " + tuple + " parameter(0)\n" + elements("p") +
        "  t = s32[] constant(3)\n  ROOT l = pred[] compare(c, t), direction=LT\n}\n\nbody {\n"
        "  p = " +
        tuple + " parameter(0)\n" + elements("p") + "  one = s32[] constant(1)\n" +
        "  d = s32[] add(c, one)\n" +
        fmt::format("  s = f32[{},6,2] {}\n", batches, rows("x", inside)) + "  ROOT r = " + tuple +
        " tuple(d, s, i, u)\n}\n\n";
    const std::string entry = fmt::format(
        "  x = f32[{0},6,2] parameter(0)\n  i = s32[{0},1] parameter(1)\n"
        "  u = f32[{0},2] parameter(2)\n  n = s32[] parameter(3)\n"
        "  b = {1} tuple(n, x, i, u)\n  w = {1} while(b), condition=condition, body=body\n"
        "  e = f32[{0},6,2] get-tuple-element(w), index=1\n  ROOT y = f32[{0},6,2] {2}\n",
        batches, tuple, rows("e", outside));
    return std::pair(entry, computations);
  };
  const auto related_loops = [&](const std::pair<std::string, std::string>& promises_before,
                                 const std::pair<std::string, std::string>& promises_after) {
    const auto before = loop(4, promises_before.first, promises_before.second);
    const auto after = loop(2, promises_after.first, promises_after.second);
    return is_related(
        {before.first, after.first, "a.. a. a. _ -> a..", before.second, after.second});
  };
  CHECK(related_loops({"", ""}, {"", ""}));
  CHECK(related_loops({kUnique, ""}, {kUnique, ""}));
  CHECK(related_loops({"", kUnique}, {"", kUnique}));
  CHECK(!related_loops({kUnique, ""}, {"", kUnique}));
  // What is promised in any case is so in the loop, too.
  CHECK(related_loops({"", kUnique}, {kUnique, ""}));
  // In a branch nobody is sure to take.
  const auto branch = [](int batches, const std::string& inside, const std::string& outside) {
    const std::string tuple = fmt::format("(f32[{0},6,2], s32[{0},1], f32[{0},2])", batches);
    const auto rows = [&](const std::string& promises) {
      return fmt::format(
          "f32[{0},6,2] scatter(x, i, u), update_window_dims={{1}}, inserted_window_dims={{1}}, "
          "scatter_dims_to_operand_dims={{1}}, input_batching_dims={{0}}, "
          "scatter_indices_batching_dims={{0}}, index_vector_dim=1{1}, to_apply=add\n",
          batches, promises);
    };
    const auto branch_of = [&](const std::string& name, const std::string& root) {
      return name + " {\n  p = " + tuple + " parameter(0)\n" +
             fmt::format(
                 "  x = f32[{0},6,2] get-tuple-element(p), index=0\n"
                 "  i = s32[{0},1] get-tuple-element(p), index=1\n"
                 "  u = f32[{0},2] get-tuple-element(p), index=2\n  ROOT r = {1}}}\n\n",
                 batches, root);
    };
    const std::string entry = fmt::format(
        "  x = f32[{0},6,2] parameter(0)\n  i = s32[{0},1] parameter(1)\n"
        "  u = f32[{0},2] parameter(2)\n  n = pred[] parameter(3)\n  b = {1} tuple(x, i, u)\n"
        "  c = f32[{0},6,2] conditional(n, b, b), true_computation=on, false_computation=off\n"
        "  s = {2}  ROOT y = f32[{0},6,2] add(c, s)\n",
        batches, tuple, rows(outside));
    return std::pair(entry, branch_of("on", rows(inside)) +
                                branch_of("off", fmt::format("f32[{0},6,2] negate(x)\n", batches)));
  };
  const auto related_branches = [&](const std::pair<std::string, std::string>& promises_before,
                                    const std::pair<std::string, std::string>& promises_after) {
    const auto before = branch(4, promises_before.first, promises_before.second);
    const auto after = branch(2, promises_after.first, promises_after.second);
    return is_related(
        {before.first, after.first, "a.. a. a. _ -> a..", before.second, after.second});
  };
  CHECK(related_branches({"", ""}, {"", ""}));
  CHECK(related_branches({"", kUnique}, {"", kUnique}));
  CHECK(!related_branches({kUnique, ""}, {"", kUnique}));
}

TEST_CASE("a promise that no output needs, or that only a loop's body makes, is none") {
  const auto gather = [](const char* promise) {
    return std::string("gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, ") +
           "start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}" + promise + "\n";
  };
  const auto two = [&](int size, const char* unused, const char* used) {
    return fmt::format("  x = f32[6,2] parameter(0)\n  i = s32[{0},1] parameter(1)\n", size) +
           fmt::format("  d = f32[{},2] ", size) + gather(unused) +
           fmt::format("  ROOT y = f32[{},2] ", size) + gather(used);
  };
  const std::string held = ".. a. -> a.";
  CHECK(is_related(pair_of(two(4, "", kSorted), two(2, "", kSorted), held)));
  CHECK(!is_related(pair_of(two(4, kSorted, ""), two(2, "", kSorted), held)));
  // The condition is executed once more.
  const auto loop = [&](const char* in_condition, const char* in_body) {
    const std::string tuple = "(f32[3,2], f32[6,2], s32[3,1])";
    const std::string elements = "  p = " + tuple +
                                 " parameter(0)\n  y = f32[3,2] get-tuple-element(p), index=0\n"
                                 "  x = f32[6,2] get-tuple-element(p), index=1\n"
                                 "  i = s32[3,1] get-tuple-element(p), index=2\n"
                                 "  g = f32[3,2] ";
    const std::string computations =
        "condition {\n" + elements + gather(in_condition) +
        "  z = f32[] constant(0)\n  a = f32[3,2] add(g, y)\n"
        "  s = f32[] reduce(a, z), dimensions={0,1}, to_apply=add\n"
        "  h = f32[] constant(100)\n  ROOT r = pred[] compare(s, h), direction=LT\n}\n\nbody {\n" +
        elements + gather(in_body) + "  o = f32[3,2] multiply(g, g)\n  a = f32[3,2] add(y, o)\n" +
        "  ROOT r = " + tuple + " tuple(a, x, i)\n}\n\n";
    const std::string entry =
        "  y = f32[3,2] parameter(0)\n  x = f32[6,2] parameter(1)\n  i = s32[3,1] parameter(2)\n"
        "  b = " +
        tuple + " tuple(y, x, i)\n  w = " + tuple +
        " while(b), condition=condition, body=body\n"
        "  ROOT e = f32[3,2] get-tuple-element(w), index=0\n";
    return std::pair(entry, computations);
  };
  const auto are_related = [](const std::pair<std::string, std::string>& before,
                              const std::pair<std::string, std::string>& after) {
    return is_related({before.first, after.first, ".. .. .. -> ..", before.second, after.second});
  };
  CHECK(are_related(loop("", ""), loop("", "")));
  CHECK(are_related(loop("", kSorted), loop("", kSorted)));
  CHECK(!are_related(loop("", kSorted), loop(kSorted, "")));
  CHECK(!are_related(loop("", kSorted), loop(kSorted, kSorted)));
}

TEST_CASE("the module that is not partitioned promises nothing where it comes after") {
  const Devices devices{1, 4};
  const auto is_reversed_related = [&](const std::string& single, const std::string& partitioned) {
    const Pair pair = pair_of(single, partitioned);
    ModuleRelation relation =
        read_relation("relation.json", relation_json(pair.held), *module_of(whole(pair)),
                      *module_of(local(pair)), devices);
    std::swap(relation.before, relation.after);
    return related_certificate({local(pair), whole(pair)}, relation, devices, {}, {}).index() == 0;
  };
  CHECK(is_reversed_related(written_rows(4, as_they_are(4), ""),
                            written_rows(2, as_they_are(2), "")));
  const std::string none = written_rows(4, as_they_are(4), "");
  const std::string promised = written_rows(4, as_they_are(4), kUnique);
  CHECK(!is_reversed_related(promised, written_rows(2, as_they_are(2), "")));
  CHECK(!is_reversed_related(promised, written_rows(2, as_they_are(2), kUnique)));
  CHECK(!is_reversed_related(none, written_rows(2, as_they_are(2), kUnique)));
}

}  // namespace p2::hlo
