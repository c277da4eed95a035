#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "engine/base/document_writers.h"
#include "engine/base/xml_elements.h"
#include "engine/collective/kernels.h"
#include "engine/msccl/step_graph.h"
#include "engine/onesided/plan.h"
#include "engine/reshard/plans/plan_check.h"
#include "tests/check/folder.h"
#include "tests/cli/run.h"

namespace p2 {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::size_t depth = 0;
};

inline std::vector<Element> elements_of(const std::string& xml) {
  std::vector<Element> elements;
  read_xml("report.xml", xml, "testsuites", [&](const XmlElement& element) {
    Element copy{std::string(element.name), {}, element.depth};
    for (const auto& [name, value] : element.attributes) {
      copy.attributes[std::string(name)] = value;
    }
    elements.push_back(copy);
  });
  return elements;
}

inline std::size_t count(const std::vector<Element>& elements, const std::string& name) {
  std::size_t found = 0;
  for (const Element& element : elements) found += element.name == name ? 1 : 0;
  return found;
}

/// The sum of a count over all suites.
inline int total(const std::vector<Element>& elements, const std::string& attribute) {
  int sum = 0;
  for (const Element& element : elements) {
    if (element.name == "testsuite") sum += std::stoi(element.attributes.at(attribute));
  }
  return sum;
}

using nlohmann::json;

TEST_CASE("JUnit has a suite for every file and a case for every property") {
  const Ran ran = run({"check", kValidXml, kRefusedXml, kRefusedProgram, "--format", "junit"});
  CHECK(ran.exit == kRefuted);
  const std::vector<Element> elements = elements_of(ran.out);
  REQUIRE(elements.front().name == "testsuites");
  CHECK(total(elements, "tests") == 12);
  CHECK(total(elements, "failures") == 2);
  CHECK(total(elements, "errors") == 0);
  // After the race the result is not looked at, after the premises not the goal.
  CHECK(total(elements, "skipped") == 2);
  CHECK(count(elements, "testsuite") == 3);
  CHECK(count(elements, "testcase") == 12);
  CHECK(count(elements, "failure") == 2);
  CHECK(count(elements, "skipped") == 2);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].name == "failure") {
      const bool race = elements[i].attributes.at("type") == "data-race";
      CHECK(elements[i - 1].attributes.at("name").ends_with(race ? " races" : " premises"));
    }
  }
  CHECK(ran.out.find("reduce-scatter-race.xml:20:") != std::string::npos);
  CHECK(ran.out.find("figure4b-counted-twice.p2:6:") != std::string::npos);
}

TEST_CASE("text that XML has no characters for is replaced") {
  FileReport report{
      "a\x01\xFF", "msccl", {{"races", Property::Status::Refuted, "data-race", "<\x02\n&\">"}}, 0};
  const std::vector<Element> elements = elements_of(
      write_junit({.title = "p2-verify check", .blocks = {}, .json = {}, .reports = {report}}));
  const auto failure = std::ranges::find(elements, "failure", &Element::name);
  REQUIRE(failure != elements.end());
  CHECK(failure->attributes.at("message") == "<\xEF\xBF\xBD\n&\">");
  CHECK(json::parse(write_sarif({.title = {},
                                 .blocks = {},
                                 .json = {},
                                 .reports = {report},
                                 .against_baseline = false,
                                 .exit_code = 1}))
            .is_object());
}

namespace {

using nlohmann::json;

/// The properties that the schema of SARIF 2.1.0 requires, and what code-scanning services need.
void check_sarif(const json& log) {
  CHECK(log.at("version") == "2.1.0");
  CHECK(log.at("$schema").get<std::string>().ends_with("sarif-schema-2.1.0.json"));
  REQUIRE(log.at("runs").is_array());
  REQUIRE(log.at("runs").size() == 1);
  const json& run = log.at("runs").at(0);
  const json& driver = run.at("tool").at("driver");
  CHECK(driver.at("name") == "p2-verify");
  REQUIRE(driver.at("rules").is_array());
  for (const json& rule : driver.at("rules")) {
    CHECK(rule.at("id").is_string());
    CHECK(!rule.at("shortDescription").at("text").get<std::string>().empty());
    CHECK(!rule.at("fullDescription").at("text").get<std::string>().empty());
    CHECK(!rule.at("help").at("text").get<std::string>().empty());
    CHECK(rule.at("defaultConfiguration").at("level") == "error");
  }
  REQUIRE(run.at("results").is_array());
  for (const json& result : run.at("results")) {
    CHECK(result.at("message").at("text").is_string());
    const std::size_t index = result.at("ruleIndex");
    REQUIRE(index < driver.at("rules").size());
    CHECK(driver.at("rules").at(index).at("id") == result.at("ruleId"));
    REQUIRE(result.at("locations").size() == 1);
    const json& place = result.at("locations").at(0).at("physicalLocation");
    CHECK(place.at("artifactLocation").at("uri").is_string());
    if (place.contains("region")) CHECK(place.at("region").at("startLine") >= 1);
    CHECK(result.at("partialFingerprints").is_object());
  }
  REQUIRE(run.at("invocations").size() == 1);
  CHECK(run.at("invocations").at(0).at("executionSuccessful").is_boolean());
}

const std::vector<std::string> kThree = {"check", kValidXml, kRefusedXml, kRefusedProgram};

Ran reported(const std::string& format, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = kThree;
  arguments.insert(arguments.end(), {"--format", format});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}

}  // namespace

