#pragma once

#include <string>

#include "engine/topology/system.h"
#include "tests/fuzz/property.h"

namespace p2 {

/// A system that is read is read back from its own JSON. Returns whether `text` is one.
inline bool check_system_text(const std::string& text) {
  const auto system = accepted([&] { return parse_system(kFuzzedSource, text); });
  if (!system) return false;
  const std::string json = to_json(*system);
  const System again = read_back("a system's JSON", [&] { return parse_system("again", json); });
  promise(again == *system, "a system changes on its way through JSON: " + json);
  return true;
}

}  // namespace p2
