#pragma once

#include <string>
#include <vector>

namespace p2 {

/// The programs, as JSON, in the output of `synth --format json`, over all placements; empty for
/// any other text. Throws InputError for such an output without programs.
std::vector<std::string> listed_programs(const std::string& file, const std::string& text);

/// What messages call the program number `number`, from 1, of a file with several: `FILE program
/// 3`.
std::string name_of_listed(const std::string& file, std::size_t number);

}  // namespace p2
