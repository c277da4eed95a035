#pragma once

#include "engine/execution/inputs.h"
#include "engine/base/files.h"
#include "engine/program/program_file.h"

namespace p2::oracle {

/// How test vectors are made.
struct Amount {
  execution::ElementType type = execution::ElementType::Float32;  ///< not bfloat16
  std::uint64_t seed = 1;
  std::size_t chunk_elements = 8;   ///< per chunk; a buffer has as many chunks as devices
  std::size_t wrong_programs = 12;  ///< at most
};

/// The test vectors of a valid program: what every rank starts with and should end with, the state
/// after every step, and programs that are wrong. The same bytes for the same amount.
///
///   index.json          what the files are, and what else there is to know
///   README.md           how to use them
///   input-rank-R.npy    the buffer of rank R before the first step
///   expected-rank-R.npy the buffer after the last one: exact, as inputs are small whole numbers
///   state-step-S.json   after step S, by rank and chunk: whose contributions the chunk holds
///   wrong-NN.json       a program that is refused; index.json says why
FolderFiles program_vectors(const ProgramFile& file, const Amount& amount);

}  // namespace p2::oracle
