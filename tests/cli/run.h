#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace p2 {

/// What a command line printed and how it ended.
struct Ran {
  int exit = 0;
  std::string out;
  std::string err;
};

inline Ran run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int exit = dispatch(arguments, out, err);
  return {exit, out.str(), err.str()};
}

}  // namespace p2
