#pragma once

#include <cstdint>
#include <vector>

#include "engine/export/hlo/module_builder.h"

namespace p2::hlo {

/// For every device and row of a new vector the row of an old one that it is; kAnyRow where it does
/// not matter. All devices have equally many.
using RowTable = std::vector<std::vector<std::int64_t>>;
constexpr std::int64_t kAnyRow = -1;

/// Vectors with the rows that `table` says, as few slices put together: a slice is as long as the
/// rows of every device follow each other, and needs a table of offsets only where devices differ.
ModuleBuilder::Value chosen_rows(ModuleBuilder& builder, ModuleBuilder::Value from,
                                 const RowTable& table);

}  // namespace p2::hlo
