#pragma once

#include <cstdint>

namespace p2::cnf {

/// A variable (positive) or its negation, as in DIMACS; never 0.
using Literal = std::int32_t;

}  // namespace p2::cnf
