#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/paper/model.h"

namespace p2::paper {

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
