#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/hlo/module.h"
#include "p2/limits.h"

namespace p2::hlo {

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
