#include "engine/base/document_writers.h"

#include <algorithm>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace p2 {
namespace {

using Status = Property::Status;

enum class Case : std::uint8_t { Passed, Failure, Error, Skipped };

Case case_of(const Property& property) {
  if (!fails(property)) {
    return property.status == Status::NotExamined ? Case::Skipped : Case::Passed;
  }
  if (property.known) return Case::Skipped;
  return property.status == Status::Refuted ? Case::Failure : Case::Error;
}

const char* type_of(const Property& property) {
  switch (property.status) {
    case Status::BadInput:
      return "bad-input";
    case Status::ToolFailure:
      return "tool-failure";
    case Status::Disagreement:
      return "disagreement";
    default:
      return "undecided";
  }
}

std::size_t count(const FileReport& report, Case kind) {
  const auto found =
      std::count_if(report.properties.begin(), report.properties.end(),
                    [&](const Property& property) { return case_of(property) == kind; });
  return static_cast<std::size_t>(found);
}

std::string counts(const FileReport& report) {
  return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
                     report.properties.size(), count(report, Case::Failure),
                     count(report, Case::Error), count(report, Case::Skipped));
}

std::string inside(const FileReport& report, const Property& property) {
  const std::string message = xml_text(property.message);
  const Case kind = case_of(property);
  if (kind == Case::Skipped) {
    return fmt::format("<skipped message=\"{}\"/>",
                       property.known ? "known: " + message
                                      : "not looked at: the file is refused for another reason");
  }
  const bool failure = kind == Case::Failure;
  const std::string where =
      property.line == 0 ? "" : fmt::format(":{}:{}", property.line, property.column);
  return fmt::format("<{0} type=\"{1}\" message=\"{2}\">{3}{4}: {2}</{0}>",
                     failure ? "failure" : "error",
                     xml_text(failure ? property.rule : type_of(property)), message,
                     xml_text(reported_path(report.file)), where);
}

/// `seconds` is the share of the file's time.
std::string test_case(const FileReport& report, const Property& property, double seconds) {
  const std::string head = fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"", xml_text(report.format),
      xml_text(fmt::format("{} {}", reported_path(report.file), property.name)), seconds);
  if (case_of(property) == Case::Passed) return head + "/>\n";
  return fmt::format("{}>\n      {}\n    </testcase>\n", head, inside(report, property));
}

/// Now, in UTC: `2026-03-01T12:00:00`.
std::string timestamp() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace

// The elements and attributes are those that the schemas of Jenkins (xunit-plugin, junit-10) and of
// Apache Ant (windyroad/JUnit-Schema) both allow, with all that one of them requires.
std::string write_junit(const Document& document) {
  const std::string now = timestamp();
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  std::size_t id = 0;
  for (const FileReport& report : document.reports) {
    xml += fmt::format(
        "  <testsuite name=\"{}\" package=\"{}\" id=\"{}\" timestamp=\"{}\" "
        "hostname=\"localhost\" {} time=\"{:.3f}\">\n    <properties/>\n",
        xml_text(reported_path(report.file)), xml_text(document.title), id++, now, counts(report),
        report.seconds);
    const auto cases = static_cast<double>(std::max<std::size_t>(1, report.properties.size()));
    for (const Property& property : report.properties) {
      xml += test_case(report, property, report.seconds / cases);
    }
    xml += "    <system-out/>\n    <system-err/>\n  </testsuite>\n";
  }
  return xml + "</testsuites>\n";
}

}  // namespace p2
