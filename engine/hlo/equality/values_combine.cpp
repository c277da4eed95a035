#include <algorithm>

#include "engine/hlo/equality/values.h"
#include "engine/base/invariant.h"

namespace p2::hlo {

Number wrapped(Number number, ElementType type) {
  if (!type.is_integer() || !number.is_whole() || type.bits() == 64) return number;
  const std::int64_t modulus = std::int64_t{1} << type.bits();
  std::int64_t rest = number.numerator % modulus;
  if (rest < 0) rest += modulus;
  if (type.kind() == ElementType::Kind::Signed && rest >= modulus / 2) rest -= modulus;
  return {rest, 1};
}

std::optional<Value> Values::of(Linear linear, ElementType type) {
  auto& terms = linear.terms;
  std::sort(terms.begin(), terms.end(),
            [](const LinearTerm& a, const LinearTerm& b) { return a.value < b.value; });
  linear.constant = wrapped(linear.constant, type);
  std::vector<std::int64_t> sequence = {static_cast<std::int64_t>(ValueKind::Sum),
                                        linear.constant.numerator, linear.constant.denominator};
  for (std::size_t i = 0; i < terms.size();) {
    Number total = terms[i].coefficient;
    const Value value = terms[i].value;
    for (++i; i < terms.size() && terms[i].value == value; ++i) {
      const auto more = sum(total, terms[i].coefficient);
      if (!more) return std::nullopt;
      total = wrapped(*more, type);
    }
    total = wrapped(total, type);
    if (total.is_zero()) continue;
    sequence.insert(sequence.end(), {value, total.numerator, total.denominator});
  }
  if (sequence.size() == 3) return number(linear.constant);
  const bool single = sequence.size() == 6 && linear.constant.is_zero();
  if (single && sequence[4] == 1 && sequence[5] == 1) return static_cast<Value>(sequence[3]);
  return intern(sequence);
}

std::optional<Value> Values::product(const std::vector<Value>& members, ElementType type) {
  Number scale{1, 1};
  std::vector<std::pair<Value, std::int64_t>> powers;
  for (Value member : members) {
    if (kind(member) == ValueKind::Product) {
      const auto inner = factors(member);
      powers.insert(powers.end(), inner.begin(), inner.end());
      continue;
    }
    const Linear linear = as_linear(member);
    const bool scaled = linear.constant.is_zero() && linear.terms.size() == 1;
    const auto factor = linear.terms.empty() ? linear.constant
                        : scaled             ? linear.terms[0].coefficient
                                             : Number{1, 1};
    const auto more = hlo::product(scale, factor);
    if (!more) return std::nullopt;
    scale = wrapped(*more, type);
    if (linear.terms.empty()) continue;
    if (scaled) member = linear.terms[0].value;
    powers.emplace_back(member, 1);
  }
  std::sort(powers.begin(), powers.end());
  std::vector<std::int64_t> sequence = {static_cast<std::int64_t>(ValueKind::Product)};
  for (const auto& [value, exponent] : powers) {
    if (sequence.size() > 1 && sequence[sequence.size() - 2] == value) {
      sequence.back() += exponent;
    } else {
      sequence.insert(sequence.end(), {value, exponent});
    }
  }
  if (sequence.size() == 1) return number(scale);
  const bool single = sequence.size() == 3 && sequence[2] == 1;
  const Value pure = single ? static_cast<Value>(sequence[1]) : intern(sequence);
  return of({{}, {{pure, scale}}}, type);
}

std::optional<Value> Values::combine(Reducer reducer, const std::vector<Value>& members,
                                     ElementType type) {
  invariant(reducer != Reducer::Add && reducer != Reducer::Unknown, "no reducer of a set");
  if (reducer == Reducer::Multiply) return product(members, type);
  const ValueKind set = reducer == Reducer::Maximum   ? ValueKind::Maximum
                        : reducer == Reducer::Minimum ? ValueKind::Minimum
                        : reducer == Reducer::And     ? ValueKind::And
                                                      : ValueKind::Or;
  std::vector<Value> all;
  for (const Value member : members) {
    if (kind(member) == set) {
      const std::vector<Value> inner = parts(member);
      all.insert(all.end(), inner.begin(), inner.end());
    } else {
      all.push_back(member);
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() == 1) return all[0];
  std::vector<std::int64_t> sequence = {static_cast<std::int64_t>(set)};
  sequence.insert(sequence.end(), all.begin(), all.end());
  return intern(sequence);
}

}  // namespace p2::hlo
