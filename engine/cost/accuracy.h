#pragma once

#include <span>

namespace p2 {

/// Spearman's rank correlation of two lists of equal length, at least 2; equal values share the
/// mean of their ranks. 0 when one list has only equal values.
double rank_correlation(std::span<const double> a, std::span<const double> b);

/// The median of |predicted / measured − 1|; the lists have equal length, at least 1.
double median_relative_error(std::span<const double> predicted, std::span<const double> measured);

}  // namespace p2
