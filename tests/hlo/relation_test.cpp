// Symbolic evaluation of an unpartitioned module against a partitioned one: random programs with
// random placements and mistakes, on which it must agree with execution; relations from files.

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "p2/error.h"
#include "proofs/certificate/subject_certificates.h"
#include "tests/hlo/modules.h"
#include "tests/hlo/random_program.h"

namespace p2::hlo {
namespace {

ModuleDecision decided(const RandomProgram& program, ModuleEngine engine) {
  ComparisonOptions options;
  options.engine = engine;
  options.relation = program.relation_text();
  options.relation_file = "relation.json";
  return compared(program.before(), program.after(), options);
}

/// Whether p2-check, which executes both modules by itself, takes them to be equal.
bool is_accepted(const std::string& before, const std::string& after, ModuleDecision decision) {
  decision.outcome = Outcome::Established;
  return std::holds_alternative<CertificateFiles>(
      module_certificate({before, after}, decision, {}));
}

TEST_CASE("symbolic evaluation of random partitioned programs agrees with their execution") {
  int right = 0;
  int accepted = 0;
  int proved = 0;
  int wrong = 0;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    const RandomProgram program(seed, seed % 3 == 0 ? 4 : 2, seed % 2 == 0 ? 0 : 50);
    const std::string text = program.before() + program.after() + program.relation_text();
    CAPTURE(text);
    const Outcome symbolic = decided(program, ModuleEngine::Symbolic).outcome;
    const ModuleDecision execution = decided(program, ModuleEngine::Interpreter);
    const Outcome executed = execution.outcome;
    const bool is_equal = is_accepted(program.before(), program.after(), execution);
    if (executed == Outcome::Refuted) REQUIRE(!is_equal);
    if (is_equal) ++accepted;
    REQUIRE(symbolic != Outcome::Refuted);
    if (symbolic == Outcome::Established) REQUIRE(executed != Outcome::Refuted);
    if (!program.has_mistake()) {
      CHECK(executed == Outcome::Established);
      ++right;
      if (symbolic == Outcome::Established) ++proved;
    } else if (executed == Outcome::Refuted) {
      ++wrong;
    }
  }
  CHECK(right > 1400);
  CHECK(accepted * 10 > right * 9);
  CHECK(proved * 10 > right * 9);
  CHECK(wrong > 300);
}

constexpr const char* kSizes =
    "  x = f32[4096,16384] parameter(0)\n  w = f32[16384,4096] parameter(1)\n";
constexpr const char* kShards =
    "  x = f32[4096,8192] parameter(0)\n  w = f32[8192,4096] parameter(1)\n";
const std::string kDot = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";

std::string large_relation(const std::string& outputs) {
  return "{\"format\":\"p2-relation/1\",\"devices\":2,\"mesh\":{\"d\":2},\"inputs\":{"
         "\"0\":{\"after\":0,\"relation\":{\"dims\":[[],[\"d\"]]}},"
         "\"1\":{\"after\":1,\"relation\":{\"dims\":[[\"d\"],[]]}}},\"outputs\":{" +
         outputs + "}}";
}

std::string related_verdict(const std::string& before, const std::string& after,
                            const std::string& relation) {
  ComparisonOptions options;
  options.relation = relation;
  options.relation_file = "relation.json";
  return summary(compared(before_text(before), after_text(after), options));
}

TEST_CASE("matrices of any size are compared without their elements") {
  const std::string before = kSizes + ("  ROOT y = f32[4096,4096] dot(x, w)" + kDot);
  const std::string partial = kShards + ("  p = f32[4096,4096] dot(x, w)" + kDot);
  const std::string sum = ", channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, ";
  const std::string everywhere = "\"0\":{\"after\":0,\"relation\":\"replicated\"}";
  const std::string parts = "\"0\":{\"after\":0,\"relation\":{\"sum\":[\"d\"]}}";
  const std::string reduced =
      partial + "  ROOT y = f32[4096,4096] all-reduce(p)" + sum + "to_apply=add\n";
  CHECK(related_verdict(before, reduced, large_relation(everywhere)) == "valid");
  CHECK(related_verdict(before, reduced, large_relation(parts)) == "invalid value");
  const std::string kept = partial + "  ROOT y = f32[4096,4096] copy(p)\n";
  CHECK(related_verdict(before, kept, large_relation(everywhere)) == "invalid value");
  CHECK(related_verdict(before, kept, large_relation(parts)) == "valid");
  CHECK(related_verdict(
            before,
            partial + "  ROOT y = f32[4096,4096] all-reduce(p)" + sum + "to_apply=maximum\n",
            large_relation(everywhere)) == "invalid value");
}

std::string example(const std::string& name) {
  std::ifstream file(std::string(P2_SOURCE_DIR) + "/examples/hlo/" + name);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("attention with a fused weight that is cut per head") {
  ComparisonOptions options;
  options.engine = ModuleEngine::Symbolic;
  options.relation = example("qkv-relation.json");
  options.relation_file = "qkv-relation.json";
  const std::string before = example("qkv.hlo");
  CHECK(summary(compared(before, example("qkv-partitioned.hlo"), options)) == "valid");
  CHECK(summary(compared(before, example("refused/qkv-wrong-slice.hlo"), options)) == "unknown");
}

/// The verdict of symbolic evaluation on modules with one result and no inputs.
std::string of_positions(const std::string& before, const std::string& after,
                         const std::string& relation) {
  ComparisonOptions options;
  options.engine = ModuleEngine::Symbolic;
  options.relation =
      "{\"format\":\"p2-relation/1\",\"devices\":2,\"mesh\":{\"d\":2},\"inputs\":{},\"outputs\":{"
      "\"0\":{\"after\":0,\"relation\":" +
      relation + "}}}";
  options.relation_file = "relation.json";
  return summary(compared(before_text(before), after_text(after), options));
}

TEST_CASE("positions wrap around in their type before they are widened") {
  const auto shifted = [](const std::string& type, const std::string& last) {
    return "  i = " + type + "[16] iota(), iota_dimension=0\n  c = " + type +
           "[] constant(8)\n  b = " + type + "[16] broadcast(c), dimensions={}\n" + last;
  };
  const std::string whole = "\"replicated\"";
  const std::string wide = shifted("u64", "  ROOT y = u64[16] subtract(i, b)\n");
  const std::string narrow =
      shifted("u32", "  s = u32[16] subtract(i, b)\n  ROOT y = u64[16] convert(s)\n");
  CHECK(of_positions(narrow, wide, whole) == "unknown");  // the first is 2^32 - 8, not 2^64 - 8
  CHECK(of_positions(narrow, narrow, whole) == "valid");
  const std::string sum = "  s = u32[16] add(i, b)\n  ROOT y = u64[16] convert(s)\n";
  CHECK(of_positions(shifted("u32", sum), shifted("u64", "  ROOT y = u64[16] add(i, b)\n"),
                     whole) == "valid");
  const std::string bytes =
      "  i = u8[200] iota(), iota_dimension=0\n  c = u8[] constant(2)\n  b = u8[200] broadcast(c), "
      "dimensions={}\n  m = u8[200] multiply(i, b)\n  ROOT y = u32[200] convert(m)\n";
  const std::string words =
      "  i = u32[200] iota(), iota_dimension=0\n  c = u32[] constant(2)\n  b = u32[200] "
      "broadcast(c), dimensions={}\n  ROOT y = u32[200] multiply(i, b)\n";
  CHECK(of_positions(bytes, words, whole) == "unknown");
}

TEST_CASE("a sum of positions that cancel is a number of its type") {
  const std::string before =
      "  i = s8[16] iota(), iota_dimension=0\n  c = s8[] constant(100)\n  b = s8[16] broadcast(c), "
      "dimensions={}\n  s = s8[16] add(i, b)\n  t = s8[16] add(s, b)\n  d = s8[16] subtract(t, i)\n"
      "  e = s8[] constant(-56)\n  f = s8[16] broadcast(e), dimensions={}\n"
      "  ROOT y = pred[16] compare(d, f), direction=EQ\n";
  const auto constant = [](const std::string& value) {
    return "  c = pred[] constant(" + value +
           ")\n  ROOT y = pred[16] broadcast(c), dimensions={}\n";
  };
  CHECK(of_positions(before, constant("true"), "\"replicated\"") == "valid");
  CHECK(of_positions(before, constant("false"), "\"replicated\"") == "unknown");
}

/// Arithmetic on positions through integer types, of which two programs differ in at most a few.
class IntegerProgram {
 public:
  explicit IntegerProgram(std::uint32_t seed) : random_(seed) {
    static constexpr const char* kTypes[] = {"s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"};
    const auto type = [&] { return kTypes[below(8)]; };
    std::string first = type();
    std::string second = below(3) == 0 ? type() : first;
    add("i", first, "iota(), iota_dimension=0", second);
    const int steps = 1 + below(5);
    for (int i = 0; i < steps; ++i) {
      switch (below(5)) {
        case 0: {
          const std::string from_first = first;
          const std::string from_second = second;
          first = type();
          second = below(3) == 0 ? type() : first;
          if (first == from_first && second != from_second) second = from_second;
          add("n", first, "convert(" + last_ + ")", second);
          break;
        }
        case 1:
          binary("multiply", first, second, 2 + below(3));
          break;
        case 2:
          binary("subtract", first, second, below(120));
          break;
        case 3:
          add("n", first, "negate(" + last_ + ")", second);
          break;
        default:
          binary("add", first, second, below(120));
      }
    }
    before_ += "  ROOT out = s64[20] convert(" + last_ + ")\n";
    after_ += "  ROOT out = s64[20] convert(" + last_ + ")\n";
  }

  ModuleDecision decided(ModuleEngine engine) const {
    ComparisonOptions options;
    options.engine = engine;
    options.relation =
        "{\"format\":\"p2-relation/1\",\"devices\":2,\"inputs\":{},\"outputs\":{\"0\":{\"after\":0,"
        "\"relation\":\"replicated\"}}}";
    options.relation_file = "relation.json";
    return compared(before(), after(), options);
  }
  std::string before() const { return before_text(before_); }
  std::string after() const { return after_text(after_); }
  std::string text() const { return before_ + after_; }

 private:
  int below(int end) {
    return static_cast<int>(std::uniform_int_distribution<int>(0, end - 1)(random_));
  }
  void add(const std::string& name, const std::string& first, const std::string& what,
           const std::string& second, const std::string& sizes = "[20]") {
    const std::string line = fmt::format("{}{}", name, ++names_);
    before_ += fmt::format("  {} = {}{} {}\n", line, first, sizes, what);
    after_ += fmt::format("  {} = {}{} {}\n", line, second, sizes, what);
    if (sizes == "[20]") last_ = line;
  }
  void binary(const std::string& name, const std::string& first, const std::string& second,
              int number) {
    const std::string value = last_;
    add("c", first, fmt::format("constant({})", number), second, "[]");
    add("b", first, fmt::format("broadcast(c{}), dimensions={{}}", names_), second);
    add("n", first, fmt::format("{}({}, {})", name, value, last_), second);
  }

  std::mt19937 random_;
  int names_ = 0;
  std::string last_;
  std::string before_;
  std::string after_;
};

TEST_CASE("symbolic evaluation of random integer arithmetic agrees with its execution") {
  int proved = 0;
  int different = 0;
  int accepted = 0;
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    const IntegerProgram program(seed);
    const std::string text = program.text();
    CAPTURE(text);
    const ModuleDecision execution = program.decided(ModuleEngine::Interpreter);
    const Outcome executed = execution.outcome;
    const bool is_equal = is_accepted(program.before(), program.after(), execution);
    if (executed == Outcome::Refuted) REQUIRE(!is_equal);
    if (is_equal) ++accepted;
    const Outcome symbolic = program.decided(ModuleEngine::Symbolic).outcome;
    if (symbolic == Outcome::Established) {
      REQUIRE(executed != Outcome::Refuted);
      ++proved;
    }
    if (executed == Outcome::Refuted) ++different;
  }
  CHECK(proved > 1000);
  CHECK(accepted > 1000);
  CHECK(different > 500);
}

TEST_CASE("devices count their own positions from where their shard begins") {
  const std::string before =
      "  i = u32[16] iota(), iota_dimension=0\n  ROOT y = u64[16] convert(i)\n";
  const auto after = [](const std::string& size) {
    return "  i = u32[8] iota(), iota_dimension=0\n  d = u32[] partition-id()\n  c = u32[] "
           "constant(" +
           size +
           ")\n  o = u32[] multiply(d, c)\n  b = u32[8] broadcast(o), dimensions={}\n  s = u32[8] "
           "add(i, b)\n  ROOT y = u64[8] convert(s)\n";
  };
  const std::string cut = "{\"dims\":[[\"d\"]]}";
  CHECK(of_positions(before, after("8"), cut) == "valid");
  CHECK(of_positions(before, after("4"), cut) == "unknown");
}

TEST_CASE("pieces of a weight are held side by side") {
  const std::string relation =
      "{\"format\":\"p2-relation/1\",\"devices\":2,\"inputs\":{\"0\":{\"after\":0,\"relation\":"
      "{\"boxes\":[{\"device\":0,\"of\":[[0,4]],\"at\":[[0,4]]},"
      "{\"device\":0,\"of\":[[8,10]],\"at\":[[4,6]]},"
      "{\"device\":1,\"of\":[[4,8]],\"at\":[[0,4]]},"
      "{\"device\":1,\"of\":[[10,12]],\"at\":[[4,6]]}]}}},\"outputs\":{\"0\":{\"after\":0,"
      "\"relation\":{\"boxes\":[{\"device\":0,\"of\":[[0,2]],\"at\":[[0,2]]},{\"device\":1,\"of\":"
      "[[2,4]],\"at\":[[0,2]]}]}}}}";
  const std::string before =
      "  w = f32[12] parameter(0)\n  e = f32[12] exponential(w)\n"
      "  ROOT y = f32[4] slice(e), slice={[8:12]}\n";
  const auto after = [](const std::string& slice) {
    return "  w = f32[6] parameter(0)\n  e = f32[6] exponential(w)\n  ROOT y = f32[2] slice(e), "
           "slice={" +
           slice + "}\n";
  };
  CHECK(related_verdict(before, after("[4:6]"), relation) == "valid");
  CHECK(related_verdict(before, after("[2:4]"), relation) == "invalid value");
}

TEST_CASE("a relation with a mistake is refused with its place") {
  const std::string before = kSizes + ("  ROOT y = f32[4096,4096] dot(x, w)" + kDot);
  const std::string after = kShards + ("  ROOT p = f32[4096,4096] dot(x, w)" + kDot);
  const std::string good = large_relation("\"0\":{\"after\":0,\"relation\":\"replicated\"}");
  const auto refused = [&](const std::string& from, const std::string& to) {
    CAPTURE(to);
    CHECK_THROWS_AS(related_verdict(before, after, replaced(good, from, to)), const InputError&);
  };
  refused("\"devices\":2", "\"devices\":4");
  refused("\"d\":2", "\"d\":3");
  refused("p2-relation/1", "p2-relation/2");
  refused("\"dims\":[[\"d\"],[]]", "\"dims\":[[],[\"d\"]]");
  refused("\"dims\":[[\"d\"],[]]", "\"dims\":[[\"d\",\"d\"],[]]");
  refused("\"dims\":[[\"d\"],[]]", "\"dims\":[[\"e\"],[]]");
  refused("\"1\":{\"after\":1", "\"1\":{\"after\":0");
  refused("\"1\":{\"after\":1", "\"2\":{\"after\":1");
  refused("\"replicated\"", "\"anywhere\"");
  refused("\"replicated\"",
          "{\"boxes\":[{\"device\":0,\"of\":[[0,4096],[0,4]],\"at\":[[0,4096],"
          "[0,4]]}]}");
  refused("\"replicated\"", "{\"device\":2}");
}

}  // namespace
}  // namespace p2::hlo
