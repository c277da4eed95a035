// Products with masks that a compiler makes choices of: the same where what is masked is finite.

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

using kernel::Verdict;

const Devices kTwo{1, 2};

/// A module of `x`, `y` and `m`, vectors of 4, or of 2 on each of two devices: `p` is m > 0, `q` is
/// m > x, `w` and `v` are what these are as numbers, `count` is how often p holds, `zeros` and
/// `ones` are constants. `V` in `body` is a vector, `B` one of truth values.
std::string masked(bool is_whole, std::string body) {
  const std::string cut = is_whole ? ", sharding={devices=[2]<=[2]}" : "";
  std::string text = fmt::format(
      "HloModule m{}\n"
      "add {{\n  l = f32[] parameter(0)\n  r = f32[] parameter(1)\n  ROOT s = f32[] add(l, r)\n}}\n"
      "ENTRY e {{\n  x = V parameter(0){}\n  y = V parameter(1){}\n  m = V parameter(2){}\n",
      is_whole ? "" : ", num_partitions=2", cut, cut, cut);
  text +=
      "  zero = f32[] constant(0)\n  zeros = V broadcast(zero), dimensions={}\n"
      "  one = f32[] constant(1)\n  ones = V broadcast(one), dimensions={}\n"
      "  p = B compare(m, zeros), direction=GT\n  q = B compare(m, x), direction=GT\n"
      "  w = V convert(p)\n  v = V convert(q)\n";
  text += is_whole ? "  count = f32[] reduce(w, zero), dimensions={0}, to_apply=add\n"
                   : "  own = f32[] reduce(w, zero), dimensions={0}, to_apply=add\n"
                     "  count = f32[] all-reduce(own), replica_groups={{0,1}}, channel_id=1, "
                     "use_global_device_ids=true, to_apply=add\n";
  text += body + fmt::format("  ROOT o = V add(r, y){}\n}}\n", cut);
  for (const auto& [name, type] : {std::pair{" V ", is_whole ? " f32[4] " : " f32[2] "},
                                   std::pair{" B ", is_whole ? " pred[4] " : " pred[2] "}}) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name))
      text.replace(at, 3, type);
  }
  return text;
}

const std::string kMean = "  i = f32[] divide(one, count)\n  f = V broadcast(i), dimensions={}\n";
const std::string kProduct = "  r = V multiply(w, f)\n";
const std::string kChoice = "  r = V select(p, f, zeros)\n";

std::variant<CertificateFiles, std::string> certificate_if_finite(const std::string& before,
                                                                  const std::string& after,
                                                                  std::vector<std::string> finite) {
  return related_by_shardings({before, after, {}, {}, std::move(finite)}, kTwo);
}

std::vector<std::string> factors(const std::string& before, const std::string& after) {
  const ModuleRelation relation = relation_of(*module_of(before), *module_of(after), kTwo);
  return finite_candidates(*problem_of(CertifiedModules{before, after}, relation, kTwo, {}));
}

/// As p2-verify asks for it where there is none for all inputs.
bool is_proved(const std::string& before, const std::string& after) {
  return certificate_if_finite(before, after, factors(before, after)).index() == 0;
}

TEST_CASE("a product with a mask is a choice where the factor is finite") {
  const std::string before = masked(true, kMean + kProduct);
  const std::string after = masked(false, kMean + kChoice);
  CHECK(factors(before, after) == std::vector<std::string>{"i"});
  CHECK(certificate_if_finite(before, after, {}).index() == 1);
  const auto made = certificate_if_finite(before, after, {"i"});
  REQUIRE(made.index() == 0);
  const kernel::Result result = check_certificate(std::get<0>(made));
  CHECK(result.verdict == Verdict::Accepted);
  CHECK(result.reason.starts_with("for all inputs for which i is finite, in real numbers, "));
  // A factor that is not named, or not that.
  CHECK(certificate_if_finite(before, after, {"count"}).index() == 1);
  const std::string other = "  g = V log(x)\n  r = V multiply(w, g)\n";
  CHECK(certificate_if_finite(masked(true, kMean + other),
                              masked(false, "  g = V log(x)\n" + kMean + kChoice), {"i"})
            .index() == 1);
}

