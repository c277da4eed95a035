#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/cost/transfers.h"

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

}  // namespace p2::paper
