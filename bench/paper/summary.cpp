#include "bench/paper/summary.h"

#include <cmath>

#include "engine/cost/accuracy.h"

namespace p2::paper {

std::vector<Compared> compare(const Tables& tables, const Systems& paper, const Systems& fitted) {
  std::vector<Compared> rows;
  for (const MeasuredRow& row : tables.appendix) {
    rows.push_back({&row, predict(row.where, paper), predict(row.where, fitted)});
  }
  return rows;
}

Accuracy accuracy(const std::vector<Compared>& rows, Prediction Compared::*prediction,
                  const std::function<bool(const Case&)>& wanted) {
  constexpr double kNear = 0.2;
  Accuracy result;
  std::vector<double> predicted[2];
  std::vector<double> measured[2];
  for (const Compared& row : rows) {
    if (!wanted(row.measured->where)) continue;
    const Prediction& said = row.*prediction;
    predicted[0].push_back(said.allreduce);
    measured[0].push_back(row.measured->allreduce);
    predicted[1].push_back(said.best);
    measured[1].push_back(row.measured->best);
    ++result.rows;
    if (!said.cross_node) continue;
    ++result.cross_node;
    const double speedup = row.measured->allreduce / row.measured->best;
    if (std::abs(said.allreduce / said.best / speedup - 1) <= kNear) ++result.speedups;
  }
  if (result.rows == 0) return result;
  result.allreduce_correlation = rank_correlation(predicted[0], measured[0]);
  result.allreduce_error = median_relative_error(predicted[0], measured[0]);
  result.best_correlation = rank_correlation(predicted[1], measured[1]);
  result.best_error = median_relative_error(predicted[1], measured[1]);
  return result;
}

}  // namespace p2::paper
