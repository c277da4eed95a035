#pragma once

#include <span>
#include <string>

#include "engine/collective/language/definition.h"
#include "p2/limits.h"

/// Questions to Z3 about programs and plans, one header for each kind. A query that reaches a limit
/// is answered as undecided, with what it has settled.
///
/// All of them throw LimitReached where a limit is reached before there is any answer to give, or
/// where Z3 runs out of memory, and ToolError where Z3 fails otherwise. No z3::exception leaves
/// this folder.
namespace p2::z3_encoding {

/// The definitions of the collectives that a query uses, in the order of Collective: the built-in
/// ones unless others are given, which must outlive it.
using Definitions = std::span<const language::Definition>;

/// The version of Z3 in use, e.g. `4.8.12`.
std::string solver_version();

}  // namespace p2::z3_encoding
