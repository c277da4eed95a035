#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/cost/network.h"
#include "engine/cost/program_cost.h"
#include "engine/program/instance.h"

namespace p2::paper {

/// What a printed time stands for: the total of this many runs with so many bytes per device (2^29
/// float32), whatever the number of nodes. The paper does not say so; docs/paper_evaluation.md says
/// why no other reading fits.
constexpr int kRuns = 10;
constexpr std::int64_t kBytes = std::int64_t{1} << 31;

/// A choice of axes and of those reduced over, on one of the systems.
struct Reduction {
  std::string system;
  std::string axes;
  std::string reduce;

  auto operator<=>(const Reduction&) const = default;
};

/// A placed reduction under one algorithm.
struct Case {
  Reduction reduction;
  std::string placement;
  Algorithm algorithm = Algorithm::Ring;

  auto operator<=>(const Case&) const = default;
};

/// Printed figures of a case. Times are seconds of kRuns runs; `speedup_text` is as printed.
struct MeasuredRow {
  Case where;
  double allreduce = 0;
  double best = 0;
  std::string speedup_text;
};

/// What the appendix says of a reduction over all its placements, by algorithm; empty = not run.
struct AxesRow {
  Reduction reduction;
  std::string simulation[2];  ///< seconds that the paper's simulator took
  std::string outperform[2];  ///< programs measured to be faster than AllReduce
  unsigned programs = 0;
};

/// Table 3: AllReduce over either axis under either algorithm: [axis][algorithm].
struct Table3Row {
  std::string label;
  std::string system;
  std::string axes;
  std::string placement;
  double seconds[2][2] = {};
};

struct Table4Row {
  std::string label;
  MeasuredRow printed;
  unsigned outperform = 0;
  unsigned programs = 0;
};

struct Table5Row {
  std::string machine;
  std::vector<std::string> percent;  ///< top 1, 2, 3, 5, 6, 10
};

/// What the paper prints. The rows of a system may be missing; then they are predicted only.
struct Tables {
  std::vector<MeasuredRow> appendix;
  std::vector<AxesRow> axes;
  std::vector<Table3Row> table3;
  std::vector<Table4Row> table4;
  std::vector<Table5Row> table5;
};

/// Reads measured.csv, axes.csv and table3.csv to table5.csv of a folder, and measured-more.csv
/// where there is one: rows of the same form that were held back. Throws InputError.
Tables read_tables(const std::string& folder);

/// The row of the appendix for a case, if it is there.
const MeasuredRow* find(const Tables& tables, const Case& where);
const AxesRow* find(const Tables& tables, const Reduction& reduction);

/// The systems of the paper by name.
using Systems = std::map<std::string, System>;

/// Reads the four systems from a folder such as examples/systems. Throws InputError.
Systems read_systems(const std::string& folder);

/// The systems with bandwidths fitted to the AllReduce times of the 2-node ring rows: of the A100
/// that of its NIC, of the V100 those of its NIC and of its CPUs' memory. The systems of 4 nodes
/// take them over. Nothing else is fitted to: neither tree, nor 4 nodes, nor any time of a fastest
/// program.
Systems calibrated(const Systems& systems, const Tables& tables);

/// Whether a row is among those that calibrated() fits to (its AllReduce time, that is).
bool fitted_to(const Case& where);

/// What the model says of a case. Times are seconds of kRuns runs, as the paper prints them.
struct Prediction {
  double allreduce = 0;
  double best = 0;
  std::string best_program;
  std::vector<double> programs;  ///< all of them, in the order of synthesis
  std::size_t faster = 0;        ///< programs that are faster than AllReduce
  bool cross_node = false;       ///< some reduction group spans nodes
};

Prediction predict(const Case& where, const Systems& systems);

/// All placements of a reduction, as the paper prints matrices.
std::vector<std::string> placements(const Reduction& reduction, const Systems& systems);

/// A measured row and what the model says of it, with the paper's bandwidths and with calibrated
/// ones.
struct Compared {
  const MeasuredRow* measured = nullptr;
  Prediction paper;
  Prediction calibrated;
};

std::vector<Compared> compare(const Tables& tables, const Systems& paper, const Systems& fitted);

/// How well the model does on some rows.
struct Accuracy {
  std::size_t rows = 0;
  double allreduce_correlation = 0;  ///< Spearman's, of predicted and measured AllReduce times
  double allreduce_error = 0;        ///< median of |predicted / measured − 1|
  double best_correlation = 0;       ///< the same of the fastest programs
  double best_error = 0;
  std::size_t cross_node = 0;  ///< rows whose groups span nodes
  std::size_t speedups = 0;    ///< of those: predicted speedup within 20 % of the measured one
};

/// The rows for which `wanted` holds, under one of the predictions. There should be at least two.
Accuracy accuracy(const std::vector<Compared>& rows, Prediction Compared::*prediction,
                  const std::function<bool(const Case&)>& wanted);

}  // namespace p2::paper
