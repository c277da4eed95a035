#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "cli/exit_code.h"

namespace p2 {

/// Why a certificate could not be written.
struct WritingTrouble {
  std::string words;
  /// Undecided where p2-check reads nothing so large, or a limit was met; bad input where the
  /// folder cannot be written; a tool failure otherwise.
  ExitCode code = kUndecided;
};

/// Calls `write`, which puts a certificate into `folder`. What was found out before is not lost by
/// what keeps it from that.
std::optional<WritingTrouble> trouble_of_writing(const std::string& folder,
                                                 const std::function<void()>& write);
/// The same where there is one certificate: the trouble goes to `err`, and its code is returned;
/// kEstablished where it was written.
ExitCode code_of_writing(const std::string& folder, const std::function<void()>& write,
                         std::ostream& err);

}  // namespace p2
