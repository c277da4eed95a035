#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  /// A curve that bows to the left of its way, with a head at its end.
  void arrow(double x1, double y1, double x2, double y2, std::string_view colour, double width);
  void rectangle(double x, double y, double width, double height, std::string_view fill,
                 std::string_view border = {});
  void circle(double x, double y, double radius, std::string_view fill);
  void cross(double x, double y, double radius, std::string_view colour);
  /// The text's baseline is at y; `style` is more attributes.
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::Start,
            std::string_view style = {});
  /// Turned to be read upwards, around its middle.
  void text_upwards(double x, double y, std::string_view text);

  /// What is drawn until end_frame() is one of `count` frames that are shown in turn, for two
  /// seconds each; where nothing moves the first one is.
  void begin_frame(std::size_t number, std::size_t count);
  void end_frame();

  /// The whole document, on a white ground.
  std::string document() const;

 private:
  double width_;
  double height_;
  std::string shapes_;
  std::size_t frames_ = 0;
};

/// Colours of Okabe and Ito, which can be told apart also by those who see red and green alike;
/// repeats after 8.
std::string_view plot_colour(std::size_t number);
/// Black or white: what is legible on this colour.
std::string_view ink_on(std::string_view colour);
/// The width of all pictures: their text is legible where they are shown 600 pixels wide.
constexpr double kPlotWidth = 720;
/// The width of a text, nearly.
double text_width(std::string_view text);
/// `text`, cut off with an ellipsis where it is wider than `width`.
std::string fitted(std::string_view text, double width);

/// One axis of a plot: which values it shows and where they stand.
class PlotAxis {
 public:
  /// From 0 or from `low` in powers of ten, to a little beyond `high`. `low` and `high` are
  /// positive where `logarithmic`.
  PlotAxis(double low, double high, bool logarithmic);

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
  std::optional<double> bound = {};      ///< a lower bound of the makespan, marked as such
};

/// The height that draw() needs.
double height_of(const Timeline& timeline);
void draw(Svg& svg, const Timeline& timeline, double x, double y, double width);
/// An SVG document of the timeline alone.
std::string svg_document(const Timeline& timeline);

/// Devices inside the levels of their hardware, and what moves between them step by step.
struct HardwarePicture {
  struct Level {
    std::string name;
    std::size_t size = 1;
  };
  struct Device {
    std::string label;
    std::size_t colour = 0;
  };
  struct Transfer {
    std::size_t from = 0;
    std::size_t to = 0;
    double load = 1;  ///< of the busiest link on the way, as a part of the step's busiest one
  };
  struct Step {
    std::string label;
    std::vector<Transfer> transfers = {};
  };

  std::string title;
  std::vector<Level> levels;    ///< outermost first; the innermost has the devices
  std::vector<Device> devices;  ///< as many as the product of the sizes
  std::vector<Step> steps = {};
  std::string legend = {};
};
/// More devices are not drawn.
constexpr std::size_t kMaxPicturedDevices = 64;

std::string svg_document(const HardwarePicture& picture);

}  // namespace p2
