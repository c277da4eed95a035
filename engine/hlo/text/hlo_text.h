#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/hlo/module.h"
#include "engine/hlo/text/text_reader.h"
#include "p2/limits.h"

namespace p2::hlo {

/// Whether a text is XLA's HLO: its first word is `HloModule`.
bool is_hlo(std::string_view text);

/// Whether a file is a module of XLA in binary form (`.pb`), by its first bytes.
bool is_binary_module(std::string_view bytes);

/// Parses HLO text, long or short form. Operands and called computations must be defined before
/// they are used. Throws InputError for syntax errors and unknown names; shapes and groups are
/// checked by flow_of. Throws LimitReached.
Module read_hlo(const std::string& source, const std::string& text, const Limits& limits = {});

/// Whether a module may call cuBLAS or cuDNN.
bool calls_library(std::string_view text);

/// The module with dots, convolutions and elementwise operations in place of calls of cuBLAS and
/// cuDNN, as XLA's backend for GPUs writes them: `__cublas$gemm` and `__cublas$lt$matmul`, which
/// are alpha · a dot, + beta · c, + a bias, and the maximum of that and 0; `__cudnn$convForward`
/// and
/// `__cudnn$convBiasActivationForward`, the same of a convolution. What is not understood, as other
/// activations and whatever uses the workspace, stays a call.
Module with_operations_of_libraries(Module module);

/// Thrown for a module without a canonical text; what() is one sentence without its full stop.
struct NoCanonicalText : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The module that the canonical text of `module` says, whichever language that was read from:
/// XLA's opcodes and attributes, names that are unique, computations that the entry needs, callees
/// first, a constant of one value as a broadcast, channels that have numbers. Throws
/// NoCanonicalText where a module has what XLA's text cannot express, or means something else by.
Module canonical_module(const Module& module);

/// Its text. read_hlo gives a module with the same text.
std::string canonical_text(const Module& module);

/// The user's lines from which the instruction on line `line` (from 1) of an HLO text was made,
/// innermost first: `model.py:14 (mlp)`. They are in the instruction's metadata or in the tables of
/// stack frames at the head of the text. Empty where neither names any.
std::vector<std::string> source_lines(std::string_view text, std::size_t line);

/// The user's lines of the instruction that computes array `output` of the module's result: from
/// the root along the first operands and into calls, past what only moves values.
std::vector<std::string> source_of_output(const Module& module, std::string_view text,
                                          std::size_t output);

// Parts of the text that StableHLO shares.

/// Parses `f32[8,16]{1,0}`, `pred[]` or `(f32[8], (s32[], s32[]))`. Arrays whose sizes are not
/// fixed, `f32[<=8]`, are foreign. Throws InputError for more than kMaxElements, and for tuples
/// nested too deeply.
Shape read_shape(TextReader& reader);

/// Parses the argument of `constant(…)`: a number, or nested braces with the elements of `shape`.
Literal read_literal(TextReader& reader, const ArrayShape& shape);

/// Parses a single element or lists nested in `open` and `close`, and appends all elements to
/// `literal`. The token `elided` in place of an element sets `literal.elided`. Throws InputError
/// for other text, and for more than kMaxLiteralElements.
void read_elements(TextReader& reader, std::string_view open, std::string_view close,
                   const std::optional<std::string_view>& elided, Literal& literal);

/// Throws InputError at the reader's position unless `shape` has at most kMaxElements elements.
void require_addressable(TextReader& reader, const ArrayShape& shape);

/// `text` without blanks outside of strings, for comparison.
std::string without_blanks(std::string_view text);

/// A test of StableHLO's interpreter (interpreter.run_parallel): a function for every replica and
/// partition, its constant inputs, and the expected results. Lists are in the order of devices.
struct ParallelRun {
  std::vector<std::vector<std::string>> programs;  ///< by replica, by partition
  std::vector<Literal> inputs;
  struct Expectation {
    std::size_t result = 0;
    Literal value;
  };
  std::vector<Expectation> expected;
};

/// One module of a file.
struct StableHloModule {
  Module module;
  std::optional<ParallelRun> run;
};

/// Whether a text is MLIR: its first word is `module`, `func.func` or `sdy.mesh`.
bool is_stablehlo(std::string_view text);

/// Parses StableHLO in the generic or pretty form of MLIR; `// -----` separates modules. The entry
/// is
/// `@main`, else the last function with a body; if `@main` is a test, the function that it runs.
/// Operations of other dialects are opaque. Throws InputError.
std::vector<StableHloModule> read_stablehlo(const std::string& source, const std::string& text,
                                            const Limits& limits = {});

/// A test as two modules without inputs: one returns the expected constants, one calls the program
/// with the given constants.
struct RunModules {
  std::shared_ptr<const Module> expected;
  std::shared_ptr<const Module> actual;
};
/// Throws InputError unless there is one constant for each input and output of every device.
RunModules modules_of(const StableHloModule& module);

}  // namespace p2::hlo
