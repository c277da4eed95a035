#include "engine/base/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace p2 {
namespace {

constexpr double kMargin = 1.05;
constexpr double kEnoughTicks = 8;

/// The smallest of 1, 2, 5, 10, 20, … times a power of ten that is at least `step`.
double round_up(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= step * (1 - 1e-9)) return digit * power;
  }
  return 10 * power;
}

}  // namespace

Axis::Axis(double low, double high, bool logarithmic)
    : low_(logarithmic ? low / kMargin : std::min(low, 0.0)),
      high_(high > low_ ? high * kMargin : low_ + 1),
      logarithmic_(logarithmic) {}

double Axis::position(double value) const {
  return logarithmic_ ? std::log(value / low_) / std::log(high_ / low_)
                      : (value - low_) / (high_ - low_);
}

std::vector<Axis::Tick> Axis::ticks() const {
  std::vector<Tick> ticks;
  const auto add = [&](double value) {
    if (value >= low_ && value <= high_) ticks.push_back({value, fmt::format("{:.6g}", value)});
  };
  if (!logarithmic_) {
    const double step = round_up((high_ - low_) / kEnoughTicks);
    for (double i = std::ceil(low_ / step); i * step <= high_; ++i) add(i * step);
    return ticks;
  }
  const bool few_decades = high_ / low_ < 1e4;
  for (double power = std::pow(10, std::floor(std::log10(low_))); power <= high_; power *= 10) {
    add(power);
    if (few_decades) add(2 * power);
    if (few_decades) add(5 * power);
  }
  return ticks;
}

}  // namespace p2
