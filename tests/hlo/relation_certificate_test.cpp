// Certificates by a relation at every node: what they say is what execution finds, whatever is
// altered in them.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/hlo/modules.h"
#include "tests/hlo/random_program.h"
#include "tests/hlo/related_pairs.h"

namespace p2::hlo {
namespace {

using kernel::Verdict;

int times(int usual) {
  const char* const more = std::getenv("P2_RELATION_TIMES");
  return more == nullptr ? usual : usual * std::atoi(more);
}

/// Of a text, one digit, opcode or group changed.
class Alteration {
 public:
  explicit Alteration(std::uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }
  std::string module(std::string text) {
    const std::size_t entry = std::min(text.find("loop_body"), text.find("ENTRY"));
    if (below(3) == 0) {
      static const std::pair<const char*, const char*> kWords[] = {
          {" add(", " subtract("},
          {" multiply(", " add("},
          {" negate(", " exponential("},
          {"direction=LT", "direction=LE"},
          {"direction=GT", "direction=GE"},
          {"to_apply=add", "to_apply=maximum"},
          {"to_apply=maximum", "to_apply=add"},
          {" or(", " and("},
          {"{{0,2},{1,3}}", "{{0,1},{2,3}}"},
          {"{{0,1},{2,3}}", "{{0,2},{1,3}}"},
          {"{{0,2},{1,3}}", "{{2,0},{3,1}}"},
          {"all-reduce(", "copy("},
          {"(x, z)", "(z, x)"},
          {"broadcast(re)", "broadcast(r)"},
          {"(m, zb, g)", "(m, g, zb)"},
          {"subtract(c, o)", "subtract(c, q)"},
          {"clamp(zs, i, hs)", "clamp(zs, i, q)"},
          {"(o, zb, x)", "(o, x, zb)"},
          {"constant(0)", "constant(1)"},
          {"constant(3)", "constant(2)"},
          {", i, zero", ", next, zero"},
          {"add(x, s)", "add(x, d)"},
          {"tuple(next, a, ", "tuple(next, x, "},
          {"tuple(next, a, m)", "tuple(next, m, a)"},
          {"tuple(y, q)", "tuple(q, y)"},
          {"all-to-all(", "copy("}};
      for (int tries = 0; tries < 20; ++tries) {
        const auto& [from, to] = kWords[below(std::size(kWords))];
        const std::size_t at = text.find(from, entry);
        if (at != std::string::npos) return text.replace(at, std::string(from).size(), to);
      }
    }
    std::vector<std::size_t> digits;
    for (std::size_t at = entry; at < text.size(); ++at) {
      if (text[at] >= '0' && text[at] <= '9') digits.push_back(at);
    }
    text[digits[below(digits.size())]] = static_cast<char>('0' + below(10));
    return text;
  }
  std::string evidence(const std::string& text) {
    auto json = nlohmann::ordered_json::parse(text);
    auto& facts = json["facts"];
    const int changes = 1 + static_cast<int>(below(3));
    for (int k = 0; k < changes && !facts.empty(); ++k) {
      auto& line = facts[below(facts.size())];
      switch (below(5)) {
        case 0:
          line[below(line.size())] = below(12);
          break;
        case 1:
          line.push_back(below(9));
          break;
        case 2:
          std::swap(line, facts[below(facts.size())]);
          break;
        case 3:
          facts.push_back(line);
          break;
        default:
          json["outputs"][0] = below(facts.size() + 4);
      }
    }
    return json.dump();
  }

