// Inputs that a partitioned module says to be the same on several devices.

#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/module_relation.h"
#include "p2/compare.h"
#include "tests/cli/temporary_file.h"
#include "tests/hlo/modules.h"

namespace p2::hlo {
namespace {

const std::string kSum =
    ", channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add\n";

/// x as its parameter says, y by device; `sum` makes s of x.
std::string with_sum(const std::string& said, const std::string& sum, int partitions = 4,
                     const std::string& header = "") {
  std::string text = module_text("  x = f32[2] parameter(0)" + said +
                                     "\n  y = f32[2] parameter(1), sharding={devices=[4]<=[4]}\n" +
                                     sum + "  ROOT o = f32[2] add(s, y)\n",
                                 partitions);
  return header.empty() ? text : replaced(text, "num_partitions=1", header);
}
std::string times(int factor) {
  return fmt::format(
      "  n = f32[] constant({})\n  b = f32[2] broadcast(n), dimensions={{}}\n"
      "  s = f32[2] multiply(x, b)\n",
      factor);
}
const std::string kReplicated = ", sharding={replicated}";

/// What symbolic evaluation says, and execution, of inputs as the module before has them.
std::string verdicts_as_said(const std::string& before, const std::string& after) {
  std::string all;
  for (const ModuleEngine engine : {ModuleEngine::Symbolic, ModuleEngine::Interpreter}) {
    ComparisonOptions options;
    options.engine = engine;
    options.replicated_inputs = true;
    all += (all.empty() ? "" : "; ") + summary(compared(before, after, options));
  }
  return all;
}

/// Whether there is a certificate of what is decided then, which p2-check accepts.
bool has_certificate(const std::string& before, const std::string& after) {
  ComparisonOptions options;
  options.replicated_inputs = true;
  const ModuleDecision decision = compared(before, after, options);
  return std::holds_alternative<CertificateFiles>(
      module_certificate({before, after}, decision, {}));
}

/// Sums of inputs, by device: how often it has the element of an input that a device holds.
using Sums = std::vector<std::map<std::pair<std::size_t, std::uint32_t>, std::int64_t>>;
constexpr std::uint32_t kDevices = 4;  // two replicas of two partitions

struct RandomProgram {
  struct Step {
    enum class Kind : std::uint8_t { Add, Times, Reduce } kind = Kind::Add;
    std::size_t a = 0, b = 0;  ///< values; a factor; which groups
  };
  static constexpr std::array<std::array<std::array<std::uint32_t, 4>, 4>, 3> kGroups = {
      {{{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}}},
       {{{0, 1, 0, 1}, {0, 1, 0, 1}, {2, 3, 2, 3}, {2, 3, 2, 3}}},
       {{{0, 2, 0, 2}, {1, 3, 1, 3}, {0, 2, 0, 2}, {1, 3, 1, 3}}}}};
  std::vector<Step> steps;

  static std::size_t members(std::size_t groups) { return groups == 0 ? 4 : 2; }

  std::string text(const std::vector<std::string>& said) const {
    static constexpr std::array<const char*, 3> kTexts = {"{{0,1,2,3}}", "{{0,1},{2,3}}",
                                                          "{{0,2},{1,3}}"};
    std::string lines;
    for (std::size_t k = 0; k < said.size(); ++k)
      lines += fmt::format("  v{} = f32[2] parameter({}){}\n", k, k, said[k]);
    std::size_t number = said.size();
    for (const Step& each : steps) {
      const std::string name = (&each == &steps.back() ? "ROOT v" : "v") + std::to_string(number++);
      if (each.kind == Step::Kind::Add) {
        lines += fmt::format("  {} = f32[2] add(v{}, v{})\n", name, each.a, each.b);
      } else if (each.kind == Step::Kind::Times) {
        lines += fmt::format(
            "  c{0} = f32[] constant({1})\n  b{0} = f32[2] broadcast(c{0}), dimensions={{}}\n"
            "  {2} = f32[2] multiply(v{3}, b{0})\n",
            number, each.b, name, each.a);
      } else {
        lines += fmt::format(
            "  {} = f32[2] all-reduce(v{}), channel_id={}, replica_groups={}, "
            "use_global_device_ids=true, to_apply=add\n",
            name, each.a, number, kTexts.at(each.b));
      }
    }
    return replaced(module_text(lines, 2), "num_partitions=2", "replica_count=2, num_partitions=2");
  }

