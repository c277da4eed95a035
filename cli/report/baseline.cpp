#include "cli/report/baseline.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "engine/base/rule_texts.h"
#include "engine/base/json_document.h"

namespace p2 {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema = "p2-verify-baseline/1";

}  // namespace

std::string failed_rule(const FileReport& report, const Property& property) {
  if (property.status == Property::Status::Refuted) {
    return rule_id(report.format, property.rule);
  }
  if (property.status == Property::Status::Undecided) return rule_id(report.format, "undecided");
  return {};
}

Baseline Baseline::read(const std::string& path) {
  const JsonDocument document(path, read_file(path));
  const JsonValue root = document.root();
  root.only_keys({"schema", "failures"}, "a baseline");
  const JsonValue schema = root.member("schema", "a baseline");
  if (schema.string("the schema of a baseline") != kSchema) {
    schema.fail(std::string("unknown schema, expected ") + kSchema);
  }
  Baseline baseline(path);
  for (const JsonValue& each : root.member("failures", "a baseline").array("known failures")) {
    each.only_keys({"file", "rule"}, "a known failure");
    baseline.known_.insert({each.member("file", "a known failure").string("a file"),
                            each.member("rule", "a known failure").string("a rule")});
  }
  return baseline;
}

std::string Baseline::named(const std::string& file) const {
  std::error_code ignored;
  const fs::path folder = fs::absolute(path_, ignored).lexically_normal().parent_path();
  const fs::path whole = fs::absolute(file, ignored).lexically_normal();
  return whole.lexically_relative(folder).generic_string();
}

std::set<KnownFailure> Baseline::failures_of(const FileReport& report) const {
  std::set<KnownFailure> failures;
  for (const Property& property : report.properties) {
    const std::string rule = failed_rule(report, property);
    if (!rule.empty()) failures.insert({named(report.file), rule});
  }
  return failures;
}

void Baseline::mark(std::vector<FileReport>& reports) const {
  for (FileReport& report : reports) {
    for (Property& property : report.properties) {
      const std::string rule = failed_rule(report, property);
      property.known = !rule.empty() && known_.contains({named(report.file), rule});
    }
  }
}

std::vector<KnownFailure> Baseline::fixed(const std::vector<FileReport>& reports) const {
  std::set<std::string> checked;
  std::set<KnownFailure> failures;
  for (const FileReport& report : reports) {
    checked.insert(named(report.file));
    failures.merge(failures_of(report));
  }
  std::vector<KnownFailure> fixed;
  for (const KnownFailure& known : known_) {
    if (checked.contains(known.file) && !failures.contains(known)) fixed.push_back(known);
  }
  return fixed;
}

void Baseline::update(const std::vector<FileReport>& reports) {
  for (const FileReport& report : reports) {
    const std::string name = named(report.file);
    std::erase_if(known_, [&](const KnownFailure& known) { return known.file == name; });
    known_.merge(failures_of(report));
  }
}

std::string Baseline::text() const {
  nlohmann::ordered_json failures = nlohmann::ordered_json::array();
  for (const KnownFailure& known : known_) {
    failures.push_back({{"file", known.file}, {"rule", known.rule}});
  }
  const nlohmann::ordered_json all = {{"schema", kSchema}, {"failures", failures}};
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace p2
