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

void Svg::arrow(double x1, double y1, double x2, double y2, std::string_view colour, double width) {
  constexpr double kBow = 0.12;
  constexpr double kHead = 5;
  const double dx = x2 - x1;
  const double dy = y2 - y1;
  const double bent_x = (x1 + x2) / 2 + kBow * dy;
  const double bent_y = (y1 + y2) / 2 - kBow * dx;
  // The head points from the bend to the end.
  const double length = std::max(std::hypot(x2 - bent_x, y2 - bent_y), 1.0);
  const double ux = kHead * (x2 - bent_x) / length;
  const double uy = kHead * (y2 - bent_y) / length;
  shapes_ += fmt::format(
      "<path d=\"M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" stroke=\"{}\" "
      "stroke-width=\"{:.1f}\"/>\n<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z\" "
      "fill=\"{}\"/>\n",
      x1, y1, bent_x, bent_y, x2, y2, colour, width, x2, y2, x2 - 1.6 * ux - 0.8 * uy,
      y2 - 1.6 * uy + 0.8 * ux, x2 - 1.6 * ux + 0.8 * uy, y2 - 1.6 * uy - 0.8 * ux, colour);
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view fill,
                    std::string_view border) {
  shapes_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"{}/>\n", x, y,
      width, height, fill, border.empty() ? "" : fmt::format(" stroke=\"{}\"", border));
}

void Svg::begin_frame(std::size_t number, std::size_t count) {
  frames_ = count;
  if (count < 2) {
    shapes_ += "<g>\n";
    return;
  }
  shapes_ += fmt::format(
      "<g class=\"p2-frame\"{} style=\"animation:p2-frames-{} {}s step-end {}s infinite\">\n",
      number == 0 ? "" : " visibility=\"hidden\"", count, 2 * count,
      2 * (static_cast<double>(number) - static_cast<double>(number == 0 ? 0 : count)));
}

void Svg::end_frame() { shapes_ += "</g>\n"; }

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
  // Every frame runs through the same cycle, each one later than the one before it.
  const std::string motion =
      frames_ < 2 ? ""
                  : fmt::format(
                        "<style>@keyframes p2-frames-{0}{{0%{{visibility:visible}}"
                        "{1:.4f}%,100%{{visibility:hidden}}}}svg:hover .p2-frame{{"
                        "animation-play-state:paused!important}}@media "
                        "(prefers-reduced-motion:reduce){{.p2-frame{{animation:none!important}}}}"
                        "</style>\n",
                        frames_, 100.0 / static_cast<double>(frames_));
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
             "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
             "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n",
             width_, height_) +
         motion + shapes_ + "</svg>\n";
}

std::string_view plot_colour(std::size_t number) {
  constexpr std::array<std::string_view, 8> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#e69f00", "#56b4e9", "#000000", "#999999"};
  return kColours[number % kColours.size()];
}

std::string_view ink_on(std::string_view colour) {
  // A page in the dark replaces white and black by each other, but not the colours next to them.
  if (colour == plot_colour(6)) return "#ffffff";
  return colour == plot_colour(0) ? "#fffffe" : "#000001";
}

double text_width(std::string_view text) {
  constexpr double kCharacter = 6.7;
  const auto characters =
      std::count_if(text.begin(), text.end(), [](char ch) { return (ch & 0xc0) != 0x80; });
  return kCharacter * static_cast<double>(characters);
}

std::string fitted(std::string_view text, double width) {
  std::string kept(text);
  while (!kept.empty() && text_width(kept) + text_width("…") > width) {
    while (!kept.empty() && (kept.back() & 0xc0) == 0x80) kept.pop_back();
    if (!kept.empty()) kept.pop_back();
  }
  return text_width(text) <= width ? std::string(text) : kept + "…";
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
constexpr double kMaxLegend = 210;

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

/// The room for the legend on the right.
double legend_width(const Chart& chart) {
  double widest = 0;
  for (const Series& series : chart.series) widest = std::max(widest, text_width(series.name));
  return std::min(widest + 36, kMaxLegend);
}

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
          width - kLeft - legend_width(chart),
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
    svg.text(frame.left + frame.width + 26, legend,
             fitted(series.name, x + width - frame.left - frame.width - 28));
    legend += kLine;
  }
}

namespace {

constexpr double kRight = 30;
constexpr double kMaxNames = 260;
constexpr std::size_t kFaultColour = 1;

double lines(std::size_t count) { return kLine * static_cast<double>(count); }

}  // namespace