TEST_CASE("SARIF has a result for every refuted property, at its place") {
  const Ran ran = reported("sarif");
  CHECK(ran.exit == kRefuted);
  const json log = json::parse(ran.out);
  check_sarif(log);
  const json& results = log.at("runs").at(0).at("results");
  REQUIRE(results.size() == 2);
  CHECK(results.at(0).at("ruleId") == "msccl/data-race");
  const json& race = results.at(0).at("locations").at(0).at("physicalLocation");
  CHECK(race.at("region").at("startLine") == 20);
  CHECK(race.at("region").at("startColumn") == 7);
  CHECK(results.at(1).at("ruleId") == "program/disjoint");
  const json& step = results.at(1).at("locations").at(0).at("physicalLocation");
  CHECK(step.at("region") == json{{"startLine", 6}, {"startColumn", 31}});
  CHECK(!results.at(0).contains("baselineState"));
}

TEST_CASE("paths are relative to the current folder, and escaped") {
  const std::filesystem::path before = std::filesystem::current_path();
  const TemporaryFolder folder;
  const std::string file = folder.put("in der tat/ä #1.p2", text_of(kRefusedProgram));
  std::filesystem::current_path(folder.path());
  const json inside = json::parse(run({"check", file, "--format", "sarif"}).out);
  std::filesystem::current_path(before);
  const json place =
      inside.at("runs").at(0).at("results").at(0).at("locations").at(0).at("physicalLocation");
  CHECK(place.at("artifactLocation").at("uri") == "in%20der%20tat/%C3%A4%20%231.p2");
  CHECK(place.at("artifactLocation").at("uriBaseId") == "%SRCROOT%");
  const json outside = json::parse(run({"check", file, "--format", "sarif"}).out);
  const json absolute = outside.at("runs").at(0).at("results").at(0).at("locations").at(0);
  const json& artifact = absolute.at("physicalLocation").at("artifactLocation");
  CHECK(artifact.at("uri").get<std::string>().starts_with("file:///"));
  CHECK(!artifact.contains("uriBaseId"));
}

/// The rules of a format whose names are an enumeration.
template <typename Rule>
std::vector<std::string> names_to(Rule last) {
  std::vector<std::string> names;
  for (int rule = 0; rule <= static_cast<int>(last); ++rule) {
    names.emplace_back(to_string(static_cast<Rule>(rule)));
  }
  return names;
}