  Sums result(const std::vector<std::array<std::uint32_t, kDevices>>& holders) const {
    std::vector<Sums> values;
    for (std::size_t k = 0; k < holders.size(); ++k) {
      Sums& own = values.emplace_back(kDevices);
      for (std::uint32_t device = 0; device < kDevices; ++device)
        own[device][{k, holders[k].at(device)}] = 1;
    }
    for (const Step& each : steps) {
      Sums sums(kDevices);
      for (std::uint32_t device = 0; device < kDevices; ++device) {
        const auto add = [&](const auto& value, std::int64_t factor) {
          for (const auto& [atom, count] : value) sums[device][atom] += factor * count;
        };
        if (each.kind == Step::Kind::Reduce) {
          const auto& group = kGroups.at(each.b).at(device);
          for (std::size_t i = 0; i < members(each.b); ++i) add(values[each.a][group.at(i)], 1);
        } else if (each.kind == Step::Kind::Times) {
          add(values[each.a][device], static_cast<std::int64_t>(each.b));
        } else {
          add(values[each.a][device], 1);
          add(values[each.b][device], 1);
        }
      }
      values.push_back(std::move(sums));
    }
    return values.back();
  }
};

}  // namespace

TEST_CASE("an all-reduce of what all partitions have is a multiple") {
  const std::string sum = "  s = f32[2] all-reduce(x)" + kSum;
  const std::string before = with_sum(kReplicated, sum);
  CHECK(verdicts_as_said(before, with_sum(kReplicated, times(4))) == "valid; valid");
  CHECK(has_certificate(before, with_sum(kReplicated, times(4))));
  // Unless it is asked so, every device has inputs of its own.
  const ModuleDecision free = compared(before, with_sum(kReplicated, times(4)));
  CHECK(summary(free) == "invalid contributions");
  CHECK(free.violation->explanation.find("(--replicated-inputs)") != std::string::npos);
  const ModuleDecision wrong = compared(before, with_sum(kReplicated, times(3)));
  CHECK(wrong.violation->explanation.find("(--replicated-inputs)") == std::string::npos);
  CHECK(verdicts_as_said(before, with_sum("", times(4))) == "valid; valid");
  CHECK(verdicts_as_said(before, with_sum(kReplicated, times(3))) ==
        "invalid contributions; invalid value");
  CHECK(has_certificate(before, with_sum(kReplicated, times(3))));
  // Only the module before says what inputs are.
  CHECK(verdicts_as_said(with_sum("", sum), with_sum(kReplicated, times(4))) ==
        "invalid contributions; invalid value");
  for (const std::string said : {", sharding={devices=[4]<=[4]}", ", sharding={manual}",
                                 ", sharding={replicated}, parameter_replication={false}",
                                 ", parameter_replication={true}"}) {
    CAPTURE(said);
    CHECK(verdicts_as_said(with_sum(said, sum), with_sum(said, times(4))) ==
          "invalid contributions; invalid value");
  }
}

TEST_CASE("an all-reduce of what all replicas have is a multiple") {
  const std::string sum = "  s = f32[2] all-reduce(x), replica_groups={{0,1,2,3}}, to_apply=add\n";
  const auto module = [&](const std::string& said, const std::string& lines) {
    return with_sum(said, lines, 1, "replica_count=4");
  };
  const std::string same = ", parameter_replication={true}";
  CHECK(verdicts_as_said(module(same, sum), module(same, times(4))) == "valid; valid");
  CHECK(has_certificate(module(same, sum), module(same, times(4))));
  for (const std::string said :
       {"", ", parameter_replication={false}", ", sharding={replicated}"}) {
    CAPTURE(said);
    CHECK(verdicts_as_said(module(said, sum), module(same, times(4))) ==
          "invalid contributions; invalid value");
  }
}

