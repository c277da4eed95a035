#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "engine/base/rule_texts.h"
#include "engine/collective/refusal.h"
#include "engine/msccl/fault.h"
#include "tests/check/elements.h"
#include "tests/check/folder.h"
#include "tests/cli/run.h"

namespace p2 {
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

TEST_CASE("every rule has a text, and none is about a rule that is not there") {
  for (int kind = 0; kind <= static_cast<int>(msccl::Fault::Kind::LostContribution); ++kind) {
    const std::string_view name = to_string(static_cast<msccl::Fault::Kind>(kind));
    CAPTURE(name);
    REQUIRE(rule_text("msccl", name));
    CHECK(rule_text("msccl", name)->summary.ends_with("."));
    CHECK(text_of(P2_SOURCE_DIR "/docs/msccl.md").find("`" + std::string(name) + "`") !=
          std::string::npos);
  }
  for (int premise = 0; premise <= static_cast<int>(Premise::Informative); ++premise) {
    CHECK(rule_text("program", name_of(static_cast<Premise>(premise))));
  }
  for (const char* rule : {"master", "empty-group", "goal-lacks", "goal-excess"}) {
    CHECK(rule_text("program", rule));
  }
  CHECK(!rule_text("msccl", "disjoint"));
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
  CHECK(elements.front().attributes.at("errors") == "2");
  CHECK(elements.front().attributes.at("failures") == "0");
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

}  // namespace p2