 private:
  std::mt19937 random_;
};

struct Counts {
  int accepted = 0, refused = 0, open = 0;
};

/// Whether what is accepted is true.
void expect_true(const CertificateFiles& files, Counts& counts) {
  CertificateFiles sealed = files;
  add_manifest("modules-equal", {}, sealed);
  if (check_certificate(sealed).verdict != Verdict::Accepted) {
    ++counts.refused;
    return;
  }
  const Verdict truth = executed(files);
  CAPTURE(files.at("problem.json"));
  CAPTURE(files.at("relation.json"));
  REQUIRE(truth != Verdict::Rejected);
  ++counts.accepted;
  if (truth == Verdict::Incomplete) ++counts.open;
}

TEST_CASE("no altered certificate is accepted whose statement is false") {
  std::vector<CertificateFiles> originals;
  for (const Pair& pair : right_pairs()) {
    auto made = related(whole(pair), local(pair), relation_json(pair.held));
    if (made.index() == 0) originals.push_back(std::get<0>(made));
  }
  Counts counts;
  for (int k = 0; k < times(2000); ++k) {
    Alteration alter(static_cast<std::uint32_t>(k));
    CertificateFiles files = originals[static_cast<std::size_t>(k) % originals.size()];
    files.erase("manifest.json");
    if (k % 2 == 0) {
      files["relation.json"] = alter.evidence(files["relation.json"]);
    } else {
      auto problem = nlohmann::ordered_json::parse(files["problem.json"]);
      const char* key = alter.below(4) == 0 ? "before" : "after";
      problem[key] = alter.module(problem[key].get<std::string>());
      files["problem.json"] = problem.dump();
    }
    expect_true(files, counts);
  }
  MESSAGE(counts.accepted, " accepted, ", counts.refused, " refused, ", counts.open, " open");
  CHECK(counts.accepted * 20 > counts.open);
  CHECK(counts.refused > counts.accepted);
}

TEST_CASE("calls that double at every level, and tuples, do not keep the checker at work") {
  std::string calls = "c0 {\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] copy(p)\n}\n\n";
  for (int k = 1; k <= 60; ++k) {
    calls += fmt::format(
        "c{0} {{\n  p = f32[4] parameter(0)\n  a = f32[4] call(p), to_apply=c{1}\n"
        "  ROOT b = f32[4] call(a), to_apply=c{1}\n}}\n\n",
        k, k - 1);
  }
  std::string tuples = "ENTRY e {\n  x = f32[4] parameter(0)\n  t0 = (f32[4]) tuple(x)\n";
  for (int k = 1; k <= 60; ++k)
    tuples += fmt::format("  t{0} = (f32[4]) tuple(t{1}, t{1})\n", k, k - 1);
  const std::string head = "HloModule m\n\n";
  const std::string before =
      head + "ENTRY e {\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] copy(x)\n}\n";
  const auto reason = [&](const std::string& after) {
    return std::get<std::string>(related(before, head + after, relation_json("a -> a")));
  };
  CHECK(reason(
            calls +
            "ENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] call(x), to_apply=c60\n}\n") ==
        "not covered by this checker: computations that are called too often");
  // Maxima of what is padded, each of the one before and itself.
  std::string maxima =
      "ENTRY e {\n  x = f32[4] parameter(0)\n  m = f32[] constant(-inf)\n"
      "  t0 = f32[8] pad(x, m), padding=0_4\n";
  for (int k = 1; k <= 60; ++k)
    maxima += fmt::format("  t{0} = f32[8] maximum(t{1}, t{1})\n", k, k - 1);
  CHECK(reason(maxima + "  ROOT y = f32[4] slice(t60), slice={[0:4]}\n}\n")
            .starts_with("output 0 is not related"));
  // They are not what they say, or say it at such length.
  CHECK(reason(tuples + "  ROOT y = f32[4] copy(x)\n}\n") == "the shape of t1");
}

TEST_CASE("sums of narrow integers wrap before they are multiplied to wider ones") {
  const std::string narrow =
      "add8 {\n  p = s8[] parameter(0)\n  q = s8[] parameter(1)\n  ROOT s = s8[] add(p, q)\n}\n\n"
      "add32 {\n  p = s32[] parameter(0)\n  q = s32[] parameter(1)\n  ROOT s = s32[] add(p, "
      "q)\n}\n\n";
  const auto module = [&](const std::string& header, const std::string& entry) {
    return "HloModule m" + header + "\n\n" + narrow + "ENTRY e {\n" + entry + "}\n";
  };
  const auto related_to = [&](const std::string& type, const std::string& before,
                              const std::string& after) {
    const auto lines = [&](const char* columns, const std::string& last) {
      return fmt::format(
          "  x = s8[4,{0}] parameter(0)\n  w = {1}[4] parameter(1)\n  z = s8[] constant(0)\n"
          "  r = s8[4] reduce(x, z), dimensions={{1}}, to_apply=add8\n{2}",
          columns, type, last);
    };
    return related(module("", lines("8", before)), module(", num_partitions=4", lines("4", after)),
                   relation_json(".b . -> _"))
               .index() == 0;
  };
  const auto dot = [](const char* name, const char* type) {
    return fmt::format(
        "{} = {}[] dot(r, w), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}\n", name,
        type);
  };
  const auto sum = [](const char* type, const char* add) {
    return fmt::format("  ROOT y = {}[] all-reduce(d), {}, to_apply={}\n", type, kAlongB, add);
  };
  CHECK(
      !related_to("s8", "  ROOT " + dot("y", "s32"), "  " + dot("d", "s32") + sum("s32", "add32")));
  // In integers of the same width products wrap as sums do.
  CHECK(related_to("s8", "  ROOT " + dot("y", "s8"), "  " + dot("d", "s8") + sum("s8", "add8")));
}

TEST_CASE("relation.json is read as JSON, whichever way it is written") {
  CertificateFiles files;
  for (const Pair& pair : right_pairs()) {
    auto made = related(whole(pair), local(pair), relation_json(pair.held));
    if (made.index() == 0) files = std::get<0>(made);
    if (files.contains("relation.json") &&
        nlohmann::json::parse(files["relation.json"])["facts"].size() > 3)
      break;
  }
  const std::string text = files.at("relation.json");
  REQUIRE(text.starts_with(R"({"facts":[[)"));
  const auto verdict = [&](const std::string& other) {
    CertificateFiles changed = files;
    changed["relation.json"] = other;
    add_manifest("modules-equal", {}, changed);
    return check_certificate(changed).verdict;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    REQUIRE(other.find(from) != std::string::npos);
    return other.replace(other.find(from), from.size(), to);
  };
  const auto json = nlohmann::ordered_json::parse(text);
  const std::string facts = json["facts"].dump();
  const std::string outputs = json["outputs"].dump();
  const std::string first = json["facts"][0][0].dump();
  const auto of = [](const std::string& all_facts, const std::string& all_outputs) {
    return R"({"facts":)" + all_facts + R"(,"outputs":)" + all_outputs + "}";
  };
  CHECK(verdict(text) == Verdict::Accepted);
  for (const std::string& same :
       {json.dump(), json.dump(1), nlohmann::json::parse(text).dump(3), text + " \n\t",
        with(R"("facts":)", R"("facts" :)"), with("[[", "[ ["), with("],[", "], ["),
        with("facts", "fact\\u0073"), with("[[" + first, "[[ " + first + "\r"),
        R"({"outputs":)" + outputs + R"(,"facts":)" + facts + "}"}) {
    CAPTURE(same);
    CHECK(verdict(same) == Verdict::Accepted);
  }
  const auto number = [&](const std::string& other) { return with("[[" + first, "[[" + other); };
  std::vector<std::string> wrong = {number("0" + first),
                                    number("+" + first),
                                    number("-" + first),
                                    number(first + ".0"),
                                    number(first + "e0"),
                                    number("2147483648"),
                                    number("4294967296"),
                                    number("18446744073709551616"),
                                    number("1e999"),
                                    number("null"),
                                    number("\"0\""),
                                    number("[0]"),
                                    number(""),
                                    number(" "),
                                    number("0x0"),
                                    number(first + ","),
                                    number("true"),
                                    with("[[", "[[],["),
                                    with("[[", "[,["),
                                    with("[[", "[0,["),
                                    with("]]", "]],"),
                                    with("]]", "],]"),
                                    text + "x",
                                    text + "{}",
                                    text + text,
                                    text + "]",
                                    "[" + text + "]",
                                    "",
                                    "{",
                                    text.substr(0, text.size() / 2),
                                    text.substr(0, text.rfind('}')),
                                    of(facts, outputs + R"(,"facts":)" + facts),
                                    of(facts, outputs + R"(,"outputs":)" + outputs),
                                    of("[]", outputs + R"(,"facts":)" + facts),
                                    of(facts, outputs + R"(,"more":0)"),
                                    of(facts, R"("0")"),
                                    of(facts, "{}"),
                                    of("{}", outputs),
                                    of("0", outputs),
                                    R"({"facts":)" + facts + "}",
                                    R"({"outputs":)" + outputs + "}",
                                    of(facts, "\"\xff\""),
                                    of(facts, "[\"\xc0\x80\"]"),
                                    of(facts, "[\"\\ud800\"]"),
                                    of(facts, "[\"a\nb\"]"),
                                    "\xef\xbb\xbf" + text,
                                    text + std::string(1, '\0')};
  for (const std::size_t depth : {9, 12, 1000}) {
    const std::string deep = std::string(depth, '[') + std::string(depth, ']');
    wrong.push_back(of(facts, deep));
    wrong.push_back(of(deep, outputs));
  }
  for (const std::string& other : wrong) {
    CAPTURE(other);
    CHECK(verdict(other) == Verdict::NotACertificate);
  }
  CHECK(verdict(of("[]", outputs)) != Verdict::Accepted);
}

TEST_CASE("outputs have the shapes that a module says") {
  const auto module = [](const char* header, const char* lines) {
    return fmt::format("HloModule m{}\n\nENTRY e {{\n  x = f32[4] parameter(0)\n{}}}\n", header,
                       lines);
  };
  const auto certificate = [&](const char* before, const char* after) {
    CertificateFiles files = std::get<0>(related(
        module("", "  ROOT y = (f32[4]) tuple(x)\n"),
        module(", num_partitions=4", "  ROOT y = (f32[4]) tuple(x)\n"), relation_json(". -> .")));
    auto problem = nlohmann::ordered_json::parse(files.at("problem.json"));
    problem["before"] = module("", before);
    problem["after"] = module(", num_partitions=4", after);
    files["problem.json"] = problem.dump();
    files.erase("manifest.json");
    add_manifest("modules-equal", {}, files);
    return check_certificate(files).verdict;
  };
  const char* const right = "  ROOT y = (f32[4]) tuple(x)\n";
  CHECK(certificate(right, right) == Verdict::Accepted);
  for (const char* wrong : {"  ROOT y = (s32[4]) tuple(x)\n", "  ROOT y = f32[4] tuple(x, x)\n",
                            "  ROOT y = (f32[4]) tuple(x, x)\n"}) {
    CHECK(certificate(wrong, right) != Verdict::Accepted);
    CHECK(certificate(right, wrong) != Verdict::Accepted);
    CHECK(certificate(wrong, wrong) != Verdict::Accepted);
  }
}

TEST_CASE("no altered module is related to what it does not compute") {
  Counts counts;
  const std::vector<Pair> pairs = right_pairs();
  for (int k = 0; k < times(2000); ++k) {
    Alteration alter(static_cast<std::uint32_t>(k) + 77);
    const Pair& pair = pairs[static_cast<std::size_t>(k) % pairs.size()];
    std::string before = whole(pair);
    std::string after = local(pair);
    for (std::size_t changes = 1 + alter.below(2); changes > 0; --changes) {
      std::string& text = alter.below(5) == 0 ? before : after;
      text = alter.module(text);
    }
    try {
      const auto made = related(before, after, relation_json(pair.held));
      if (made.index() == 0)
        expect_true(std::get<0>(made), counts);
      else
        ++counts.refused;
    } catch (const std::exception&) {
      continue;  // No module, or none that the relation fits.
    }
  }
  MESSAGE(counts.accepted, " accepted, ", counts.refused, " refused, ", counts.open, " open");
  CHECK(counts.accepted > 0);
  CHECK(counts.refused > counts.accepted);
}

TEST_CASE("random programs have a certificate where they are right, and none where they are not") {
  Counts counts;
  int right = 0;
  for (int seed = 0; seed < times(2000); ++seed) {
    const int devices = seed % 3 == 0 ? 4 : 2;
    const RandomProgram program(static_cast<std::uint32_t>(seed), devices, seed % 2 == 0 ? 0 : 30);
    if (!program.has_mistake()) ++right;
    const auto made = related(program.before(), program.after(), program.relation_text(), devices);
    if (made.index() == 0)
      expect_true(std::get<0>(made), counts);
    else
      ++counts.refused;
  }
  MESSAGE(counts.accepted, " accepted, ", counts.refused, " refused; ", right,
          " without a mistake");
  CHECK(counts.open == 0);
  CHECK(counts.accepted > right / 4);
}

}  // namespace
}  // namespace p2::hlo
