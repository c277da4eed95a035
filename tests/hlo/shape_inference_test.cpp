// Shapes and types that do not follow from the operands: by both readers, of every instruction of a
// module that has most operations.

#include <regex>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "proofs/kernel/xla/relation.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

const std::string kMostOperations = R"(HloModule m, num_partitions=2
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
largest {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  p = pred[] compare(a, b), direction=GT
  v = f32[] select(p, a, b)
  n = s32[] select(p, i, j)
  ROOT t = (f32[], s32[]) tuple(v, n)
}
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}
twice {
  a = f32[] parameter(0)
  ROOT b = f32[] add(a, a)
}
more {
  t = (s32[], f32[4,6]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
step {
  t = (s32[], f32[4,6]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[4,6] get-tuple-element(t), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[4,6] sine(x)
  q = f32[4,6] all-reduce(y), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=sum
  ROOT u = (s32[], f32[4,6]) tuple(j, q)
}
left {
  x = f32[4,6] parameter(0)
  ROOT y = f32[4,6] negate(x)
}
ENTRY e {
  x = f32[4,6] parameter(0)
  i = s32[4,1] parameter(1)
  k = s32[] parameter(2)
  zero = f32[] constant(0)
  none = s32[] constant(0)
  id = u32[] partition-id()
  y = f32[4,6] exponential(x)
  d = f32[4,6] divide(x, y)
  c = pred[4,6] compare(x, y), direction=GE
  s = f32[4,6] select(c, x, d)
  f = pred[4,6] is-finite(s)
  h = f32[4,6] clamp(zero, x, d)
  z = c64[4,6] complex(x, y)
  re = f32[4,6] real(z)
  w = f32[4,6,2] broadcast(x), dimensions={0,1}
  o = s32[4,6] iota(), iota_dimension=1
  r = f32[6,4] reshape(x)
  t = f32[6,4] transpose(x), dimensions={1,0}
  v = f32[4,6] reverse(x), dimensions={0}
  l = f32[2,3] slice(x), slice={[1:3], [0:6:2]}
  g = f32[2,6] dynamic-slice(x, k, none), dynamic_slice_sizes={2,6}
  u = f32[4,6] dynamic-update-slice(x, g, k, none)
  j = f32[4,12] concatenate(x, y), dimensions={1}
  p = f32[6,14] pad(x, zero), padding=1_1x2_1_1
  m = f32[4,4] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  a = f32[6] reduce(x, zero), dimensions={0}, to_apply=sum
  b = (f32[4], s32[4]) reduce(x, o, zero, none), dimensions={1}, to_apply=largest
  n = f32[2,4] reduce-window(x, zero), window={size=2x3 stride=2x1}, to_apply=sum
  q = f32[4,6] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}
  e = f32[4,6] scatter(x, i, y), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
  ab = f32[4,6] sort(x), dimensions={1}, to_apply=less
  ac = f32[4,6] map(x), dimensions={0,1}, to_apply=twice
  ad = (s32[], f32[4,6]) tuple(none, x)
  ae = (s32[], f32[4,6]) while(ad), condition=more, body=step
  af = f32[4,6] get-tuple-element(ae), index=1
  ag = f32[4,6] conditional(k, x, y), branch_computations={left, left}
  ah = f32[4,6] call(x), to_apply=left
  ai = f32[4,6] all-reduce(x), channel_id=2, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=sum
  aj = f32[8,6] all-gather(x), channel_id=3, replica_groups={{0,1}}, use_global_device_ids=true, dimensions={0}
  ak = f32[2,6] reduce-scatter(x), channel_id=4, replica_groups={{0,1}}, use_global_device_ids=true, dimensions={0}, to_apply=sum
  al = f32[4,6] all-to-all(x), channel_id=5, replica_groups={{0,1}}, dimensions={0}
  am = f32[4,6] collective-permute(x), channel_id=6, source_target_pairs={{0,1}}
  an = f32[1,4,6,1] reshape(x)
  ao = f32[2,2,1,1] constant({{{{1}},{{2}}},{{{3}},{{4}}}})
  ap = f32[1,3,5,1] convolution(an, ao), window={size=2x2}, dim_labels=b01f_01io->b01f
  aq = f32[4,6] copy(x)
  ROOT root = f32[4,6] add(x, x)
}
)";

/// One place where the text of a module is changed.
struct ShapeChange {
  std::string opcode, line, text;
  bool is_in_function = false;  ///< of scalars
};

/// Every instruction with other types, and with every size changed by one.
std::vector<ShapeChange> shape_changes() {
  static const std::regex kShape(R"((f32|s32|u32|pred|c64)\[([\d,]*)\])");
  static const std::regex kLine(R"((.* = )(\(.*?\)|\S+)( ([\w\-]+)\(.*))");
  std::vector<ShapeChange> all;
  std::size_t begin = 0;
  for (std::size_t end; (end = kMostOperations.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    const std::string line = kMostOperations.substr(begin, end - begin);
    std::smatch parts;
    if (!std::regex_match(line, parts, kLine) || parts[4] == "parameter") continue;
    const std::string result = parts[2];
    for (auto at = std::sregex_iterator(result.begin(), result.end(), kShape);
         at != std::sregex_iterator(); ++at) {
      const std::smatch& shape = *at;
      const std::string before = result.substr(0, static_cast<std::size_t>(shape.position()));
      const std::string after = result.substr(before.size() + shape.str().size());
      const auto put = [&](const std::string& other) {
        all.push_back({parts[4], line,
                       kMostOperations.substr(0, begin) + parts[1].str() + before + other + after +
                           parts[3].str() + kMostOperations.substr(end),
                       begin < kMostOperations.find("more {")});
      };
      for (const char* type : {"f32", "s32", "u8", "pred"}) {
        if (shape[1] != type) put(fmt::format("{}[{}]", type, shape[2].str()));
      }
      const std::string sizes = shape[2];
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        const bool is_digit = sizes[k] != ',' && (k + 1 == sizes.size() || sizes[k + 1] == ',');
        if (!is_digit) continue;
        std::string other = sizes;
        other[k] = static_cast<char>(sizes[k] == '9' ? '8' : sizes[k] + 1);
        put(fmt::format("{}[{}]", shape[1].str(), other));
      }
      put(fmt::format("{}[{}3]", shape[1].str(), sizes.empty() ? "" : sizes + ","));
    }
  }
  return all;
}

/// Why p2-check does not take a module; empty if it does.
std::string refusal(const std::string& text) {
  kernel::Budget budget;
  try {
    const kernel::xla::Module module = kernel::xla::read_module(text, "m");
    const kernel::xla::FlatModule flat(module, budget);
    return "";
  } catch (const kernel::CheckFailure& failure) {
    return failure.what();
  }
}

}  // namespace

