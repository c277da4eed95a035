#include "engine/base/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace p2 {
namespace {

// Margins around the plotting area, the height of a line of text, and colours, of all plots.
constexpr double kTop = 34;
constexpr double kBottom = 46;
constexpr double kLine = 18;
constexpr std::string_view kGrid = "#dddddd";
constexpr std::string_view kInk = "#333333";

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char ch : text) {
    if (ch == '&') {
      safe += "&amp;";
    } else if (ch == '<') {
      safe += "&lt;";
    } else if (ch == '>') {
      safe += "&gt;";
    } else {
      safe += ch;
    }
  }
  return safe;
}

}  // namespace

void Svg::line(double x1, double y1, double x2, double y2, std::string_view colour, bool dashed) {
  shapes_ += fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"{}/>\n", x1, y1,
      x2, y2, colour, dashed ? " stroke-dasharray=\"5 4\"" : "");
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view fill) {
  shapes_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x, y,
      width, height, fill);
}

void Svg::circle(double x, double y, double radius, std::string_view fill) {
  shapes_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"/>\n", x, y,
                         radius, fill);
}

void Svg::cross(double x, double y, double radius, std::string_view colour) {
  shapes_ += fmt::format(
      "<path d=\"M{:.1f} {:.1f}l{:.1f} {:.1f}m0 {:.1f}l{:.1f} {:.1f}\" stroke=\"{}\" "
      "stroke-width=\"1.5\"/>\n",
      x - radius, y - radius, 2 * radius, 2 * radius, -2 * radius, -2 * radius, 2 * radius, colour);
}

void Svg::text(double x, double y, std::string_view text, Anchor anchor, std::string_view style) {
  constexpr std::array<std::string_view, 3> kAnchors{"start", "middle", "end"};
  shapes_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}{}>{}</text>\n", x, y,
                         kAnchors[static_cast<std::size_t>(anchor)], style.empty() ? "" : " ",
                         style, escaped(text));
}

void Svg::text_upwards(double x, double y, std::string_view text) {
  shapes_ += fmt::format(
      "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      x, y, escaped(text));
}

std::string Svg::document() const {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
             "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
             "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n",
             width_, height_) +
         shapes_ + "</svg>\n";
}

std::string_view plot_colour(std::size_t number) {
  constexpr std::array<std::string_view, 8> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#e69f00", "#56b4e9", "#000000", "#999999"};
  return kColours[number % kColours.size()];
}

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

PlotAxis::PlotAxis(double low, double high, bool logarithmic)
    : low_(logarithmic ? low / kMargin : std::min(low, 0.0)),
      high_(high > low_ ? high * kMargin : low_ + 1),
      logarithmic_(logarithmic) {}

double PlotAxis::position(double value) const {
  return logarithmic_ ? std::log(value / low_) / std::log(high_ / low_)
                      : (value - low_) / (high_ - low_);
}

std::vector<PlotAxis::Tick> PlotAxis::ticks() const {
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

namespace {

constexpr double kLeft = 70;
constexpr double kLegend = 190;

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
  PlotAxis x_axis, y_axis;

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
          PlotAxis(xs.low, xs.high, chart.logarithmic_x),
          PlotAxis(ys.low, ys.high, chart.logarithmic_y)};
}

void draw_axes(Svg& svg, const Chart& chart, const Frame& frame) {
  const double bottom = frame.top + frame.height;
  for (const PlotAxis::Tick& tick : frame.x_axis.ticks()) {
    svg.line(frame.x(tick.value), frame.top, frame.x(tick.value), bottom, kGrid);
    svg.text(frame.x(tick.value), bottom + 16, tick.label, Svg::Anchor::Middle);
  }
  for (const PlotAxis::Tick& tick : frame.y_axis.ticks()) {
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

namespace {

constexpr double kRight = 30;
constexpr double kNames = 310;
constexpr double kDigit = 7;

double lines(std::size_t count) { return kLine * static_cast<double>(count); }

}  // namespace

double height_of(const Timeline& timeline) {
  return kTop + kBottom + lines(timeline.lanes.size() + timeline.legend.size());
}

void draw(Svg& svg, const Timeline& timeline, double x, double y, double width) {
  double last = 0;
  for (const Timeline::Bar& bar : timeline.bars) last = std::max(last, bar.end);
  for (const double border : timeline.borders) last = std::max(last, border);
  const PlotAxis axis(0, last, false);
  const double left = x + kNames;
  const double top = y + kTop;
  const double bottom = top + lines(timeline.lanes.size());
  const auto at = [&](double time) {
    return left + (width - kNames - kRight) * axis.position(time);
  };
  svg.text(x + kRight, top - 14, timeline.title, Svg::Anchor::Start, Svg::kTitle);
  for (const PlotAxis::Tick& tick : axis.ticks()) {
    svg.line(at(tick.value), top, at(tick.value), bottom, kGrid);
    svg.text(at(tick.value), bottom + 16, tick.label, Svg::Anchor::Middle);
  }
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    svg.text(left - 6, top + lines(lane) + 13, timeline.lanes[lane], Svg::Anchor::End);
  }
  for (const Timeline::Bar& bar : timeline.bars) {
    svg.rectangle(at(bar.start), top + lines(bar.lane) + 3,
                  std::max(at(bar.end) - at(bar.start), 0.5), kLine - 6, plot_colour(bar.colour));
    if (at(bar.end) - at(bar.start) >= kDigit * static_cast<double>(bar.label.size() + 1)) {
      svg.text((at(bar.start) + at(bar.end)) / 2, top + lines(bar.lane) + 13, bar.label,
               Svg::Anchor::Middle);
    }
  }
  for (const double border : timeline.borders) {
    svg.line(at(border), top, at(border), bottom, kInk, true);
  }
  svg.line(left, bottom, at(axis.high()), bottom, kInk);
  svg.text((left + at(axis.high())) / 2, bottom + 36, timeline.x_label, Svg::Anchor::Middle);
  for (std::size_t i = 0; i < timeline.legend.size(); ++i) {
    svg.rectangle(left, bottom + kBottom + lines(i), 10, 10, plot_colour(i));
    svg.text(left + 16, bottom + kBottom + lines(i) + 10, timeline.legend[i]);
  }
}

std::string svg_document(const Timeline& timeline) {
  constexpr double kWidth = 1000;
  Svg svg(kWidth, height_of(timeline));
  draw(svg, timeline, 0, 0, kWidth);
  return svg.document();
}

}  // namespace p2
