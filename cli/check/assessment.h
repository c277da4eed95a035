#pragma once

#include <vector>

#include "cli/check/judgement.h"
#include "engine/base/document_writers.h"

namespace p2 {

/// What reports say of a verdict, property by property. Programs have `premises`, `goal` and, where
/// several engines were asked, `engines`; MSCCL XML has `bounds`, `connections`, `deadlocks`,
/// `races` and `result`; a file without a verdict has `input` or `limits`.
FileReport report_of(const CheckResult& result);
FileReport report_of(const MscclResult& result);
FileReport report_of(const FileOutcome& outcome);

std::vector<FileReport> reports_of(const std::vector<FileOutcome>& outcomes);

}  // namespace p2
