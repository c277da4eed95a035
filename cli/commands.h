#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace p2 {

/// The commands of p2-verify. Each takes the words after its name, writes its result to `out` (or
/// to the file of --output) and messages to `err`, and returns an exit code. Bad input throws
/// InputError.
using Arguments = std::vector<std::string>;

int run_place(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_synth(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_check(const Arguments& arguments, std::ostream& out, std::ostream& err);

std::string version_text();

}  // namespace p2
