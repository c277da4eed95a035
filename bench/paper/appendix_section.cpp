#include <fmt/format.h>

#include <algorithm>

#include "bench/paper/report.h"

namespace p2::paper {
namespace {

std::string spaced(std::string axes) {
  std::replace(axes.begin(), axes.end(), ',', ' ');
  return axes;
}

std::string reductions(const Evaluation& evaluation) {
  std::string text =
      "## The appendix, by reduction\n\nPrograms over all placements, and how many are faster than "
      "AllReduce: measured "
      "/ predicted (calibrated). The paper's simulations took the times given; ours take about 50 "
      "ms "
      "for all rows of an algorithm together ([performance.md](performance.md)).\n\n"
      "| system | axes | reduce | programs | faster, ring | faster, tree | paper's simulation, "
      "ring, tree |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const AxesRow& row : evaluation.tables.axes) {
    std::size_t faster[2] = {};
    for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree}) {
      for (const std::string& placement : placements(row.reduction, evaluation.fitted)) {
        faster[static_cast<std::size_t>(algorithm)] +=
            predict({row.reduction, placement, algorithm}, evaluation.fitted).faster;
      }
    }
    const auto printed = [](const std::string& figure) { return figure.empty() ? "–" : figure; };
    text +=
        fmt::format("| {} | [{}] | {} | {} | {} / {} | {} / {} | {}, {} |\n", row.reduction.system,
                    spaced(row.reduction.axes), row.reduction.reduce, row.programs,
                    printed(row.outperform[0]), faster[0], printed(row.outperform[1]), faster[1],
                    printed(row.simulation[0]), printed(row.simulation[1]));
  }
  return text + "\n";
}

std::string measured_rows(const Evaluation& evaluation) {
  std::string text =
      "## The appendix, row by row\n\nMeasured / predicted with the paper's bandwidths / "
      "calibrated, in seconds. Rows "
      "marked * are fitted to (their AllReduce time).\n\n"
      "| system | axes | reduce | matrix | | AllReduce | fastest | speedup, measured / calibrated "
      "|\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const Compared& row : evaluation.rows) {
    const Case& where = row.measured->where;
    text += fmt::format(
        "| {} | [{}] | {} | {} | {}{} | {:.2f} / {:.2f} / {:.2f} | {:.2f} / {:.2f} / {:.2f} | {} / "
        "{:.2f} |\n",
        where.reduction.system, spaced(where.reduction.axes), where.reduction.reduce,
        where.placement, to_string(where.algorithm), fitted_to(where) ? "*" : "",
        row.measured->allreduce, row.paper.allreduce, row.calibrated.allreduce, row.measured->best,
        row.paper.best, row.calibrated.best, row.measured->speedup_text,
        row.calibrated.allreduce / row.calibrated.best);
  }
  return text + "\n";
}

/// The rows of the appendix whose measured times are held back.
std::string unseen_rows(const Evaluation& evaluation) {
  std::string text;
  for (const AxesRow& row : evaluation.tables.axes) {
    for (const std::string& placement : placements(row.reduction, evaluation.fitted)) {
      for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree}) {
        const Case where{row.reduction, placement, algorithm};
        if (row.simulation[static_cast<std::size_t>(algorithm)].empty()) continue;
        if (find(evaluation.tables, where) != nullptr) continue;
        const Prediction paper = predict(where, evaluation.paper);
        const Prediction fitted = predict(where, evaluation.fitted);
        text += fmt::format(
            "| {} | [{}] | {} | {} | {} | {:.2f} / {:.2f} | {:.2f} / {:.2f} | {:.2f} | `{}` |\n",
            row.reduction.system, spaced(row.reduction.axes), row.reduction.reduce, placement,
            to_string(algorithm), paper.allreduce, fitted.allreduce, paper.best, fitted.best,
            fitted.allreduce / fitted.best, fitted.best_program);
      }
    }
  }
  if (text.empty()) return "";
  return "## Rows predicted unseen\n\nWith the paper's bandwidths / calibrated on 2 nodes, in "
         "seconds.\n\n"
         "| system | axes | reduce | matrix | | AllReduce | fastest | speedup | predicted to be "
         "the fastest |\n"
         "|---|---|---|---|---|---|---|---|---|\n" +
         text;
}

}  // namespace

std::string appendix_section(const Evaluation& evaluation) {
  return reductions(evaluation) + measured_rows(evaluation) + unseen_rows(evaluation);
}

}  // namespace p2::paper
