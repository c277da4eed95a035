#include "bench/paper/report.h"

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

}  // namespace

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
