#pragma once

#include <string>
#include <vector>

#include "bench/paper/model.h"

namespace p2::paper {

/// A place where the paper contradicts itself, or what follows from its own rules.
struct Misprint {
  std::string where;
  std::string printed;
  std::string instead;
};

/// What arithmetic finds: speedups that are not the quotient of the printed times, tables 3 and 4
/// against the appendix, numbers of programs against synthesis, programs counted as faster where no
/// speedup is printed and the other way round, simulation times against those of the mirrored axes
/// (the same programs on the same groups), percentages that are no share of the rows.
std::vector<Misprint> misprints(const Tables& tables, const Systems& systems);

/// `a100-4nodes [4 16] reduce 0 [[2 2] [2 8]] ring`.
std::string name_of(const Case& where);
std::string name_of(const Reduction& reduction);

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

/// Its first section: what was calibrated and how well the model does.
std::string summary_section(const Evaluation& evaluation);

/// The plots that the page shows, by file name.
std::map<std::string, std::string> plots(const Evaluation& evaluation);

}  // namespace p2::paper
