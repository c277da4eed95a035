#include "encodings/z3/ladder.h"

#include <functional>

namespace p2::z3_encoding {
namespace {

/// What `holds` says of the value of `ladder`, by halving the values that it may have.
z3::expr by_cases(const Ladder& ladder, const std::function<z3::expr(std::uint64_t)>& holds) {
  const auto among = [&](const auto& self, std::size_t low, std::size_t high) -> z3::expr {
    if (low == high) return holds(low * ladder.step);
    const std::size_t middle = (low + high + 1) / 2;
    const z3::expr above = self(self, middle, high);
    const z3::expr below = self(self, low, middle - 1);
    if (above.id() == below.id()) return above;
    return z3::ite(ladder.rungs[middle - 1], above, below);
  };
  return among(among, 0, ladder.rungs.size());
}

z3::expr equal_rungs(const Ladder& a, const Ladder& b) {
  z3::expr_vector all(a.context());
  for (std::size_t i = 0; i < a.rungs.size(); ++i) {
    const bool in_order = a.rungs[i].id() <= b.rungs[i].id();
    if (a.rungs[i].id() == b.rungs[i].id()) continue;
    all.push_back(in_order ? a.rungs[i] == b.rungs[i] : b.rungs[i] == a.rungs[i]);
  }
  return z3::mk_and(all);
}

}  // namespace

z3::expr Ladder::at_least(std::uint64_t value) const {
  if (value == 0) return context().bool_val(true);
  if (value > most()) return context().bool_val(false);
  return rungs[(value - 1) / step];
}

Ladder one_more(const Ladder& count, const Ladder& more) {
  const z3::expr& one = more.rungs[0];
  Ladder sum;
  for (std::size_t i = 0; i <= count.rungs.size(); ++i) {
    const z3::expr here = count.at_least(i + 1);
    const z3::expr before = count.at_least(i);
    const z3::expr reached = i == 0 ? one : before && one;
    sum.rungs.push_back(i == count.rungs.size() ? reached : here || reached);
  }
  return sum;
}

Ladder remainder(const Ladder& of, std::uint64_t divisor) {
  Ladder rest;
  for (std::uint64_t least = 1; least < divisor; ++least) {
    rest.rungs.push_back(by_cases(
        of, [&](std::uint64_t value) { return of.context().bool_val(value % divisor >= least); }));
  }
  return rest;
}

z3::expr equal(const Ladder& a, const Ladder& b) {
  if (a.step == b.step && a.rungs.size() == b.rungs.size()) return equal_rungs(a, b);
  return by_cases(a, [&](std::uint64_t value) {
    if (value % b.step != 0 || value > b.most()) return a.context().bool_val(false);
    return b.at_least(value) && b.at_most(value);
  });
}

z3::expr less_equal(const Ladder& a, const Ladder& b) {
  return by_cases(a, [&](std::uint64_t value) { return b.at_least(value); });
}

}  // namespace p2::z3_encoding
