#include "encodings/cnf/formula.h"

#include <cstdlib>
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
    : Solver(limits) {
  Facts facts(clauses.variables());
  std::vector<Literal> open;
  const auto add_open = [&] {
    if (open.size() == 1) facts.add(open[0]);
    open.push_back(0);
    add(open);
    open.clear();
  };
  for (const Literal literal : known) {
    open.push_back(literal);
    add_open();
  }
  bool holds = false;
  for (const Literal literal : clauses.literals()) {
    if (literal != 0) {
      holds = holds || facts.contain(literal);
      if (!facts.contain(-literal)) open.push_back(literal);
      continue;
    }
    if (!holds) add_open();
    open.clear();
    holds = false;
  }
}

}  // namespace p2::cnf
