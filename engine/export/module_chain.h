#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/hlo/collective.h"
#include "engine/hlo/module.h"
#include "engine/hlo/replica_groups.h"
#include "engine/program/program.h"
#include "p2/limits.h"

/// Modules that are chains of collectives: every device holds consecutive rows of the input, so
/// that no rows are rearranged between collectives. Time and memory grow with devices, not with
/// devices times rows.
namespace p2::hlo {

/// A collective of a chain.
struct ChainStep {
  const char* opcode = "";
  IdGroups groups;  ///< of all devices
  std::int64_t rows = 0;
};

/// The chain that a valid program lowers to; nothing if some device holds rows that are not
/// consecutive or come out of order, keeps rows in a step that it takes no part in, or holds
/// another number of them than the others. Goal and beginning must be the paper's.
std::optional<std::vector<ChainStep>> chain_of(const Program& program);

/// Whether a module is a chain of all-reduces (sums), reduce-scatters, all-gathers and
/// collective-broadcasts of a vector whose result is the AllReduce of the input over `classes`,
/// which partition all devices. The groups are executed device by device: of each the rows that it
/// holds and the devices whose inputs they are the sum of. False says nothing.
bool is_all_reduce_chain(const std::shared_ptr<const Module>& module, const Devices& devices,
                         const std::vector<std::vector<std::uint32_t>>& classes,
                         const Limits& limits);

}  // namespace p2::hlo
