#pragma once

#include <string>

#include "bench/paper/misprints.h"
#include "bench/paper/summary.h"

namespace p2::paper {

/// Everything the page is made of.
struct Evaluation {
  Tables tables;
  Systems paper;
  Systems fitted;
  std::vector<Compared> rows;
  std::vector<Misprint> misprints;
};

Evaluation evaluate(const std::string& tables, const std::string& systems);

/// The page docs/paper_evaluation.md. The same tables and systems give the same bytes.
std::string page(const Evaluation& evaluation);

/// Its parts: what was calibrated and how well the model does; tables 3 to 5; the appendix.
std::string summary_section(const Evaluation& evaluation);
std::string tables_section(const Evaluation& evaluation);
std::string appendix_section(const Evaluation& evaluation);

/// The plots that the page shows, by file name.
std::map<std::string, std::string> plots(const Evaluation& evaluation);

}  // namespace p2::paper
