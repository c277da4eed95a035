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

}  // namespace p2::paper
