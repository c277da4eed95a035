#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace p2 {

/// All bytes of a file; none where there is no such file.
inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace p2
