#include <algorithm>
#include <functional>
#include <map>

#include <doctest/doctest.h>

#include "tests/program/instances.h"
#include "tests/proofs/completeness.h"
#include "tests/synthesis/all_instances.h"

using namespace p2;
using namespace p2::proofs;

namespace {

/// A reason without its numbers.
std::string kind_of(const std::string& reason) {
  std::string kind;
  for (const char c : reason) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) kind += c;
    if (digit && !kind.ends_with('#')) kind += '#';
  }
  return kind;
}

}  // namespace

TEST_CASE("completeness is certified and accepted: all systems of 2 to 4 devices") {
  std::map<std::string, std::size_t> claims;
  for (std::uint32_t devices = 2; devices <= 4; ++devices) {
    for_each_question(devices, [&](const Instance& instance, Dialect dialect) {
      const CertificateFiles files = certify_complete(instance, dialect, 3);
      const kernel::Result result = check_certificate(files);
      CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
      CHECK(is_complete(files.at("problem.json")));
      ++claims[result.reason.substr(0, result.reason.find(", hierarchy "))];
    });
  }
  CHECK(claims["there are 3 valid programs of at most 3 steps over collapsed (2 devices"] > 0);
  CHECK(claims.size() > 8);
}

TEST_CASE("no mutation of a small certificate of completeness proves anything false") {
  const std::vector<CertificateFiles> certificates = small_completeness_certificates();
  for (const CertificateFiles& files : certificates) {
    const kernel::Result result = check_certificate(files);
    REQUIRE_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
  }
  CompletenessMutator mutator(11);
  std::map<std::string, int> met;
  int accepted = 0;
  for (std::size_t i = 0; i < 12'000; ++i) {
    const CertificateFiles& original = certificates[i % certificates.size()];
    CertificateFiles files = original;
    mutator.mutate(files);
    const kernel::Result result = check_certificate(files);
    if (result.verdict != kernel::Verdict::Accepted) {
      ++met[word(result.verdict) + ": " + kind_of(result.reason)];
      continue;
    }
    ++accepted;
    CHECK_MESSAGE(is_complete(files["problem.json"]), files["problem.json"], result.reason);
  }
  for (const auto& [reason, count] : met) MESSAGE(count, " ", reason);
  MESSAGE("accepted, and true: ", accepted);
  CHECK(met.size() > 45);
  CHECK(accepted > 500);
  for (const char* reason :
       {"duplicate program", "a program is longer than size", "choice # mismatch",
        "clause # of problem.cnf is not in the CNF of the claim",
        "problem.cnf: variable count mismatch", "program #: steps after the goal",
        "program #: the goal is not reached", "proof.lrat does not derive the empty clause",
        "proof.lrat, step #: hint is not unit", "proof.lrat, step #: hint after a conflict",
        "proof.lrat, step #: hint refers to no earlier clause",
        "proof.lrat, step #: hints do not end in a conflict", "varmap mismatch"}) {
    CHECK_MESSAGE(met[std::string("rejected: ") + reason] > 50, std::string(reason));
  }
}

using namespace p2;
using namespace p2::proofs;

namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// One lie about a complete list, and what the checker says of it.
struct Forgery {
  const char* reason;  ///< occurs in the checker's
  std::function<void(json& problem, Lines& cnf, Lines& lrat)> forge;
};

/// Replaces the hints of a step.
void give_hints(std::string& step, const std::string& hints) {
  step = step.substr(0, step.find(" 0 ") + 3) + hints;
}

void add_hint(std::string& step, const std::string& hint, bool in_front) {
  const std::size_t hints = step.find(" 0 ") + 3;
  step.insert(in_front ? hints : step.size() - 1, hint + " ");
}

