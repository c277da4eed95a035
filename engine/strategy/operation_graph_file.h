#pragma once

#include <string>

#include "engine/strategy/operation.h"
#include "p2/json.h"

namespace p2::operations {

/// Reads a file of the format `operation-graph/1` (docs/strategy.md). Throws InputError at the
/// first violation: an unknown kind, a dimension that is missing or not positive, a tensor between
/// shapes that do not match, an input with two producers, a cycle.
OperationGraph read_operations(const std::string& source, std::string text);

/// Whether the text of a file claims to be of this format.
bool claims_operations(const std::string& text);

/// The value of such a file. Reading it gives the graph of the sketch on this machine.
Json operation_graph_json(const GraphSketch& sketch, const Machine& machine);
/// The same as text.
std::string write_operations(const GraphSketch& sketch, const Machine& machine);

}  // namespace p2::operations
