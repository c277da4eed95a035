#pragma once

#include <string>
#include <vector>

#include "engine/base/svg.h"

namespace p2 {

struct Point {
  double x = 0;
  double y = 0;
};

/// Points that are drawn alike and have one line in the legend.
struct Series {
  enum class Mark { Dot, Cross };

  std::string name;  ///< empty: not in the legend
  std::size_t colour = 0;
  Mark mark = Mark::Dot;
  std::vector<Point> points = {};
};

/// A plot of points. Values on a logarithmic axis are positive.
struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool logarithmic_x = false;
  bool logarithmic_y = false;
  bool diagonal = false;  ///< one range for both axes, and the line where x = y
  std::vector<Series> series = {};
};

/// Draws the chart into the rectangle, legend on the right.
void draw(Svg& svg, const Chart& chart, double x, double y, double width, double height);

}  // namespace p2
