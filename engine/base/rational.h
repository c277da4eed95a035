#pragma once

#include <cstdint>

#include <boost/multiprecision/cpp_int.hpp>

namespace p2 {

/// Exact numbers of any size: costs that are compared are never rounded, and nothing overflows.
using Integer = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;

/// The denominator is not 0. (Out of line, like to_double: inlined, GCC 12 takes Boost's small
/// numbers for uninitialised.)
Rational ratio(const Integer& numerator, const Integer& denominator);
/// The nearest whole number, halves to the even one, of a value from 0; at most 2^63 - 1.
std::int64_t nearest(const Rational& value);
/// The nearest double, for people and plots.
double to_double(const Rational& value);

}  // namespace p2
