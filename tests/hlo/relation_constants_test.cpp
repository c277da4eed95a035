// Constants that a compiler folded and rounded, read as what they were folded from.

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/hlo/module_relation.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/hlo/modules.h"
#include "tests/hlo/related_pairs.h"

namespace p2::hlo {
namespace {

const Devices kDevices{1, 2};

/// `x`, a vector of 8, or of 4 on each of two devices, multiplied with or divided by constants one
/// after the other: `* 0.5`, `/ 3`.
std::string module_of_steps(bool is_whole, const std::vector<std::string>& steps) {
  const std::string vector = is_whole ? "f32[8]" : "f32[4]";
  const std::string cut = is_whole ? ", sharding={devices=[2]<=[2]}" : "";
  std::string text = fmt::format("HloModule m{}\nENTRY e {{\n  v0 = {} parameter(0){}\n",
                                 is_whole ? "" : ", num_partitions=2", vector, cut);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    text +=
        fmt::format("  c{0} = f32[] constant({1})\n  b{0} = {2} broadcast(c{0}), dimensions={{}}\n",
                    k, steps[k].substr(2), vector);
    text += fmt::format("  v{} = {} {}(v{}, b{})\n", k + 1, vector,
                        steps[k][0] == '*' ? "multiply" : "divide", k, k);
  }
  return text + fmt::format("  ROOT r = {} negate(v{}){}\n}}\n", vector, steps.size(), cut);
}

std::variant<CertificateFiles, std::string> certificate(const CertifiedModules& modules) {
  return related_by_shardings(modules, kDevices);
}

/// As p2-verify asks for it where constants as they are give none.
std::variant<CertificateFiles, std::string> with_folds(CertifiedModules modules) {
  modules.folds = folded_constants(modules.before, modules.after);
  return certificate(modules);
}

std::string folds_of(const std::string& before, const std::string& after) {
  std::string all;
  for (const FoldedConstant& fold : folded_constants(before, after))
    all += fmt::format("{}{} {}", all.empty() ? "" : "; ", fold.type, fold.words());
  return all;
}

std::string scalars(const std::string& type, const std::vector<std::string>& values) {
  std::string text;
  for (std::size_t k = 0; k < values.size(); ++k)
    text += fmt::format("  %c.{} = {}[] constant({})\n", k, type, values[k]);
  return text;
}

/// Steps on x, where `x` is 1.
double value_of(const std::vector<std::string>& steps) {
  double value = 1;
  for (const std::string& step : steps) {
    const double by = std::stof(step.substr(2));
    value = step[0] == '*' ? value * by : value / by;
  }
  return value;
}

TEST_CASE("a constant that XLA folded is read as what it was folded from") {
  // The gradient of gelu, and a division by the root of 8, as XLA 2025 writes them.
  const CertifiedModules gelu{module_of_steps(true, {"* 0.797884583", "* 0.044715", "* 3"}),
                              module_of_steps(false, {"* 0.0356774069", "* 3"})};
  CHECK(certificate(gelu).index() == 1);
  const auto made = with_folds(gelu);
  REQUIRE(made.index() == 0);
  const kernel::Result result = check_certificate(std::get<0>(made));
  CHECK(result.verdict == kernel::Verdict::Accepted);
  CHECK(result.reason.find("; read as what they were rounded from: f32 0.0356774069 as 0.044715 · "
                           "0.797884583)") != std::string::npos);
  CHECK(with_folds(
            {module_of_steps(true, {"/ 2.82842708"}), module_of_steps(false, {"* 0.353553385"})})
            .index() == 0);
  // What stands once before is not in place of both.
  CHECK(with_folds({module_of_steps(true, {"* 0.797884583", "/ 0.044715"}),
                    module_of_steps(false, {"* 0.0356774069"})})
            .index() == 1);
  CHECK(with_folds({module_of_steps(true, {"* 0.797884583", "* 0.044715", "* 0.044715"}),
                    module_of_steps(false, {"* 0.0356774069"})})
            .index() == 1);
  CHECK(with_folds(
            {module_of_steps(true, {"/ 2.82842708"}), module_of_steps(false, {"/ 0.353553385"})})
            .index() == 1);
}

TEST_CASE("an answer lists the constants that were read as what was rounded to them") {
  const TemporaryFile before(module_of_steps(true, {"* 0.797884583", "* 0.044715"}), ".hlo");
  const TemporaryFile after(module_of_steps(false, {"* 0.0356774069"}), ".hlo");
  const TemporaryFile same(module_of_steps(false, {"* 0.797884583", "* 0.044715"}), ".hlo");
  const auto ran = [&](const TemporaryFile& file, std::vector<std::string> more) {
    std::vector<std::string> question = {"check", "--before", before.path(), "--after",
                                         file.path()};
    question.insert(question.end(), more.begin(), more.end());
    const Ran all = run(question);
    CHECK(all.exit == 0);
    return all.out;
  };
  const auto result = [&](const TemporaryFile& file) {
    return nlohmann::json::parse(ran(file, {"--format", "json"})).at("results").at(0);
  };
  CHECK(result(after).at("read_as") == nlohmann::json{"0.0356774069 as 0.044715 · 0.797884583"});
  CHECK(ran(after, {}).find("constants read as what was rounded to them: 0.0356774069 as 0.044715 "
                            "· 0.797884583\n") != std::string::npos);
  CHECK(!result(same).contains("read_as"));
}

TEST_CASE("folded constants are found by their values") {
  const auto found = [](const std::string& type, const std::vector<std::string>& before,
                        const std::vector<std::string>& after) {
    return folds_of(scalars(type, before), scalars(type, after));
  };
  CHECK(found("f32", {"0.797884583", "0.044715"}, {"0.0356774069"}) ==
        "f32 0.0356774069 as 0.044715 · 0.797884583");
  CHECK(found("f32", {"2.82842708"}, {"0.353553385"}) == "f32 0.353553385 as 1 / 2.82842708");
  CHECK(found("f32", {"90", "-3.14159274"}, {"-0.0349065885"}) ==
        "f32 0.0111111114 as 1 / 90; f32 -0.0349065885 as -3.14159274 · "
        "0.0111111114");
  CHECK(found("f32", {"1.41421354"}, {"-1.99999988"}) ==
        "f32 -1.99999988 as -1.41421354 · 1.41421354");
  CHECK(found("bf16", {"0.332", "0.707"}, {"0.2344"}) == "");
  // Of numbers that have fewer digits than their type nothing is said: p2-check would reject it.
  CHECK(found("f32", {"1e-21"}, {"1e-42"}) == "");
  CHECK(found("f16", {"0.0003", "0.0002"}, {"5.96e-08"}) == "");
  // One unit in the last place, another type, what stands before, too, and simple fractions.
  CHECK(found("f32", {"0.797884583", "0.044715"}, {"0.0356774107"}) == "");
  CHECK(folds_of(scalars("f64", {"0.797884583", "0.044715"}), scalars("f32", {"0.0356774069"})) ==
        "");
  CHECK(found("f32", {"0.797884583", "0.044715", "0.0356774069"}, {"0.0356774069"}) == "");
  CHECK(found("f32", {"0.1", "2", "5"}, {"0.2", "10", "0.5"}) == "");
  CHECK(folds_of("", scalars("f32", {"0.0356774069", "inf", "nan", "0", "{...}", "x"})) == "");
}

TEST_CASE("p2-check rejects a constant that is not what it is said to be folded from") {
  const CertifiedModules modules{module_of_steps(true, {"* 0.797884583", "* 0.044715"}),
                                 module_of_steps(false, {"* 0.0356774069"})};
  const auto made = with_folds(modules);
  REQUIRE(made.index() == 0);
  const std::string fold = R"(["f32","0.0356774069","multiply","0.044715","0.797884583"])";
  const auto verdict_with = [&](const std::string& other) {
    CertificateFiles forged = std::get<0>(made);
    forged["problem.json"] = replaced(forged["problem.json"], fold, other);
    add_manifest("modules-equal", {}, forged);
    return check_certificate(forged).verdict;
  };
  using kernel::Verdict;
  CHECK(verdict_with(fold) == Verdict::Accepted);
  CHECK(verdict_with(R"(["f32","0.0356774069","multiply","0.797884583","0.044715"])") ==
        Verdict::Accepted);
  for (const char* const other : {
           R"(["f32","0.0356774069","multiply","0.0447150022","0.797884643"])",  // by a unit
           R"(["f32","0.0356774069","divide","0.044715","0.797884583"])",
           R"(["f32","0.0356774069","multiply","0.044715","-0.797884583"])",
           R"(["f32","0.0356774107","multiply","0.044715","0.797884583"])",
           R"(["f32","0","multiply","1e-30","1e-30"])",
           R"(["f32","0","multiply","0","0.797884583"])",
           R"(["f32","inf","multiply","1e30","1e30"])", R"(["f32","inf","divide","1","0"])",
           R"(["f32","nan","divide","0","0"])",
           R"(["f16","5.96e-08","multiply","0.0003","0.0002"])",  // with one digit of its type
       }) {
    CAPTURE(other);
    CHECK(verdict_with(other) == Verdict::Rejected);
  }
  std::string many = fold;
  for (int k = 0; k < 1024; ++k)
    many += fmt::format(R"(,["f32","{}","multiply","{}","2"])", 2 * k + 2, k + 1);
  for (const std::string& other : std::vector<std::string>{
           many,
           R"(["s32","6","multiply","2","3"])",
           R"(["f32","0.0356774069","add","0.0178387035","0.0178387035"])",
           R"(["f32","0.0356774069","multiply","0.044715"])",
           R"(["f32","0.0356774069","multiply","0.0356774069","1"])",
           // In one another: before what it is of, in a circle, and three.
           R"(["f32","0.25","multiply","0.5","0.5"],["f32","0.5","divide","1","2"])",
           R"(["f32","0.25","divide","0.5","2"],["f32","0.5","multiply","0.25","2"])",
           R"(["f32","0.5","divide","1","2"],["f32","0.25","divide","0.5","2"],)"
           R"(["f32","0.125","divide","0.25","2"])",
           R"(["f32","0.0356774069","multiply","0.044715",0.797884583])",
           R"(["f32","0.0356774069","multiply","0.044715","x"])",
           R"("f32")",
           fold + "," + fold,
       }) {
    CAPTURE(other);
    CHECK(verdict_with(other) == Verdict::NotACertificate);
  }
}

TEST_CASE("p2-check accepts a fold where the arithmetic of f32 makes it") {
  const CertifiedModules modules{module_of_steps(true, {"* 0.797884583"}),
                                 module_of_steps(false, {"* 0.797884583"})};
  const auto made = certificate(modules);
  REQUIRE(made.index() == 0);
  std::mt19937_64 random(20261129);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  const auto number = [&] {
    const float size = std::ldexp(1 + static_cast<float>(below(1U << 23U)) * 0x1p-23F,
                                  static_cast<int>(below(40)) - 20);
    return below(2) == 0 ? size : -size;
  };
  int accepted = 0;
  for (int round = 0; round < 2000; ++round) {
    const float a = number();
    const float b = number();
    const bool is_product = below(2) == 0;
    const float right = is_product ? a * b : a / b;
    float value = right;
    for (std::size_t units = below(4); units > 0; --units)
      value = std::nextafterf(value, below(2) == 0 ? 1e30F : -1e30F);
    CertificateFiles files = std::get<0>(made);
    files["problem.json"] =
        replaced(files["problem.json"], "\"replicas\"",
                 fmt::format(R"("folds":[["f32","{:.9g}","{}","{:.9g}","{:.9g}"]],"replicas")",
                             value, is_product ? "multiply" : "divide", a, b));
    add_manifest("modules-equal", {}, files);
    const bool is_accepted = check_certificate(files).verdict == kernel::Verdict::Accepted;
    CAPTURE(files["problem.json"]);
    CHECK(is_accepted == (value == right));
    accepted += is_accepted ? 1 : 0;
  }
  CHECK(accepted > 300);
  CHECK(accepted < 1500);
}

TEST_CASE("products that are folded by chance have a certificate only where they are equal") {
  static const std::vector<std::string> kConstants = {
      "0.797884583", "0.044715", "2.82842708", "1.41421354",  "3.14159274", "22.6274166",
      "0.9",         "90",       "3",          "0.693147182", "8",          "-1.44269502"};
  std::mt19937_64 random(20261128);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  const auto step = [&] {
    return fmt::format("{} {}", below(3) == 0 ? '/' : '*', kConstants[below(kConstants.size())]);
  };
  int equal = 0, proved = 0, by_folds = 0, different = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<std::string> before, after;
    for (std::size_t k = 1 + below(4); k > 0; --k) before.push_back(step());
    after = before;
    std::shuffle(after.begin(), after.end(), random);
    // Some steps become one, in the arithmetic of f32.
    const std::size_t count = std::min<std::size_t>(after.size(), 1 + below(2));
    float folded = 1;
    for (std::size_t k = 0; k < count; ++k) {
      const float by = std::stof(after[k].substr(2));
      folded = after[k][0] == '*' ? folded * by : folded / by;
    }
    switch (below(6)) {
      case 0:
        folded = std::nextafterf(folded, 1e9F);
        for (int units = 0; units < 7; ++units) folded = std::nextafterf(folded, 1e9F);
        break;
      case 1:
        folded = below(2) == 0 ? 1 / folded : -folded;
        break;
      case 2:
        after.push_back(step());
        break;
      default:
        break;
    }
    after.erase(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(count));
    after.push_back(fmt::format("* {:.9g}", folded));
    const double ratio = value_of(after) / value_of(before);
    const bool is_equal = std::fabs(ratio - 1) < 3e-7;
    const CertifiedModules modules{module_of_steps(true, before), module_of_steps(false, after)};
    const bool is_proved = with_folds(modules).index() == 0;
    CAPTURE(modules.before);
    CAPTURE(modules.after);
    CHECK((is_equal || !is_proved));
    (is_equal ? equal : different) += 1;
    proved += is_equal && is_proved ? 1 : 0;
    by_folds += is_equal && is_proved && certificate(modules).index() != 0 ? 1 : 0;
  }
  CAPTURE(equal);
  CAPTURE(proved);
  CAPTURE(by_folds);
  CHECK(different > 1000);
  CHECK(proved > 1000);
  CHECK(by_folds > 300);
  CHECK(4 * proved > 3 * equal);
}

}  // namespace
}  // namespace p2::hlo
