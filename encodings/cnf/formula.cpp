#include "encodings/cnf/formula.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

namespace p2::cnf {
namespace {

/// Literals that hold in every model.
class Facts {
 public:
  explicit Facts(std::int32_t variables)
      : signs_(static_cast<std::size_t>(variables) + 1, std::int8_t{0}) {}

  void add(Literal literal) { signs_[variable(literal)] = literal > 0 ? 1 : -1; }
  bool contain(Literal literal) const {
    return signs_[variable(literal)] == (literal > 0 ? 1 : -1);
  }

 private:
  static std::size_t variable(Literal literal) {
    return static_cast<std::size_t>(std::abs(literal));
  }

  std::vector<std::int8_t> signs_;  ///< by variable: of the literal that holds; 0 for neither
};

}  // namespace

Formula::Formula(const Clauses& clauses, std::span<const Literal> known, const Limits& limits)
    : limits_(limits), bytes_(clauses.literals().size() * sizeof(Literal)) {
  solver_.set("quiet", 1);
  solver_.connect_terminator(this);
  solver_.reserve(clauses.variables());
  Facts facts(clauses.variables());
  const auto add = [&](std::span<const Literal> clause) {
    if (clause.size() == 1) facts.add(clause[0]);
    for (const Literal literal : clause) solver_.add(literal);
    solver_.add(0);
  };
  for (const Literal& literal : known) add({&literal, 1});
  std::vector<Literal> open;
  bool holds = false;
  for (const Literal literal : clauses.literals()) {
    if (literal != 0) {
      holds = holds || facts.contain(literal);
      if (!facts.contain(-literal)) open.push_back(literal);
      continue;
    }
    if (!holds) add(open);
    open.clear();
    holds = false;
  }
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
