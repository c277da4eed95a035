#include "engine/base/document_writers.h"

#include <algorithm>

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

std::string counts(const std::vector<FileReport>& reports) {
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::size_t skipped = 0;
  for (const FileReport& report : reports) {
    tests += report.properties.size();
    failures += count(report, Case::Failure);
    errors += count(report, Case::Error);
    skipped += count(report, Case::Skipped);
  }
  return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", tests, failures,
                     errors, skipped);
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

std::string test_case(const FileReport& report, const Property& property) {
  const std::string head =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\" file=\"{}\"", xml_text(report.format),
                  xml_text(fmt::format("{} {}", reported_path(report.file), property.name)),
                  xml_text(reported_path(report.file)));
  const std::string line = property.line == 0 ? "" : fmt::format(" line=\"{}\"", property.line);
  if (case_of(property) == Case::Passed) return fmt::format("{}{}/>\n", head, line);
  return fmt::format("{}{}>\n      {}\n    </testcase>\n", head, line, inside(report, property));
}

}  // namespace

std::string write_junit(const Document& document) {
  const std::vector<FileReport>& reports = document.reports;
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" {}>\n",
      xml_text(document.title), counts(reports));
  for (const FileReport& report : reports) {
    xml += fmt::format("  <testsuite name=\"{}\" {} time=\"{:.3f}\">\n",
                       xml_text(reported_path(report.file)), counts({report}), report.seconds);
    for (const Property& property : report.properties) xml += test_case(report, property);
    xml += "  </testsuite>\n";
  }
  return xml + "</testsuites>\n";
}

}  // namespace p2
