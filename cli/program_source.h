#pragma once

#include <string>
#include <vector>

#include "engine/program/program_file.h"

namespace p2 {

struct SourceProgram {
  std::string name;        ///< the file, with the number of the program where it has several
  std::size_t number = 1;  ///< from 1
  ProgramFile read;
};

/// The programs of a file: one, or those that `synth --format json` wrote, numbered through over
/// all placements. `number` picks one; 0 is all. Throws InputError where they cannot be read, and
/// for a number that is not there.
std::vector<SourceProgram> programs_in(const std::string& file, const GivenInstance& given,
                                       std::size_t number = 0);

}  // namespace p2
