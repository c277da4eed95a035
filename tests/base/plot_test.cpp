#include <doctest/doctest.h>

#include <algorithm>

#include "engine/base/plot.h"

using namespace p2;

namespace {

std::string labels(const PlotAxis& axis) {
  std::string text;
  for (const PlotAxis::Tick& tick : axis.ticks()) text += (text.empty() ? "" : " ") + tick.label;
  return text;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("axes have round ticks inside their range") {
  CHECK(labels(PlotAxis(3, 47, false)) == "0 10 20 30 40");
  CHECK(labels(PlotAxis(0, 0.28, false)) == "0 0.05 0.1 0.15 0.2 0.25");
  CHECK(labels(PlotAxis(0.11, 89, true)) == "0.2 0.5 1 2 5 10 20 50");
  CHECK(labels(PlotAxis(1e-6, 10, true)) == "1e-06 1e-05 0.0001 0.001 0.01 0.1 1 10");
  CHECK(labels(PlotAxis(0, 0, false)).starts_with("0"));
}

TEST_CASE("axes map their ends to 0 and 1, and the middle of a logarithmic one is the mean") {
  for (const bool logarithmic : {false, true}) {
    const PlotAxis axis(2, 200, logarithmic);
    CHECK(axis.position(axis.low()) == doctest::Approx(0));
    CHECK(axis.position(axis.high()) == doctest::Approx(1));
  }
  CHECK(PlotAxis(2, 200, true).position(20) == doctest::Approx(0.5));
}

TEST_CASE("a chart draws every point and one more per legend line, and text is escaped") {
  Chart chart{"a < b & c", "x", "y"};
  chart.series = {{"dots", 0, Series::Mark::Dot, {{1, 1}, {2, 4}, {3, 9}}},
                  {"", 1, Series::Mark::Cross, {{1, 2}}}};
  Svg svg(400, 300);
  draw(svg, chart, 0, 0, 400, 300);
  const std::string text = svg.document();
  CHECK(count(text, "<circle") == 4);
  CHECK(count(text, "<path") == 1);
  CHECK(count(text, "a &lt; b &amp; c") == 1);
  CHECK(text.find("nan") == std::string::npos);
  CHECK(text.find("inf") == std::string::npos);
}

TEST_CASE("an empty chart and a timeline without time are drawn without ado") {
  Svg svg(400, 600);
  draw(svg, Chart{"nothing", "x", "y", true, true, true}, 0, 0, 400, 300);
  Timeline line{"nothing", "seconds", {"lane"}, {{0, 0, 0, 0}}, {0}, {"step"}};
  draw(svg, line, 0, 300, 400);
  CHECK(svg.document().find("nan") == std::string::npos);
  CHECK(svg.document().find("inf") == std::string::npos);
  CHECK(height_of(line) > 0);
}

TEST_CASE("a lower bound is marked and named; labels that do not fit are cut") {
  Timeline line{"schedule", "elements", {"a lane"}, {{0, 0, 90, 0, "task 1"}, {0, 90, 91, 1, "task 2"}}};
  line.bound = 80;
  const std::string text = svg_document(line);
  CHECK(count(text, ">lower bound 80</text>") == 1);
  CHECK(count(text, ">task 1</text>") == 1);
  CHECK(count(text, "task 2") == 0);
  CHECK(fitted("déjà vu", 1000) == "déjà vu");
  CHECK(fitted("déjà vu, many times", 60) == "déjà vu…");
}

TEST_CASE("hardware is drawn with every device, and a frame for every step") {
  HardwarePicture picture{"<title>", {{"node", 2}, {"gpu", 4}}, {}};
  for (std::size_t i = 0; i < 8; ++i) picture.devices.push_back({"d" + std::to_string(i), i});
  const std::string still = svg_document(picture);
  for (std::size_t i = 0; i < 8; ++i) CHECK(count(still, ">d" + std::to_string(i) + "<") == 1);
  CHECK(count(still, ">node 1<") == 1);
  CHECK(count(still, "&lt;title&gt;") == 1);
  CHECK(count(still, "<style>") == 0);
  picture.steps = {{"one", {{0, 1}, {1, 0, 0.2}}}, {"two", {{0, 4}}}, {"three", {}}};
  const std::string text = svg_document(picture);
  CHECK(count(text, "class=\"p2-frame\"") == 3);
  // Where nothing moves the first step is seen.
  CHECK(count(text, "visibility=\"hidden\"") == 2);
  CHECK(count(text, "prefers-reduced-motion") == 1);
  CHECK(count(text, "step 2 of 3: two") == 1);
  CHECK(count(text, "fill=\"none\" stroke=\"#d55e00\"") == 2);  // the busiest of each step
  CHECK(text == svg_document(picture));
}
