#pragma once

#include <string>
#include <vector>

#include "cli/export/exported_program.h"
#include "cli/program_source.h"

namespace p2 {

/// What programs are written as.
enum class Target : std::uint8_t { Msccl, Json, Hlo, StableHlo };

/// The end of a file's name, without the dot.
const char* extension_of(Target target);

/// What a program comes to, one text for each of its classes for MSCCL. `file` gives algorithms
/// their name. Throws InputError for what the target cannot say.
std::vector<Exported> exported_as(Target target, const SourceProgram& source,
                                  const std::string& file, msccl::Protocol protocol,
                                  const Limits& limits);

}  // namespace p2
