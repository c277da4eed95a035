#include "engine/base/svg.h"

#include <fmt/format.h>

#include <array>

namespace p2 {
namespace {

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

}  // namespace p2
