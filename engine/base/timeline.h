#pragma once

#include <string>
#include <vector>

#include "engine/base/svg.h"

namespace p2 {

/// What happens on each of several lanes over time.
struct Timeline {
  struct Bar {
    std::size_t lane = 0;
    double start = 0;
    double end = 0;
    std::size_t colour = 0;
    std::string label = {};  ///< drawn where there is room
  };

  std::string title;
  std::string x_label;
  std::vector<std::string> lanes = {};
  std::vector<Bar> bars = {};
  std::vector<double> borders = {};      ///< times at which a dashed line is drawn
  std::vector<std::string> legend = {};  ///< by colour
};

/// The height that draw() needs.
double height_of(const Timeline& timeline);
void draw(Svg& svg, const Timeline& timeline, double x, double y, double width);

}  // namespace p2
