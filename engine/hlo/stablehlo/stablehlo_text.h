#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/hlo/module.h"

namespace p2::hlo {

/// What a test of StableHLO's interpreter runs: a function for every replica and partition, on
/// constants, and what it expects of the results. Lists are in the order of devices.
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

/// Whether a text is MLIR: its first word is `module` or `func.func`.
bool is_stablehlo(std::string_view text);

/// Reads StableHLO in MLIR's text, generic or pretty, several modules separated by `// -----`. The
/// entry is `@main`, else the last function with a body; where `@main` runs others in parallel it
/// is the first of them. Operations of other dialects are read as opaque ones. Throws InputError.
std::vector<StableHloModule> read_stablehlo(const std::string& source, const std::string& text);

}  // namespace p2::hlo
