#pragma once

#include <string>
#include <string_view>

namespace p2 {

/// A drawing in SVG, made of the few shapes that plots need. Coordinates are pixels from the upper
/// left corner; colours are CSS colours. The same calls give the same bytes.
class Svg {
 public:
  enum class Anchor { Start, Middle, End };
  /// The style of titles.
  static constexpr std::string_view kTitle = "font-size=\"14\" font-weight=\"bold\"";

  Svg(double width, double height) : width_(width), height_(height) {}

  void line(double x1, double y1, double x2, double y2, std::string_view colour,
            bool dashed = false);
  void rectangle(double x, double y, double width, double height, std::string_view fill);
  void circle(double x, double y, double radius, std::string_view fill);
  void cross(double x, double y, double radius, std::string_view colour);
  /// The text's baseline is at y; `style` is more attributes.
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::Start,
            std::string_view style = {});
  /// Turned to be read upwards, around its middle.
  void text_upwards(double x, double y, std::string_view text);

  /// The whole document, on a white ground.
  std::string document() const;

 private:
  double width_;
  double height_;
  std::string shapes_;
};

/// Colours that can be told apart, also by those who see red and green alike; repeats after 8.
std::string_view plot_colour(std::size_t number);

}  // namespace p2
