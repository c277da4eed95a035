#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "p2/check.h"
#include "proofs/api/check_files.h"
#include "proofs/api/check_journal.h"
#include "proofs/api/subject_check.h"

/// The files of a request of `check`: what is known of each, and how the answer shows it.
namespace p2 {

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
