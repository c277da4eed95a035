#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "tests/check/folder.h"
#include "tests/cli/run.h"

namespace p2 {
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
