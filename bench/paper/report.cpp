#include "bench/paper/report.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace p2::paper {
namespace {

const char* const kIntroduction =
    R"(# The paper's evaluation, predicted

What `engine/cost` says of the times that the P2 paper (arXiv 2110.10548) measured. `bench/paper` writes this
page and its plots: `cmake --preset bench && cmake --build --preset bench --target paper_evaluation &&
build/bench/bin/paper_evaluation bench/paper examples/systems docs`. How the model works is in
[cost.md](cost.md).

**What one printed time stands for.** The paper does not say. Its times fit the total of 10 runs with 2^29 float32
(2.147 GB) per GPU, whatever the number of nodes: reductions inside a node take the same time on 2 and on 4 nodes
(A100, 16 GPUs, ring: 0.18 s both times), and a NIC then moves 8 to 9.5 GB/s in every cross-node row. With data that
grows with the nodes, as its section 4 has it, the NICs would exceed their line rate of 12.5 GB/s. All times here,
printed and predicted, are seconds of 10 such runs.

The measured rows of 4 nodes of V100 are not in `bench/paper/measured.csv` and nothing here was fitted to them; the
last table predicts them. A file `measured-more.csv` beside it, in the same form, joins them to all tables.

)";

const char* const kLimits = R"(## What the model does not get

- One group alone over two nodes of A100 under tree: measured 3.4 to 4.3 s where the model says 2.3. Two groups
  at once take 4.8 s, as predicted: a single tree does not fill the NIC. The same with one AllReduce of slices.
- Tree inside an A100 node takes 0.17 to 0.22 s where 0.08 to 0.16 is predicted, and ring 0.11 to 0.18 s where 0.08
  to 0.15 is: a start-up cost that the paper gives no figure for. Systems may have latencies; these have none.
- Ten of the 19 placements of three axes: exactly those in which the first axis is cut inside the nodes and the third
  across them, so that the order of the rows is not that of the hardware. Their measured best stays near AllReduce
  (4.63 s of 4.79 s), although the same groups reach 3.1 s in other placements, and so does the prediction. Synthesis
  finds the same programs there; that the paper measured none of them as fast suggests that it ran other ones.
  One of the ten, [8 2 4] with [[1 8] [1 2] [4 1]] under ring, errs the other way: its 5.50 s would need 11.7 GB/s of
  every NIC, where no other row of A100 gets beyond 9.6.
- The paper notes that XLA fuses some programs of two AllReduces into one. The model prices programs as written.

)";

std::string misprint_section(const Evaluation& evaluation) {
  std::string text =
      "## Misprints found\n\nBy arithmetic alone: where the paper contradicts itself, or the "
      "number of programs "
      "that follows from its rules.\n\n| where | printed | but |\n|---|---|---|\n";
  for (const Misprint& each : evaluation.misprints) {
    text += fmt::format("| {} | {} | {} |\n", each.where, each.printed, each.instead);
  }
  return text + "\n";
}

struct Subset {
  const char* name;
  std::function<bool(const Case&)> wanted;
};

bool on(const Case& where, std::string_view machine) {
  return where.reduction.system.starts_with(machine);
}

std::vector<Subset> subsets() {
  const auto of = [](std::string system, Algorithm algorithm) {
    return [=](const Case& each) { return on(each, system) && each.algorithm == algorithm; };
  };
  return {
      {"A100, ring", of("a100", Algorithm::Ring)},
      {"A100, tree", of("a100", Algorithm::Tree)},
      {"A100, ring, 4 nodes: held out", of("a100-4nodes", Algorithm::Ring)},
      {"A100, all", [](const Case& each) { return on(each, "a100"); }},
      {"V100, 2 nodes, ring", of("v100-2nodes", Algorithm::Ring)},
      {"V100, 2 nodes, tree: held out", of("v100-2nodes", Algorithm::Tree)},
      {"V100, 2 nodes", [](const Case& each) { return on(each, "v100-2nodes"); }},
      {"V100, 4 nodes: held out", [](const Case& each) { return on(each, "v100-4nodes"); }},
  };
}

