#pragma once

#include <cstdint>

#include "engine/hlo/interpreter/numbers.h"

namespace p2::hlo::interpreter {

/// The rounding of one operation, relative to its result; functions of the library are a few times
/// less precise than arithmetic.
inline constexpr double kRounding = 0x1p-51;

/// From 0 to 1, by the operands of an operation: errors of different ones differ (is_unclear()).
double drawn_by(std::uint64_t first, std::uint64_t second);

/// A bound as a Scalar holds it: never 0 but for 0, infinite for what is no number.
float rounded_bound(double error);

/// A function of one number, or of two, in double precision.
double real_function(Element code, double a, double b);

/// A function of floating-point numbers, of one or of two. The result is arbitrary where the
/// function has a step within the errors of the operands, and its error infinite where it has a
/// pole there.
Scalar function_of_reals(Element code, const Scalar& x, const Scalar& y);

/// Whether two numbers are the same, computed in the same way: rounding makes no difference.
bool are_one(const Scalar& a, const Scalar& b);
/// `error`, of a number that may be either of two, changed so that it is not one with either.
double error_of_either(const Scalar& a, const Scalar& b, double error);

/// Whether rounding may decide how two floating-point numbers compare.
bool is_unclear(const ElementOperation& comparison, const Scalar& a, const Scalar& b);

/// Whether rounding may decide what integer, truth value or bits a floating-point number becomes.
bool is_unclear_conversion(const ElementOperation& conversion, const Scalar& value);

}  // namespace p2::hlo::interpreter
