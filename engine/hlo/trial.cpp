#include "engine/hlo/trial.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace p2::hlo {
namespace {

constexpr std::int64_t kMostBound = 4096;
constexpr int kDeepestOffsets = 16;
constexpr double kOfFunctions = 1e-6;
constexpr double kOfNarrowing = 0.3;

struct Function {
  std::string_view name;
  double (*compute)(double);
};
constexpr auto kFunctions = std::to_array<Function>({
    {"exponential", [](double x) { return std::exp(x); }},
    {"exponential-minus-one", [](double x) { return std::expm1(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"log-plus-one", [](double x) { return std::log1p(x); }},
    {"logistic", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"cbrt", [](double x) { return std::cbrt(x); }},
    {"sine", [](double x) { return std::sin(x); }},
    {"cosine", [](double x) { return std::cos(x); }},
    {"tan", [](double x) { return std::tan(x); }},
    {"erf", [](double x) { return std::erf(x); }},
    {"abs", [](double x) { return std::fabs(x); }},
    {"negate", [](double x) { return -x; }},
});

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

const Function* function_called(std::string_view name) {
  for (const Function& function : kFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

std::uint64_t mixed(std::uint64_t state, std::uint64_t more) {
  state = (state ^ more) * 0x9E3779B97F4A7C15ULL;
  return state ^ (state >> 29U);
}

bool is_float_conversion(std::string_view function) {
  const std::size_t of = function.find(" of ");
  const std::size_t to = function.find(" to ");
  if (first_word(function) != "convert" || to == std::string_view::npos) return false;
  const auto from = ElementType::called(function.substr(of + 4, to - of - 4));
  const auto target = ElementType::called(function.substr(to + 4));
  return from && target && from->is_float() && target->is_float() && from->bits() >= 16 &&
         target->bits() >= 16;
}

}  // namespace

bool is_computable(std::string_view function) {
  const std::string_view name = first_word(function);
  return function == "added in order" || name == "divide" || function_called(name) != nullptr ||
         is_float_conversion(function);
}

std::optional<double> Trial::of(Value value) {
  for (const Value part : context_.values.inside(value)) {
    if (known_.find(part) == known_.end()) known_[part] = compute(part);
  }
  return known_[value];
}

std::optional<double> Trial::compute(Value value) {
  const Values& values = context_.values;
  if (const auto number = values.as_number(value)) return number->approximately();
  if (values.is_atom(value)) return atom(values.as_atom(value));
  for (const Value part : values.parts(value)) {
    if (!known_[part]) return std::nullopt;
  }
  const auto number_of = [&](Value part) { return *known_[part]; };
  double result = 0;
  switch (values.kind(value)) {
    case ValueKind::Sum: {
      const Linear linear = values.as_linear(value);
      result = linear.constant.approximately();
      for (const LinearTerm& term : linear.terms) {
        result += term.coefficient.approximately() * number_of(term.value);
      }
      return result;
    }
    case ValueKind::Product:
      result = 1;
      for (const auto& [part, exponent] : values.factors(value)) {
        result *= std::pow(number_of(part), static_cast<double>(exponent));
      }
      tolerance_ = std::max(tolerance_, kOfFunctions);
      return result;
    case ValueKind::Maximum:
    case ValueKind::Minimum:
    case ValueKind::And:
    case ValueKind::Or: {
      const bool least =
          values.kind(value) == ValueKind::Minimum || values.kind(value) == ValueKind::And;
      const bool bits = values.kind(value) >= ValueKind::And;
      if (bits && !truth_) return std::nullopt;
      const std::vector<Value> parts = values.parts(value);
      result = number_of(parts[0]);
      for (const Value part : parts) {
        result = least ? std::min(result, number_of(part)) : std::max(result, number_of(part));
      }
      return result;
    }
    case ValueKind::Apply:
      return apply(value);
    default:
      return std::nullopt;
  }
}

std::optional<double> Trial::apply(Value value) {
  const Values& values = context_.values;
  const std::string& function = context_.fingerprints.text(values.fingerprint(value));
  std::vector<double> numbers;
  for (const Value part : values.parts(value)) numbers.push_back(*known_[part]);
  if (function == "added in order") {
    double sum = 0;
    for (const double number : numbers) sum += number;
    return sum;
  }
  if (!is_computable(function)) return std::nullopt;
  if (is_float_conversion(function)) {
    tolerance_ = std::max(tolerance_, kOfNarrowing);
    return numbers[0];
  }
  tolerance_ = std::max(tolerance_, kOfFunctions);
  double result = 0;
  if (first_word(function) == "divide") {
    if (function.find(" to f") == std::string::npos && function.find(" to bf") == std::string::npos)
      return std::nullopt;
    result = numbers[0] / numbers[1];
  } else {
    result = function_called(first_word(function))->compute(numbers[0]);
  }
  if (!std::isfinite(result)) return std::nullopt;
  return result;
}

double Trial::input(const Atom& atom, const std::vector<std::int64_t>& place) const {
  if (kind_ == Kind::Ones) return 1;
  if (kind_ == Kind::OneHot) {
    return chosen_ == std::pair(atom.source, atom.device) ? 1 : 0;
  }
  std::uint64_t state = mixed(mixed(seed_, static_cast<std::uint64_t>(atom.source)), atom.device);
  if (kind_ == Kind::PerElement) {
    for (const std::int64_t at : place) state = mixed(state, static_cast<std::uint64_t>(at));
  }
  const std::uint64_t chosen = mixed(state, 1);
  return static_cast<double>(truth_ ? (chosen >> 40U) % 2 : (chosen >> 40U) % 7 + 1);
}

/// Where a fixed index is, with what the trial makes of offsets that are not known.
std::optional<std::vector<std::int64_t>> Trial::place(const IndexMap& map) {
  std::vector<std::int64_t> place;
  const Offsets& offsets = context_.values.offsets();
  for (const Coordinate& coordinate : map) {
    std::int64_t at = coordinate.base;
    for (const Term& term : coordinate.terms) {
      if (term.variable >= 0) return std::nullopt;
      if (++offsets_inside_offsets_ > kDeepestOffsets) return std::nullopt;
      const auto start = of(static_cast<Value>(offsets.key(term.variable)));
      --offsets_inside_offsets_;
      if (!start) return std::nullopt;
      const auto most = static_cast<double>(offsets.most(term.variable));
      at += term.stride * static_cast<std::int64_t>(std::clamp(std::floor(*start), 0.0, most));
    }
    place.push_back(at);
  }
  return place;
}

std::optional<double> Trial::bound(const Atom& atom) {
  std::int64_t count = 1;
  for (const std::int64_t extent : atom.binders) count *= extent;
  const bool adds = atom.reducer == Reducer::Add;
  if (kind_ != Kind::PerElement) {
    return input(atom, {}) * (adds ? static_cast<double>(count) : 1);
  }
  if (count > kMostBound) return std::nullopt;
  std::optional<double> result;
  for (std::int64_t i = 0; i < count; ++i) {
    IndexMap map = atom.map;
    std::int64_t rest = i;
    for (std::size_t k = 0; k < atom.binders.size(); ++k) {
      map = substitute(map, kBinder + static_cast<Variable>(k), {rest % atom.binders[k], {}});
      rest /= atom.binders[k];
    }
    const auto at = place(map);
    if (!at) return std::nullopt;
    const double number = input(atom, *at);
    const bool least = atom.reducer == Reducer::Minimum || atom.reducer == Reducer::And;
    result = !result ? number
             : adds  ? *result + number
             : least ? std::min(*result, number)
                     : std::max(*result, number);
  }
  return result;
}

std::optional<double> Trial::atom(const Atom& atom) {
  if (atom.kind != ValueKind::Input) return std::nullopt;
  if (!atom.binders.empty()) return bound(atom);
  if (kind_ != Kind::PerElement) return input(atom, {});
  const auto at = place(atom.map);
  if (!at) return std::nullopt;
  return input(atom, *at);
}

}  // namespace p2::hlo