TEST_CASE("a shape that does not follow from the operands is a fault, wherever it stands") {
  REQUIRE(summary(check_well_formed(module_of(kMostOperations), {}, {})) == "valid");
  // Another size, or whole numbers of another kind, are as good where nothing looks at them.
  // A product may have any type.
  const std::set<std::string> free = {"broadcast", "constant", "convolution",
                                      "dot",       "iota",     "partition-id"};
  std::size_t refused = 0;
  for (const ShapeChange& change : shape_changes()) {
    const bool is_free = free.contains(change.opcode);
    std::string verdict;
    try {
      verdict = summary(check_well_formed(module_of(change.text), {}, {}));
    } catch (const InputError&) {
      verdict = "unreadable";
    }
    CAPTURE(change.line);
    if (verdict == "valid") {
      CHECK(is_free);
    } else {
      ++refused;
    }
  }
  CHECK(refused > 350);
}

TEST_CASE("of lines that are written alike each has to fit its own operands") {
  const auto module = [](const std::string& last) {
    return fmt::format(
        "HloModule m\n\nENTRY e {{\n  p = f32[4,6] parameter(0)\n  q = f32[6,4] parameter(1)\n  s "
        "= "
        "s32[4,6] parameter(2)\n  t = (f32[4,6], f32[4,6]) tuple(p, p)\n  a = f32[4,6] add(p, p)\n "
        " "
        "b = f32[2,6] slice(p), slice={{[1:3], [0:6]}}\n  r = f32[24] reshape(p)\n  c = f32[4,6] "
        "add(a, p), metadata={{op_name=\"x\"}}\n  ROOT d = {}\n}}\n",
        last);
  };
  for (const char* right : {"f32[4,6] add(p, c), metadata={op_name=\"y\"}",
                            "f32[2,6] slice(c), slice={[1:3], [0:6]}", "f32[24] reshape(q)"}) {
    CHECK(refusal(module(right)) == "");
  }
  for (const char* wrong :
       {"f32[4,6] add(p, q)", "f32[4,6] add(q, q), metadata={op_name=\"x\"}", "f32[4,6] add(p, s)",
        "f32[4,6] add(p)", "f32[4,6] add(p, p, p)", "f32[2,6] slice(b), slice={[1:3], [0:6]}",
        "f32[24] reshape(b)", "f32[2,6] slice(q), slice={[1:3], [0:6]}"}) {
    CAPTURE(wrong);
    CHECK(refusal(module(wrong)).find("the shape of d") != std::string::npos);
  }
}

