#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/synth/cross_check.h"
#include "cli/synth/synth_request.h"

namespace p2 {

/// The programs of one placement, and what the solvers say of them where they were asked.
struct PlacementAnswer {
  PlacementPrograms found;
  std::vector<Comparison> comparisons;
  std::string certificate = {};            ///< the folder written; empty when none was
  std::optional<ExitCode> unwritten = {};  ///< why it could not be written, where it could not
  std::vector<ExistenceFinding> existence = {};  ///< where that was asked
};

struct SynthAnswer {
  std::vector<PlacementAnswer> placements;
  std::uint64_t total = 0;
  bool complete = true;  ///< every list holds all programs up to the size asked for
  bool verified = true;  ///< every solver asked settled every placement
  bool disagreed = false;
  bool refuted = false;               ///< a placement has no program with the property wanted
  bool certified = true;              ///< every certificate asked for was found
  std::optional<ExitCode> unwritten;  ///< one was found and could not be written
};

void print_text(const SynthAnswer& answer, const SynthRequest& request, std::ostream& out);
void print_json(const SynthAnswer& answer, const SynthRequest& request, std::ostream& out);

}  // namespace p2