TEST_CASE("every rule that a format can report has a text of its own") {
  std::vector<std::string> premises = {"master", "empty-group", "goal-lacks", "goal-excess",
                                       "all-sizes"};
  for (int premise = 0; premise <= static_cast<int>(Premise::Informative); ++premise) {
    premises.emplace_back(name_of(static_cast<Premise>(premise)));
  }
  const std::map<std::string, std::vector<std::string>> formats = {
      {"program", premises},
      {"msccl", names_to(msccl::Fault::Kind::LostContribution)},
      {"onesided", names_to(onesided::Rule::WrongResult)},
      {"reshard-plan", names_to(reshard::PlanRule::Missing)},
      {"hlo",
       {"contributions", "value", "order", "signature", "shapes", "groups", "pairs", "operands",
        "unmatched", "deadlock"}},
      {"definition",
       {"satisfiable", "nothing-invented", "chunks-apart", "sums-whole", "no-double-count",
        "realisable", "keeps-all", "measure", "equivariant"}},
      {"flight-recorder",
       {"mismatched-collective", "reordered-collectives", "mismatched-type", "mismatched-size",
        "missing-call", "deadlock", "unmatched-send", "unmatched-receive"}},
      {"pipeline-schedule",
       {"stage-placement", "duplicate-work", "missing-work", "order", "deadlock", "missing-send",
        "missing-receive", "p2p-order"}},
      {"transfer-plan", {"bounds", "source", "destination", "twice", "missing"}}};
  for (const auto& [format, rules] : formats) {
    for (const std::string& rule : rules) {
      CAPTURE(format);
      CAPTURE(rule);
      const RuleText text = rule_text(format, rule);
      CHECK(text.name == rule);
      CHECK(text.summary.ends_with("."));
      CHECK(text.summary.find("user-defined") == std::string_view::npos);
    }
  }
  for (const std::string& rule : formats.at("msccl")) {
    CHECK(text_of(P2_SOURCE_DIR "/docs/msccl.md").find("`" + rule + "`") != std::string::npos);
  }
}

TEST_CASE("only a program breaks premises of user-defined collectives") {
  CHECK(rule_text("program", "own-premise").summary ==
        "A premise of a user-defined collective does not hold.");
  CHECK_THROWS_AS(rule_text("msccl", "disjoint"), InternalError);
  CHECK_THROWS_AS(rule_text("hlo", "own-premise"), InternalError);
}

TEST_CASE("refuted files of several formats can be reported") {
  std::vector<std::string> command = {"check"};
  for (const char* files : {"programs/refused/*.p2", "msccl/refused/*.xml",
                            "onesided/refused/*.plan", "records/refused/**/*"}) {
    command.push_back(kExamples + files);
  }
  for (const char* format : {"sarif", "html"}) {
    std::vector<std::string> each = command;
    each.insert(each.end(), {"--format", format});
    const Ran ran = run(each);
    CAPTURE(ran.err);
    CHECK(ran.exit == kRefuted);
    CHECK(ran.out.find("user-defined") == std::string::npos);
  }
}

TEST_CASE("reports can be written to a file, whole") {
  const TemporaryFolder folder;
  const Ran ran = reported("sarif", {"--output", folder.path("report.sarif")});
  CHECK(ran.exit == kRefuted);
  CHECK(ran.out.empty());
  check_sarif(json::parse(text_of(folder.path("report.sarif"))));
}

TEST_CASE("other commands keep to text and JSON") {
  const Ran ran = run({"place", "--hierarchy", "2", "--axes", "2", "--format", "sarif"});
  CHECK(ran.exit == kBadInput);
}

TEST_CASE("what is no refutation is an error of JUnit and a notification of SARIF") {
  const TemporaryFolder folder;
  const std::string broken = folder.put("broken<&\">.xml", "<algo");
  std::string text = text_of(kValidXml);
  text.replace(text.find("allreduce\" proto"), 9, "alltonext");
  const std::string unknown = folder.put("unknown.xml", text);

  const Ran junit = run({"check", broken, unknown, "--format", "junit"});
  CHECK(junit.exit == kBadInput);
  const std::vector<Element> elements = elements_of(junit.out);
  CHECK(total(elements, "errors") == 2);
  CHECK(total(elements, "failures") == 0);
  CHECK(junit.out.find("type=\"undecided\"") != std::string::npos);
  CHECK(junit.out.find("type=\"bad-input\"") != std::string::npos);

  const Ran sarif = run({"check", broken, unknown, "--format", "sarif"});
  const json log = json::parse(sarif.out);
  check_sarif(log);
  const json& run_of = log.at("runs").at(0);
  CHECK(run_of.at("results").empty());
  const json& invocation = run_of.at("invocations").at(0);
  CHECK(invocation.at("executionSuccessful") == false);
  CHECK(invocation.at("exitCode") == 2);
  CHECK(invocation.at("toolExecutionNotifications").size() == 2);
}

