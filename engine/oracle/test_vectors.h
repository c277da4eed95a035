#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/files.h"
#include "engine/collective/language/definition.h"
#include "engine/execution/elements.h"
#include "engine/program/program.h"
#include "engine/program/program_file.h"

namespace p2::vectors {

/// The bytes of a `.npy` file (format 1.0, little endian, C order) that holds these elements.
/// Not for bfloat16, which NumPy lacks.
std::string array_file(execution::ElementType type, const std::vector<std::size_t>& shape,
                       std::span<const std::byte> elements);

/// NumPy's name of the type: `<f4`, `<f8`, `<i4`.
std::string numpy_name(execution::ElementType type);

/// How test vectors are made.
struct VectorOptions {
  execution::ElementType type = execution::ElementType::Float32;  ///< not bfloat16
  std::uint64_t seed = 1;
  std::size_t chunk_elements = 8;   ///< per chunk
  std::size_t wrong_programs = 12;  ///< at most
};

/// The test vectors of a valid program, for any goal: inputs and expected outputs of every rank, 0 in
/// chunks that it does not hold at the beginning or that the goal does not ask for, the state after
/// every step, and wrong programs. Deterministic.
///
///   index.json          the program, its steps and groups, and the names of the files
///   README.md           how to use them
///   input-rank-R.npy    the buffer of rank R before the first step
///   expected-rank-R.npy the buffer after the last one: exact, as inputs are small whole numbers
///   state-step-S.json   after step S, by rank and chunk: whose contributions the chunk holds
///   wrong-NN.json       a program that is refused; index.json says why
FolderFiles program_vectors(const ProgramFile& file, const VectorOptions& options);

/// A program that the rules refuse, and its effect on data.
struct WrongProgram {
  Program program;
  std::size_t step = 0;  ///< that is refused, from 1; the number of steps if the goal is missed
  std::string rule;      ///< as rule_name names it
  std::string reason;    ///< one paragraph
  std::uint64_t wrong_elements = 0;  ///< of the result; 0: the data are right nevertheless
};

/// At most `max_count` refused mutants of `program`: a step removed, duplicated, exchanged with the
/// next or given another collective; a group without its last rank; one more step over the classes.
/// Mutants that differ in the broken rule, or in whether their data are wrong, come first. They are
/// run on `chunk_elements` elements per chunk. All steps are bare groups. Deterministic.
std::vector<WrongProgram> wrong_programs(const Program& program, const execution::Inputs& inputs,
                                         std::size_t chunk_elements, std::size_t max_count);

/// The test vectors of a collective, by the reference interpreter of its definition: groups of 2 to
/// 4 ranks with as many contributors and chunks (or the square of it as chunks, if it runs in none
/// of these states), in states reachable from the start by the built-in collectives, this one and
/// reversing the ranks; each with the state after the step or the premise that refuses it.
///
///   index.json           the cases: group size, states before and after, or the failed premise
///   README.md            how to use them
///   case-NN-before.npy   the buffers, by rank, chunk and element, 0 where nothing is held
///   case-NN-after.npy    the same after the step; absent where the step is refused
FolderFiles definition_vectors(const language::Definition& definition,
                               const VectorOptions& options);

}  // namespace p2::vectors
