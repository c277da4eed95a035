#include <fmt/format.h>

#include "bench/paper/report.h"

namespace p2::paper {
namespace {

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

}  // namespace p2::paper
