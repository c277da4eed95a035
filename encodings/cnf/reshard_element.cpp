#include "encodings/cnf/reshard_element.h"

#include <algorithm>
#include <bit>

namespace p2::cnf {

SymbolicElement::SymbolicElement(Clauses& clauses, const reshard::Plan& plan)
    : clauses_(clauses), bits_(plan.problem.shape.size()), known_(bits_.size()) {
  reshard::Element largest = plan.problem.shape;
  for (const auto& program : plan.programs) {
    for (const reshard::Step& step : program) {
      for (const reshard::Operation& each : step) {
        for (std::size_t i = 0; i < largest.size(); ++i) {
          largest[i] = std::max(largest[i], each.box.high[i]);
        }
      }
    }
  }
  for (std::size_t i = 0; i < bits_.size(); ++i) {
    const auto width = std::bit_width(static_cast<std::uint64_t>(largest[i]));
    bits_[i] = clauses.fresh(static_cast<std::size_t>(width));
  }
}

Literal SymbolicElement::in(const reshard::Box& box) {
  std::vector<Literal> all;
  for (std::size_t i = 0; i < bits_.size(); ++i) {
    all.push_back(at_least(i, box.low[i]));
    all.push_back(-at_least(i, box.high[i]));
  }
  return clauses_.all_of(all);
}

Literal SymbolicElement::at_least(std::size_t i, std::int64_t number) {
  if (number <= 0) return clauses_.truth();
  const auto wanted = static_cast<std::uint64_t>(number);
  if (static_cast<std::size_t>(std::bit_width(wanted)) > bits_[i].size()) return -clauses_.truth();
  const auto [known, is_new] = known_[i].try_emplace(number, 0);
  if (!is_new) return known->second;
  Literal from_here = clauses_.truth();  // of the bits below
  for (std::size_t bit = 0; bit < bits_[i].size(); ++bit) {
    const Literal both[] = {bits_[i][bit], from_here};
    from_here = (wanted >> bit & 1U) != 0 ? clauses_.all_of(both) : clauses_.any_of(both);
  }
  return known->second = from_here;
}

}  // namespace p2::cnf
