#include <map>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/hlo/modules.h"
#include "tests/shared_data.h"

// What the manifest of the samples says of each, where they are beside the repository.

namespace p2::hlo {
namespace {

std::optional<std::string> sample(const std::string& name) { return shared_text("hlo/" + name); }

ComparisonOptions devices(std::int64_t replicas, std::int64_t partitions) {
  return {{replicas, partitions}, false};
}

const char* const kAdd =
    "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n";

std::string with_add(const std::string& entry) {
  return std::string("HloModule after\n") + kAdd + "ENTRY main {\n" + entry + "}\n";
}

void check_rewrite(const char* name, const std::string& after, const ComparisonOptions& options,
                   const char* verdict) {
  const auto before = sample(name);
  if (!before) return;
  INFO(std::string(name));
  const ModuleDecision found = compared(*before, after, options);
  INFO((found.violation ? found.violation->explanation : found.reason));
  CHECK(summary(found) == std::string(verdict));
}

std::string each_replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// A copy in place of every all-reduce over the groups.
std::string without_reductions_over(std::string text, const std::string& groups) {
  const std::string named = ", replica_groups=" + groups;
  for (std::size_t at = 0; (at = text.find(named, at)) != std::string::npos;) {
    const std::size_t begin = text.rfind(" all-reduce(", at);
    const std::size_t operand = text.find('(', begin);
    const std::string copy = " copy" + text.substr(operand, text.find(')', operand) + 1 - operand);
    const std::size_t reduction = text.find("to_apply=", at);
    text.replace(begin, text.find_first_of(",\n", reduction) - begin, copy);
    at = begin + copy.size();
  }
  return text;
}

}  // namespace

TEST_CASE("every sample of XLA is put together well") {
  const std::map<std::string, std::pair<ComparisonOptions, std::size_t>> samples = {
      {"xla/ardecomp_grouped.hlo", {devices(2, 1), 1}},
      {"xla/blueconnect_neg_indivisible.hlo", {devices(8, 1), 1}},
      {"xla/blueconnect_onestage.hlo", {devices(8, 1), 1}},
      {"xla/blueconnect_partitions.after.hlo", {devices(1, 8), 3}},
      {"xla/blueconnect_partitions.hlo", {devices(1, 8), 1}},
      {"xla/folder_chain3.hlo", {devices(8, 1), 3}},
      {"xla/folder_neg_same_groups.hlo", {devices(4, 1), 2}},
      {"xla/folder_simple.hlo", {devices(4, 1), 2}},
      {"xla/reassoc_ds.hlo", {devices(4, 1), 3}},
      {"xla/rscreator_ar_ds_ar.hlo", {devices(2, 8), 2}},
      {"xla/rscreator_orthogonal.hlo", {devices(2, 4), 1}},
      {"xla/splitter_root.hlo", {devices(1, 8), 2}},
      {"xla/syntax_ag_iota_transpose.hlo", {devices(30, 1), 1}},
      {"xla/syntax_ar_iota.hlo", {devices(20, 1), 1}},
      {"xla/syntax_ar_meshaxes.hlo", {devices(4, 1), 1}},
      {"xla/syntax_ar_subgroups.hlo", {devices(4, 1), 1}},
      {"xla/syntax_collective_broadcast.hlo", {devices(4, 1), 1}},
      {"xla/syntax_rs.hlo", {devices(2, 1), 1}},
      {"real_models/llama31_70b_bf16_16x8.ar_ds_ar.hlo", {devices(1, 128), 18}}};
  for (const auto& [name, expected] : samples) {
    const auto text = sample(name);
    if (!text) continue;
    INFO(name);
    const ModuleDecision decision = check_well_formed(module_of(*text), expected.first.devices);
    CHECK(summary(decision) == "valid");
    CHECK(decision.collectives.size() == expected.second);
    CHECK(summary(compared(*text, *text, expected.first)) == "valid");
  }
}

TEST_CASE(
    "what the passes of XLA make of the samples is equal, and what they must not make is not") {
  if (const auto after = sample("xla/blueconnect_partitions.after.hlo")) {
    check_rewrite("xla/blueconnect_partitions.hlo", *after, {}, "valid");
  }
  const std::string by_host = with_add(
      "  p = f32[4,4] parameter(0)\n  flat = f32[16] bitcast(p)\n"
      "  rs = f32[4] reduce-scatter(flat), replica_groups={{0,1,2,3},{4,5,6,7}}, dimensions={0}, "
      "to_apply=add\n"
      "  ar = f32[4] all-reduce(rs), replica_groups={{0,4},{1,5},{2,6},{3,7}}, to_apply=add\n"
      "  ag = f32[16] all-gather(ar), replica_groups={{0,1,2,3},{4,5,6,7}}, dimensions={0}\n"
      "  ROOT out = f32[4,4] bitcast(ag)\n");
  check_rewrite("xla/blueconnect_onestage.hlo", by_host, devices(8, 1), "valid");
  check_rewrite("xla/blueconnect_neg_indivisible.hlo",
                with_add("  p = f32[4,4] parameter(0)\n  q = f32[9] parameter(1)\n"
                         "  rs = f32[2] reduce-scatter(q), replica_groups={{0,1,2,3},{4,5,6,7}}, "
                         "dimensions={0}, to_apply=add\n"
                         "  ag = f32[8] all-gather(rs), replica_groups={{0,1,2,3},{4,5,6,7}}, "
                         "dimensions={0}\n  ROOT t = (f32[4,4], f32[8]) tuple(p, ag)\n"),
                devices(8, 1), "invalid shapes");
  const auto folded = [](const char* groups) {
    return with_add(
        fmt::format("  p = f32[8] parameter(0)\n"
                    "  ROOT ar = f32[8] all-reduce(p), replica_groups={}, "
                    "to_apply=add\n",
                    groups));
  };
  check_rewrite("xla/folder_simple.hlo", folded("{{0,1,2,3}}"), {}, "valid");
  check_rewrite("xla/folder_chain3.hlo", folded("{{0,1,2,3,4,5,6,7}}"), {}, "valid");
  check_rewrite("xla/folder_neg_same_groups.hlo", folded("{{0,1},{2,3}}"), {},
                "invalid contributions");
  check_rewrite("xla/folder_neg_same_groups.hlo", folded("{{0,1,2,3}}"), {},
                "invalid contributions");
  check_rewrite(
      "xla/ardecomp_grouped.hlo",
      with_add("  p = f32[16] parameter(0)\n  row = f32[1,16] reshape(p)\n"
               "  ag = f32[2,16] all-gather(row), replica_groups={{0,1}}, dimensions={0}\n"
               "  zero = f32[] constant(0)\n"
               "  ROOT r = f32[16] reduce(ag, zero), dimensions={0}, to_apply=add\n"),
      {}, "valid");
}

TEST_CASE("slices and the samples that become reduce-scatters, with counts of replicas") {
  check_rewrite("xla/rscreator_orthogonal.hlo",
                with_add("  p = f32[32,8,128] parameter(0)\n"
                         "  ROOT rs = f32[8,8,128] reduce-scatter(p), channel_id=1, "
                         "replica_groups={{1,3,2,0},{5,7,6,4}}, use_global_device_ids=true, "
                         "dimensions={0}, to_apply=add\n"),
                devices(2, 4), "valid");
  const std::string scattered = with_add(
      "  p = f32[32,8,128] parameter(0)\n"
      "  rs = f32[4,8,128] reduce-scatter(p), channel_id=1, "
      "replica_groups={{0,1,2,3,4,5,6,7},{8,9,10,11,12,13,14,15}}, use_global_device_ids=true, "
      "dimensions={0}, to_apply=add\n"
      "  ROOT ar = f32[4,8,128] all-reduce(rs), channel_id=2, "
      "replica_groups={{0,8},{1,9},{2,10},{3,11},{4,12},{5,13},{6,14},{7,15}}, "
      "use_global_device_ids=true, to_apply=add\n");
  check_rewrite("xla/rscreator_ar_ds_ar.hlo", scattered, devices(2, 8), "valid");
  check_rewrite("xla/rscreator_ar_ds_ar.hlo", scattered, devices(1, 16), "invalid contributions");
  check_rewrite("xla/reassoc_ds.hlo",
                with_add("  p0 = f32[1,8] parameter(0)\n  p1 = f32[1,8] parameter(1)\n"
                         "  p2 = f32[1,8] parameter(2)\n  p3 = s32[] parameter(3)\n"
                         "  cst = s32[] constant(0)\n  a = f32[1,8] add(p0, p1)\n"
                         "  b = f32[1,8] add(a, p2)\n"
                         "  ar = f32[1,8] all-reduce(b), replica_groups={}, to_apply=add\n"
                         "  ROOT d = f32[1,4] dynamic-slice(ar, cst, p3), "
                         "dynamic_slice_sizes={1,4}\n"),
                devices(4, 1), "valid");
}

TEST_CASE("the splitter's sample equals its split form") {
  const auto before = sample("xla/splitter_root.hlo");
  if (!before) return;
  std::string after = replaced(*before,
                               "  all-reduce = bf16[4096] all-reduce(reduce), "
                               "replica_groups={{0,1,2,3,4,5,6,7}}",
                               "  all-reduce = bf16[4096] all-reduce(reduce), "
                               "replica_groups={{0,1,2,3},{4,5,6,7}}");
  after = replaced(after,
                   "  ROOT _ = bf16[1024] dynamic-slice(all-reduce, offset), "
                   "dynamic_slice_sizes={1024}",
                   "  part = bf16[1024] dynamic-slice(all-reduce, offset), "
                   "dynamic_slice_sizes={1024}\n  ROOT out = bf16[1024] all-reduce(part), "
                   "replica_groups={{0,4},{1,5},{2,6},{3,7}}, to_apply=sum, "
                   "use_global_device_ids=true, channel_id=3");
  CHECK(summary(compared(*before, after)) == "valid");
  const std::string wrong =
      replaced(after, "{{0,4},{1,5},{2,6},{3,7}}", "{{0,5},{1,4},{2,6},{3,7}}");
  CHECK(summary(compared(*before, wrong)) == "invalid contributions");
}

TEST_CASE("the chains of the real model are all-reduces over everyone, then a slice") {
  const auto before = sample("real_models/llama31_70b_bf16_16x8.ar_ds_ar.hlo");
  if (!before) return;
  const std::string sliced = without_reductions_over(*before, "[64,2]<=[2,64]T(1,0)");
  const std::string after = each_replaced(sliced, "[2,64]<=[128]", "[1,128]<=[128]");
  CHECK(summary(compared(*before, after)) == "valid");
  CHECK(summary(compared(*before, sliced)) == "invalid contributions");
  std::string table = *before;
  const std::string first = "constant({0, 128, 256,";
  table.replace(table.find(first), first.size(), "constant({0, 256, 128,");
  CHECK(summary(compared(table, after)) == "invalid contributions");
}

}  // namespace p2::hlo
