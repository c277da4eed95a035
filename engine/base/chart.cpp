#include "engine/base/chart.h"

#include <algorithm>
#include <limits>

#include "engine/base/axis.h"

namespace p2 {
namespace {

constexpr double kLeft = 70;
constexpr double kTop = 34;
constexpr double kBottom = 46;
constexpr double kLegend = 190;
constexpr double kLine = 18;
constexpr std::string_view kGrid = "#dddddd";
constexpr std::string_view kInk = "#333333";

struct Range {
  double low = std::numeric_limits<double>::max();
  double high = 0;

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// The plotting area inside a chart's rectangle, and its axes.
struct Frame {
  double left, top, width, height;
  Axis x_axis, y_axis;

  double x(double value) const { return left + width * x_axis.position(value); }
  double y(double value) const { return top + height * (1 - y_axis.position(value)); }
};

Frame frame_of(const Chart& chart, double x, double y, double width, double height) {
  Range xs;
  Range ys;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) {
      xs.include(point.x);
      ys.include(point.y);
      if (!chart.diagonal) continue;
      xs.include(point.y);
      ys.include(point.x);
    }
  }
  if (xs.high == 0) xs = ys = {1, 2};
  return {x + kLeft,
          y + kTop,
          width - kLeft - kLegend,
          height - kTop - kBottom,
          Axis(xs.low, xs.high, chart.logarithmic_x),
          Axis(ys.low, ys.high, chart.logarithmic_y)};
}

void draw_axes(Svg& svg, const Chart& chart, const Frame& frame) {
  const double bottom = frame.top + frame.height;
  for (const Axis::Tick& tick : frame.x_axis.ticks()) {
    svg.line(frame.x(tick.value), frame.top, frame.x(tick.value), bottom, kGrid);
    svg.text(frame.x(tick.value), bottom + 16, tick.label, Svg::Anchor::Middle);
  }
  for (const Axis::Tick& tick : frame.y_axis.ticks()) {
    svg.line(frame.left, frame.y(tick.value), frame.left + frame.width, frame.y(tick.value), kGrid);
    svg.text(frame.left - 6, frame.y(tick.value) + 4, tick.label, Svg::Anchor::End);
  }
  svg.line(frame.left, bottom, frame.left + frame.width, bottom, kInk);
  svg.line(frame.left, frame.top, frame.left, bottom, kInk);
  svg.text(frame.left + frame.width / 2, bottom + 36, chart.x_label, Svg::Anchor::Middle);
  svg.text_upwards(frame.left - 52, frame.top + frame.height / 2, chart.y_label);
  svg.text(frame.left, frame.top - 14, chart.title, Svg::Anchor::Start, Svg::kTitle);
}

void draw_mark(Svg& svg, const Series& series, double x, double y) {
  if (series.mark == Series::Mark::Dot) {
    svg.circle(x, y, 3, plot_colour(series.colour));
  } else {
    svg.cross(x, y, 3.5, plot_colour(series.colour));
  }
}

}  // namespace

void draw(Svg& svg, const Chart& chart, double x, double y, double width, double height) {
  const Frame frame = frame_of(chart, x, y, width, height);
  draw_axes(svg, chart, frame);
  if (chart.diagonal) {
    const double low = frame.x_axis.low();
    const double high = frame.x_axis.high();
    svg.line(frame.x(low), frame.y(low), frame.x(high), frame.y(high), kInk, true);
  }
  double legend = frame.top + 8;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) {
      draw_mark(svg, series, frame.x(point.x), frame.y(point.y));
    }
    if (series.name.empty()) continue;
    draw_mark(svg, series, frame.left + frame.width + 16, legend - 4);
    svg.text(frame.left + frame.width + 26, legend, series.name);
    legend += kLine;
  }
}

}  // namespace p2
