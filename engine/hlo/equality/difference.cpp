// Search for a counterexample to the equality of two symbolic values: both are evaluated on
// concrete inputs (one-hot vectors, ones, and pseudo-random numbers). Inputs on which the results
// differ by more than rounding prove that the values differ.

#include "engine/hlo/equality/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace p2::hlo {
namespace {

constexpr std::int64_t kMaxEnumerated = 4096;
constexpr int kMaxOffsetDepth = 16;

std::uint64_t mixed(std::uint64_t state, std::uint64_t more) {
  state = (state ^ more) * 0x9E3779B97F4A7C15ULL;
  return state ^ (state >> 29U);
}
/// Relative errors of transcendental functions, and of conversions to narrower types.
constexpr double kFunctionTolerance = 1e-6;
constexpr double kNarrowingTolerance = 0.3;

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
  const auto from = ElementType::from_xla(function.substr(of + 4, to - of - 4));
  const auto target = ElementType::from_xla(function.substr(to + 4));
  return from && target && from->is_float() && target->is_float() && from->bits() >= 16 &&
         target->bits() >= 16;
}

/// Whether an Assignment can compute an Apply.
bool is_computable(std::string_view function) {
  const std::string_view name = first_word(function);
  return function == "added in order" || name == "divide" || function_called(name) != nullptr ||
         is_float_conversion(function);
}

/// Concrete inputs of all devices, and the values of terms under them.
class Assignment {
 public:
  enum class Kind : std::uint8_t {
    Ones,        ///< every input is 1
    PerInput,    ///< one number for all elements of an input of a device
    PerElement,  ///< a number for every element
    OneHot,      ///< 1 for all elements of one input of one device, else 0
    OneElement   ///< 1 for one element of one input of one device, else 0
  };

  Assignment(const ComparisonContext& context, Kind kind, std::uint64_t seed, bool boolean)
      : context_(context), kind_(kind), seed_(seed), boolean_(boolean) {}
  /// Puts the 1 of OneHot and OneElement on the first element of `atom`.
  void choose(const Atom& atom);

  /// Nothing if the value cannot be computed: uninterpreted functions, large sums.
  std::optional<double> evaluate(Value value);
  /// The relative error of the values computed so far.
  double tolerance() const { return tolerance_; }

 private:
  std::optional<double> compute(Value value);
  std::optional<double> atom(const Atom& atom);
  std::optional<double> evaluate_binders(const Atom& atom);
  std::optional<double> enumerate_binders(const Atom& atom, std::int64_t count);
  std::optional<bool> contains_chosen(const Atom& atom);
  std::optional<std::vector<std::int64_t>> index_of(const IndexMap& map);
  std::optional<double> apply(Value value);
  double input(const Atom& atom, const std::vector<std::int64_t>& index) const;

  const ComparisonContext& context_;
  Kind kind_;
  std::uint64_t seed_;
  bool boolean_;
  std::pair<std::int64_t, std::uint32_t> chosen_ = {};
  std::vector<std::int64_t> chosen_index_;
  std::map<Value, std::optional<double>> known_;
  double tolerance_ = 1e-6;  // constants are rounded to their types
  int offset_depth_ = 0;
};

std::optional<double> Assignment::evaluate(Value value) {
  for (const Value part : context_.values.subterms(value)) {
    if (known_.find(part) == known_.end()) known_[part] = compute(part);
  }
  return known_[value];
}

