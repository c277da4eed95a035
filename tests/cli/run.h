#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "cli/command.h"

namespace p2 {

inline const std::string kSystems = std::string(P2_SOURCE_DIR) + "/examples/systems/";
inline const std::string kPrograms = std::string(P2_SOURCE_DIR) + "/examples/programs/";

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
