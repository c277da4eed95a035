#include <algorithm>
#include <functional>

#include <doctest/doctest.h>

#include "tests/program/instances.h"
#include "tests/proofs/completeness.h"
#include "tests/proofs/proof_text.h"

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
  std::function<void(Json& problem, Lines& cnf, Lines& lrat)> forge;
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
    {"of problem.cnf is not the claim's",  // a program is missing
     [](Json& problem, Lines&, Lines&) { problem["programs"].erase(1); }},
    {"program 1: it goes on at the goal",
     [](Json& problem, Lines&, Lines&) {
       problem["programs"].insert(problem["programs"].begin() + 1, Json::array({0, 0}));
     }},
    {"program 2: the goal is missed",
     [](Json& problem, Lines&, Lines&) { problem["programs"][2] = {3}; }},
    {"program 2: choice 2, group of device 0: disjoint-chunks fails",
     [](Json& problem, Lines&, Lines&) { problem["programs"][2] = {2}; }},
    {"a program is listed twice",
     [](Json& problem, Lines&, Lines&) { problem["programs"][1] = problem["programs"][0]; }},
    {"programs are not in order",
     [](Json& problem, Lines&, Lines&) {
       std::swap(problem["programs"][0], problem["programs"][1]);
     }},
    {"a program is longer than size", [](Json& problem, Lines&, Lines&) { problem["size"] = 1; }},
    {"of problem.cnf is not the claim's",  // of more steps than was proved
     [](Json& problem, Lines&, Lines&) { problem["size"] = 4; }},
    {"65 is not a number below 65", [](Json& problem, Lines&, Lines&) { problem["size"] = 65; }},
    {"choices are more or fewer than there are",
     [](Json& problem, Lines&, Lines&) { problem["choices"].erase(4); }},
    {"choice 3 is another",
     [](Json& problem, Lines&, Lines&) { problem["choices"][3]["collective"] = "Broadcast"; }},
    {"problem.json has no hierarchy",
     [](Json& problem, Lines&, Lines&) {
       for (const char* key : {"hierarchy", "axes", "reduce", "placement", "synthesis_hierarchy"}) {
         problem.erase(key);
       }
     }},
    {"clause 5 of problem.cnf is not the claim's",
     [](Json&, Lines& cnf, Lines&) { cnf[5].insert(0, cnf[5][0] == '-' ? "1 " : "-1 "); }},
    {"of problem.cnf is not the claim's",  // clauses out of order
     [](Json&, Lines& cnf, Lines&) { std::swap(cnf[1], cnf[2]); }},
    {"of problem.cnf is not the claim's",  // a clause twice
     [](Json&, Lines& cnf, Lines&) { cnf.back() = cnf[cnf.size() - 2]; }},
    {"problem.cnf has more or fewer clauses",
     [](Json&, Lines& cnf, Lines&) { cnf.push_back(cnf[1]); }},
    {"problem.cnf has another number of variables",
     [](Json&, Lines& cnf, Lines&) { cnf[0].insert(6, "1"); }},
    {"problem.cnf has no header", [](Json&, Lines& cnf, Lines&) { cnf.erase(cnf.begin()); }},
    {": a hint is not unit",
     [](Json&, Lines& cnf, Lines& lrat) {
       std::size_t open = 1;
       while (std::count(cnf[open].begin(), cnf[open].end(), ' ') < 3) ++open;
       add_hint(lrat.back(), std::to_string(open), true);
     }},
    {": its hints do not end in a contradiction",
     [](Json&, Lines&, Lines& lrat) { give_hints(lrat[2], "0"); }},
    {": a hint too many", [](Json&, Lines&, Lines& lrat) { add_hint(lrat.back(), "1", false); }},
    {": a hint is no earlier clause",
     [](Json&, Lines&, Lines& lrat) {
       add_hint(lrat[1], lrat[1].substr(0, lrat[1].find(' ')), true);
     }},
    {": a hint is no earlier clause",  // as in a RAT step
     [](Json&, Lines&, Lines& lrat) { add_hint(lrat[1], "-1", true); }},
    {"proof.lrat does not end in the empty clause",
     [](Json&, Lines&, Lines& lrat) { lrat.pop_back(); }},
    {"proof.lrat does not end in the empty clause",
     [](Json&, Lines&, Lines& lrat) { lrat.clear(); }},
    {": it is not the next number", [](Json&, Lines&, Lines& lrat) { lrat.erase(lrat.begin()); }},
    {"proof.lrat speaks of an unknown variable",
     [](Json&, Lines& cnf, Lines& lrat) {
       const std::string variables = cnf[0].substr(6, cnf[0].find(' ', 6) - 6);
       lrat[1].insert(lrat[1].find(' '), " " + std::to_string(std::stoi(variables) + 1));
     }},
    {": it holds in any case",
     [](Json&, Lines&, Lines& lrat) { lrat[1].insert(lrat[1].find(' '), " 7 -7"); }},
    {"proof.lrat has something else than numbers",  // a deletion
     [](Json&, Lines&, Lines& lrat) {
       lrat.insert(lrat.begin(), lrat[0].substr(0, lrat[0].find(' ')) + " d 1 0");
     }},
    {"proof.lrat has something else than numbers",
     [](Json&, Lines&, Lines& lrat) { lrat.back() += " x"; }},
};

}  // namespace

TEST_CASE("forged certificates of completeness are refused, each for its reason") {
  const CertificateFiles original =
      certify_complete(instance_of("2", "2", "0", "[[2]]"), Dialect::Published, 3);
  REQUIRE(check_certificate(original).verdict == kernel::Verdict::Accepted);
  REQUIRE(Json::parse(original.at("problem.json"))["programs"] == Json({{0}, {1, 2}, {3, 4}}));
  for (const Forgery& forgery : kForgeries) {
    CertificateFiles files = original;
    Json problem = Json::parse(files["problem.json"]);
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
  const Json problem = Json::parse(original.at("problem.json"));
  const std::size_t count = problem["programs"].size();
  REQUIRE(count > 10);
  for (std::size_t missing = 0; missing < count; ++missing) {
    CertificateFiles files = original;
    Json shorter = problem;
    shorter["programs"].erase(missing);
    files["problem.json"] = shorter.dump();
    reseal("synthesis-complete", files);
    CHECK(check_certificate(files).reason.find("is not the claim's") != std::string::npos);
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
  CHECK(check_certificate(files).reason == "varmap is another");
}
