#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace p2::hlo {

struct Module;

/// The user's lines from which the instruction on line `line` (from 1) of an HLO text was made,
/// innermost first: `model.py:14 (mlp)`. They are in the instruction's metadata or in the tables of
/// stack frames at the head of the text. Empty where neither names any.
std::vector<std::string> source_lines(std::string_view text, std::size_t line);

/// The user's lines of the instruction that computes array `output` of the module's result: from
/// the root along the first operands and into calls, past what only moves values.
std::vector<std::string> source_of_output(const Module& module, std::string_view text,
                                          std::size_t output);

}  // namespace p2::hlo
