#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/program/program.h"
#include "p2/json.h"

namespace p2 {

/// A program read from a file, with the instance it was written for, if it names one.
struct ProgramFile {
  Program program;
  std::optional<Instance> instance;
  Dialect dialect = Dialect::Published;
  std::vector<SourcePosition> step_positions = {};  ///< of each step in the file
};

/// Reads program JSON (the text starts with `{`) or `.p2` notation; `given` completes the instance
/// where the file is silent; the file takes precedence. Steps may use the collectives of `given`.
/// Throws InputError with line and column.
///
/// A `.p2` file is header lines and then the program (notation: program.h), `#` comments anywhere:
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

/// Whether a text may be meant as a program, right or wrong: JSON with a key of programs or with a
/// syntax error, or notation that begins with a header, a step, or a name close to a header.
bool resembles_program(std::string_view text);

/// The readers of the two formats; read_program also finds the beginning of the goal.
ProgramFile read_program_notation(const std::string& source, const std::string& text,
                                  const GivenInstance& given);
/// Without `lowers`: as read_unlowered, but throws InputError.
ProgramFile read_program_json(const std::string& source, const std::string& text,
                              const GivenInstance& given, bool lowers = true);

/// The same without the groups of the steps and without classes, in time and memory that do not
/// depend on the number of devices. Nothing for what has no instance or no instructions, for a goal
/// that a user defines, and for a text with a mistake: read_program says which.
std::optional<ProgramFile> read_unlowered(const std::string& source, const std::string& text,
                                          const GivenInstance& given);

/// The programs, as JSON, in the output of `synth --format json`, over all placements; empty for
/// any other text. Throws InputError for such an output without programs.
std::vector<std::string> listed_programs(const std::string& file, const std::string& text);

/// What messages call the program number `number`, from 1, of a file with several: `FILE program
/// 3`.
std::string name_of_listed(const std::string& file, std::size_t number);

struct SourceProgram {
  std::string name;        ///< the file, with the number of the program if it has several
  std::size_t number = 1;  ///< from 1
  ProgramFile read;
};

/// The programs of a file: one, or those that `synth --format json` wrote, numbered over all
/// placements. `number` selects one; 0: all. Throws InputError for a file that cannot be read, and
/// for a number that does not exist.
std::vector<SourceProgram> programs_in(const std::string& file, const GivenInstance& given,
                                       std::size_t number = 0);

/// A program as JSON (`devices`, `classes`, `steps`, …, `text`), complete with the instance if
/// there is one. read_program reads it back.
Json program_json(const Program& program, const Instance* instance, Dialect dialect);
/// The same without classes and without the groups of instructions, which follow from the instance:
/// its size does not depend on the number of devices. `program` needs neither.
Json program_pattern_json(const Program& program, const Instance& instance, Dialect dialect);
/// Lists of programs in JSON have groups if all together list at most so many devices
/// (docs/cli.md).
constexpr std::uint64_t kMaxListedDevices = std::uint64_t{1} << 22U;
/// The same on one line.
std::string to_json(const Program& program, const Instance* instance, Dialect dialect);

/// `[{"name":"node","size":4},…]` for the levels of a hierarchy or the axes.
template <typename Parts>
Json parts_json(const Parts& parts) {
  return Json::array_of(parts, [](const auto& part) {
    return Json::object({{"name", part.name}, {"size", part.size}});
  });
}

/// `[[1,8],[4,2]]`: a parallelism matrix, or groups of devices.
inline Json lists_json(const std::vector<std::vector<std::uint32_t>>& rows) {
  return Json::array_of(rows, [](const auto& row) { return Json::naturals(row); });
}

}  // namespace p2