std::optional<double> Assignment::compute(Value value) {
  const Values& values = context_.values;
  if (const auto number = values.as_number(value)) return number->to_double();
  if (values.is_atom(value)) return atom(values.as_atom(value));
  for (const Value part : values.children(value)) {
    if (!known_[part]) return std::nullopt;
  }
  const auto number_of = [&](Value part) { return *known_[part]; };
  double result = 0;
  switch (values.kind(value)) {
    case ValueKind::Sum: {
      const Linear linear = values.as_linear(value);
      result = linear.constant.to_double();
      for (const LinearTerm& term : linear.terms) {
        result += term.coefficient.to_double() * number_of(term.value);
      }
      return result;
    }
    case ValueKind::Product:
      result = 1;
      for (const auto& [part, exponent] : values.factors(value)) {
        result *= std::pow(number_of(part), static_cast<double>(exponent));
      }
      tolerance_ = std::max(tolerance_, kFunctionTolerance);
      return result;
    case ValueKind::Maximum:
    case ValueKind::Minimum:
    case ValueKind::And:
    case ValueKind::Or: {
      const bool takes_least =
          values.kind(value) == ValueKind::Minimum || values.kind(value) == ValueKind::And;
      const bool bits = values.kind(value) >= ValueKind::And;
      if (bits && !boolean_) return std::nullopt;
      const std::vector<Value> parts = values.children(value);
      result = number_of(parts[0]);
      for (const Value part : parts) {
        result =
            takes_least ? std::min(result, number_of(part)) : std::max(result, number_of(part));
      }
      return result;
    }
    case ValueKind::Apply:
      return apply(value);
    default:
      return std::nullopt;
  }
}

