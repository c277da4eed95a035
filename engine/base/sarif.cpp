#include "engine/base/document_writers.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "p2/version.h"

namespace p2 {
namespace {

using nlohmann::ordered_json;
using Status = Property::Status;

constexpr const char* kSchema =
    "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/"
    "sarif-schema-2.1.0.json";

/// RFC 3986: everything but unreserved characters and `/` escaped.
std::string uri_of(const std::string& path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char ch : path) {
    const auto byte = static_cast<unsigned char>(ch);
    const bool plain =
        std::isalnum(byte) != 0 || std::string_view("-._~/").find(ch) != std::string_view::npos;
    uri += plain ? std::string(1, ch) : fmt::format("%{:02X}", byte);
  }
  return uri;
}

ordered_json location(const FileReport& report, const Property& property) {
  const std::string path = reported_path(report.file);
  ordered_json artifact = {{"uri", uri_of(path)}};
  if (!path.starts_with('/')) artifact["uriBaseId"] = "%SRCROOT%";
  ordered_json place = {{"artifactLocation", artifact}};
  if (property.line > 0) {
    place["region"] = {{"startLine", property.line}};
    if (property.column > 0) place["region"]["startColumn"] = property.column;
  }
  return {{"physicalLocation", place}};
}

/// The rules in the order of their ids, and the number of each.
class Rules {
 public:
  explicit Rules(const std::vector<FileReport>& reports) {
    for (const FileReport& report : reports) {
      for (const Property& property : report.properties) {
        if (property.status != Status::Refuted) continue;
        rules_.emplace(rule_id(report.format, property.rule),
                       described(report.format, property.rule));
      }
    }
  }

  std::size_t index(const std::string& id) const {
    return static_cast<std::size_t>(std::distance(rules_.begin(), rules_.find(id)));
  }

  ordered_json all() const {
    ordered_json list = ordered_json::array();
    for (const auto& [id, rule] : rules_) list.push_back(rule);
    return list;
  }

 private:
  static ordered_json described(const std::string& format, const std::string& rule) {
    const RuleText text = rule_text(format, rule);
    return {{"id", rule_id(format, rule)},
            {"name", rule},
            {"shortDescription", {{"text", text.summary}}},
            {"fullDescription", {{"text", text.summary}}},
            {"help",
             {{"text", text.help},
              {"markdown", fmt::format("{} See `{}`.", text.help, rule_page(format))}}},
            {"defaultConfiguration", {{"level", "error"}}},
            {"properties", {{"tags", {"correctness"}}, {"precision", "very-high"}}}};
  }

  std::map<std::string, ordered_json> rules_;
};

ordered_json result_of(const FileReport& report, const Property& property, const Rules& rules,
                       bool compared) {
  const std::string id = rule_id(report.format, property.rule);
  ordered_json result = {{"ruleId", id},
                         {"ruleIndex", rules.index(id)},
                         {"level", "error"},
                         {"message", {{"text", property.message}}},
                         {"locations", {location(report, property)}},
                         {"partialFingerprints",
                          {{"p2Rule/v1", fmt::format("{}:{}", reported_path(report.file), id)}}},
                         {"properties", {{"property", property.name}}}};
  if (compared) result["baselineState"] = property.known ? "unchanged" : "new";
  return result;
}

ordered_json notification(const FileReport& report, const Property& property) {
  const bool undecided = property.status == Status::Undecided;
  return {{"level", undecided ? "warning" : "error"},
          {"message", {{"text", fmt::format("{}: {}", property.name, property.message)}}},
          {"locations", {location(report, property)}}};
}

}  // namespace

std::string write_sarif(const Document& document) {
  const std::vector<FileReport>& reports = document.reports;
  const Rules rules(reports);
  ordered_json results = ordered_json::array();
  ordered_json notifications = ordered_json::array();
  bool executed = true;
  for (const FileReport& report : reports) {
    for (const Property& property : report.properties) {
      if (property.status == Status::BadInput || property.status == Status::ToolFailure) {
        executed = false;
      }
      if (property.status == Status::Refuted) {
        results.push_back(result_of(report, property, rules, document.against_baseline));
      } else if (fails(property)) {
        notifications.push_back(notification(report, property));
      }
    }
  }
  const ordered_json log = {
      {"$schema", kSchema},
      {"version", "2.1.0"},
      {"runs",
       {{{"tool",
          {{"driver",
            {{"name", "p2-verify"}, {"version", build_info().version}, {"rules", rules.all()}}}}},
         {"originalUriBaseIds",
          {{"%SRCROOT%", {{"description", {{"text", "The folder that p2-verify ran in."}}}}}}},
         {"invocations",
          {{{"executionSuccessful", executed},
            {"exitCode", document.exit_code},
            {"toolExecutionNotifications", notifications}}}},
         {"columnKind", "utf16CodeUnits"},
         {"results", results}}}}};
  return log.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace p2