double height_of(const Timeline& timeline) {
  return kTop + kBottom + lines(timeline.lanes.size() + timeline.legend.size()) +
         (timeline.bound ? kLine : 0);
}

void draw(Svg& svg, const Timeline& timeline, double x, double y, double width) {
  double last = 0;
  for (const Timeline::Bar& bar : timeline.bars) last = std::max(last, bar.end);
  for (const double border : timeline.borders) last = std::max(last, border);
  const PlotAxis axis(0, last, false);
  double names = 40;
  for (const std::string& lane : timeline.lanes) names = std::max(names, text_width(lane) + 14);
  names = std::min(names, kMaxNames);
  const double left = x + names;
  const double top = y + kTop + (timeline.bound ? kLine : 0);
  const double bottom = top + lines(timeline.lanes.size());
  const auto at = [&](double time) {
    return left + (width - names - kRight) * axis.position(time);
  };
  svg.text(x + 8, y + kTop - 14, fitted(timeline.title, (width - 16) / 1.25), Svg::Anchor::Start,
           Svg::kTitle);
  for (const PlotAxis::Tick& tick : axis.ticks()) {
    svg.line(at(tick.value), top, at(tick.value), bottom, kGrid);
    svg.text(at(tick.value), bottom + 16, tick.label, Svg::Anchor::Middle);
  }
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    svg.text(left - 6, top + lines(lane) + 13, fitted(timeline.lanes[lane], names - 8),
             Svg::Anchor::End);
  }
  for (const Timeline::Bar& bar : timeline.bars) {
    const std::string_view colour = plot_colour(bar.colour);
    const double length = at(bar.end) - at(bar.start);
    svg.rectangle(at(bar.start), top + lines(bar.lane) + 3, std::max(length, 0.5), kLine - 6,
                  colour);
    const std::string label = fitted(bar.label, length - 4);
    if (label.empty() || (label != bar.label && label.size() < 8)) continue;
    svg.text((at(bar.start) + at(bar.end)) / 2, top + lines(bar.lane) + 13, label,
             Svg::Anchor::Middle, fmt::format("fill=\"{}\"", ink_on(colour)));
  }
  for (const double border : timeline.borders) {
    svg.line(at(border), top, at(border), bottom, kInk, true);
  }
  if (timeline.bound) {
    const double bound = at(*timeline.bound);
    svg.line(bound, top - 4, bound, bottom, plot_colour(kFaultColour), true);
    svg.text(bound, top - 8, fmt::format("lower bound {:.12g}", *timeline.bound), Svg::Anchor::End);
  }
  svg.line(left, bottom, at(axis.high()), bottom, kInk);
  svg.text((left + at(axis.high())) / 2, bottom + 36, timeline.x_label, Svg::Anchor::Middle);
  for (std::size_t i = 0; i < timeline.legend.size(); ++i) {
    svg.rectangle(x + 16, bottom + kBottom + lines(i), 10, 10, plot_colour(i));
    svg.text(x + 32, bottom + kBottom + lines(i) + 10, fitted(timeline.legend[i], width - 40));
  }
}

std::string svg_document(const Timeline& timeline) {
  Svg svg(kPlotWidth, height_of(timeline));
  draw(svg, timeline, 0, 0, kPlotWidth);
  return svg.document();
}

namespace {

constexpr double kDeviceHeight = 26;
constexpr double kGap = 8;
constexpr double kLevelName = 16;

/// Where the devices of a hardware picture stand, and the boxes of their levels.
class HardwareLayout {
 public:
  explicit HardwareLayout(const HardwarePicture& picture) : picture_(picture) {
    for (const HardwarePicture::Device& device : picture.devices) {
      device_width_ = std::max(device_width_, text_width(device.label) + 12);
    }
    // From the innermost level out: as many parts in a row as fit.
    Size part{device_width_, kDeviceHeight};
    for (std::size_t level = picture.levels.size(); level-- > 0;) {
      const double outer = static_cast<double>(level) * kGap;
      const auto fit =
          static_cast<std::size_t>((kPlotWidth - 2 * outer - 2 * kGap) / (part.width + kGap));
      Grid grid{part, std::clamp<std::size_t>(fit, 1, columns_wanted(level))};
      const std::size_t rows = (picture.levels[level].size + grid.columns - 1) / grid.columns;
      part = {kGap + static_cast<double>(grid.columns) * (part.width + kGap),
              kLevelName + static_cast<double>(rows) * (part.height + kGap)};
      grids_.insert(grids_.begin(), grid);
    }
    whole_ = part;
  }

