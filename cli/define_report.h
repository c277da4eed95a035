#pragma once

#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "proofs/definition/examination.h"

namespace p2 {

/// What is known of one definition file after `define`.
struct DefineResult {
  std::string file;
  definition::Findings findings;
};

/// One object of `results` (cli contract: define).
std::string to_json(const DefineResult& result);

/// A table of the checks, then every counterexample drawn and explained.
std::string to_text(const DefineResult& result);

/// Engines that differ go before everything else, then refuted checks, then undecided ones.
ExitCode exit_code(const std::vector<DefineResult>& results);

}  // namespace p2
