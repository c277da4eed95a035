#include "engine/cost/accuracy.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace p2 {
namespace {

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t first = 0, last; first < order.size(); first = last) {
    for (last = first; last < order.size() && values[order[last]] == values[order[first]];) ++last;
    for (std::size_t i = first; i < last; ++i) {
      rank[order[i]] = static_cast<double>(first + last - 1) / 2;
    }
  }
  return rank;
}

}  // namespace

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx == 0 || yy == 0 ? 0 : xy / std::sqrt(xx * yy);
}

double median_relative_error(std::span<const double> predicted, std::span<const double> measured) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    errors.push_back(std::abs(predicted[i] / measured[i] - 1));
  }
  std::sort(errors.begin(), errors.end());
  const std::size_t middle = errors.size() / 2;
  return errors.size() % 2 == 1 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2;
}

}  // namespace p2
