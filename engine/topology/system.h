#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/topology/hierarchy.h"
#include "engine/topology/interconnect.h"

namespace p2 {

/// A system: its hardware hierarchy and the interconnects between the instances of its levels
/// (section 2). A system given by `--hierarchy` alone has no interconnects: it can be placed,
/// synthesised for and checked, but not priced.
struct System {
  std::string name;
  Hierarchy hierarchy;
  std::vector<Interconnect> interconnects;

  bool operator==(const System&) const = default;
};

/// Reads a system file, described by examples/systems/system.schema.json. Throws InputError with
/// the file's line and column for anything that the schema, or the meaning of its keys, rules out.
System parse_system(const std::string& source, const std::string& text);

/// The JSON text of a system; parse_system reads it back to an equal one.
std::string to_json(const System& system);

}  // namespace p2