TEST_CASE("what is finite, moved, has finite elements; what is made of some says nothing") {
  const auto is_proved_by = [&](const std::string& finite) {
    const auto with = [&](const std::string& product) {
      return "  i = f32[] divide(one, count)\n" + finite + "  f = V broadcast(i), dimensions={}\n" +
             product;
    };
    return certificate_if_finite(masked(true, with(kProduct)), masked(false, with(kChoice)), {"j"})
               .index() == 0;
  };
  CHECK(is_proved_by("  j = f32[1,1] reshape(i)\n"));
  CHECK_FALSE(is_proved_by("  j = f32[] minimum(i, one)\n"));
  CHECK_FALSE(is_proved_by("  j = f32[] maximum(i, one)\n"));
  CHECK_FALSE(is_proved_by("  j = f32[] add(i, one)\n"));
}

TEST_CASE("what is not the product is not made it by a finite factor") {
  const std::string before = masked(true, kMean + kProduct);
  for (const char* wrong : {
           "  r = V select(q, f, zeros)\n",  // another mask
           "  r = V select(p, zeros, f)\n",  // the other way
           "  r = V select(p, f, ones)\n",   // another value elsewhere
           "  r = V select(p, f, f)\n",
           "  r = V select(p, ones, zeros)\n",
           "  g = V add(f, f)\n  r = V select(p, g, zeros)\n",
           "  g = V multiply(f, f)\n  r = V select(p, g, zeros)\n",
           "  h = f32[] add(count, one)\n  j = f32[] divide(one, h)\n"
           "  g = V broadcast(j), dimensions={}\n  r = V select(p, g, zeros)\n",
       }) {
    INFO(wrong);
    CHECK_FALSE(is_proved(before, masked(false, kMean + wrong)));
  }
  // Who asks whether a count is zero means both answers.
  const std::string guarded =
      "  b = pred[] compare(count, zero), direction=EQ\n  k = f32[] select(b, one, count)\n"
      "  i = f32[] divide(one, k)\n  f = V broadcast(i), dimensions={}\n";
  CHECK_FALSE(is_proved(masked(true, guarded + kProduct), masked(false, kMean + kChoice)));
  CHECK_FALSE(is_proved(before, masked(false, guarded + kChoice)));
  CHECK(is_proved(masked(true, guarded + kProduct), masked(false, guarded + kChoice)));
}

TEST_CASE("p2-check takes nothing as finite that never is, or that is no instruction") {
  const auto objection = [](const std::string& body, std::vector<std::string> finite) {
    const std::string before = masked(true, body);
    const auto made = certificate_if_finite(before, masked(false, body), std::move(finite));
    return made.index() == 0 ? std::string() : std::get<1>(made);
  };
  const std::string infinite =
      "  inf = f32[] constant(inf)\n  wide = V broadcast(inf), dimensions={}\n";
  const std::string chosen =
      "  index = s32[4] iota(), iota_dimension=0\n  two = s32[] constant(2)\n"
      "  twos = s32[4] broadcast(two), dimensions={}\n"
      "  c = pred[4] compare(index, twos), direction=LT\n"
      "  f = V select(c, x, wide)\n";
  CHECK(objection(kMean + kProduct, {"i"}).empty());
  CHECK(objection(kMean + kProduct, {"nothing"}) ==
        "what is finite is no array that the entry makes");
  // What a computation makes that is called.
  CHECK(objection(kMean + kProduct, {"i", "s"}) ==
        "what is finite is no array that the entry makes");
  const auto is_never = [&](const std::string& body, const std::string& name) {
    return objection(body + kProduct, {name}) == name + ", said to be finite, may never be";
  };
  CHECK(is_never(infinite + "  f = V add(x, wide)\n", "f"));
  CHECK(is_never(infinite + "  g = V multiply(x, wide)\n  f = V subtract(y, g)\n", "f"));
  CHECK(is_never("  g = V divide(ones, zeros)\n  f = V multiply(x, g)\n", "f"));
  CHECK(is_never(kMean, "one"));
  CHECK(is_never(kMean, "p"));
  // Where a mask of inputs chooses it, other inputs have none; a mask of constants has it always.
  CHECK(objection(infinite + "  f = V select(q, x, wide)\n" + kProduct, {"f"}).empty());
  const std::string before = masked(true, infinite + chosen + kProduct);
  const auto made = certificate_if_finite(before, masked(false, kMean + kProduct), {"f"});
  CHECK(std::get<1>(made) == "f, said to be finite, may never be");
}

