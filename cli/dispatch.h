#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace p2 {

/// Runs one command line (without the program's name) and returns its exit code. Results go to
/// `out` or to the file of --output, messages and progress to `err`.
int dispatch(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace p2
