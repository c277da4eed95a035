#include "tests/hlo/related_pairs.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/hlo/module_relation.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/claims.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {

std::string relation_json(const std::string& held) {
  std::string lists[2];
  int side = 0;
  int number = 0;
  for (std::size_t at = 0; at < held.size();) {
    const std::size_t end = std::min(held.find(' ', at), held.size());
    const std::string word = held.substr(at, end - at);
    at = end + 1;
    if (word == "->") {
      side = 1;
      number = 0;
      continue;
    }
    std::string dims;
    std::string sum;
    for (std::size_t k = 0; k < word.size(); ++k) {
      if (word[k] == '+') {
        sum = fmt::format(",\"sum\":[\"{}\"]", word[++k]);
        continue;
      }
      if (word[k] == '_') continue;  // a scalar
      dims += dims.empty() ? "" : ",";
      dims += word[k] == '.'   ? "[]"
              : word[k] == '*' ? "[\"a\",\"b\"]"
                               : fmt::format("[\"{}\"]", word[k]);
    }
    lists[side] += fmt::format("{}\"{}\":{{\"after\":{},\"relation\":{{\"dims\":[{}]{}}}}}",
                               number == 0 ? "" : ",", number, number, dims, sum);
    ++number;
  }
  return fmt::format(
      "{{\"format\":\"p2-relation/1\",\"devices\":4,\"mesh\":{{\"a\":2,\"b\":2}},\"inputs\":{{{}}},"
      "\"outputs\":{{{}}}}}",
      lists[0], lists[1]);
}

std::variant<CertificateFiles, std::string> related_by_shardings(const CertifiedModules& modules,
                                                                 const Devices& devices) {
  const ModuleRelation relation =
      relation_of(*module_of(modules.before), *module_of(modules.after), devices);
  return related_certificate(modules, relation, devices, {}, {});
}

std::variant<CertificateFiles, std::string> related(const std::string& before,
                                                    const std::string& after,
                                                    const std::string& relation, int partitions) {
  const Devices devices{1, partitions};
  const ModuleRelation read =
      read_relation("relation.json", relation, *module_of(before), *module_of(after), devices);
  return related_certificate({before, after}, read, devices, {}, {});
}

kernel::Verdict executed(const CertificateFiles& files) {
  CertificateFiles problem{{"problem.json", files.at("problem.json")}};
  add_manifest("modules-equal", {}, problem);
  if (check_certificate(problem).verdict == kernel::Verdict::Accepted)
    return kernel::Verdict::Accepted;
  try {
    return kernel::differing_run(problem, 2).empty() ? kernel::Verdict::Incomplete
                                                     : kernel::Verdict::Rejected;
  } catch (const kernel::CheckFailure&) {
    return kernel::Verdict::Incomplete;
  }
}

namespace {

std::string with(std::string text, const std::string& computations) {
  return text.insert(text.find("ENTRY"), computations);
}

}  // namespace

kernel::Verdict verdict_of(const Pair& pair) {
  const auto made = related(whole(pair), local(pair), relation_json(pair.held));
  if (made.index() == 1) return kernel::Verdict::Incomplete;
  CHECK(executed(std::get<0>(made)) != kernel::Verdict::Rejected);
  return kernel::Verdict::Accepted;
}

void check_related(const std::vector<Pair>& pairs, const std::vector<Change>& changes) {
  for (const Pair& each : pairs) {
    CAPTURE(each.after);
    CHECK(verdict_of(each) == kernel::Verdict::Accepted);
  }
  for (const Change& each : changes) {
    Pair wrong = pairs.at(each.pair);
    const std::size_t at = wrong.after.find(each.from);
    REQUIRE(at != std::string::npos);
    wrong.after.replace(at, std::string(each.from).size(), each.to);
    CAPTURE(wrong.after);
    CHECK(verdict_of(wrong) == kernel::Verdict::Incomplete);
  }
}