TEST_CASE("modules that differ have no condition") {
  const std::string before = masked(true, kMean + kProduct);
  const auto made = certificate_if_finite(before, masked(false, kMean + kChoice), {"i"});
  REQUIRE(made.index() == 0);
  CertificateFiles files{{"problem.json", std::get<0>(made).at("problem.json")},
                         {"run.json", "{\"draw\": 0, \"seed\": 0}"}};
  add_manifest("modules-different", {}, files);
  CHECK(check_certificate(files).verdict == Verdict::NotACertificate);
}

TEST_CASE("an answer says on what condition modules are equal") {
  const TemporaryFile before(masked(true, kMean + kProduct), ".hlo");
  const TemporaryFile after(masked(false, kMean + kChoice), ".hlo");
  const TemporaryFile same(masked(false, kMean + kProduct), ".hlo");
  const auto ran = [&](const TemporaryFile& file, std::vector<std::string> more) {
    std::vector<std::string> question = {"check", "--before", before.path(), "--after",
                                         file.path()};
    question.insert(question.end(), more.begin(), more.end());
    return run(question);
  };
  const Ran text = ran(after, {});
  CHECK(text.exit == 0);
  CHECK(text.out.find("valid (after") != std::string::npos);
  CHECK(text.out.find("as real numbers, on a condition)") != std::string::npos);
  CHECK(text.out.find("condition: that these are finite, as they are multiplied by masks or "
                      "padding: i (line 20)\n") != std::string::npos);
  const auto json = nlohmann::json::parse(ran(after, {"--format", "json"}).out);
  CHECK(json["results"][0]["finite"] == nlohmann::json::array({"i (line 20)"}));
  CHECK(ran(same, {}).out.find("condition") == std::string::npos);
  const auto plain = nlohmann::json::parse(ran(same, {"--format", "json"}).out);
  CHECK_FALSE(plain["results"][0].contains("finite"));
}

/// Numbers of one place: inputs, and what `f` and `g` are of them.
struct Numbers {
  double x, y, m, f, g;
};

/// A way to mask `f`, as text and as numbers; where that is what the product is, `is_right`.
struct Masking {
  const char* text;
  double (*value)(const Numbers& at);
};

const Masking kMaskings[] = {
    {"  r = V multiply(w, f)\n", [](const Numbers& at) { return at.m > 0 ? at.f : 0; }},
    {"  r = V select(p, f, zeros)\n", [](const Numbers& at) { return at.m > 0 ? at.f : 0; }},
    {"  n = B not(p)\n  r = V select(n, zeros, f)\n",
     [](const Numbers& at) { return at.m > 0 ? at.f : 0; }},
    {"  h = V multiply(f, w)\n  r = V multiply(h, w)\n",
     [](const Numbers& at) { return at.m > 0 ? at.f : 0; }},
    {"  h = V multiply(f, w)\n  r = V select(p, h, zeros)\n",
     [](const Numbers& at) { return at.m > 0 ? at.f : 0; }},
    {"  r = V select(q, f, zeros)\n", [](const Numbers& at) { return at.m > at.x ? at.f : 0; }},
    {"  r = V multiply(v, f)\n", [](const Numbers& at) { return at.m > at.x ? at.f : 0; }},
    {"  r = V select(p, zeros, f)\n", [](const Numbers& at) { return at.m > 0 ? 0 : at.f; }},
    {"  r = V select(p, g, zeros)\n", [](const Numbers& at) { return at.m > 0 ? at.g : 0; }},
    {"  h = V add(f, g)\n  r = V select(p, h, zeros)\n",
     [](const Numbers& at) { return at.m > 0 ? at.f + at.g : 0; }},
    {"  h = V multiply(w, f)\n  k = V multiply(w, g)\n  r = V add(h, k)\n",
     [](const Numbers& at) { return at.m > 0 ? at.f + at.g : 0; }},
    {"  r = V select(p, f, ones)\n", [](const Numbers& at) { return at.m > 0 ? at.f : 1; }},
    {"  r = V select(p, f, g)\n", [](const Numbers& at) { return at.m > 0 ? at.f : at.g; }},
    {"  h = V multiply(w, v)\n  r = V multiply(h, f)\n",
     [](const Numbers& at) { return at.m > 0 && at.m > at.x ? at.f : 0; }},
    {"  h = V select(q, f, zeros)\n  r = V select(p, h, zeros)\n",
     [](const Numbers& at) { return at.m > 0 && at.m > at.x ? at.f : 0; }},
    {"  r = V add(f, zeros)\n", [](const Numbers& at) { return at.f; }},
};

