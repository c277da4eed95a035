#pragma once

#include <ostream>

namespace p2 {

/// A list, one item a line, each as `json_of` has it.
template <typename Items, typename ToJson>
void print_list(const Items& items, std::ostream& out, ToJson json_of) {
  out << "[";
  const char* separator = "\n";
  for (const auto& item : items) {
    out << separator << json_of(item);
    separator = ",\n";
  }
  out << "\n]";
}

}  // namespace p2