std::optional<double> Assignment::apply(Value value) {
  const Values& values = context_.values;
  const std::string& function = context_.fingerprints.text(values.fingerprint(value));
  std::vector<double> numbers;
  for (const Value part : values.children(value)) numbers.push_back(*known_[part]);
  if (function == "added in order") {
    double sum = 0;
    for (const double number : numbers) sum += number;
    return sum;
  }
  if (!is_computable(function)) return std::nullopt;
  if (is_float_conversion(function)) {
    tolerance_ = std::max(tolerance_, kNarrowingTolerance);
    return numbers[0];
  }
  tolerance_ = std::max(tolerance_, kFunctionTolerance);
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

double Assignment::input(const Atom& atom, const std::vector<std::int64_t>& index) const {
  if (kind_ == Kind::Ones) return 1;
  const bool chosen = chosen_ == std::pair(atom.source, atom.device);
  if (kind_ == Kind::OneHot) return chosen ? 1 : 0;
  if (kind_ == Kind::OneElement) return chosen && index == chosen_index_ ? 1 : 0;
  std::uint64_t state = mixed(mixed(seed_, static_cast<std::uint64_t>(atom.source)), atom.device);
  if (kind_ == Kind::PerElement) {
    for (const std::int64_t at : index) state = mixed(state, static_cast<std::uint64_t>(at));
  }
  const std::uint64_t drawn = mixed(state, 1) >> 40U;
  return static_cast<double>(boolean_ ? drawn % 2 : drawn % 7 + 1);
}

/// The concrete index, with the values of its unknown offsets.
std::optional<std::vector<std::int64_t>> Assignment::index_of(const IndexMap& map) {
  std::vector<std::int64_t> index;
  const Offsets& offsets = context_.values.offsets();
  for (const Coordinate& coordinate : map) {
    std::int64_t at = coordinate.base;
    for (const Term& term : coordinate.terms) {
      if (term.variable >= 0) return std::nullopt;
      if (++offset_depth_ > kMaxOffsetDepth) return std::nullopt;
      const auto start = evaluate(static_cast<Value>(offsets.key(term.variable)));
      --offset_depth_;
      if (!start) return std::nullopt;
      const auto max = static_cast<double>(offsets.max(term.variable));
      at += term.stride * static_cast<std::int64_t>(std::clamp(std::floor(*start), 0.0, max));
    }
    index.push_back(at);
  }
  return index;
}

/// Whether the chosen element is among the elements of an atom with binders. Nothing if a binder
/// occurs in several coordinates, or binders overlap in one.
std::optional<bool> Assignment::contains_chosen(const Atom& atom) {
  IndexMap start = atom.map;
  for (std::size_t k = 0; k < atom.binders.size(); ++k) {
    start = substitute(start, kBinder + static_cast<Variable>(k), {});
  }
  const auto first = index_of(start);
  if (!first) return std::nullopt;
  if (chosen_ != std::pair(atom.source, atom.device)) return false;
  std::size_t used = 0;
  bool holds = true;
  for (std::size_t i = 0; i < atom.map.size(); ++i) {
    std::int64_t rest = chosen_index_[i] - (*first)[i];
    std::vector<Term> terms = atom.map[i].terms;
    std::erase_if(terms, [](const Term& term) { return term.variable < kBinder; });
    std::sort(terms.begin(), terms.end(),
              [](const Term& a, const Term& b) { return a.stride > b.stride; });
    std::int64_t below = INT64_MAX;
    for (const Term& term : terms) {
      const std::int64_t extent = atom.binders[static_cast<std::size_t>(term.variable - kBinder)];
      if (term.stride <= 0 || term.stride * extent > below) return std::nullopt;
      below = term.stride;
      const std::int64_t digit = std::clamp<std::int64_t>(rest / term.stride, 0, extent - 1);
      rest -= digit * term.stride;
    }
    used += terms.size();
    holds = holds && rest == 0;
  }
  if (used != atom.binders.size()) return std::nullopt;
  return holds;
}

std::optional<double> Assignment::enumerate_binders(const Atom& atom, std::int64_t count) {
  std::optional<double> result;
  for (std::int64_t i = 0; i < count; ++i) {
    IndexMap map = atom.map;
    std::int64_t rest = i;
    for (std::size_t k = 0; k < atom.binders.size(); ++k) {
      map = substitute(map, kBinder + static_cast<Variable>(k), {rest % atom.binders[k], {}});
      rest /= atom.binders[k];
    }
    const auto at = index_of(map);
    if (!at) return std::nullopt;
    const double number = input(atom, *at);
    const bool takes_least = atom.reducer == Reducer::Minimum || atom.reducer == Reducer::And;
    result = !result                        ? number
             : atom.reducer == Reducer::Add ? *result + number
             : takes_least                  ? std::min(*result, number)
                                            : std::max(*result, number);
  }
  return result;
}

std::optional<double> Assignment::evaluate_binders(const Atom& atom) {
  std::int64_t count = 1;
  for (const std::int64_t extent : atom.binders) count *= extent;
  if (kind_ == Kind::OneElement) {
    const auto holds = contains_chosen(atom);
    if (!holds) return std::nullopt;
    const bool takes_least = atom.reducer == Reducer::Minimum || atom.reducer == Reducer::And;
    return *holds && !takes_least ? 1 : 0;
  }
  if (kind_ != Kind::PerElement) {
    return input(atom, {}) * (atom.reducer == Reducer::Add ? static_cast<double>(count) : 1);
  }
  if (count > kMaxEnumerated) return std::nullopt;
  return enumerate_binders(atom, count);
}

void Assignment::choose(const Atom& atom) {
  chosen_ = {atom.source, atom.device};
  chosen_index_.clear();
  IndexMap start = atom.map;
  for (std::size_t k = 0; k < atom.binders.size(); ++k) {
    start = substitute(start, kBinder + static_cast<Variable>(k), {});
  }
  if (const auto first = index_of(start)) chosen_index_ = *first;
  chosen_index_.resize(atom.map.size());
}

std::optional<double> Assignment::atom(const Atom& atom) {
  if (atom.kind != ValueKind::Input) return std::nullopt;
  if (!atom.binders.empty()) return evaluate_binders(atom);
  if (kind_ != Kind::PerElement && kind_ != Kind::OneElement) return input(atom, {});
  const auto at = index_of(atom.map);
  if (!at) return std::nullopt;
  return input(atom, *at);
}

constexpr std::size_t kMaxOneHots = 8;

/// Whether a subterm is uninterpreted.
bool is_uninterpreted(const ComparisonContext& context, Value part) {
  const Values& values = context.values;
  switch (values.kind(part)) {
    case ValueKind::Text:
    case ValueKind::Array:
    case ValueKind::Position:
    case ValueKind::Element:
    case ValueKind::Closed:
    case ValueKind::Reduction:
      return true;
    case ValueKind::Apply:
      return !is_computable(context.fingerprints.text(values.fingerprint(part)));
    default:
      return false;
  }
}

/// `magnitude`: of the terms whose sum one of them is, which may cancel each other.
bool differ(double a, double b, ElementType type, double tolerance, double magnitude) {
  if (type.is_float() || type.is_complex()) {
    const double scale = std::max({std::fabs(a), std::fabs(b), magnitude});
    return std::fabs(a - b) > tolerance * std::max(scale, 1e-3);
  }
  constexpr double kExact = 4503599627370496.0;  // 2^52
  if (std::fabs(a) > kExact || std::fabs(b) > kExact || a != std::floor(a) || b != std::floor(b)) {
    return false;
  }
  return std::fmod(a - b, std::pow(2.0, type.bits())) != 0;
}

/// Removes the terms that occur in both sums, interpreted or not.
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
  if (const auto value = context.values.from_linear(difference, type)) {
    before = *value;
    after = context.values.number({});
  }
}

}  // namespace

