#pragma once

#include <cstddef>
#include <iosfwd>

#include "cli/check_report.h"
#include "cli/check_request.h"

namespace p2 {

/// The folder for the certificate of file number `index`: the one asked for, or one inside.
std::string certificate_folder(const CheckRequest& request, std::size_t index);

/// Writes the certificate of file number `index`, if its verdict is one that can be certified. One
/// that cannot be written is a complaint to `err` and takes nothing from the verdict.
void certify(CheckResult& result, const CheckRequest& request, std::size_t index, std::ostream& err,
             bool& bad_input);

}  // namespace p2
