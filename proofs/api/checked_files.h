#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/hlo/text/xla_dump.h"
#include "p2/check.h"
#include "proofs/api/campaigns.h"
#include "proofs/api/subject_check.h"

/// The files of a request of `check`: what is known of each, and how the answer shows it.
namespace p2 {

/// The files that paths and patterns name, each once. A word that names a file stands for itself,
/// even with `*` in it; otherwise `*`, `?` and `[…]` match inside one name and `**` any number of
/// folders. Links are not followed; names that start with `.` must be written out. The matches of a
/// pattern are in alphabetic order. Throws InputError for a pattern without a match.
std::vector<std::string> matching_files(const std::vector<std::string>& words);

/// The failures that a run may have. Bad input and engines that disagree are never among them.
class FailureBaseline {
 public:
  /// Reads `path`. Throws InputError where it is no baseline.
  static FailureBaseline read(const std::string& path);
  /// Without failures, for a file still to be written.
  explicit FailureBaseline(std::string path) : path_(std::move(path)) {}

  /// Marks the properties whose failure is known.
  void mark(std::vector<FileReport>& reports) const;
  /// The known failures of the files in `reports` that did not occur again.
  std::vector<KnownFailure> fixed(const std::vector<FileReport>& reports) const;
  /// Replaces the known failures of the files in `reports` by those that occurred.
  void update(const std::vector<FileReport>& reports);
  /// The text of the baseline's file.
  std::string text() const;

 private:
  std::string relative_name(const std::string& file) const;
  std::set<KnownFailure> failures_of(const FileReport& report) const;

  std::string path_;
  std::set<KnownFailure> known_;
};

/// The rule that a baseline has for a failure; empty for what is never in a baseline.
std::string baseline_rule(const FileReport& report, const Property& property);

/// What kept a file, or its certificate, from being answered.
struct FileError {
  Diagnostic::Kind kind = Diagnostic::Kind::BadInput;
  SourcePosition where;
  std::string message;  ///< without the position
  std::string line;     ///< with the position
};

/// The first line of a journal of `check`. Throws InputError for a request that has no shards: with
/// a baseline, a cache, a repair or a query. `files` are all that are read but those of a dump.
Json check_journal_header(const CheckRequest& request, const std::vector<std::string>& files,
                          const hlo::Dump* dump, std::size_t questions);
/// The request of such a header. Throws nlohmann::json::exception.
CheckRequest journaled_check(const nlohmann::ordered_json& header);

/// One of the programs of a file that synth wrote.
struct ListedProgram {
  std::string file;
  std::size_t number = 1;  ///< from 1
  std::string text;
};

/// A file of the request, and what is known of it.
struct CheckedFile {
  std::string file;                        ///< of a comparison the one after
  std::optional<std::string> before = {};  ///< of a comparison
  const DumpPair* dumped = nullptr;        ///< the comparison, of a dump
  std::optional<ListedProgram> listed = {};
  bool is_rank_dump = false;                  ///< a flight recorder dump
  std::vector<std::string> other_ranks = {};  ///< the dumps of the other ranks of its job
  std::optional<SubjectCheck> check = {};
  std::vector<FileError> errors = {};
  FileReport report = {};
  double seconds = 0;
};

/// The files that a request names, the programs of those that synth wrote each on its own. Throws
/// InputError.
std::vector<CheckedFile> checked_files(const CheckRequest& request);
/// The comparisons of a dump, which must outlive them.
std::vector<CheckedFile> checked_files(const std::vector<DumpPair>& pairs);

/// Decides about a file: its check, its errors and its seconds.
void check_into(CheckedFile& file, const CheckQuestion& question);
/// Whether an engine, or all of the file, met a limit.
bool is_undecided(const CheckedFile& file);

/// Check, errors and seconds in a journal. Read back, the document of the check is the same as text
/// and as JSON; of the result only the outcomes, the model and the evidence are kept.
std::string journal_text(const CheckedFile& file);
/// Throws nlohmann::json::exception, and leaves the file as it is, for what journal_text has not
/// written.
void take_journaled(const nlohmann::ordered_json& text, CheckedFile& file);

FileReport report_of(const CheckedFile& file);
/// `total: 5 files, 3 valid, 1 invalid, 1 not judged`.
std::string totals_text(const std::vector<CheckedFile>& files);
/// Moves what is said of the files into their reports.
void add_details(std::vector<CheckedFile>& files, std::vector<FileReport>& reports);
/// Text blocks, and `results`, `not_judged` and `disagreements` of the JSON document.
void add_files(std::vector<CheckedFile>& files, Document& document);
/// Moves what is known of the files into the answer.
void collect(std::vector<CheckedFile>& files, CheckAnswer& answer);

}  // namespace p2
