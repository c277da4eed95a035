#pragma once

#include <optional>
#include <string>
#include <vector>

#include "p2/limits.h"
#include "engine/msccl/verdict.h"
#include "engine/program/program_file.h"

namespace p2 {

/// What an export comes to, once read back and judged again.
struct Exported {
  std::string text;
  std::string verdict;       ///< `valid`, `invalid` or `unknown`: of the text, as `check` gives it
  std::string reason;        ///< where it is not valid
  std::string summary;       ///< what it is, in one line for people
  std::size_t number = 1;    ///< of the program, from 1
  std::size_t of_class = 0;  ///< from 1; 0 where it stands for all classes
};

/// Every class of a valid program as MSCCL XML. Throws InputError at `where` for what MSCCL cannot
/// say.
std::vector<Exported> as_msccl(const ProgramFile& file, msccl::Protocol protocol,
                               const std::string& name, const SourcePosition& where,
                               const Limits& limits);

/// A valid program as program JSON. Throws InputError at `where` where it uses collectives of the
/// user's own, which JSON does not define.
Exported as_json(const ProgramFile& file, const SourcePosition& where, const Limits& limits);

enum class ModuleText : std::uint8_t { Hlo, StableHlo };

/// A valid program as one module for all devices. Throws InputError at `where` for what has no such
/// module.
Exported as_module(const ProgramFile& file, ModuleText language, const SourcePosition& where,
                   const Limits& limits);

}  // namespace p2
