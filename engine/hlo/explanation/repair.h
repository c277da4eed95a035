#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/explanation/holding.h"
#include "engine/hlo/explanation/trace.h"
#include "engine/hlo/module.h"

namespace p2::hlo {

/// A change of one module.
struct Repair {
  const Instruction* place =
      nullptr;              ///< the instruction that is changed, or after which another is put
  std::string words;        ///< `an all-reduce (add) over {0,1,2,3} after dot.52`
  bool is_missing = false;  ///< it puts in a collective that is missing
  Groups groups = {};       ///< of the collective that is put in
  Module module;
};

/// What repairs are made of.
struct RepairQuestion {
  const Module& module;  ///< that is wrong
  const Module& other;
  const Trace& trace;
  const Devices& devices;
  const std::vector<MeshAxis>& mesh;
  const std::vector<Groups>& groups;  ///< that collectives may have
  /// The arrays that are not related to the other module, and those that they are computed from.
  const std::vector<std::uint32_t>& region;
  /// How an array is made of one of the other module.
  std::function<const std::optional<Holding>&(std::uint32_t)> holding;
};

/// Calls `visit` with changes that people forget or make too often, the likeliest first, until it
/// returns false: a collective that is missing, superfluous, or over other groups; a scaling;
/// another reducer, order of operands, comparison, constant or slice.
void for_each_repair(const RepairQuestion& question, const std::function<bool(Repair&&)>& visit);

}  // namespace p2::hlo