TEST_CASE("a note says where there is nothing to be said of inputs") {
  const auto notes = [](const std::string& before, const std::string& after) {
    const TemporaryFile first(before, ".hlo"), second(after, ".hlo");
    CompareRequest request{first.path(), second.path()};
    request.replicated_inputs = true;
    std::string all;
    for (const Diagnostic& each : p2::compare(request, {}).diagnostics) all += each.message;
    return all;
  };
  const std::string sum = "  s = f32[2] all-reduce(x)" + kSum;
  const std::string own = ", sharding={devices=[4]<=[4]}";
  CHECK(notes(with_sum(kReplicated, sum), with_sum("", times(4))).empty());
  CHECK(notes(with_sum(own, sum), with_sum(own, times(4))).find("the module before says of no") !=
        std::string::npos);
  CHECK(notes(with_sum(own, sum), with_sum(own, sum)).empty());  // valid for all inputs
  const std::string fewer = module_text("  ROOT x = f32[2] parameter(0)\n");
  CHECK(notes(with_sum(kReplicated, sum), fewer).empty());  // other inputs
  const std::string whole = "HloModule m\nENTRY e {\n  x = f32[8] parameter(0)" + own +
                            "\n  ROOT o = f32[8] negate(x)" + own + "\n}\n";
  const std::string shard =
      "HloModule m, num_partitions=4\nENTRY e {\n  x = f32[2] parameter(0)"
      "\n  ROOT o = f32[2] negate(x)\n}\n";
  CHECK(notes(whole, shard).find("is about two partitioned modules") != std::string::npos);
}

TEST_CASE("parts of a tuple are said one by one") {
  const auto module = [](const std::string& said, const std::string& lines) {
    return module_text("  t = (f32[2], f32[2]) parameter(0)" + said +
                       "\n  x = f32[2] get-tuple-element(t), index=0\n"
                       "  y = f32[2] get-tuple-element(t), index=1\n" +
                       lines + "  ROOT o = f32[2] add(s, y)\n");
  };
  const std::string sum = "  s = f32[2] all-reduce(x)" + kSum;
  const std::string tiles = "{devices=[4]<=[4]}";
  CHECK(verdicts_as_said(module(", sharding={{replicated}, " + tiles + "}", sum),
                         module("", times(4))) == "valid; valid");
  CHECK(verdicts_as_said(module(", sharding={" + tiles + ", {replicated}}", sum),
                         module("", times(4))) == "invalid contributions; invalid value");
}

TEST_CASE("all devices take the same branch by what all of them have, and by nothing else") {
  const auto module = [](const std::string& of_choice, const std::string& of_x) {
    const std::string text =
        module_text("  p = pred[] parameter(0)" + of_choice + "\n  x = f32[2] parameter(1)" + of_x +
                    "\n  ROOT o = f32[2] conditional(p, x, x), true_computation=sum, "
                    "false_computation=negative\n");
    const std::string branches =
        "sum {\n  a = f32[2] parameter(0)\n  ROOT s = f32[2] all-reduce(a)" + kSum +
        "}\n\nnegative {\n  a = f32[2] parameter(0)\n  ROOT n = f32[2] negate(a)\n}\n\n";
    return replaced(text, "ENTRY", branches + "ENTRY");
  };
  const auto is_related = [](const std::string& before, const std::string& after,
                             const Devices& devices = {1, 4}) {
    const auto relation = with_replicated_inputs({}, *module_of(before), devices);
    return std::holds_alternative<CertificateFiles>(related_certificate(
        {before, after}, relation.value_or(ModuleRelation{}), devices, {}, {}, {}));
  };
  const std::string after = replaced(module("", ""), "negate(a)", "multiply(a, b)");
  const std::string same =
      replaced(after, "  ROOT n",
               "  m = f32[] constant(-1)\n  b = f32[2] broadcast(m), dimensions={}\n  ROOT n");
  CHECK(is_related(module(kReplicated, ""), same));
  CHECK(is_related(module(kReplicated, kReplicated), same));
  CHECK_FALSE(is_related(module("", kReplicated), same));
  CHECK_FALSE(is_related(module("", ""), same));
  // On all partitions of a replica, and on all devices.
  const auto twice_two = [](const std::string& text) {
    return replaced(text, "num_partitions=4", "replica_count=2, num_partitions=2");
  };
  CHECK_FALSE(is_related(twice_two(module(kReplicated, "")), twice_two(same), {2, 2}));
  const std::string on_all = kReplicated + ", parameter_replication={true}";
  CHECK(is_related(twice_two(module(on_all, "")), twice_two(same), {2, 2}));
  const std::string other = replaced(same, "constant(-1)", "constant(-2)");
  CHECK_FALSE(is_related(module(kReplicated, kReplicated), other));
}

