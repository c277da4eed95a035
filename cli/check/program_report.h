#pragma once

#include <string>

#include "proofs/api/finding.h"
#include "engine/program/derivation.h"
#include "engine/program/program_file.h"

namespace p2 {

/// What is known of one program file after `check`.
struct CheckResult {
  std::string file;
  ProgramFile read;
  Verdict verdict;            ///< of the explicit engine
  std::string reason;         ///< one paragraph; empty when valid
  Findings findings;          ///< what every engine that was asked says
  std::string certificate;    ///< the folder written; empty when none was
  bool cnf_left_out = false;  ///< asked for, and unable to answer (Engines)

  const Instance* instance() const { return read.instance ? &*read.instance : nullptr; }
};

/// One object of `results` (cli contract: check).
std::string to_json(const CheckResult& result);

/// The verdict and its reason or, with `explain`, the drawn derivation.
std::string to_text(const CheckResult& result, bool explain, const Limits& limits);

}  // namespace p2
