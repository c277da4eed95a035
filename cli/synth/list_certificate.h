#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "cli/synth/synth_report.h"

namespace p2 {

/// Proves that the list of a placement is complete and writes the certificate to `folder`, noting
/// it in `answer`. A program that the list lacks is a disagreement, noted among the comparisons; a
/// limit leaves the answer without certificate. What keeps the folder from being written is a
/// complaint on `err` and takes nothing from the answer. The list must be settled.
void certify_list(const SynthRequest& request, const std::string& folder, PlacementAnswer& answer,
                  std::ostream& err);

}  // namespace p2
