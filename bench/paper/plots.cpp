#include <algorithm>

#include "bench/paper/report.h"
#include "engine/base/plot.h"

namespace p2::paper {
namespace {

constexpr double kWidth = kPlotWidth;

std::string drawn(const Chart& chart, double width, double height) {
  Svg svg(width, height);
  draw(svg, chart, 0, 0, width, height);
  return svg.document();
}

/// Predicted against measured, one series per machine and algorithm.
std::string scatter(const Evaluation& evaluation, const char* title,
                    const std::function<Point(const Compared&)>& point) {
  Chart chart{title, "measured seconds", "predicted seconds (calibrated)", true, true, true};
  for (const std::string machine : {"a100", "v100"}) {
    for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree}) {
      Series series{(machine == "a100" ? "A100, " : "V100, ") + std::string(to_string(algorithm)),
                    chart.series.size(),
                    algorithm == Algorithm::Ring ? Series::Mark::Dot : Series::Mark::Cross};
      for (const Compared& row : evaluation.rows) {
        const Case& where = row.measured->where;
        if (!where.reduction.system.starts_with(machine) || where.algorithm != algorithm) continue;
        series.points.push_back(point(row));
      }
      chart.series.push_back(std::move(series));
    }
  }
  constexpr double kHeight = 600;
  return drawn(chart, kWidth, kHeight);
}

/// The AllReduce times of a machine in increasing order of the measured ones (as figure 11).
std::string in_order(const Evaluation& evaluation, const std::string& machine, const char* title) {
  std::vector<const Compared*> rows;
  for (const Compared& row : evaluation.rows) {
    if (row.measured->where.reduction.system.starts_with(machine)) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Compared* a, const Compared* b) {
    return a->measured->allreduce < b->measured->allreduce;
  });
  Chart chart{title, "rows, fastest first", "seconds of 10 runs", false, true};
  chart.series = {{"measured", 0},
                  {"paper's bandwidths", 1, Series::Mark::Cross},
                  {"calibrated", 2, Series::Mark::Cross}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double x = static_cast<double>(i + 1);
    chart.series[0].points.push_back({x, rows[i]->measured->allreduce});
    chart.series[1].points.push_back({x, rows[i]->paper.allreduce});
    chart.series[2].points.push_back({x, rows[i]->calibrated.allreduce});
  }
  constexpr double kHeight = 420;
  return drawn(chart, kWidth, kHeight);
}

/// All programs of one reduction, and the two of each placement whose measured times are printed.
std::string programs(const Evaluation& evaluation, const Reduction& reduction, Algorithm algorithm,
                     const char* title) {
  struct Dot {
    double seconds;
    std::size_t series;
  };
  Chart chart{title, "programs, predicted fastest first", "seconds of 10 runs", false, true};
  std::vector<Dot> dots;
  Series measured{"measured", 6, Series::Mark::Cross};
  for (const std::string& placement : placements(reduction, evaluation.fitted)) {
    const Case where{reduction, placement, algorithm};
    for (const double seconds : predict(where, evaluation.fitted).programs) {
      dots.push_back({seconds, chart.series.size()});
    }
    chart.series.push_back({placement, chart.series.size()});
  }
  std::stable_sort(dots.begin(), dots.end(),
                   [](const Dot& a, const Dot& b) { return a.seconds < b.seconds; });
  const auto place = [&](double predicted) {
    const auto at = std::lower_bound(dots.begin(), dots.end(), predicted,
                                     [](const Dot& a, double b) { return a.seconds < b; });
    return static_cast<double>(at - dots.begin() + 1);
  };
  for (std::size_t i = 0; i < dots.size(); ++i) {
    chart.series[dots[i].series].points.push_back({static_cast<double>(i + 1), dots[i].seconds});
  }
  for (const std::string& placement : placements(reduction, evaluation.fitted)) {
    const Case where{reduction, placement, algorithm};
    const MeasuredRow* const row = find(evaluation.tables, where);
    if (row == nullptr) continue;
    const Prediction said = predict(where, evaluation.fitted);
    measured.points.push_back({place(said.allreduce), row->allreduce});
    measured.points.push_back({place(said.best), row->best});
  }
  chart.series.push_back(std::move(measured));
  constexpr double kHeight = 420;
  return drawn(chart, kWidth, kHeight);
}

}  // namespace

std::map<std::string, std::string> plots(const Evaluation& evaluation) {
  return {
      {"paper_allreduce.svg",
       scatter(evaluation, "AllReduce",
               [](const Compared& row) {
                 return Point{row.measured->allreduce, row.calibrated.allreduce};
               })},
      {"paper_best.svg", scatter(evaluation, "The fastest programs",
                                 [](const Compared& row) {
                                   return Point{row.measured->best, row.calibrated.best};
                                 })},
      {"paper_a100.svg", in_order(evaluation, "a100", "A100, AllReduce, ring and tree")},
      {"paper_v100.svg", in_order(evaluation, "v100", "V100, AllReduce, ring and tree")},
      {"paper_figure11b.svg",
       programs(evaluation, {"a100-4nodes", "4,2,8", "0,2"}, Algorithm::Tree,
                "4 nodes of A100, tree, axes [4 2 8], reduce 0 and 2 (calibrated)")},
  };
}

}  // namespace p2::paper