std::string whole(const Pair& pair) {
  return with(before_text(pair.before), pair.computations_before);
}
std::string local(const Pair& pair) {
  return with(after_text(pair.after, 4), pair.computations_after);
}

namespace {

/// A table cut by rows, looked up at a table of indices, which is made a list of slices; `rounded`
/// is what makes the result of `g` before, `own` what makes `f` of the slices `g`.
Pair looked_up_in_rows(const std::string& rounded = "", const std::string& own = "") {
  return {
      "  x = f32[4,8] parameter(0)\n  i = s32[2,2] parameter(1)\n"
      "  j = s32[2,2,1] reshape(i)\n  " +
          std::string(rounded.empty() ? "ROOT y" : "g") +
          " = f32[2,2,8] gather(x, j), offset_dims={2}, collapsed_slice_dims={0}, "
          "start_index_map={0}, index_vector_dim=2, slice_sizes={1,8}\n" +
          rounded,
      "  x = f32[2,8] parameter(0)\n  i = s32[2,2] parameter(1)\n"
      "  z = s32[] constant(0)\n  zs = s32[2,2] broadcast(z), dimensions={}\n"
      "  h = s32[] constant(3)\n  hs = s32[2,2] broadcast(h), dimensions={}\n"
      "  c = s32[2,2] clamp(zs, i, hs)\n"
      "  id = u32[] partition-id()\n  t = s32[4] constant({0,0,2,2})\n"
      "  d = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n  r = s32[] reshape(d)\n"
      "  o = s32[2,2] broadcast(r), dimensions={}\n  e = s32[] constant(1)\n"
      "  re = s32[] add(r, e)\n  q = s32[2,2] broadcast(re), dimensions={}\n"
      "  lt = pred[2,2] compare(c, o), direction=LT\n"
      "  gt = pred[2,2] compare(c, q), direction=GT\n  or = pred[2,2] or(lt, gt)\n"
      "  m = pred[2,2,8] broadcast(or), dimensions={0,1}\n"
      "  s = s32[2,2] subtract(c, o)\n  l = s32[4,1] reshape(s)\n"
      "  g = f32[4,1,8] gather(x, l), offset_dims={1,2}, collapsed_slice_dims={}, "
      "start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}\n" +
          own + "  gr = f32[2,2,8] reshape(" + (own.empty() ? "g" : "f") +
          ")\n"
          "  fz = f32[] constant(0)\n  zb = f32[2,2,8] broadcast(fz), dimensions={}\n"
          "  k = f32[2,2,8] select(m, zb, gr)\n  ROOT y = f32[2,2,8] all-reduce(k), " +
          kAlongA + ", to_apply=add\n",
      "a. .. -> ..."};
}

}  // namespace

std::vector<Pair> looked_up_pairs() {
  const std::string sum_a = fmt::format("{}, to_apply=add\n", kAlongA);
  return {
      // a table cut by rows, looked up at a table of indices, which is made a list of slices
      looked_up_in_rows(),
      // how often every index occurs
      {"  i = s32[4,1] parameter(0)\n  z = f32[] constant(0)\n"
       "  zs = f32[6] broadcast(z), dimensions={}\n  o = f32[] constant(1)\n"
       "  os = f32[4] broadcast(o), dimensions={}\n"
       "  ROOT y = f32[6] scatter(zs, i, os), update_window_dims={}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n",
       "  i = s32[2,1] parameter(0)\n  z = f32[] constant(0)\n"
       "  zs = f32[6] broadcast(z), dimensions={}\n  o = f32[] constant(1)\n"
       "  os = f32[2] broadcast(o), dimensions={}\n"
       "  s = f32[6] scatter(zs, i, os), update_window_dims={}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n"
       "  ROOT y = f32[6] all-reduce(s), " +
           sum_a,
       "a. -> ."},
      // at a table of indices and at a list
      {"  x = f32[8,4] parameter(0)\n  i = s32[2,3] parameter(1)\n"
       "  ROOT y = f32[2,3,4] gather(x, i), offset_dims={2}, collapsed_slice_dims={0}, "
       "start_index_map={0}, index_vector_dim=2, slice_sizes={1,4}\n",
       "  x = f32[8,4] parameter(0)\n  i = s32[2,3] parameter(1)\n  l = s32[6,1] reshape(i)\n"
       "  g = f32[6,4] gather(x, l), offset_dims={1}, collapsed_slice_dims={0}, "
       "start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}\n"
       "  ROOT y = f32[2,3,4] reshape(g)\n",
       ".. .. -> ..."},
      // a table cut by rows, which are rounded when they are looked up
      looked_up_in_rows("  b = bf16[2,2,8] convert(g)\n  ROOT y = f32[2,2,8] convert(b)\n",
                        "  b = bf16[4,1,8] convert(g)\n  f = f32[4,1,8] convert(b)\n"),
  };
}

