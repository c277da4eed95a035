// Which files a request of `check` names, and what each is.

#include "proofs/api/checked_files.h"

#include <fnmatch.h>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <new>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/document_writers.h"
#include "engine/base/files.h"
#include "engine/base/json_reader.h"
#include "engine/msccl/algorithm.h"
#include "engine/program/program_file.h"
#include "engine/reshard/plans/plan.h"
#include "proofs/api/module_check.h"

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

FailureBaseline FailureBaseline::read(const std::string& path) {
  const JsonDocument document(path, read_file(path));
  const JsonValue root = document.root();
  root.only_keys({"schema", "failures"}, "a baseline");
  const JsonValue schema = root.member("schema", "a baseline");
  if (schema.string("the schema of a baseline") != kBaselineSchema) {
    schema.fail(std::string("unknown schema, expected ") + kBaselineSchema);
  }
  FailureBaseline baseline(path);
  for (const JsonValue& each : root.member("failures", "a baseline").array("known failures")) {
    each.only_keys({"file", "rule"}, "a known failure");
    baseline.known_.insert({each.member("file", "a known failure").string("a file"),
                            each.member("rule", "a known failure").string("a rule")});
  }
  return baseline;
}

std::string FailureBaseline::relative_name(const std::string& file) const {
  std::error_code ignored;
  const fs::path folder = fs::absolute(path_, ignored).lexically_normal().parent_path();
  const fs::path whole = fs::absolute(file, ignored).lexically_normal();
  return whole.lexically_relative(folder).generic_string();
}

std::set<KnownFailure> FailureBaseline::failures_of(const FileReport& report) const {
  std::set<KnownFailure> failures;
  for (const Property& property : report.properties) {
    const std::string rule = baseline_rule(report, property);
    if (!rule.empty()) failures.insert({relative_name(report.file), rule});
  }
  return failures;
}

void FailureBaseline::mark(std::vector<FileReport>& reports) const {
  for (FileReport& report : reports) {
    for (Property& property : report.properties) {
      const std::string rule = baseline_rule(report, property);
      property.known = !rule.empty() && known_.contains({relative_name(report.file), rule});
    }
  }
}

