#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/hlo/text/hlo_text.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {

namespace {

const std::string kReducers = [] {
  std::string text;
  for (const char* reducer : {"add", "maximum", "minimum", "multiply", "subtract"}) {
    text += fmt::format(
        "\n{0} {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] {0}(a, "
        "b)\n}}\n",
        reducer);
  }
  return text;
}();

}  // namespace

std::string module_text(const std::string& entry, int partitions) {
  return fmt::format("HloModule test, num_partitions={}\n{}\nENTRY main {{\n{}}}\n", partitions,
                     kReducers, entry);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  CAPTURE(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(from, at + 1) == std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string replaced_everywhere(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::shared_ptr<const Module> module_of(const std::string& text) {
  return std::make_shared<const Module>(read_hlo("test.hlo", text));
}

namespace {

std::variant<CertificateFiles, std::string> certified(const std::string& before,
                                                      const std::string& after, Outcome outcome,
                                                      int partitions) {
  ModuleDecision decision;
  decision.outcome = outcome;
  decision.devices.partitions = partitions;
  decision.relation = std::make_shared<const ModuleRelation>();
  return module_certificate({before, after}, decision, {});
}

}  // namespace

std::variant<CertificateFiles, std::string> certified_equal(const std::string& before,
                                                            const std::string& after) {
  return certified(before, after, Outcome::Established, 2);
}

bool is_certified(const std::string& before, const std::string& after) {
  return std::holds_alternative<CertificateFiles>(certified_equal(before, after));
}

bool is_certified_different(const std::string& before, const std::string& after) {
  return std::holds_alternative<CertificateFiles>(certified(before, after, Outcome::Refuted, 1));
}

ModuleDecision compared(const std::string& before, const std::string& after,
                        const ComparisonOptions& options) {
  return compare(module_of(before), module_of(after), options, {});
}

std::string summary(const ModuleDecision& decision) {
  return std::string(to_string(decision.outcome)) +
         (decision.violation ? " " + decision.violation->rule : "");
}

std::string verdicts(const std::string& before, const std::string& after) {
  std::string all;
  for (const ModuleEngine engine : {ModuleEngine::Symbolic, ModuleEngine::Interpreter}) {
    ComparisonOptions options;
    options.engine = engine;
    all += (all.empty() ? "" : "; ") + summary(compared(before, after, options));
  }
  return all;
}

std::string before_text(const std::string& body) {
  return "HloModule g\n" + kReducers + "ENTRY main {\n" + body + "}\n";
}

std::string after_text(const std::string& body, int devices) { return module_text(body, devices); }

std::string symbolic_verdict(const std::string& before, const std::string& after,
                             const std::string& relation) {
  ComparisonOptions options;
  options.engine = ModuleEngine::Symbolic;
  options.relation = relation;
  options.relation_file = "relation.json";
  return summary(compared(before, after, options));
}

Rewrite by_host() {
  return {"by host",
          module_text("  x = f32[8,6] parameter(0)\n"
                      "  ROOT all = f32[8,6] all-reduce(x), channel_id=1, "
                      "replica_groups={{0,1,2,3,4,5,6,7}}, use_global_device_ids=true, "
                      "to_apply=add\n",
                      8),
          module_text("  x = f32[8,6] parameter(0)\n"
                      "  flat = f32[48] bitcast(x)\n"
                      "  part = f32[12] reduce-scatter(flat), channel_id=1, "
                      "replica_groups=[2,4]<=[8], use_global_device_ids=true, dimensions={0}, "
                      "to_apply=add\n"
                      "  sum = f32[12] all-reduce(part), channel_id=2, "
                      "replica_groups=[4,2]<=[2,4]T(1,0), use_global_device_ids=true, "
                      "to_apply=add\n"
                      "  whole = f32[48] all-gather(sum), channel_id=3, "
                      "replica_groups={{0,1,2,3},{4,5,6,7}}, use_global_device_ids=true, "
                      "dimensions={0}\n"
                      "  ROOT result = f32[8,6] bitcast(whole)\n",
                      8)};
}

Rewrite scatter_made() {
  return {"reduce-scatter made",
          module_text("  x = f32[32,5] parameter(0)\n"
                      "  all = f32[32,5] all-reduce(x), channel_id=1, "
                      "replica_groups={{1,3,2,0}}, use_global_device_ids=true, to_apply=add\n"
                      "  table = s32[4] constant({3,0,2,1})\n"
                      "  id = u32[] partition-id()\n"
                      "  place = s32[1] dynamic-slice(table, id), dynamic_slice_sizes={1}\n"
                      "  scalar = s32[] reshape(place)\n"
                      "  rows = s32[] constant(8)\n"
                      "  start = s32[] multiply(scalar, rows)\n"
                      "  zero = s32[] constant(0)\n"
                      "  ROOT part = f32[8,5] dynamic-slice(all, start, zero), "
                      "dynamic_slice_sizes={8,5}\n"),
          module_text("  x = f32[32,5] parameter(0)\n"
                      "  ROOT part = f32[8,5] reduce-scatter(x), channel_id=1, "
                      "replica_groups={{1,3,2,0}}, use_global_device_ids=true, dimensions={0}, "
                      "to_apply=add\n")};
}

Rewrite split_reduction() {
  const std::string start =
      "  table = s32[8] constant({0,256,512,768,0,256,512,768})\n"
      "  id = u32[] partition-id()\n"
      "  place = s32[1] dynamic-slice(table, id), dynamic_slice_sizes={1}\n"
      "  start = s32[] reshape(place)\n";
  return {"reduction split",
          module_text("  x = f32[1024] parameter(0)\n" + start +
                          "  all = f32[1024] all-reduce(x), channel_id=1, "
                          "replica_groups=[1,8]<=[8], use_global_device_ids=true, to_apply=add\n"
                          "  ROOT part = f32[256] dynamic-slice(all, start), "
                          "dynamic_slice_sizes={256}\n",
                      8),
          module_text("  x = f32[1024] parameter(0)\n" + start +
                          "  inner = f32[1024] all-reduce(x), channel_id=1, "
                          "replica_groups={{0,1,2,3},{4,5,6,7}}, use_global_device_ids=true, "
                          "to_apply=add\n"
                          "  part = f32[256] dynamic-slice(inner, start), "
                          "dynamic_slice_sizes={256}\n"
                          "  ROOT outer = f32[256] all-reduce(part), channel_id=2, "
                          "replica_groups={{0,4},{1,5},{2,6},{3,7}}, use_global_device_ids=true, "
                          "to_apply=add\n",
                      8)};
}

Rewrite folded() {
  return {"folded",
          module_text("  x = f32[8] parameter(0)\n"
                      "  one = f32[8] all-reduce(x), channel_id=1, replica_groups={{0,1},{2,3}}, "
                      "use_global_device_ids=true, to_apply=add\n"
                      "  ROOT two = f32[8] all-reduce(one), channel_id=2, "
                      "replica_groups={{0,2},{1,3}}, use_global_device_ids=true, to_apply=add\n"),
          module_text("  x = f32[8] parameter(0)\n"
                      "  ROOT all = f32[8] all-reduce(x), channel_id=1, "
                      "replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add\n")};
}

Rewrite gathered_locally() {
  return {"gathered and reduced",
          module_text("  x = f32[6,7] parameter(0)\n"
                      "  ROOT all = f32[6,7] all-reduce(x), channel_id=1, "
                      "replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=add\n"),
          module_text("  x = f32[6,7] parameter(0)\n"
                      "  row = f32[1,6,7] reshape(x)\n"
                      "  rows = f32[2,6,7] all-gather(row), channel_id=1, "
                      "replica_groups={{0,1},{2,3}}, use_global_device_ids=true, dimensions={0}\n"
                      "  zero = f32[] constant(0)\n"
                      "  ROOT sum = f32[6,7] reduce(rows, zero), dimensions={0}, to_apply=add\n")};
}

Rewrite ring_step() {
  return {"gathered by a permute",
          module_text("  x = f32[3,4] parameter(0)\n"
                      "  ROOT all = f32[6,4] all-gather(x), channel_id=1, "
                      "replica_groups={{0,1}}, use_global_device_ids=true, dimensions={0}\n",
                      2),
          module_text("  x = f32[3,4] parameter(0)\n"
                      "  other = f32[3,4] collective-permute(x), channel_id=1, "
                      "source_target_pairs={{0,1},{1,0}}\n"
                      "  id = u32[] partition-id()\n"
                      "  three = u32[] constant(3)\n"
                      "  mine = u32[] multiply(id, three)\n"
                      "  theirs = u32[] subtract(three, mine)\n"
                      "  zero = u32[] constant(0)\n"
                      "  none = f32[] constant(0)\n"
                      "  empty = f32[6,4] broadcast(none), dimensions={}\n"
                      "  half = f32[6,4] dynamic-update-slice(empty, x, mine, zero)\n"
                      "  ROOT all = f32[6,4] dynamic-update-slice(half, other, theirs, zero)\n",
                      2)};
}

Rewrite exchanged() {
  return {"exchanged",
          module_text("  x = f32[4,3] parameter(0)\n"
                      "  ROOT all = f32[4,3] all-to-all(x), channel_id=1, "
                      "replica_groups={{0,1}}, dimensions={0}\n",
                      2),
          module_text("  x = f32[4,3] parameter(0)\n"
                      "  all = f32[8,3] all-gather(x), channel_id=1, replica_groups={{0,1}}, "
                      "use_global_device_ids=true, dimensions={0}\n"
                      "  id = u32[] partition-id()\n"
                      "  two = u32[] constant(2)\n"
                      "  four = u32[] constant(4)\n"
                      "  zero = u32[] constant(0)\n"
                      "  first = u32[] multiply(id, two)\n"
                      "  second = u32[] add(first, four)\n"
                      "  one = f32[2,3] dynamic-slice(all, first, zero), "
                      "dynamic_slice_sizes={2,3}\n"
                      "  other = f32[2,3] dynamic-slice(all, second, zero), "
                      "dynamic_slice_sizes={2,3}\n"
                      "  ROOT both = f32[4,3] concatenate(one, other), dimensions={0}\n",
                      2)};
}

Rewrite largest() {
  return {"largest",
          module_text("  x = f32[8] parameter(0)\n"
                      "  ROOT all = f32[8] all-reduce(x), channel_id=1, "
                      "replica_groups={{0,1,2,3}}, use_global_device_ids=true, "
                      "to_apply=maximum\n"),
          module_text("  x = f32[8] parameter(0)\n"
                      "  one = f32[8] all-reduce(x), channel_id=1, "
                      "replica_groups={{0,1,2},{3}}, use_global_device_ids=true, "
                      "to_apply=maximum\n"
                      "  ROOT two = f32[8] all-reduce(one), channel_id=2, "
                      "replica_groups={{2,3,1,0}}, use_global_device_ids=true, "
                      "to_apply=maximum\n")};
}

std::string attention(int n, const std::string& compared, const std::string& scores,
                      const std::string& end) {
  return fmt::format(R"(
  x = f32[{0},6] parameter(0)
  a = f32[6,4] parameter(1)
  b = f32[6,4] parameter(2)
  t = f32[{0}] parameter(3)
  q = f32[{0},4] dot(x, a), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  u = f32[{0},4] dot(x, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ts = f32[{0},4] broadcast(t), dimensions={{0}}
  k = f32[{0},4] multiply(u, ts)
  rows = s32[{0},{0}] iota(), iota_dimension=0
  columns = s32[{0},{0}] iota(), iota_dimension=1
  mask = pred[{0},{0}] compare(rows, columns), direction={1}
  least = f32[] constant(-1e30)
  never = f32[{0},{0}] broadcast(least), dimensions={{}}
  {2}
  s = f32[{0},{0}] select(mask, d, never)
  low = f32[] constant(-inf)
  m = f32[{0}] reduce(s, low), dimensions={{1}}, to_apply=maximum
  ms = f32[{0},{0}] broadcast(m), dimensions={{0}}
  z = f32[{0},{0}] subtract(s, ms)
  e = f32[{0},{0}] exponential(z)
  none = f32[] constant(0)
  c = f32[{0}] reduce(e, none), dimensions={{1}}, to_apply=add
  {3}
)",
                     n, compared, scores, end);
}
std::string scores_of(int n) {
  return fmt::format(
      "d = f32[{0},{0}] dot(q, k), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}", n);
}
std::string normalized_first(int n) {
  return fmt::format(
      "cs = f32[{0},{0}] broadcast(c), dimensions={{0}}\n  p = f32[{0},{0}] divide(e, cs)\n  ROOT "
      "o "
      "= f32[{0},6] dot(p, x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
      n);
}
std::string normalized_last(int n, const std::string& divided) {
  return fmt::format(
      "v = f32[{0},6] dot(e, x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  cs = "
      "f32[{0},6] broadcast(c), dimensions={{0}}\n  ROOT o = f32[{0},6] {1}(v, cs)",
      n, divided);
}

}  // namespace p2::hlo
