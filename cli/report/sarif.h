#pragma once

#include <string>
#include <vector>

#include "cli/report/file_report.h"

namespace p2 {

/// SARIF 2.1.0, the part that code-scanning services read: one run, one result for every refuted
/// property, with the rule, a path relative to the current folder (an absolute one outside it), and
/// the place in the file where there is one. A failure that the baseline has is `unchanged`; with
/// `compared` the others are `new`. What is not a refutation is a notification of the invocation.
std::string to_sarif(const std::vector<FileReport>& reports, bool compared, int exit_code);

}  // namespace p2
