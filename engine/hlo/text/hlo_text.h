#pragma once

#include <string>
#include <string_view>

#include "engine/hlo/module.h"
#include "p2/limits.h"

namespace p2::hlo {

/// Whether a text is XLA's HLO: its first word is `HloModule`.
bool is_hlo(std::string_view text);

/// Whether a file is a module of XLA in binary form (`.pb`), by its first bytes.
bool is_binary_module(std::string_view bytes);

/// Parses HLO text, long or short form. Operands and called computations must be defined before
/// they are used. Throws InputError for syntax errors and unknown names; shapes and groups are
/// checked by flow_of. Throws LimitReached.
Module read_hlo(const std::string& source, const std::string& text, const Limits& limits = {});

/// The user's lines from which the instruction on line `line` (from 1) of an HLO text was made,
/// innermost first: `model.py:14 (mlp)`. They are in the instruction's metadata or in the tables of
/// stack frames at the head of the text. Empty where neither names any.
std::vector<std::string> source_lines(std::string_view text, std::size_t line);

/// The user's lines of the instruction that computes array `output` of the module's result: from
/// the root along the first operands and into calls, past what only moves values.
std::vector<std::string> source_of_output(const Module& module, std::string_view text,
                                          std::size_t output);

}  // namespace p2::hlo
