#include <algorithm>

#include "engine/hlo/equality/index_map.h"

namespace p2::hlo {

Coordinate Coordinate::times(std::int64_t factor) const {
  if (factor == 0) return {};
  Coordinate scaled = *this;
  scaled.base *= factor;
  for (Term& term : scaled.terms) term.stride *= factor;
  return scaled;
}

Coordinate Coordinate::operator+(const Coordinate& other) const {
  Coordinate sum{base + other.base, {}};
  auto a = terms.begin();
  auto b = other.terms.begin();
  while (a != terms.end() || b != other.terms.end()) {
    if (b == other.terms.end() || (a != terms.end() && a->variable < b->variable)) {
      sum.terms.push_back(*a++);
    } else if (a == terms.end() || b->variable < a->variable) {
      sum.terms.push_back(*b++);
    } else {
      const std::int64_t stride = a->stride + b->stride;
      if (stride != 0) sum.terms.push_back({a->variable, stride});
      ++a;
      ++b;
    }
  }
  return sum;
}

std::vector<std::int64_t> encode(const IndexMap& map) {
  std::vector<std::int64_t> sequence;
  for (const Coordinate& coordinate : map) {
    sequence.push_back(coordinate.base);
    sequence.push_back(static_cast<std::int64_t>(coordinate.terms.size()));
    for (const Term& term : coordinate.terms) {
      sequence.push_back(term.variable);
      sequence.push_back(term.stride);
    }
  }
  return sequence;
}

IndexMap decode(Interner::Sequence sequence) {
  IndexMap map;
  for (std::size_t at = 0; at < sequence.size();) {
    Coordinate& coordinate = map.emplace_back();
    coordinate.base = sequence[at++];
    auto terms = static_cast<std::size_t>(sequence[at++]);
    for (; terms > 0; --terms, at += 2) {
      coordinate.terms.push_back({sequence[at], sequence[at + 1]});
    }
  }
  return map;
}

bool is_fixed(const IndexMap& map) {
  return std::all_of(map.begin(), map.end(),
                     [](const Coordinate& coordinate) { return coordinate.is_fixed(); });
}

}  // namespace p2::hlo