TEST_CASE("random sums of replicated inputs are equal where a count of their parts says so") {
  std::mt19937_64 random(20261129);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  std::size_t equal = 0, only_as_said = 0, different = 0, at_every_node = 0;
  for (int trial = 0; trial < 600; ++trial) {
    std::vector<std::string> said;
    std::vector<std::array<std::uint32_t, kDevices>> holders, own;
    for (std::size_t k = 0; k < 2; ++k) {
      const bool is_replicated = below(2) == 0;
      const std::size_t replication = below(3);  // true, false, or not said
      said.push_back((is_replicated ? ", sharding={replicated}" : ", sharding={manual}") +
                     std::string(replication == 0   ? ", parameter_replication={true}"
                                 : replication == 1 ? ", parameter_replication={false}"
                                                    : ""));
      const bool on_partitions = is_replicated && replication != 1;
      for (auto* list : {&holders, &own}) list->emplace_back();
      for (std::uint32_t device = 0; device < kDevices; ++device) {
        own.back().at(device) = device;
        holders.back().at(device) =
            (replication == 0 ? 0 : device / 2) * 2 + (on_partitions ? 0 : device % 2);
      }
    }
    RandomProgram before;
    for (std::size_t k = 0; k < 2 + below(3); ++k) {
      using Kind = RandomProgram::Step::Kind;
      const std::size_t choice = below(5);
      const std::size_t a = below(2 + k);
      before.steps.push_back(choice == 0   ? RandomProgram::Step{Kind::Add, a, below(2 + k)}
                             : choice == 1 ? RandomProgram::Step{Kind::Times, a, 1 + below(4)}
                                           : RandomProgram::Step{Kind::Reduce, a, below(3)});
    }
    RandomProgram after = before;
    for (RandomProgram::Step& each : after.steps) {
      if (each.kind != RandomProgram::Step::Kind::Reduce || below(2) == 0) continue;
      each = {RandomProgram::Step::Kind::Times, each.a, RandomProgram::members(each.b)};
    }
    const bool is_equal = before.result(holders) == after.result(holders);
    equal += is_equal ? 1 : 0;
    different += is_equal ? 0 : 1;
    only_as_said += is_equal && before.result(own) != after.result(own) ? 1 : 0;
    const std::string first = before.text(said);
    const std::string second = after.text(said);
    CAPTURE(first);
    CAPTURE(second);
    const std::string all = verdicts_as_said(first, second);
    REQUIRE(verdicts(first, second) == (before.result(own) == after.result(own)
                                            ? "valid; valid"
                                            : "invalid contributions; invalid value"));
    REQUIRE(all == (is_equal ? "valid; valid" : "invalid contributions; invalid value"));
    if (trial % 4 == 0) REQUIRE(has_certificate(first, second));
    const Devices devices{2, 2};
    const auto relation = with_replicated_inputs({}, *module_of(first), devices);
    const auto related = related_certificate({first, second}, relation.value_or(ModuleRelation{}),
                                             devices, {}, {}, {});
    const bool is_related = std::holds_alternative<CertificateFiles>(related);
    REQUIRE_FALSE((is_related && !is_equal));
    at_every_node += is_related ? 1 : 0;
  }
  CHECK(equal > 100);
  CHECK(only_as_said > 50);
  CHECK(different > 100);
  CHECK(at_every_node > 50);
  MESSAGE(at_every_node, " of ", equal, " have a relation at every node");
}

}  // namespace p2::hlo