std::vector<Pair> right_pairs() {
  const std::string x = "  x = f32[4,8] parameter(0)\n";
  const std::string at_rows = "  x = f32[2,8] parameter(0)\n";
  const std::string at_columns = "  x = f32[4,4] parameter(0)\n";
  const std::string dot = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  const std::string sum_a = fmt::format("{}, to_apply=add\n", kAlongA);
  const std::string sum_b = fmt::format("{}, to_apply=add\n", kAlongB);
  std::vector<Pair> all = {
      // elementwise, with a free broadcast and a scalar condition
      {x + "  c = f32[] constant(2)\n  b = f32[4,8] broadcast(c), dimensions={}\n"
           "  ROOT y = f32[4,8] multiply(x, b)\n",
       at_rows + "  c = f32[] constant(2)\n  b = f32[2,8] broadcast(c), dimensions={}\n"
                 "  ROOT y = f32[2,8] multiply(x, b)\n",
       "a. -> a."},
      {x + "  p = pred[] parameter(1)\n  n = f32[4,8] negate(x)\n"
           "  ROOT y = f32[4,8] select(p, x, n)\n",
       at_rows + "  p = pred[] parameter(1)\n  n = f32[2,8] negate(x)\n"
                 "  ROOT y = f32[2,8] select(p, x, n)\n",
       "a. _ -> a."},
      // a contraction cut on both sides, and what may be done with its parts
      {x + "  w = f32[8,4] parameter(1)\n  d = f32[4,4] dot(x, w)" + dot +
           "  n = f32[4,4] negate(d)\n  ROOT y = f32[4,4] transpose(n), dimensions={1,0}\n",
       at_columns + "  w = f32[4,4] parameter(1)\n  d = f32[4,4] dot(x, w)" + dot +
           "  n = f32[4,4] negate(d)\n  t = f32[4,4] transpose(n), dimensions={1,0}\n"
           "  ROOT y = f32[4,4] all-reduce(t), " +
           sum_b,
       ".b b. -> .."},
      {x + "  w = f32[8,4] parameter(1)\n  ROOT d = f32[4,4] dot(x, w)" + dot,
       at_columns + "  w = f32[4,4] parameter(1)\n  d = f32[4,4] dot(x, w)" + dot +
           "  ROOT y = f32[4,2] reduce-scatter(d), dimensions={1}, " + sum_b,
       ".b b. -> .b"},
      {x + "  w = f32[8,4] parameter(1)\n  ROOT d = f32[4,4] dot(x, w)" + dot,
       at_columns + "  w = f32[4,4] parameter(1)\n  ROOT d = f32[4,4] dot(x, w)" + dot,
       ".b b. -> ..+b"},
      // two levels
      {x + "  w = f32[8,4] parameter(1)\n  ROOT d = f32[4,4] dot(x, w)" + dot,
       "  x = f32[4,2] parameter(0)\n  w = f32[2,4] parameter(1)\n  d = f32[4,4] dot(x, w)" + dot +
           "  e = f32[4,4] all-reduce(d), " + sum_b + "  ROOT y = f32[4,4] all-reduce(e), " +
           fmt::format("{}, to_apply=add\n", kAlongA),
       ".* *. -> .."},
      // reductions
      {x + "  z = f32[] constant(0)\n  ROOT y = f32[4] reduce(x, z), dimensions={1}, "
           "to_apply=add\n",
       at_columns +
           "  z = f32[] constant(0)\n"
           "  r = f32[4] reduce(x, z), dimensions={1}, to_apply=add\n"
           "  ROOT y = f32[4] all-reduce(r), " +
           sum_b,
       ".b -> ."},
      {x + "  z = f32[] constant(-3)\n"
           "  ROOT y = f32[4] reduce(x, z), dimensions={1}, to_apply=maximum\n",
       at_columns +
           "  z = f32[] constant(-3)\n"
           "  r = f32[4] reduce(x, z), dimensions={1}, to_apply=maximum\n"
           "  ROOT y = f32[4] all-reduce(r), " +
           fmt::format("{}, to_apply=maximum\n", kAlongB),
       ".b -> ."},
      // movement
      {x + "  r = f32[2,2,8] reshape(x)\n  ROOT t = f32[8,2,2] transpose(r), dimensions={2,0,1}\n",
       at_rows + "  r = f32[1,2,8] reshape(x)\n  ROOT t = f32[8,1,2] transpose(r), "
                 "dimensions={2,0,1}\n",
       "a. -> .a."},
      {x + "  s = f32[4,2] slice(x), slice={[0:4], [3:5]}\n"
           "  ROOT y = f32[4,4] concatenate(s, s), dimensions={1}\n",
       at_rows + "  s = f32[2,2] slice(x), slice={[0:2], [3:5]}\n"
                 "  ROOT y = f32[2,4] concatenate(s, s), dimensions={1}\n",
       "a. -> a."},
      {x + "  z = f32[] constant(1)\n  ROOT y = f32[4,10] pad(x, z), padding=0_0x1_1\n",
       at_rows + "  z = f32[] constant(1)\n  ROOT y = f32[2,10] pad(x, z), padding=0_0x1_1\n",
       "a. -> a."},
      {x + "  ROOT y = f32[4,8] reverse(x), dimensions={1}\n",
       at_rows + "  ROOT y = f32[2,8] reverse(x), dimensions={1}\n", "a. -> a."},
      // gathers and permutations of devices, elements at a device's number
      {x + "  ROOT y = f32[4,8] negate(x)\n",
       at_rows + "  g = f32[4,8] all-gather(x), dimensions={0}, " + kAlongA +
           "\n  ROOT y = f32[4,8] negate(g)\n",
       "a. -> .."},
      {x + "  ROOT y = f32[4,8] negate(x)\n",
       at_rows + "  p = f32[2,8] collective-permute(x), channel_id=1, "
                 "source_target_pairs={{0,0},{1,2},{2,1},{3,3}}\n  ROOT y = f32[2,8] negate(p)\n",
       "a. -> b."},
      {x + "  ROOT y = f32[4,8] negate(x)\n",
       x + "  id = u32[] partition-id()\n  t = s32[4] constant({0,0,2,2})\n"
           "  d = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n"
           "  r = s32[] reshape(d)\n  z = s32[] constant(0)\n"
           "  s = f32[2,8] dynamic-slice(x, r, z), dynamic_slice_sizes={2,8}\n"
           "  ROOT y = f32[2,8] negate(s)\n",
       ".. -> a."},
      // slices at data
      {x + "  i = s32[] parameter(1)\n  z = s32[] constant(0)\n"
           "  ROOT y = f32[4,3] dynamic-slice(x, z, i), dynamic_slice_sizes={4,3}\n",
       at_rows + "  i = s32[] parameter(1)\n  z = s32[] constant(0)\n"
                 "  ROOT y = f32[2,3] dynamic-slice(x, z, i), dynamic_slice_sizes={2,3}\n",
       "a. _ -> a."},
      {x + "  i = s32[] parameter(1)\n  u = f32[4,2] parameter(2)\n  z = s32[] constant(0)\n"
           "  ROOT y = f32[4,8] dynamic-update-slice(x, u, z, i)\n",
       at_rows + "  i = s32[] parameter(1)\n  u = f32[2,2] parameter(2)\n  z = s32[] constant(0)\n"
                 "  ROOT y = f32[2,8] dynamic-update-slice(x, u, z, i)\n",
       "a. _ a. -> a."},
      // an iota is cut where it is counted from a device's number
      {x + "  i = s32[4] iota(), iota_dimension=0\n  f = f32[4] convert(i)\n"
           "  b = f32[4,8] broadcast(f), dimensions={0}\n  ROOT y = f32[4,8] add(x, b)\n",
       at_rows + "  id = u32[] partition-id()\n  t = s32[4] constant({0,0,2,2})\n"
                 "  d = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n"
                 "  r = s32[] reshape(d)\n  o = s32[2] broadcast(r), dimensions={}\n"
                 "  i = s32[2] iota(), iota_dimension=0\n  s = s32[2] add(i, o)\n"
                 "  f = f32[2] convert(s)\n  b = f32[2,8] broadcast(f), dimensions={0}\n"
                 "  ROOT y = f32[2,8] add(x, b)\n",
       "a. -> a."},
      // a table cut by rows, and one cut by columns
      {"  x = f32[4,8] parameter(0)\n  i = s32[3,1] parameter(1)\n"
       "  ROOT y = f32[3,8] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
       "start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}\n",
       "  x = f32[2,8] parameter(0)\n  i = s32[3,1] parameter(1)\n"
       "  z = s32[] constant(0)\n  zs = s32[3,1] broadcast(z), dimensions={}\n"
       "  h = s32[] constant(3)\n  hs = s32[3,1] broadcast(h), dimensions={}\n"
       "  c = s32[3,1] clamp(zs, i, hs)\n"
       "  id = u32[] partition-id()\n  t = s32[4] constant({0,0,2,2})\n"
       "  d = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n  r = s32[] reshape(d)\n"
       "  o = s32[3,1] broadcast(r), dimensions={}\n  e = s32[] constant(1)\n"
       "  re = s32[] add(r, e)\n  q = s32[3,1] broadcast(re), dimensions={}\n"
       "  lt = pred[3,1] compare(c, o), direction=LT\n"
       "  gt = pred[3,1] compare(c, q), direction=GT\n  or = pred[3,1] or(lt, gt)\n"
       "  rs = pred[3] reshape(or)\n  m = pred[3,8] broadcast(rs), dimensions={0}\n"
       "  s = s32[3,1] subtract(c, o)\n"
       "  g = f32[3,8] gather(x, s), offset_dims={1}, collapsed_slice_dims={0}, "
       "start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}\n"
       "  fz = f32[] constant(0)\n  zb = f32[3,8] broadcast(fz), dimensions={}\n"
       "  k = f32[3,8] select(m, zb, g)\n  ROOT y = f32[3,8] all-reduce(k), " +
           sum_a,
       "a. .. -> .."},
      {"  x = f32[4,8] parameter(0)\n  i = s32[4,1] parameter(1)\n"
       "  ROOT y = f32[4,8] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
       "start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}\n",
       "  x = f32[4,4] parameter(0)\n  i = s32[2,1] parameter(1)\n"
       "  ROOT y = f32[2,4] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
       "start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}\n",
       ".b a. -> ab"},
      // its gradient: updates cut, columns cut, rows cut
      {"  i = s32[4,1] parameter(0)\n  u = f32[4,8] parameter(1)\n  z = f32[] constant(0)\n"
       "  x = f32[4,8] broadcast(z), dimensions={}\n"
       "  ROOT y = f32[4,8] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n",
       "  i = s32[2,1] parameter(0)\n  u = f32[2,4] parameter(1)\n  z = f32[] constant(0)\n"
       "  x = f32[4,4] broadcast(z), dimensions={}\n"
       "  s = f32[4,4] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n"
       "  ROOT y = f32[4,4] all-reduce(s), " +
           sum_a,
       "a. ab -> .b"},
      {"  i = s32[3,1] parameter(0)\n  u = f32[3,8] parameter(1)\n  x = f32[4,8] parameter(2)\n"
       "  ROOT y = f32[4,8] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n",
       "  i = s32[3,1] parameter(0)\n  u = f32[3,8] parameter(1)\n  x = f32[2,8] parameter(2)\n"
       "  id = u32[] partition-id()\n  t = s32[4] constant({0,0,2,2})\n"
       "  d = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n  r = s32[] reshape(d)\n"
       "  o = s32[3,1] broadcast(r), dimensions={}\n  s = s32[3,1] subtract(i, o)\n"
       "  ROOT y = f32[2,8] scatter(x, s, u), update_window_dims={1}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n",
       ".. .. a. -> a."},
      // what updates are added to counts on one device of those that are summed
      {"  i = s32[4,1] parameter(0)\n  u = f32[4,8] parameter(1)\n  x = f32[4,8] parameter(2)\n"
       "  ROOT y = f32[4,8] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n",
       "  i = s32[2,1] parameter(0)\n  u = f32[2,8] parameter(1)\n  x = f32[4,8] parameter(2)\n"
       "  id = u32[] partition-id()\n  t = pred[4] constant({0,0,1,1})\n"
       "  d = pred[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n  r = pred[] reshape(d)\n"
       "  o = pred[4,8] broadcast(r), dimensions={}\n  z = f32[] constant(0)\n"
       "  zb = f32[4,8] broadcast(z), dimensions={}\n  k = f32[4,8] select(o, zb, x)\n"
       "  s = f32[4,8] scatter(k, i, u), update_window_dims={1}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n"
       "  ROOT y = f32[4,8] all-reduce(s), " +
           sum_a,
       "a. a. .. -> .."},
      // rows cut, and updates cut by devices beside those that cut the rows
      {"  i = s32[4,1] parameter(0)\n  u = f32[4,8] parameter(1)\n  z = f32[] constant(0)\n"
       "  x = f32[4,8] broadcast(z), dimensions={}\n"
       "  ROOT y = f32[4,8] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n",
       "  i = s32[2,1] parameter(0)\n  u = f32[2,8] parameter(1)\n  z = f32[] constant(0)\n"
       "  x = f32[2,8] broadcast(z), dimensions={}\n"
       "  id = u32[] partition-id()\n  t = s32[4] constant({0,2,0,2})\n"
       "  d = s32[1] dynamic-slice(t, id), dynamic_slice_sizes={1}\n  r = s32[] reshape(d)\n"
       "  o = s32[2,1] broadcast(r), dimensions={}\n  j = s32[2,1] subtract(i, o)\n"
       "  s = f32[2,8] scatter(x, j, u), update_window_dims={1}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n"
       "  ROOT y = f32[2,8] all-reduce(s), " +
           sum_a,
       "a. a. -> b."},
      // what has no rule, on whole tensors
      {x + "  ROOT y = f32[4,8] sort(x), dimensions={1}, to_apply=add\n",
       x + "  ROOT y = f32[4,8] sort(x), dimensions={1}, to_apply=add\n", ".. -> .."},
  };
  for (Pair& pair : loop_pairs()) all.push_back(std::move(pair));
  for (Pair& pair : moved_pairs()) all.push_back(std::move(pair));
  for (Pair& pair : looked_up_pairs()) all.push_back(std::move(pair));
  return all;
}

}  // namespace p2::hlo
