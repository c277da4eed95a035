#pragma once

#include <filesystem>
#include <fstream>
#include <iosfwd>
#include <optional>
#include <string>

#include "engine/base/files.h"
#include "p2/json.h"

namespace p2 {

/// Where a command's result goes: a stream, or a file that appears only when the result is whole.
class Output {
 public:
  /// Writes to `file` if given, else to `otherwise`. Throws InputError when the file cannot be
  /// made.
  Output(const std::optional<std::string>& file, std::ostream& otherwise);
  /// Removes what was written of a file that was not finished.
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  std::ostream& stream();
  /// The result is complete: flushes it and puts the file in place. Throws InputError when that
  /// fails, e.g. on a full disk.
  void finish();

 private:
  std::ostream& otherwise_;
  std::string target_;  ///< empty for a stream
  std::string partial_;
  std::ofstream file_;
};

}  // namespace p2
