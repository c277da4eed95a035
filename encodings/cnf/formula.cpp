#include "encodings/cnf/formula.h"

#include <algorithm>
#include <limits>

namespace p2::cnf {

Formula::Formula(const Clauses& clauses, std::span<const Literal> known, const Limits& limits)
    : limits_(limits), bytes_(clauses.literals().size() * sizeof(Literal)) {
  solver_.set("quiet", 1);
  solver_.connect_terminator(this);
  for (const Literal literal : known) {
    solver_.add(literal);
    solver_.add(0);
  }
  for (const Literal literal : clauses.literals()) solver_.add(literal);
}

Formula::~Formula() { solver_.disconnect_terminator(); }

bool Formula::possible(Literal assumed) {
  constexpr int kSatisfiable = 10;
  if (terminate()) throw LimitMet{};
  if (limits_.work) {
    constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
    solver_.limit("conflicts", static_cast<int>(std::min(*limits_.work, kMost)));
  }
  solver_.assume(assumed);
  const int answer = solver_.solve();
  if (answer == 0) throw LimitMet{};
  return answer == kSatisfiable;
}

void Formula::exclude(std::span<const Literal> literals) {
  for (const Literal literal : literals) solver_.add(-literal);
  solver_.add(0);
}

}  // namespace p2::cnf
