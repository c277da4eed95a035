#pragma once

#include <string>
#include <vector>

#include "cli/report/file_report.h"

namespace p2 {

/// JUnit XML: a test suite for every file, in it a test case for every property. Refuted is a
/// failure; undecided, not readable and in dispute are errors; not examined is skipped, and so is a
/// failure that the baseline has.
std::string to_junit(const std::vector<FileReport>& reports);

}  // namespace p2
