#include "proofs/api/check_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/base/json_reader.h"
#include "engine/base/rule_texts.h"

namespace p2 {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAnyFolders = "**";
constexpr const char* kBaselineSchema = "p2-verify-baseline/1";

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code failure;
  std::vector<fs::directory_entry> entries;
  const fs::path opened = folder.empty() ? fs::path(".") : folder;
  fs::directory_iterator next(opened, fs::directory_options::skip_permission_denied, failure);
  for (; !failure && next != fs::directory_iterator(); next.increment(failure)) {
    entries.push_back(*next);
  }
  return entries;
}

/// Adds the files below `folder` that the names from `name` on match.
void match(const fs::path& folder, std::span<const std::string> names,
           std::set<std::string>& found) {
  const std::string& name = names.front();
  const bool any_folders = name == kAnyFolders;
  if (any_folders && names.size() > 1) match(folder, names.subspan(1), found);
  for (const fs::directory_entry& entry : entries_of(folder)) {
    const std::string entry_name = entry.path().filename().string();
    if (fnmatch(any_folders ? "*" : name.c_str(), entry_name.c_str(), FNM_PERIOD) != 0) continue;
    std::error_code failure;
    const bool is_folder = entry.is_directory(failure);
    if (any_folders && is_folder && !entry.is_symlink(failure)) {
      match(folder / entry_name, names, found);
    } else if (!any_folders && is_folder && names.size() > 1) {
      match(folder / entry_name, names.subspan(1), found);
    }
    if (names.size() == 1 && !is_folder) found.insert((folder / entry_name).string());
  }
}

/// The files that `pattern` matches.
std::set<std::string> matches(const std::string& pattern) {
  std::vector<std::string> names;
  fs::path root;
  for (const fs::path& part : fs::path(pattern)) {
    if (part.is_absolute()) {
      root = part;
    } else if (names.empty() && (part == "." || part == "..")) {
      root /= part;
    } else if (!part.empty()) {
      names.push_back(part.string());
    }
  }
  std::set<std::string> found;
  if (!names.empty()) match(root, names, found);
  return found;
}

}  // namespace

std::vector<std::string> matching_files(const std::vector<std::string>& words) {
  std::vector<std::string> files;
  std::set<std::string> seen;
  const auto add = [&](const std::string& file) {
    if (seen.insert(file).second) files.push_back(file);
  };
  for (const std::string& word : words) {
    std::error_code failure;
    if (word.find_first_of("*?[") == std::string::npos || fs::exists(word, failure)) {
      add(word);
      continue;
    }
    const std::set<std::string> found = matches(word);
    if (found.empty()) throw InputError({word}, "no file matches, expected at least one");
    for (const std::string& file : found) add(file);
  }
  return files;
}

std::string baseline_rule(const FileReport& report, const Property& property) {
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
  if (schema.string("the schema of a baseline") != kBaselineSchema) {
    schema.fail(std::string("unknown schema, expected ") + kBaselineSchema);
  }
  Baseline baseline(path);
  for (const JsonValue& each : root.member("failures", "a baseline").array("known failures")) {
    each.only_keys({"file", "rule"}, "a known failure");
    baseline.known_.insert({each.member("file", "a known failure").string("a file"),
                            each.member("rule", "a known failure").string("a rule")});
  }
  return baseline;
}

std::string Baseline::relative_name(const std::string& file) const {
  std::error_code ignored;
  const fs::path folder = fs::absolute(path_, ignored).lexically_normal().parent_path();
  const fs::path whole = fs::absolute(file, ignored).lexically_normal();
  return whole.lexically_relative(folder).generic_string();
}

std::set<KnownFailure> Baseline::failures_of(const FileReport& report) const {
  std::set<KnownFailure> failures;
  for (const Property& property : report.properties) {
    const std::string rule = baseline_rule(report, property);
    if (!rule.empty()) failures.insert({relative_name(report.file), rule});
  }
  return failures;
}

void Baseline::mark(std::vector<FileReport>& reports) const {
  for (FileReport& report : reports) {
    for (Property& property : report.properties) {
      const std::string rule = baseline_rule(report, property);
      property.known = !rule.empty() && known_.contains({relative_name(report.file), rule});
    }
  }
}

std::vector<KnownFailure> Baseline::fixed(const std::vector<FileReport>& reports) const {
  std::set<std::string> checked;
  std::set<KnownFailure> failures;
  for (const FileReport& report : reports) {
    checked.insert(relative_name(report.file));
    failures.merge(failures_of(report));
  }
  std::vector<KnownFailure> fixed;
  for (const KnownFailure& known : known_) {
    if (checked.contains(known.file) && !failures.contains(known)) fixed.push_back(known);
  }
  return fixed;
}

void Baseline::update(const std::vector<FileReport>& reports) {
  // A file may have several reports.
  std::set<std::string> checked;
  for (const FileReport& report : reports) checked.insert(relative_name(report.file));
  std::erase_if(known_, [&](const KnownFailure& known) { return checked.contains(known.file); });
  for (const FileReport& report : reports) known_.merge(failures_of(report));
}

std::string Baseline::text() const {
  nlohmann::ordered_json failures = nlohmann::ordered_json::array();
  for (const KnownFailure& known : known_) {
    failures.push_back({{"file", known.file}, {"rule", known.rule}});
  }
  const nlohmann::ordered_json all = {{"schema", kBaselineSchema}, {"failures", failures}};
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace p2
