#pragma once

#include <string>
#include <vector>

namespace p2 {

/// One axis of a plot: which values it shows and where they stand.
class Axis {
 public:
  /// From 0 or from `low` in powers of ten, to a little beyond `high`. `low` and `high` are
  /// positive where `logarithmic`.
  Axis(double low, double high, bool logarithmic);

  /// 0 for the lowest value shown, 1 for the highest.
  double position(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }

  struct Tick {
    double value = 0;
    std::string label;
  };
  /// Round values, at most about ten.
  std::vector<Tick> ticks() const;

 private:
  double low_;
  double high_;
  bool logarithmic_;
};

}  // namespace p2
