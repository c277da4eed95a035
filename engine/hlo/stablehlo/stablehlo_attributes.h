#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/hlo/module.h"
#include "engine/hlo/text_reader.h"

namespace p2::hlo {

/// The meshes that a file defines, by name.
using Meshes = std::map<std::string, std::vector<MeshAxis>>;

/// Reads the value of one attribute of a StableHLO operation into `instruction`; `value` is its
/// text, empty for an attribute that has none. Throws InputError.
void read_mlir_attribute(const std::string& name, std::string_view value,
                         const SourcePosition& where, const Meshes& meshes,
                         Instruction& instruction);

/// The opcode of XLA for `stablehlo.broadcast_in_dim`, …: without the dialect for what is not
/// known.
std::string xla_opcode(std::string_view name);

}  // namespace p2::hlo