  double height() const { return whole_.height; }

  void draw_boxes(Svg& svg, double x, double y) {
    centres_.clear();
    draw_level(svg, 0, 0, x, y);
  }
  Point centre(std::size_t device) const { return centres_[device]; }

 private:
  struct Size {
    double width = 0;
    double height = 0;
  };
  struct Grid {
    Size part;
    std::size_t columns = 1;
  };

  /// Up to 8 in a row; of more the divisor of the size that is nearest to 8 from below.
  std::size_t columns_wanted(std::size_t level) const {
    const std::size_t size = picture_.levels[level].size;
    std::size_t columns = std::min<std::size_t>(size, 8);
    while (size % columns != 0) --columns;
    return columns == 1 ? std::min<std::size_t>(size, 8) : columns;
  }

  void draw_level(Svg& svg, std::size_t level, std::size_t number, double x, double y) {
    if (level == picture_.levels.size()) {
      const HardwarePicture::Device& device = picture_.devices[number];
      const std::string_view colour = plot_colour(device.colour);
      svg.rectangle(x, y, device_width_, kDeviceHeight, colour);
      svg.text(x + device_width_ / 2, y + 17, device.label, Svg::Anchor::Middle,
               fmt::format("fill=\"{}\"", ink_on(colour)));
      centres_.push_back({x + device_width_ / 2, y + kDeviceHeight / 2});
      return;
    }
    const Grid& grid = grids_[level];
    for (std::size_t i = 0; i < picture_.levels[level].size; ++i) {
      const auto column = static_cast<double>(i % grid.columns);
      const auto row = static_cast<double>(i / grid.columns);
      const double left = x + kGap + column * (grid.part.width + kGap);
      const double top = y + kLevelName + row * (grid.part.height + kGap);
      if (level + 1 < picture_.levels.size()) {
        svg.rectangle(left, top, grid.part.width, grid.part.height, "none", kInk);
        svg.text(left + 4, top + 12,
                 fitted(fmt::format("{} {}", picture_.levels[level].name, i), grid.part.width - 6),
                 Svg::Anchor::Start, "font-size=\"11\"");
      }
      draw_level(svg, level + 1, number * picture_.levels[level].size + i, left, top);
    }
  }

  const HardwarePicture& picture_;
  double device_width_ = 34;
  std::vector<Grid> grids_;
  Size whole_;
  std::vector<Point> centres_;
};

}  // namespace

std::string svg_document(const HardwarePicture& picture) {
  constexpr double kHead = 30;
  HardwareLayout layout(picture);
  const double steps = picture.steps.empty() ? 0 : kLine;
  const double foot = picture.legend.empty() ? 8 : kLine + 8;
  Svg svg(kPlotWidth, kHead + steps + layout.height() + foot);
  svg.text(8, 20, fitted(picture.title, kPlotWidth / 1.25), Svg::Anchor::Start, Svg::kTitle);
  layout.draw_boxes(svg, 0, kHead + steps - kLevelName + kGap);
  for (std::size_t i = 0; i < picture.steps.size(); ++i) {
    const HardwarePicture::Step& step = picture.steps[i];
    svg.begin_frame(i, picture.steps.size());
    svg.text(8, kHead + 8,
             fitted(fmt::format("step {} of {}: {}", i + 1, picture.steps.size(), step.label),
                    kPlotWidth - 16));
    for (const HardwarePicture::Transfer& each : step.transfers) {
      const Point from = layout.centre(each.from);
      const Point to = layout.centre(each.to);
      const bool is_busiest = each.load >= 0.999;
      // From edge to edge, so that labels stay legible.
      const bool is_down = to.y > from.y || (to.y == from.y && to.x < from.x);
      const double start = is_down ? kDeviceHeight / 2 : -kDeviceHeight / 2;
      const double end = to.y == from.y ? start : -start;
      svg.arrow(from.x, from.y + start, to.x, to.y + end,
                is_busiest ? plot_colour(kFaultColour) : kInk, 0.8 + 2.2 * each.load);
    }
    svg.end_frame();
  }
  if (!picture.legend.empty()) {
    svg.text(8, kHead + steps + layout.height() + foot - 10,
             fitted(picture.legend, kPlotWidth - 16));
  }
  return svg.document();
}

}  // namespace p2