/// Functions that may not be finite, of x and y.
struct Function {
  const char* text;
  double (*value)(double x, double y);
};
const Function kFunctions[] = {
    {"divide(x, y)", [](double x, double y) { return x / y; }},
    {"log(x)", [](double x, double) { return std::log(x); }},
    {"rsqrt(y)", [](double, double y) { return 1 / std::sqrt(y); }},
    {"exponential(x)", [](double x, double) { return std::exp(x); }},
    {"multiply(x, y)", [](double x, double y) { return x * y; }},
};

// What a mask leaves is computed in doubles, for inputs for which both functions are finite.
TEST_CASE("maskings of every function by another: proved only where they are equal") {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> draw(-2, 2);
  int proved = 0, equal = 0, conditional = 0;
  for (const Function& f : kFunctions) {
    for (const Function& g : kFunctions) {
      const std::string functions = fmt::format("  f = V {}\n  g = V {}\n", f.text, g.text);
      std::vector<Numbers> places;
      while (places.size() < 200) {
        Numbers at{draw(random), draw(random), draw(random), 0, 0};
        at.f = f.value(at.x, at.y);
        at.g = g.value(at.x, at.y);
        if (std::isfinite(at.f) && std::isfinite(at.g)) places.push_back(at);
      }
      for (const Masking& before : kMaskings) {
        for (const Masking& after : kMaskings) {
          const bool is_equal = std::ranges::all_of(places, [&](const Numbers& at) {
            return std::fabs(before.value(at) - after.value(at)) < 1e-9;
          });
          const std::string texts[] = {masked(true, functions + before.text),
                                       masked(false, functions + after.text)};
          const bool is_made = is_proved(texts[0], texts[1]);
          INFO(functions << before.text << "against\n" << after.text);
          CHECK((is_equal || !is_made));
          equal += is_equal ? 1 : 0;
          proved += is_made ? 1 : 0;
          conditional +=
              is_made && certificate_if_finite(texts[0], texts[1], {}).index() == 1 ? 1 : 0;
        }
      }
    }
  }
  MESSAGE(
      fmt::format("{} of {} equal pairs proved, {} on a condition", proved, equal, conditional));
  CHECK(proved > equal / 3);
  CHECK(conditional > 50);
}

TEST_CASE("a convolution is that of what is padded with zeros where its kernel is finite") {
  // The kernel is divided by what may be zero.
  const auto text = [](bool is_whole, const std::string& last) {
    const std::string cut = is_whole ? ", sharding={devices=[2,1,1]<=[2]}" : "";
    const std::string entry = fmt::format(
        "  x = f32[{},6,2] parameter(0){}\n  k = f32[3,2,2] parameter(1)\n"
        "  m = f32[3,2,2] parameter(2)\n  zero = f32[] constant(0)\n"
        "  zeros = f32[3,2,2] broadcast(zero), dimensions={{}}\n"
        "  larger = f32[3,2,2] maximum(m, zeros)\n  q = f32[3,2,2] divide(k, larger)\n{}{}\n",
        is_whole ? 4 : 2, cut, last, cut);
    return is_whole ? before_text(entry) : after_text(entry);
  };
  const std::string before =
      text(true,
           "  ROOT o = f32[4,6,2] convolution(x, q), window={size=3 pad=1_1}, "
           "dim_labels=b0f_0io->b0f");
  const auto after = [&](const char* padding) {
    return text(false, fmt::format("  p = f32[2,8,2] pad(x, zero), padding=0_0x{}x0_0\n"
                                   "  ROOT o = f32[2,6,2] convolution(p, q), window={{size=3}}, "
                                   "dim_labels=b0f_0io->b0f",
                                   padding));
  };
  CHECK(factors(before, after("1_1")) == std::vector<std::string>{"q"});
  CHECK(certificate_if_finite(before, after("1_1"), {}).index() == 1);
  const auto made = certificate_if_finite(before, after("1_1"), {"q"});
  REQUIRE(made.index() == 0);
  const kernel::Result result = check_certificate(std::get<0>(made));
  CHECK(result.verdict == Verdict::Accepted);
  CHECK(result.reason.starts_with("for all inputs for which q is finite, in real numbers, "));
  CHECK_FALSE(is_proved(before, after("2_0")));
}

}  // namespace
}  // namespace p2::hlo
