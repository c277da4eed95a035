#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "p2/answer.h"
#include "p2/instance.h"

/// Test vectors for other implementations: of a valid program inputs, expected outputs, states
/// after every step and wrong programs; of the definition of a collective (`.p2c`) cases with the
/// state before and after, or the premise that refuses them.
///
///   OracleRequest request;
///   request.file = "examples/oracle/allreduce.p2";
///   request.folder = "vectors";
///   const OracleAnswer answer = oracle(request, {});  // vectors/index.json names all files
namespace p2 {

struct OracleRequest {
  std::string file;       ///< a program or a definition
  InstanceSpec instance;  ///< what the program file does not say of its instance
  /// Where the vectors are written, all or none. It may not exist, be empty, or hold vectors that
  /// were written before and nothing else; those are replaced. Empty: the answer has the files.
  std::string folder;
  std::string type = "float32";     ///< or `float64`, `int32`; NumPy has no bfloat16
  std::size_t chunk_elements = 8;   ///< of one chunk
  std::size_t wrong_programs = 12;  ///< at most
};

/// The outcome is Refuted for a program that the rules refuse, and that of the examination for a
/// definition that is not known to be sound: then no files are written.
struct OracleAnswer : Answer {
  std::size_t files = 0;                       ///< written
  std::map<std::string, std::string> vectors;  ///< without a folder: name → bytes
  std::string refused;  ///< why there are no vectors of the program; empty otherwise
};

/// The vectors depend only on the file, the request and `options.seed`. Throws InputError for more
/// than 256 devices, a definition that is not sound, and a folder that
/// cannot be written or holds something else.
OracleAnswer oracle(const OracleRequest& request, const Options& options);

}  // namespace p2
