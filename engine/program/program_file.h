#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace p2 {

/// A program read from a file, with the instance it was written for, if it names one.
struct ProgramFile {
  Program program;
  std::optional<Instance> instance;
  Dialect dialect = Dialect::Published;
  std::vector<SourcePosition> step_positions = {};  ///< where each step stands in the file
};

/// Reads program JSON (the text starts with `{`) or `.p2` notation; what the file does not say of
/// its instance is taken from `given`, what it says goes first. Steps may use the collectives of
/// `given`. Throws InputError with line and column.
///
/// A `.p2` file is header lines and then the program (see notation.h), `#` comments anywhere:
///
///   hierarchy node=4,gpu=16            # or, for bare groups: devices 8
///   axes data=8,shard=8                #                      classes {0,2,4,6},{1,3,5,7}
///   reduce shard
///   placement [[1,8],[4,2]]
///   synthesis-hierarchy collapsed
///   dialect published
///   goal allreduce
///   ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root));
///   AllGather(node, InsideGroup)
///
/// Without classes all devices form one.
ProgramFile read_program(const std::string& source, const std::string& text,
                         const GivenInstance& given);

/// The two readers behind read_program, which sees to where the goal begins.
ProgramFile read_program_notation(const std::string& source, const std::string& text,
                                  const GivenInstance& given);
ProgramFile read_program_json(const std::string& source, const std::string& text,
                              const GivenInstance& given);

/// One program as JSON on one line (cli contract: program), complete with the instance when there
/// is one; read_program reads it back.
std::string to_json(const Program& program, const Instance* instance, Dialect dialect);

}  // namespace p2
