#include <algorithm>

#include "tests/proofs/completeness_mutator.h"

namespace p2::proofs {

/// One number of a list is changed, dropped, doubled, negated or exchanged.
void CompletenessMutator::change_list(Line& numbers) {
  if (numbers.empty()) throw std::length_error("nothing is left to change");
  const auto place = numbers.begin() + static_cast<std::ptrdiff_t>(below(numbers.size()));
  switch (below(5)) {
    case 0:
      *place = -*place;
      return;
    case 1:
      *place += 1 - 2 * static_cast<std::int64_t>(below(2));
      return;
    case 2:
      numbers.erase(place);
      return;
    case 3:
      numbers.insert(place, any(numbers));
      return;
    default:
      std::swap(*place, any(numbers));
  }
}

/// A line from `first` on is dropped, doubled or exchanged with the next one, or the rest cut off.
void CompletenessMutator::change_lines(std::vector<Line>& lines, std::size_t first) {
  if (lines.size() <= first) throw std::length_error("no line is left to change");
  const std::size_t at = first + below(lines.size() - first);
  const auto place = lines.begin() + static_cast<std::ptrdiff_t>(at);
  switch (below(4)) {
    case 0:
      lines.erase(place);
      return;
    case 1:
      lines.insert(place, Line(*place));
      return;
    case 2:
      return std::swap(lines.at(at), lines.at(at + 1));
    default:
      lines.erase(place, lines.end());
  }
}

void CompletenessMutator::change_clauses(std::vector<Line>& clauses) {
  if (below(8) == 0) {
    any(clauses.at(0)) += 1 - 2 * static_cast<std::int64_t>(below(2));
  } else if (below(2) == 0) {
    Line& clause = clauses.at(1 + below(clauses.size() - 1));
    if (!clause.empty()) clause.pop_back();
    change_list(clause);
    clause.push_back(0);
  } else {
    change_lines(clauses, 1);
    clauses.at(0).at(1) = std::ssize(clauses) - 1;
  }
}

/// The number or the clause of a step.
void CompletenessMutator::change_step(Line& step) {
  const auto zero = end_of_clause(step);
  Line clause(step.begin(), zero);
  if (below(6) == 0) {
    clause.push_back(1 + static_cast<std::int64_t>(below(40)));
  } else {
    change_list(clause);
  }
  clause.insert(clause.end(), zero, step.end());
  step = clause;
}

void CompletenessMutator::change_hints(Line& step) {
  const auto zero = end_of_clause(step);
  Line hints(zero + 1, step.end() - 1);
  step.erase(zero + 1, step.end());
  if (below(8) == 0) {
    hints.clear();
  } else if (below(4) == 0) {
    hints.push_back(1 + static_cast<std::int64_t>(below(static_cast<std::size_t>(step[0]) + 1)));
  } else {
    change_list(hints);
  }
  step.insert(step.end(), hints.begin(), hints.end());
  step.push_back(0);
}

}  // namespace p2::proofs