const Forgery kForgeries[] = {
    {"of problem.cnf is not in the CNF of the claim",  // a program is missing
     [](json& problem, Lines&, Lines&) { problem["programs"].erase(1); }},
    {"program 1: steps after the goal",
     [](json& problem, Lines&, Lines&) {
       problem["programs"].insert(problem["programs"].begin() + 1, json::array({0, 0}));
     }},
    {"program 2: the goal is not reached",
     [](json& problem, Lines&, Lines&) { problem["programs"][2] = {3}; }},
    {"program 2: choice 2, group of device 0: disjoint-chunks fails",
     [](json& problem, Lines&, Lines&) { problem["programs"][2] = {2}; }},
    {"duplicate program",
     [](json& problem, Lines&, Lines&) { problem["programs"][1] = problem["programs"][0]; }},
    {"programs are not in order",
     [](json& problem, Lines&, Lines&) {
       std::swap(problem["programs"][0], problem["programs"][1]);
     }},
    {"a program is longer than size", [](json& problem, Lines&, Lines&) { problem["size"] = 1; }},
    {"of problem.cnf is not in the CNF of the claim",  // of more steps than was proved
     [](json& problem, Lines&, Lines&) { problem["size"] = 4; }},
    {"65 is not a number below 65", [](json& problem, Lines&, Lines&) { problem["size"] = 65; }},
    {"number of choices mismatch",
     [](json& problem, Lines&, Lines&) { problem["choices"].erase(4); }},
    {"choice 3 mismatch",
     [](json& problem, Lines&, Lines&) { problem["choices"][3]["collective"] = "Broadcast"; }},
    {"problem.json has no hierarchy",
     [](json& problem, Lines&, Lines&) {
       for (const char* key : {"hierarchy", "axes", "reduce", "placement", "synthesis_hierarchy"}) {
         problem.erase(key);
       }
     }},
    {"clause 5 of problem.cnf is not in the CNF of the claim",
     [](json&, Lines& cnf, Lines&) { cnf[5].insert(0, cnf[5][0] == '-' ? "1 " : "-1 "); }},
    {"of problem.cnf is not in the CNF of the claim",  // clauses out of order
     [](json&, Lines& cnf, Lines&) { std::swap(cnf[1], cnf[2]); }},
    {"of problem.cnf is not in the CNF of the claim",  // a clause twice
     [](json&, Lines& cnf, Lines&) { cnf.back() = cnf[cnf.size() - 2]; }},
    {"problem.cnf: clause count mismatch",
     [](json&, Lines& cnf, Lines&) { cnf.push_back(cnf[1]); }},
    {"problem.cnf: variable count mismatch",
     [](json&, Lines& cnf, Lines&) { cnf[0].insert(6, "1"); }},
    {"problem.cnf: missing header", [](json&, Lines& cnf, Lines&) { cnf.erase(cnf.begin()); }},
    {": hint is not unit",
     [](json&, Lines& cnf, Lines& lrat) {
       std::size_t open = 1;
       while (std::count(cnf[open].begin(), cnf[open].end(), ' ') < 3) ++open;
       add_hint(lrat.back(), std::to_string(open), true);
     }},
    {": hints do not end in a conflict",
     [](json&, Lines&, Lines& lrat) { give_hints(lrat[2], "0"); }},
    {": hint after a conflict",
     [](json&, Lines&, Lines& lrat) { add_hint(lrat.back(), "1", false); }},
    {": hint refers to no earlier clause",
     [](json&, Lines&, Lines& lrat) {
       add_hint(lrat[1], lrat[1].substr(0, lrat[1].find(' ')), true);
     }},
    {": hint refers to no earlier clause",  // as in a RAT step
     [](json&, Lines&, Lines& lrat) { add_hint(lrat[1], "-1", true); }},
    {"proof.lrat does not derive the empty clause",
     [](json&, Lines&, Lines& lrat) { lrat.pop_back(); }},
    {"proof.lrat does not derive the empty clause",
     [](json&, Lines&, Lines& lrat) { lrat.clear(); }},
    {": hint refers to no earlier clause",  // a gap in the numbers is none in itself
     [](json&, Lines&, Lines& lrat) { lrat.erase(lrat.begin()); }},
    {"proof.lrat: unknown variable",
     [](json&, Lines& cnf, Lines& lrat) {
       const std::string variables = cnf[0].substr(6, cnf[0].find(' ', 6) - 6);
       lrat[1].insert(lrat[1].find(' '), " " + std::to_string(std::stoi(variables) + 1));
     }},
    {": clause is a tautology",
     [](json&, Lines&, Lines& lrat) { lrat[1].insert(lrat[1].find(' '), " 7 -7"); }},
    {": hint refers to a deleted clause",
     [](json&, Lines&, Lines& lrat) {
       lrat.insert(lrat.begin(), lrat[0].substr(0, lrat[0].find(' ')) + " d 1 0");
     }},
    {"proof.lrat: expected a number, and white space after it",
     [](json&, Lines&, Lines& lrat) { lrat.back() += " x"; }},
};

}  // namespace

TEST_CASE("forged certificates of completeness are refused, each for its reason") {
  const CertificateFiles original =
      certify_complete(instance_of("2", "2", "0", "[[2]]"), Dialect::Published, 3);
  REQUIRE(check_certificate(original).verdict == kernel::Verdict::Accepted);
  REQUIRE(json::parse(original.at("problem.json"))["programs"] == json({{0}, {1, 2}, {3, 4}}));
  for (const Forgery& forgery : kForgeries) {
    CertificateFiles files = original;
    json problem = json::parse(files["problem.json"]);
    Lines cnf = lines_of(files["problem.cnf"]);
    Lines lrat = lines_of(files["proof.lrat"]);
    REQUIRE(lrat.size() > 4);
    forgery.forge(problem, cnf, lrat);
    files["problem.json"] = problem.dump();
    files["problem.cnf"] = text_of(cnf);
    files["proof.lrat"] = text_of(lrat);
    reseal("synthesis-complete", files);
    const kernel::Result result = check_certificate(files);
    CHECK(result.verdict != kernel::Verdict::Accepted);
    const bool expected = result.reason.find(forgery.reason) != std::string::npos;
    CHECK_MESSAGE(expected, std::string(forgery.reason), " / ", result.reason);
  }
}

TEST_CASE("a list that lacks any one program is refused, also when no clause speaks of it") {
  const CertificateFiles original =
      certify_complete(instance_of("2,2", "4", "0", "[[2,2]]"), Dialect::Published, 3);
  const json problem = json::parse(original.at("problem.json"));
  const std::size_t count = problem["programs"].size();
  REQUIRE(count > 10);
  for (std::size_t missing = 0; missing < count; ++missing) {
    CertificateFiles files = original;
    json shorter = problem;
    shorter["programs"].erase(missing);
    files["problem.json"] = shorter.dump();
    reseal("synthesis-complete", files);
    CHECK(check_certificate(files).reason.find("is not in the CNF of the claim") !=
          std::string::npos);
    ProofText proof(original);
    proof.drop_clause(proof.clauses.size() - (count - missing));
    proof.write(files);
    reseal("synthesis-complete", files);
    const kernel::Result result = check_certificate(files);
    CHECK(result.verdict == kernel::Verdict::Rejected);
    CHECK_MESSAGE(result.reason.starts_with("proof.lrat, step "), result.reason);
  }
}

TEST_CASE("varmap says what the variables are, and nothing else") {
  CertificateFiles files =
      certify_complete(instance_of("2", "2", "0", "[[2]]"), Dialect::Published, 1);
  files["varmap"].back() = ' ';
  reseal("synthesis-complete", files);
  CHECK(check_certificate(files).reason == "varmap mismatch");
}
