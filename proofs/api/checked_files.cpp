// Which files a request of `check` names, and what each is.

#include "proofs/api/checked_files.h"

#include <algorithm>
#include <chrono>
#include <new>

#include <fmt/format.h>

#include "engine/base/file_kind.h"
#include "engine/base/files.h"
#include "engine/msccl/algorithm_file.h"
#include "engine/program/program_file.h"
#include "engine/reshard/plans/plan.h"
#include "proofs/api/module_check.h"

namespace p2 {
namespace {

using Kind = Diagnostic::Kind;

// An allreduce of 1024 ranks as a ring is 220 MB of XML.
constexpr std::size_t kMaxMebibytes = 128;
constexpr std::size_t kMaxXmlMebibytes = 512;

/// Recognizes the subject by its content.
SubjectCheck check_file(const std::string& file, const std::vector<std::string>& other_ranks,
                        const CheckQuestion& question) {
  const std::string text =
      module_text(file, read_file(file, kMaxXmlMebibytes), question.options.limits);
  if (question.engines.of_modules && !is_module_text(text)) {
    throw InputError({file}, fmt::format("is no module of XLA or StableHLO, expected one for "
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