std::vector<KnownFailure> FailureBaseline::fixed(const std::vector<FileReport>& reports) const {
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

void FailureBaseline::update(const std::vector<FileReport>& reports) {
  // A file may have several reports.
  std::set<std::string> checked;
  for (const FileReport& report : reports) checked.insert(relative_name(report.file));
  std::erase_if(known_, [&](const KnownFailure& known) { return checked.contains(known.file); });
  for (const FileReport& report : reports) known_.merge(failures_of(report));
}

std::string FailureBaseline::text() const {
  nlohmann::ordered_json failures = nlohmann::ordered_json::array();
  for (const KnownFailure& known : known_) {
    failures.push_back({{"file", known.file}, {"rule", known.rule}});
  }
  const nlohmann::ordered_json all = {{"schema", kBaselineSchema}, {"failures", failures}};
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

namespace {

using Kind = Diagnostic::Kind;

// An allreduce of 1024 ranks as a ring is 220 MB of XML.
constexpr std::size_t kMaxMebibytes = 128;
constexpr std::size_t kMaxXmlMebibytes = 512;

constexpr const char* kNotRecognized =
    "format not recognized, expected a program (.p2, JSON) or the output of synth, a definition "
    "(.p2c), a module of XLA or StableHLO, MSCCL XML, a one-sided plan (MSCCL++ or text), a "
    "resharding plan, a flight recorder dump, a pipeline schedule, a transfer plan, a system or an "
    "operation graph";

/// Recognizes the subject by its content.
SubjectCheck check_file(const std::string& file, const std::vector<std::string>& other_ranks,
                        const CheckQuestion& question) {
  const std::string text =
      module_text(file, read_file(file, kMaxXmlMebibytes), question.options.limits);
  if (question.engines.of_modules && !is_module_text(text)) {
    throw InputError({file}, fmt::format("is not a module of XLA or StableHLO, expected one for "
                                         "--engine {}",
                                         question.request.engine));
  }
  if (msccl::is_xml(text)) return check_msccl(file, text, question);
  if (text.size() > kMaxMebibytes << 20) {
    throw InputError({file}, fmt::format("is larger than {} MiB, expected a smaller file, or XML",
                                         kMaxMebibytes));
  }
  if (is_onesided(text)) return check_onesided(file, text, question);
  if (is_module_text(text)) return check_module(file, text, question);
  if (reshard::is_plan(text)) return check_plan(file, text, question);
  if (is_record(text)) return check_record(file, text, other_ranks, question);
  const std::optional<FileKind> kind = recognized_kind(text);
  if (kind == FileKind::Definition) return check_definition(file, question);
  if (kind == FileKind::System) return check_system(file, text, question);
  if (kind == FileKind::OperationGraph) return check_graph(file, text, question);
  if (!kind && !resembles_program(text)) throw InputError({file}, kNotRecognized);
  listed_programs(file, text);  // throws for the output of synth without programs
  return check_program(file, text, question);
}

FileError error_of(Kind kind, const std::string& file, const std::string& message) {
  return {kind, {file}, message, fmt::format("{}: {}", file, message)};
}

/// The file, or each program of the output of synth. What keeps a file from being read is reported
/// when it is checked.
void add_file(const std::string& file, std::vector<CheckedFile>& files) {
  std::vector<std::string> programs;
  try {
    const std::string text = read_file(file, kMaxXmlMebibytes);
    if (is_rank_dump(text)) {  // all dumps are one job, judged at the first one
      const auto job =
          std::ranges::find_if(files, [](const CheckedFile& each) { return each.is_rank_dump; });
      if (job != files.end()) {
        job->other_ranks.push_back(file);
        return;
      }
      files.push_back({.file = file, .is_rank_dump = true});
      return;
    }
    programs = listed_programs(file, text);
  } catch (const Error&) {
    programs.clear();
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    files.push_back(
        {.file = name_of_listed(file, i + 1), .listed = ListedProgram{file, i + 1, programs[i]}});
  }
  if (programs.empty()) files.push_back({.file = file});
}

}  // namespace

void check_into(CheckedFile& file, const CheckQuestion& question) {
  const auto start = std::chrono::steady_clock::now();
  try {
    file.check = file.dumped != nullptr ? compare_dumped_modules(*file.dumped, question)
                 : file.before          ? compare_modules(*file.before, file.file, question)
                 : file.listed          ? check_program(file.file, file.listed->text, question)
                                        : check_file(file.file, file.other_ranks, question);
    for (const Diagnostic& each : file.check->diagnostics) {
      file.errors.push_back({each.kind, {file.file}, each.message, each.message});
    }
  } catch (const InputError& error) {
    file.errors = {{Kind::BadInput, error.where(), error.message(), error.what()}};
  } catch (const LimitReached& error) {
    file.errors = {error_of(Kind::Undecided, file.file, error.what())};
  } catch (const std::bad_alloc&) {
    file.errors = {error_of(Kind::Undecided, file.file, "out of memory, nothing was settled")};
  } catch (const std::exception& error) {
    file.errors = {error_of(Kind::ToolFailure, file.file,
                            fmt::format("tool failure, nothing was settled: {}", error.what()))};
  }
  file.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool is_undecided(const CheckedFile& file) {
  const auto undecided = [](const auto& each) { return each.outcome == Outcome::Undecided; };
  const auto limited = [](const FileError& error) { return error.kind == Kind::Undecided; };
  return std::ranges::any_of(file.errors, limited) ||
         (file.check && (undecided(file.check->result) ||
                         std::ranges::any_of(file.check->result.engines, undecided)));
}

std::vector<CheckedFile> checked_files(const CheckRequest& request) {
  std::vector<CheckedFile> files;
  for (const std::string& file : matching_files(request.files)) add_file(file, files);
  const bool one_program = files.size() == 1 && !request.before;
  if (request.before) {  // without --after, the relation names the modules
    files.push_back(
        {.file = request.after.value_or(request.relate.value_or("")), .before = request.before});
  }
  if (files.empty()) throw InputError({"command line"}, "no file, expected at least one");
  if (request.repair && !one_program) {
    throw InputError({"--repair"}, "writes one plan, expected one file");
  }
  if (request.smt2 && !one_program) {
    throw InputError({"--smt2"}, "writes one query, expected one program");
  }
  return files;
}

std::vector<CheckedFile> checked_files(const std::vector<DumpPair>& pairs) {
  std::vector<CheckedFile> files;
  files.reserve(pairs.size());
  for (const DumpPair& pair : pairs) {
    files.push_back({.file = pair.after->path, .before = pair.before->path, .dumped = &pair});
  }
  return files;
}

}  // namespace p2