std::string accuracy_table(const Evaluation& evaluation, Prediction Compared::*prediction) {
  std::string text =
      "| rows | | AllReduce: rank correlation | median error | fastest program: rank correlation | "
      "median error "
      "| cross-node speedups within 20 % |\n|---|---|---|---|---|---|---|\n";
  for (const Subset& subset : subsets()) {
    const Accuracy all = accuracy(evaluation.rows, prediction, subset.wanted);
    if (all.rows < 2) continue;
    text += fmt::format("| {} | {} | {:.3f} | {:.1f} % | {:.3f} | {:.1f} % | {} of {} |\n",
                        subset.name, all.rows, all.allreduce_correlation, 100 * all.allreduce_error,
                        all.best_correlation, 100 * all.best_error, all.speedups, all.cross_node);
  }
  return text + "\n";
}

std::string bandwidths(const Evaluation& evaluation) {
  std::string text = "| system | interconnect | paper | fitted |\n|---|---|---|---|\n";
  for (const char* name : {"a100-2nodes", "v100-2nodes"}) {
    const auto& before = evaluation.paper.at(name).interconnects;
    const auto& after = evaluation.fitted.at(name).interconnects;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i] == after[i]) continue;
      text += fmt::format("| {} | {} | {} | {} |\n", name, before[i].name,
                          bandwidth_to_string(before[i].bytes_per_second),
                          bandwidth_to_string(after[i].bytes_per_second));
    }
  }
  return text + "\n";
}

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
        const Prediction predicted =
            predict({{row.system, row.axes, std::to_string(axis)}, row.placement, algorithm},
                    evaluation.fitted);
        text += fmt::format(" {:.2f} / {:.2f} |",
                            row.seconds[axis][static_cast<std::size_t>(algorithm)],
                            predicted.allreduce);
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
    const Prediction predicted = predict(row.printed.where, evaluation.fitted);
    text += fmt::format(
        "| {} | {} | {} | {} | {} of {} / {} | {:.2f} / {:.2f} | {:.2f} / {:.2f} | {} / {:.2f} | "
        "`{}` |\n",
        row.label, to_string(row.printed.where.algorithm), matrix(row.printed.where.reduction.axes),
        row.printed.where.placement, row.outperform, row.programs,
        faster(row.printed.where.reduction, row.printed.where.algorithm, evaluation.fitted),
        row.printed.allreduce, predicted.allreduce, row.printed.best, predicted.best,
        row.printed.speedup_text, predicted.allreduce / predicted.best, predicted.best_program);
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

std::string tables_section(const Evaluation& evaluation) {
  return third(evaluation) + fourth(evaluation) + fifth(evaluation);
}

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

std::string appendix_section(const Evaluation& evaluation) {
  return reductions(evaluation) + measured_rows(evaluation) + unseen_rows(evaluation);
}

}  // namespace

std::string summary_section(const Evaluation& evaluation) {
  std::string text =
      "## How well it predicts\n\nWith the bandwidths that the paper assumes in its section 5 "
      "(`examples/systems`), nothing fitted:\n\n";
  text += accuracy_table(evaluation, &Compared::paper);
  text +=
      "Calibrated: three bandwidths are fitted, by least squares of log(predicted / measured), to "
      "the AllReduce "
      "times of the ring rows on 2 nodes (17 rows of A100, 13 of V100). Everything else is held "
      "out: all tree "
      "rows, all rows of 4 nodes, all times of fastest programs.\n\n";
  text += bandwidths(evaluation);
  text += accuracy_table(evaluation, &Compared::calibrated);
  text +=
      "![predicted and measured AllReduce times](plots/paper_allreduce.svg)\n\n"
      "![predicted and measured times of the fastest programs](plots/paper_best.svg)\n\n"
      "Rows in the order of their measured times:\n\n"
      "![A100, AllReduce](plots/paper_a100.svg)\n\n![V100, AllReduce](plots/paper_v100.svg)\n\n"
      "The programs of figure 11b (A100, 4 nodes, [4 2 8], tree), ranked by the model, and what "
      "was measured "
      "of them:\n\n![figure 11b](plots/paper_figure11b.svg)\n\n";
  return text;
}

Evaluation evaluate(const std::string& tables, const std::string& systems) {
  Evaluation evaluation{read_tables(tables), read_systems(systems), {}, {}, {}};
  evaluation.fitted = calibrated(evaluation.paper, evaluation.tables);
  evaluation.rows = compare(evaluation.tables, evaluation.paper, evaluation.fitted);
  evaluation.misprints = misprints(evaluation.tables, evaluation.paper);
  return evaluation;
}

std::string page(const Evaluation& evaluation) {
  return kIntroduction + summary_section(evaluation) + kLimits + misprint_section(evaluation) +
         tables_section(evaluation) + appendix_section(evaluation);
}

}  // namespace p2::paper
