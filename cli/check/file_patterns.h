#pragma once

#include <string>
#include <vector>

namespace p2 {

/// The files that words of the command line name, each once. A word that names a file stands for
/// itself, also one with `*` in its name; otherwise `*`, `?` and `[…]` match inside one name and
/// `**` any number of folders (links are not followed; names that start with `.` have to be written
/// out). Matches are in alphabetic order. Throws InputError for a pattern that nothing matches.
std::vector<std::string> files_named(const std::vector<std::string>& words);

}  // namespace p2
