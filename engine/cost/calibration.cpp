#include "engine/cost/calibration.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace p2 {
namespace {

const double kMaxLogFactor = std::log(64.0);
constexpr int kGrid = 256;
constexpr int kSweeps = 64;
constexpr double kNoise = 1e-12;

/// The objective: the sum of squared logarithmic errors for given factors.
class Misfit {
 public:
  Misfit(const Network& network, const std::vector<Measurement>& measurements)
      : network_(network), measurements_(measurements) {}

  double operator()(const std::vector<double>& factors) const {
    double sum = 0;
    for (const Measurement& each : measurements_) {
      const double error = std::log(predicted_seconds(each, network_, factors) / each.seconds);
      sum += error * error;
    }
    return sum;
  }

 private:
  const Network& network_;
  const std::vector<Measurement>& measurements_;
};

/// Golden-section search (Kiefer 1953): the minimum of a unimodal function between `low` and
/// `high`.
template <typename Function>
double golden_section(const Function& misfit, double low, double high) {
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  while (high - low > 1e-9) {
    const double left = high - ratio * (high - low);
    const double right = low + ratio * (high - low);
    if (misfit(left) <= misfit(right)) {
      high = right;
    } else {
      low = left;
    }
  }
  return (low + high) / 2;
}

/// Sets the best factor of one interconnect, given the others.
void improve(const Misfit& misfit, std::vector<double>& factors, std::uint32_t interconnect) {
  const auto at = [&](double logarithm) {
    std::vector<double> tried = factors;
    tried[interconnect] = std::exp(logarithm);
    return misfit(tried);
  };
  const double cell = 2 * kMaxLogFactor / kGrid;
  double best = std::log(factors[interconnect]);
  double least = at(best) - kNoise;
  const auto consider = [&](double logarithm) {
    const double value = at(logarithm);
    if (value >= least) return;
    least = value - kNoise;
    best = logarithm;
  };
  for (int i = 0; i <= kGrid; ++i) consider(-kMaxLogFactor + cell * i);
  consider(golden_section(at, best - cell, best + cell));
  factors[interconnect] = std::exp(best);
}

std::int64_t rounded(double bytes_per_second) {
  constexpr int kDigits = 4;
  const double unit = std::pow(10.0, std::floor(std::log10(bytes_per_second)) + 1 - kDigits);
  return std::max<std::int64_t>(1, std::llround(std::round(bytes_per_second / unit) * unit));
}

}  // namespace

double predicted_seconds(const Measurement& measurement, const Network& network,
                         const std::vector<double>& factors) {
  double seconds = 0;
  for (const StepCost* step : measurement.cost.steps) {
    double longest = 0;
    for (const LinkLoad& each : step->busiest) {
      longest = std::max(
          longest, to_double(each.seconds_per_byte) / factors[network.interconnect_of(each.link)]);
    }
    seconds += to_double(step->latency) + longest * measurement.bytes;
  }
  return seconds;
}

System fitted(const Network& network, const std::vector<std::uint32_t>& interconnects,
              const std::vector<Measurement>& measurements) {
  System system = network.system();
  std::vector<double> factors(system.interconnects.size(), 1);
  const Misfit misfit(network, measurements);
  double before = misfit(factors);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (const std::uint32_t interconnect : interconnects) improve(misfit, factors, interconnect);
    const double after = misfit(factors);
    if (before - after < kNoise) break;
    before = after;
  }
  for (const std::uint32_t interconnect : interconnects) {
    if (factors[interconnect] == 1) continue;
    std::int64_t& bandwidth = system.interconnects[interconnect].bytes_per_second;
    bandwidth = rounded(static_cast<double>(bandwidth) * factors[interconnect]);
  }
  return system;
}

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
