#include "engine/base/timeline.h"

#include <algorithm>

#include "engine/base/axis.h"

namespace p2 {
namespace {

constexpr double kTop = 34;
constexpr double kBottom = 46;
constexpr double kRight = 30;
constexpr double kNames = 310;
constexpr double kLine = 18;
constexpr double kDigit = 7;
constexpr std::string_view kGrid = "#dddddd";
constexpr std::string_view kInk = "#333333";

double lines(std::size_t count) { return kLine * static_cast<double>(count); }

}  // namespace

double height_of(const Timeline& timeline) {
  return kTop + kBottom + lines(timeline.lanes.size() + timeline.legend.size());
}

void draw(Svg& svg, const Timeline& timeline, double x, double y, double width) {
  double last = 0;
  for (const Timeline::Bar& bar : timeline.bars) last = std::max(last, bar.end);
  for (const double border : timeline.borders) last = std::max(last, border);
  const Axis axis(0, last, false);
  const double left = x + kNames;
  const double top = y + kTop;
  const double bottom = top + lines(timeline.lanes.size());
  const auto at = [&](double time) {
    return left + (width - kNames - kRight) * axis.position(time);
  };
  svg.text(x + kRight, top - 14, timeline.title, Svg::Anchor::Start, Svg::kTitle);
  for (const Axis::Tick& tick : axis.ticks()) {
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

}  // namespace p2