namespace {

using nlohmann::json;

struct Project : TemporaryFolder {
  Project() {
    put("race.xml", text_of(kRefusedXml));
    put("good.xml", text_of(kValidXml));
  }
  Ran checked(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"check", path("*.xml"), "--baseline", path("known.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
};

}  // namespace

TEST_CASE("a known failure does not fail the run, a new one does, a fixed one is named") {
  const Project project;
  CHECK(project.checked().exit == kBadInput);  // no baseline yet
  const Ran first = project.checked({"--update-baseline"});
  CHECK(first.exit == kEstablished);
  const json known = json::parse(text_of(project.path("known.json")));
  CHECK(known.at("schema") == "p2-verify-baseline/1");
  REQUIRE(known.at("failures").size() == 1);
  CHECK(known.at("failures").at(0) == json{{"file", "race.xml"}, {"rule", "msccl/data-race"}});

  const Ran again = project.checked();
  CHECK(again.exit == kEstablished);
  CHECK(again.out.find("known: " + project.path("race.xml") + ": msccl/data-race\n") !=
        std::string::npos);

  project.put("good.xml", text_of(kRefusedXml));
  const Ran worse = project.checked({"--format", "json"});
  CHECK(worse.exit == kRefuted);
  CHECK(json::parse(worse.out).at("baseline").at("new").at(0).at("file") ==
        project.path("good.xml"));
  CHECK(json::parse(worse.out).at("baseline").at("known").size() == 1);

  project.put("good.xml", text_of(kValidXml));
  project.put("race.xml", text_of(kValidXml));
  const Ran better = project.checked();
  CHECK(better.exit == kEstablished);
  CHECK(better.out.find("fixed: race.xml: msccl/data-race\n") != std::string::npos);
  CHECK(project.checked({"--update-baseline"}).exit == kEstablished);
  CHECK(json::parse(text_of(project.path("known.json"))).at("failures").empty());
}

TEST_CASE("another rule in a known file is a new failure") {
  const Project project;
  project.checked({"--update-baseline"});
  std::string text = text_of(kRefusedXml);
  text.replace(text.find("srcoff=\"1\""), 10, "srcoff=\"9\"");
  project.put("race.xml", text);
  const Ran ran = project.checked({"--format", "json"});
  CHECK(ran.exit == kRefuted);
  const json baseline = json::parse(ran.out).at("baseline");
  CHECK(baseline.at("new").at(0).at("rule") == "msccl/out-of-bounds");
  CHECK(baseline.at("fixed").at(0).at("rule") == "msccl/data-race");
}

TEST_CASE("files that were not checked stay as they are known") {
  const Project project;
  project.checked({"--update-baseline"});
  const Ran other = run({"check", project.path("good.xml"), "--baseline",
                         project.path("known.json"), "--update-baseline"});
  CHECK(other.exit == kEstablished);
  CHECK(other.out.find("fixed") == std::string::npos);
  CHECK(json::parse(text_of(project.path("known.json"))).at("failures").size() == 1);
}

TEST_CASE("bad input is never known, undecided may be") {
  const Project project;
  std::string text = text_of(kValidXml);
  text.replace(text.find("allreduce\" proto"), 9, "alltonext");
  project.put("good.xml", text);
  CHECK(project.checked({"--update-baseline"}).exit == kEstablished);
  CHECK(project.checked().exit == kEstablished);
  project.put("good.xml", "<algo");
  CHECK(project.checked({"--update-baseline"}).exit == kBadInput);
  CHECK(project.checked().exit == kBadInput);
}

TEST_CASE("known failures are skipped in JUnit and unchanged in SARIF") {
  const Project project;
  project.checked({"--update-baseline"});
  const Ran junit = project.checked({"--format", "junit"});
  CHECK(junit.out.find("failures=\"0\"") != std::string::npos);
  CHECK(junit.out.find("<skipped message=\"known: ") != std::string::npos);
  const json log = json::parse(project.checked({"--format", "sarif"}).out);
  CHECK(log.at("runs").at(0).at("results").at(0).at("baselineState") == "unchanged");
  project.put("known.json", R"({"schema":"p2-verify-baseline/1","failures":[]})");
  const json fresh = json::parse(project.checked({"--format", "sarif"}).out);
  CHECK(fresh.at("runs").at(0).at("results").at(0).at("baselineState") == "new");
}

TEST_CASE("what is no baseline is refused before anything is judged") {
  const Project project;
  for (const char* text : {"[]", "{}", R"({"schema":"other","failures":[]})",
                           R"({"schema":"p2-verify-baseline/1","failures":[{"file":"a"}]})"}) {
    project.put("known.json", text);
    const Ran ran = project.checked();
    CHECK(ran.exit == kBadInput);
    CHECK(ran.out.empty());
  }
  CHECK(run({"check", kValidXml, "--update-baseline"}).exit == kBadInput);
}

}  // namespace p2
