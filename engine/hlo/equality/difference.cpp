#include "engine/hlo/equality/difference.h"

#include <algorithm>
#include <cmath>

#include "engine/hlo/equality/trial.h"

namespace p2::hlo {
namespace {

constexpr std::size_t kMostOneHots = 8;

/// What is not understood, of what is inside a value.
bool is_unknown(const ComparisonContext& context, Value part) {
  const Values& values = context.values;
  switch (values.kind(part)) {
    case ValueKind::Text:
    case ValueKind::Array:
    case ValueKind::Position:
    case ValueKind::Element:
      return true;
    case ValueKind::Apply:
      return !is_computable(context.fingerprints.text(values.fingerprint(part)));
    default:
      return false;
  }
}

bool differ(double a, double b, ElementType type, double tolerance) {
  if (type.is_float() || type.kind() == ElementType::Kind::Complex) {
    const double scale = std::max(std::fabs(a), std::fabs(b));
    return std::fabs(a - b) > tolerance * std::max(scale, 1e-3);
  }
  constexpr double kExact = 4503599627370496.0;  // 2^52
  if (std::fabs(a) > kExact || std::fabs(b) > kExact || a != std::floor(a) || b != std::floor(b)) {
    return false;
  }
  return std::fmod(a - b, std::pow(2.0, type.bits())) != 0;
}

/// Leaves out what is in both sums: that cancels, understood or not.
void cancel(ComparisonContext& context, Value& before, Value& after, ElementType type) {
  Linear difference = context.values.as_linear(before);
  const Linear other = context.values.as_linear(after);
  for (const LinearTerm& term : other.terms) {
    difference.terms.push_back(
        {term.value, {-term.coefficient.numerator, term.coefficient.denominator}});
  }
  const auto constant =
      sum(difference.constant, {-other.constant.numerator, other.constant.denominator});
  if (!constant) return;
  difference.constant = *constant;
  if (const auto value = context.values.of(difference, type)) {
    before = *value;
    after = context.values.number({});
  }
}

}  // namespace

bool same_unknowns(const ComparisonContext& context, Value a, Value b) {
  const auto unknown = [&](Value value) {
    std::vector<Value> found = context.values.inside(value);
    std::erase_if(found, [&](Value part) { return !is_unknown(context, part); });
    return found;
  };
  return unknown(a) == unknown(b);
}

bool certainly_different(ComparisonContext& context, Value before, Value after, ElementType type) {
  cancel(context, before, after, type);
  std::vector<Atom> inputs;
  for (const Value side : {before, after}) {
    for (const Value part : context.values.inside(side)) {
      context.spend(1);
      if (is_unknown(context, part)) return false;
      if (context.values.kind(part) != ValueKind::Input || inputs.size() == kMostOneHots) continue;
      inputs.push_back(context.values.as_atom(part));
    }
  }
  const bool truth = type.kind() == ElementType::Kind::Boolean;
  const auto differs = [&](Trial trial) {
    const auto a = trial.of(before);
    const auto b = trial.of(after);
    return a && b && differ(*a, *b, type, trial.tolerance());
  };
  for (const Atom& atom : inputs) {
    for (const Trial::Kind kind : {Trial::Kind::OneHot, Trial::Kind::OneElement}) {
      Trial trial(context, kind, 0, truth);
      trial.choose(atom);
      if (differs(trial)) return true;
    }
  }
  if (differs({context, Trial::Kind::Ones, 0, truth})) return true;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    if (differs({context, Trial::Kind::PerInput, seed, truth})) return true;
    if (differs({context, Trial::Kind::PerElement, seed, truth})) return true;
  }
  return false;
}

}  // namespace p2::hlo
