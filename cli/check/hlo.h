#pragma once

#include <string>

#include "cli/check/request.h"
#include "proofs/api/finding.h"
#include "engine/hlo/equality/verdict.h"

namespace p2 {

/// What is known of one module, or of a module before and after a rewrite, after `check`.
struct HloResult {
  std::string file;   ///< the only one, or the one after
  std::string other;  ///< the one before; empty for a module on its own
  std::string goal;   ///< what --reduces compares with; empty without
  hlo::Verdict verdict;
  Findings findings;              ///< of the explicit engine
  bool solvers_left_out = false;  ///< asked for, and unable to answer
};

/// Whether a text is a module of XLA or StableHLO.
bool is_module(const std::string& text);

/// Judges a module on its own: against the goal of --reduces, else whether it is put together well.
/// Throws InputError for a mistake in the file, and where what was asked is for programs of
/// collectives only.
HloResult check_hlo(const std::string& file, const std::string& text, const CheckRequest& request);

/// Whether --after computes on every device what --before does.
HloResult compare_hlo(const CheckRequest& request);

/// One object of `results` (cli contract: check).
std::string to_json(const HloResult& result);
std::string to_text(const HloResult& result);

}  // namespace p2
