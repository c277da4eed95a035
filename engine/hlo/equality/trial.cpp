#include "engine/hlo/equality/trial.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace p2::hlo {
namespace {

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

}  // namespace p2::hlo
