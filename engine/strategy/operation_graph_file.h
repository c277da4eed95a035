#pragma once

#include <string>

#include "engine/strategy/sketch.h"

namespace p2::operations {

/// A file of the format `operation-graph/1` (docs/strategy.md). Throws InputError at the first
/// thing that is not as the format says: an unknown kind, a dimension that is missing or not
/// positive, a tensor between shapes that do not fit, an input that is fed twice, a cycle.
OperationGraph read_operations(const std::string& source, std::string text);

/// Whether the text of a file claims to be of this format.
bool claims_operations(const std::string& text);

/// The same file as text. Reading it gives the graph of the sketch on this machine.
std::string write_operations(const GraphSketch& sketch, const Machine& machine);

}  // namespace p2::operations
