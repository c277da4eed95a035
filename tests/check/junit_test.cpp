#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "engine/base/document_writers.h"
#include "tests/check/elements.h"
#include "tests/check/folder.h"
#include "tests/cli/run.h"

namespace p2 {

using nlohmann::json;

TEST_CASE("JUnit has a suite for every file and a case for every property") {
  const Ran ran = run({"check", kValidXml, kRefusedXml, kRefusedProgram, "--format", "junit"});
  CHECK(ran.exit == kRefuted);
  const std::vector<Element> elements = elements_of(ran.out);
  REQUIRE(elements.front().name == "testsuites");
  CHECK(elements.front().attributes.at("tests") == "12");
  CHECK(elements.front().attributes.at("failures") == "2");
  CHECK(elements.front().attributes.at("errors") == "0");
  // After the race the result is not looked at, after the premises not the goal.
  CHECK(elements.front().attributes.at("skipped") == "2");
  CHECK(count(elements, "testsuite") == 3);
  CHECK(count(elements, "testcase") == 12);
  CHECK(count(elements, "failure") == 2);
  CHECK(count(elements, "skipped") == 2);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].name == "failure") {
      const bool race = elements[i].attributes.at("type") == "data-race";
      CHECK(elements[i - 1].attributes.at("name").ends_with(race ? " races" : " premises"));
      CHECK(elements[i - 1].attributes.at("line") == (race ? "20" : "6"));
    }
  }
}

TEST_CASE("text that XML has no characters for is replaced") {
  FileReport report{
      "a\x01\xFF", "msccl", {{"races", Property::Status::Refuted, "data-race", "<\x02\n&\">"}}, 0};
  const std::vector<Element> elements = elements_of(write_junit({.title = "p2-verify check", .blocks = {}, .json = {}, .reports = {report}}));
  CHECK(elements.back().attributes.at("message") == "<\xEF\xBF\xBD\n&\">");
  CHECK(json::parse(write_sarif({.title = {}, .blocks = {}, .json = {}, .reports = {report}, .against_baseline = false, .exit_code = 1})).is_object());
}

}  // namespace p2