TEST_CASE(
    "what XLA accepts is no fault: products of other types, copies of tuples, mixed precision") {
  const auto verdict = [](const std::string& lines, const std::string& before = "") {
    const std::string text =
        "HloModule m, num_partitions=2\n" + before + "ENTRY e {\n" + lines + "}\n";
    return summary(check_well_formed(module_of(text), {}, {}));
  };
  const std::string sides = "  x = s8[4,6] parameter(0)\n  y = s8[6,5] parameter(1)\n";
  const std::string numbers = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  for (const char* const type : {"f32", "s32", "bf16", "s8"}) {
    CHECK(verdict(sides + fmt::format("  ROOT z = {}[4,5] dot(x, y)", type) + numbers) == "valid");
  }
  CHECK(verdict(sides + "  ROOT z = f32[4,6] dot(x, y)" + numbers) == "invalid shapes");
  const std::string tuple =
      "  x = f32[4] parameter(0)\n  t = (f32[4], f32[4]) tuple(x, x)\n  ROOT c = ";
  CHECK(verdict(tuple + "(f32[4], f32[4]) copy(t)\n") == "valid");
  CHECK(verdict(tuple + "(f32[4], f32[5]) copy(t)\n") == "invalid shapes");
  CHECK(verdict("  x = f32[4] parameter(0)\n  ROOT y = (f32[4]) all-to-all(x), "
                "channel_id=1, replica_groups={{0},{1}}\n") == "valid");
  const std::string loop =
      "c {\n  t = (f32[4]) parameter(0)\n  ROOT p = pred[] constant(false)\n}\nb {\n  t = "
      "(f32[4]) parameter(0)\n  x = f32[4] get-tuple-element(t), index=0\n  y = bf16[4] "
      "convert(x)\n  ROOT u = (bf16[4]) tuple(y)\n}\n";
  CHECK(verdict("  x = f32[4] parameter(0)\n  t = (f32[4]) tuple(x)\n  ROOT w = (f32[4]) while(t), "
                "condition=c, body=b\n",
                loop) == "valid");
}

TEST_CASE("operations on arrays have some, also where their operands are tuples without any") {
  const std::string text =
      "HloModule m\nless {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = pred[] "
      "compare(a, b), direction=LT\n}\nENTRY e {\n  x = f32[4] parameter(0)\n  t = () tuple()\n  "
      "ROOT y = ";
  for (const char* const line :
       {"f32[4] slice(t), slice={[0:4]}", "f32[4] pad(t, t), padding=0_0",
        "() sort(t), dimensions={0}, to_apply=less",
        "() reduce(t, t), dimensions={0}, to_apply=less",
        "() map(x), dimensions={0}, to_apply=less",
        "f32[4] dynamic-slice(t), dynamic_slice_sizes={4}", "f32[4] negate(t)",
        "f32[4] reduce-window(t), window={size=4}, to_apply=less",
        "() sort(x), dimensions={0}, to_apply=less",
        "() reduce(x, x), dimensions={0}, to_apply=less"}) {
    CAPTURE(line);
    CHECK(summary(check_well_formed(module_of(text + line + "\n}\n"), {}, {})) == "invalid shapes");
  }
  CHECK(summary(check_well_formed(module_of(text + "() copy(t)\n}\n"), {}, {})) == "valid");
  CHECK(refusal(text + "() sort(x), dimensions={0}, to_apply=less\n}\n") == "the shape of y");
  CHECK(refusal(text + "() reduce(x, x), dimensions={0}, to_apply=less\n}\n") == "the shape of y");
}

TEST_CASE("p2-check takes what is under way by its results") {
  CHECK(refusal(
            "HloModule m\nn {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] negate(x)\n}\nENTRY e "
            "{\n  x = f32[4] parameter(0)\n  s = ((f32[4]), f32[4], s32[]) async-start(x), "
            "calls=n\n  u = ((f32[4]), f32[4], s32[]) async-update(s)\n  ROOT d = f32[4] "
            "async-done(u)\n}\n") == "");
}

TEST_CASE("bits of inputs of few bits refute nothing, as other inputs are drawn than there are") {
  // The lower half of the bits of a bf16 in f32 are zero.
  const auto text = [](const char* mask) {
    return module_text(
        fmt::format("  x = bf16[8] parameter(0)\n  f = f32[8] convert(x)\n  b = s32[8] "
                    "bitcast-convert(f)\n  m = s32[] constant({})\n  ms = s32[8] broadcast(m), "
                    "dimensions={{}}\n  a = s32[8] and(b, ms)\n  ROOT r = f32[8] "
                    "bitcast-convert(a)\n",
                    mask),
        1);
  };
  CHECK(compared(text("-1"), text("-65536")).outcome != Outcome::Refuted);
  CHECK(compared(text("-1"), text("-1")).outcome == Outcome::Established);
}

TEST_CASE("p2-check refuses shapes that do not follow from the operands") {
  REQUIRE(refusal(kMostOperations) == "");
  // These are, on both sides, the same function of the same operands, whatever it is; of
  // collectives the rules know how many take part.
  const std::set<std::string> functions = {
      "all-gather",    "all-to-all", "broadcast", "complex",     "conditional", "constant",
      "convolution",   "dot",        "iota",      "map",         "real",        "reduce-scatter",
      "reduce-window", "sort",       "reduce",    "partition-id"};
  std::size_t refused = 0;
  for (const ShapeChange& change : shape_changes()) {
    if (change.is_in_function) continue;
    const bool is_refused = !refusal(change.text).empty();
    CAPTURE(change.line);
    CHECK((is_refused || functions.contains(change.opcode)));
    if (is_refused) ++refused;
  }
  CHECK(refused > 250);
}

}  // namespace p2::hlo
