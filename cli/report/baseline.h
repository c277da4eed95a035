#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/base/document_writers.h"

namespace p2 {

/// A failure as a baseline knows it: that the steps have moved in the file changes nothing.
struct KnownFailure {
  std::string file;  ///< from the folder of the baseline file
  std::string rule;  ///< `msccl/data-race`, or `program/undecided`

  auto operator<=>(const KnownFailure&) const = default;
};

/// The failures that a run may have. Bad input and engines that differ are never among them.
class Baseline {
 public:
  /// Reads `path`. Throws InputError where it is no baseline.
  static Baseline read(const std::string& path);
  /// Without failures, for a file still to be written.
  explicit Baseline(std::string path) : path_(std::move(path)) {}

  /// Marks the properties whose failure is known.
  void mark(std::vector<FileReport>& reports) const;
  /// What the baseline knows of files that were checked, and is no failure any more.
  std::vector<KnownFailure> fixed(const std::vector<FileReport>& reports) const;
  /// Takes over the failures of the files checked in place of what was known of them.
  void update(const std::vector<FileReport>& reports);

  /// The baseline as its file has it.
  std::string text() const;
  const std::string& path() const { return path_; }

 private:
  std::string named(const std::string& file) const;
  std::set<KnownFailure> failures_of(const FileReport& report) const;

  std::string path_;
  std::set<KnownFailure> known_;
};

/// The rule by which a failure is known; empty for what no baseline takes.
std::string failed_rule(const FileReport& report, const Property& property);

}  // namespace p2
