#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/certificate_writing.h"
#include "cli/check/program_report.h"
#include "cli/check/request.h"

namespace p2 {

/// The folder for the certificate of file number `index`: the one asked for, or one inside.
std::string certificate_folder(const CheckRequest& request, std::size_t index);

/// Writes the certificate of file number `index`, if its verdict is one that can be certified.
/// Returns the trouble where it cannot be written, which takes nothing from the verdict.
std::optional<WritingTrouble> certify(CheckResult& result, const CheckRequest& request,
                                      std::size_t index);

}  // namespace p2
