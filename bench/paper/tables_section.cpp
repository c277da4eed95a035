#include <fmt/format.h>

#include <cstdlib>

#include "bench/paper/report.h"

namespace p2::paper {
namespace {

std::string matrix(const std::string& axes) {
  std::string text = axes;
  for (char& each : text) {
    if (each == ',') each = ' ';
  }
  return "[" + text + "]";
}

std::string third(const Evaluation& evaluation) {
  std::string text =
      "## Table 3: AllReduce\n\nMeasured / predicted (calibrated), in seconds.\n\n"
      "| | axes | matrix | axis 0, ring | axis 0, tree | axis 1, ring | axis 1, tree |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const Table3Row& row : evaluation.tables.table3) {
    text += fmt::format("| {} | {} | {} |", row.label, matrix(row.axes), row.placement);
    for (const std::size_t axis : {0U, 1U}) {
      for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree}) {
        const Prediction said =
            predict({{row.system, row.axes, std::to_string(axis)}, row.placement, algorithm},
                    evaluation.fitted);
        text += fmt::format(" {:.2f} / {:.2f} |",
                            row.seconds[axis][static_cast<std::size_t>(algorithm)], said.allreduce);
      }
    }
    text += "\n";
  }
  return text + "\n";
}

/// How many programs of all placements are predicted to be faster than AllReduce on their
/// placement.
std::size_t faster(const Reduction& reduction, Algorithm algorithm, const Systems& systems) {
  std::size_t programs = 0;
  for (const std::string& placement : placements(reduction, systems)) {
    programs += predict({reduction, placement, algorithm}, systems).faster;
  }
  return programs;
}

std::string fourth(const Evaluation& evaluation) {
  std::string text =
      "## Table 4: the fastest programs\n\nMeasured / predicted (calibrated). Programs: faster "
      "than AllReduce, of "
      "all of all placements.\n\n"
      "| | | axes | matrix | programs | AllReduce | fastest | speedup | predicted to be the "
      "fastest |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  for (const Table4Row& row : evaluation.tables.table4) {
    const Prediction said = predict(row.printed.where, evaluation.fitted);
    text += fmt::format(
        "| {} | {} | {} | {} | {} of {} / {} | {:.2f} / {:.2f} | {:.2f} / {:.2f} | {} / {:.2f} | "
        "`{}` |\n",
        row.label, to_string(row.printed.where.algorithm), matrix(row.printed.where.reduction.axes),
        row.printed.where.placement, row.outperform, row.programs,
        faster(row.printed.where.reduction, row.printed.where.algorithm, evaluation.fitted),
        row.printed.allreduce, said.allreduce, row.printed.best, said.best,
        row.printed.speedup_text, said.allreduce / said.best, said.best_program);
  }
  return text + "\n";
}

/// Rows in which the measured-best program is AllReduce, and in how many of them it is among our
/// first k.
std::string known_best(const Evaluation& evaluation) {
  constexpr std::size_t kTop[] = {1, 2, 3, 5, 6, 10};
  std::size_t rows = 0;
  std::size_t hits[std::size(kTop)] = {};
  for (const Compared& row : evaluation.rows) {
    if (row.measured->speedup_text != "1") continue;
    ++rows;
    for (std::size_t i = 0; i < std::size(kTop); ++i) {
      if (row.calibrated.faster < kTop[i]) ++hits[i];
    }
  }
  std::string text = fmt::format("| ours, the {} rows where AllReduce is the best |", rows);
  for (const std::size_t hit : hits) {
    text +=
        fmt::format(" {:.1f} % |", 100.0 * static_cast<double>(hit) / static_cast<double>(rows));
  }
  return text + "\n";
}

std::string fifth(const Evaluation& evaluation) {
  std::string text =
      "## Table 5: is the measured-best program among the k predicted to be the fastest?\n\n"
      "The paper does not say which program was the fastest in a row, so its table cannot be made "
      "anew. What can be "
      "said: where it prints a speedup of 1, AllReduce itself was. In those rows it counts as "
      "found when fewer than "
      "k other programs are predicted to be as fast or faster, so ties count against us.\n\n"
      "| | top 1 | top 2 | top 3 | top 5 | top 6 | top 10 |\n|---|---|---|---|---|---|---|\n";
  for (const Table5Row& row : evaluation.tables.table5) {
    text += fmt::format("| paper, {} |", row.machine);
    for (const std::string& percent : row.percent) text += fmt::format(" {} % |", percent);
    text += "\n";
  }
  return text + known_best(evaluation) + "\n";
}

}  // namespace

std::string tables_section(const Evaluation& evaluation) {
  return third(evaluation) + fourth(evaluation) + fifth(evaluation);
}

}  // namespace p2::paper
