#pragma once

#include <optional>
#include <string>
#include <vector>

#include "p2/define.h"
#include "proofs/definition/examination.h"

namespace p2 {

/// A definition file and what its examination found.
struct ExaminedDefinition {
  std::string file;
  definition::Findings findings;
  double seconds = 0;                             ///< how long the examination took
  std::optional<language::Traffic> traffic = {};  ///< as stated
};

/// The answer of `define` for these files, with its document.
DefineAnswer define_answer(const std::vector<ExaminedDefinition>& examined);

}  // namespace p2
