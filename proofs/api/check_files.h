#pragma once

#include <set>
#include <string>
#include <vector>

#include "p2/check.h"

namespace p2 {

/// The files that paths and patterns name, each once. A word that names a file stands for itself,
/// even with `*` in it; otherwise `*`, `?` and `[…]` match inside one name and `**` any number of
/// folders. Links are not followed; names that start with `.` must be written out. The matches of a
/// pattern are in alphabetic order. Throws InputError for a pattern without a match.
std::vector<std::string> matching_files(const std::vector<std::string>& words);

/// The failures that a run may have. Bad input and engines that disagree are never among them.
class Baseline {
 public:
  /// Reads `path`. Throws InputError where it is no baseline.
  static Baseline read(const std::string& path);
  /// Without failures, for a file still to be written.
  explicit Baseline(std::string path) : path_(std::move(path)) {}

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

}  // namespace p2