bool same_uninterpreted_terms(const ComparisonContext& context, Value a, Value b) {
  const auto uninterpreted = [&](Value value) {
    std::vector<Value> found = context.values.subterms(value);
    std::erase_if(found, [&](Value part) { return !is_uninterpreted(context, part); });
    return found;
  };
  return uninterpreted(a) == uninterpreted(b);
}

bool are_distinguishable(ComparisonContext& context, Value before, Value after, ElementType type) {
  const Linear sums[] = {context.values.as_linear(before), context.values.as_linear(after)};
  cancel(context, before, after, type);
  const Linear left = context.values.as_linear(before);
  // What both sums are made of where they differ: rounding is relative to it.
  std::set<Value> uncancelled;
  for (const LinearTerm& term : left.terms) uncancelled.insert(term.value);
  std::vector<LinearTerm> terms;
  double constants = 0;
  for (const Linear& sum : sums) {
    for (const LinearTerm& term : sum.terms) {
      if (uncancelled.contains(term.value)) terms.push_back(term);
    }
    if (!left.constant.is_zero()) constants += std::fabs(sum.constant.to_double());
  }
  std::vector<Atom> inputs;
  for (const Value side : {before, after}) {
    for (const Value part : context.values.subterms(side)) {
      context.spend(1);
      if (is_uninterpreted(context, part)) return false;
      if (context.values.kind(part) != ValueKind::Input || inputs.size() == kMaxOneHots) continue;
      inputs.push_back(context.values.as_atom(part));
    }
  }
  const bool boolean = type.kind() == ElementType::Kind::Boolean;
  const auto differs = [&](Assignment assignment) {
    const auto a = assignment.evaluate(before);
    const auto b = assignment.evaluate(after);
    if (!a || !b) return false;
    double magnitude = constants;
    for (const LinearTerm& term : terms) {
      const auto value = assignment.evaluate(term.value);
      if (value) magnitude += std::fabs(term.coefficient.to_double() * *value);
    }
    return differ(*a, *b, type, assignment.tolerance(), magnitude);
  };
  for (const Atom& atom : inputs) {
    for (const Assignment::Kind kind : {Assignment::Kind::OneHot, Assignment::Kind::OneElement}) {
      Assignment assignment(context, kind, 0, boolean);
      assignment.choose(atom);
      if (differs(assignment)) return true;
    }
  }
  if (differs({context, Assignment::Kind::Ones, 0, boolean})) return true;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    if (differs({context, Assignment::Kind::PerInput, seed, boolean})) return true;
    if (differs({context, Assignment::Kind::PerElement, seed, boolean})) return true;
  }
  return false;
}

}  // namespace p2::hlo
