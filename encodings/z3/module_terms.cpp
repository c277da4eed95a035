// Expressions as terms: constants, symbols, uninterpreted functions, and which operation is what.

#include "encodings/z3/module_terms.h"

#include <set>

#include <fmt/format.h>

namespace p2::z3_encoding {
namespace {

/// Products of sums of more monomials are products of symbols for the sums.
constexpr double kMaxMonomials = 32;
/// Products of more factors, or of numbers as long, are products of symbols: where every product is
/// the square of the one before, numbers and normal forms would double each time.
constexpr double kMaxFactors = 1000;
/// Digits of a number that counts as one factor.
constexpr double kDigitsOfFactor = 20;
/// Of one normal form.
constexpr unsigned kMaxSteps = 200'000;

double without_nan(double bound, double otherwise) { return std::isnan(bound) ? otherwise : bound; }

double factors_in(const Term& term) {
  std::int64_t numerator = 0;
  std::int64_t denominator = 0;
  if (!term.value.is_numeral()) return term.factors;
  z3::context& context = term.value.ctx();
  if (Z3_get_numeral_small(context, term.value, &numerator, &denominator)) return 1;
  const std::string_view digits = Z3_get_numeral_string(context, term.value);
  return 1 + static_cast<double>(digits.size()) / kDigitsOfFactor;
}

}  // namespace

Interval operator+(const Interval& a, const Interval& b) {
  return {without_nan(a.low + b.low, Interval().low),
          without_nan(a.high + b.high, Interval().high)};
}

Interval operator*(const Interval& a, const Interval& b) {
  const auto times = [](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; };
  const double ends[] = {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low),
                         times(a.high, b.high)};
  if (std::ranges::any_of(ends, [](double each) { return std::isnan(each); })) return {};
  return {std::ranges::min(ends), std::ranges::max(ends)};
}

Interval hull(const Interval& a, const Interval& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Interval range_of(hlo::ElementType type) {
  if (type.is_integer()) {
    const int bits = static_cast<int>(type.bits());
    if (is_unsigned(type)) return {0, std::ldexp(1.0, bits) - 1};
    return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
  }
  const double largest = type.name() == "f64" ? 1.7e308 : type.name() == "f16" ? 65504.0 : 3.38e38;
  return {-largest, largest};
}

Translation::Translation(z3::context& context, const Expressions& expressions, const Meter& meter)
    : context_(context),
      expressions_(expressions),
      meter_(meter),
      normal_(context),
      terms_(expressions.size()) {
  normal_.set("som", true);
  normal_.set("som_blowup", static_cast<unsigned>(kMaxMonomials));
  normal_.set("sort_sums", true);
  normal_.set("max_steps", kMaxSteps);
}

z3::expr Translation::normal(const z3::expr& term) const {
  step();
  try {
    return term.simplify(normal_);
  } catch (const z3::exception&) {
    meter_.checkpoint();
    return term.simplify();
  }
}

/// The exact value of a double.
z3::expr Translation::number(double value) {
  if (value == std::trunc(value)) return context_.real_val(fmt::format("{:.0f}", value).c_str());
  int exponent = 0;
  const double mantissa = std::ldexp(std::frexp(value, &exponent), 53);
  z3::expr result = context_.real_val(fmt::format("{:.0f}", mantissa).c_str());
  for (int left = 53 - exponent; left > 0; left -= 512) {
    const double power = std::ldexp(1.0, std::min(left, 512));
    result = result / context_.real_val(fmt::format("{:.0f}", power).c_str());
  }
  return result.simplify();
}

z3::expr Translation::power_of_two(unsigned bits) {
  return context_.int_val(fmt::format("{:.0f}", std::ldexp(1.0, static_cast<int>(bits))).c_str());
}

z3::sort Translation::sort_of(ElementType type) {
  if (is_boolean(type)) return context_.bool_sort();
  return type.is_integer() ? context_.int_sort() : context_.real_sort();
}

void Translation::add_fact(const z3::expr& symbol, const z3::expr& fact) {
  std::vector<z3::expr>& all = facts_[symbol.id()];
  const auto same = [&](const z3::expr& each) { return each.id() == fact.id(); };
  if (std::ranges::none_of(all, same)) all.push_back(fact);
}

/// Symbols keep terms small: what is put into a normal form goes no deeper than they.
z3::expr Translation::named(const z3::expr& term) {
  if (term.is_numeral() || term.is_true() || term.is_false() || is_symbol(term)) return term;
  return symbol_for(term);
}

z3::expr Translation::symbol_for(const z3::expr& term) {
  auto found = named_.find(term.id());
  if (found == named_.end()) {
    const std::string name = fmt::format("t{}", named_.size());
    const z3::expr symbol = context_.constant(name.c_str(), term.get_sort());
    found = named_.emplace(term.id(), Replacement{term, symbol}).first;
    add_fact(symbol, symbol == term);
  }
  return found->second.to;
}

void Translation::shorten(Term& a, Term& b) {
  a.factors = factors_in(a);
  b.factors = factors_in(b);
  const bool is_long = a.factors + b.factors > kMaxFactors;
  for (Term* const each : {&a, &b}) {
    const bool many_factors = is_long && each->factors > 1;
    const bool many_sums = each->monomials > 1 && a.monomials * b.monomials > kMaxMonomials;
    if (!many_factors && !many_sums) continue;
    const z3::expr value = normal(each->value);
    each->value = many_factors ? symbol_for(value) : named(value);
    each->monomials = 1;
    each->factors = factors_in({each->value});
  }
}

Term Translation::constant(hlo::interpreter::Fraction value) {
  Term term{context_.real_val(0)};
  term.steps = true;
  if (!std::isfinite(value.numerator)) {
    const bool nan = std::isnan(value.numerator);
    term.special =
        Special{truth(!nan && value.numerator > 0), truth(!nan && value.numerator < 0), truth(nan)};
    return term;
  }
  term.value = (number(value.numerator) / number(value.denominator)).simplify();
  const double real = value.numerator / value.denominator;
  const double margin = real == std::trunc(real) ? 0 : std::fabs(real) * kMargin;
  term.bounds = {real - margin, real + margin};
  return term;
}

Term Translation::integer_constant(std::int64_t value, ElementType type) {
  const auto natural = static_cast<std::uint64_t>(value);
  Term term{is_unsigned(type) ? context_.int_val(natural) : context_.int_val(value)};
  const double real = is_unsigned(type) ? static_cast<double>(natural) : static_cast<double>(value);
  term.bounds = {real, real};
  term.in_range = term.steps = true;
  return term;
}

Term Translation::input(std::uint32_t number, ElementType type) {
  const z3::expr value = context_.constant(fmt::format("x{}", number).c_str(), sort_of(type));
  inputs_.emplace(value.id(), Input{value, number});
  Term term = symbol(value, type);
  if (type.is_float()) term.bounds = range_of(type);
  return term;
}

/// A symbol that may have any value of the type.
Term Translation::symbol(const z3::expr& value, ElementType type) {
  Term term{value};
  if (!type.is_integer()) return term;
  term.bounds = range_of(type);
  term.in_range = term.steps = true;
  const z3::expr size = power_of_two(type.bits());
  const z3::expr low = is_unsigned(type) ? context_.int_val(0) : -(size / 2);
  add_fact(value, low.simplify() <= value && value < (low + size).simplify());
  return term;
}

Term Translation::function(const std::string& name, const Operands& operands, ElementType type) {
  z3::expr_vector arguments(context_);
  z3::sort_vector sorts(context_);
  bool any_special = false;
  bool steps = true;
  for (const auto& [given, of] : operands) {
    const Term operand = wrapped_term(given, of);
    steps = steps && (operand.steps || is_boolean(of));
    z3::expr value = operand.value;
    if (operand.special) {
      any_special = true;
      const Special& special = *operand.special;
      value = z3::ite(ordinary(special), value, context_.real_val(0));
      const z3::expr number =
          z3::ite(special.nan, context_.int_val(3),
                  z3::ite(special.above, context_.int_val(1),
                          z3::ite(special.below, context_.int_val(2), context_.int_val(0))));
      arguments.push_back(normal(number));
      sorts.push_back(context_.int_sort());
    }
    arguments.push_back(normal(value));
    sorts.push_back(value.get_sort());
  }
  const std::string full = fmt::format("{} to {}", name, type.name());
  const auto declared = [&](const std::string& called, const z3::sort& sort) {
    return named(context_.function(called.c_str(), sorts, sort)(arguments));
  };
  Term term = symbol(declared(full, sort_of(type)), type);
  term.steps = !type.is_float() || steps;
  if (!any_special || !is_real(type)) return term;
  const z3::expr which = declared(full + " special", context_.int_sort());
  return with_special(std::move(term), which == 1, which == 2, which == 3);
}

Term Translation::function(Element code, const std::vector<Term>& operands, ElementType type) {
  Operands typed;
  for (const Term& operand : operands) typed.emplace_back(operand, type);
  return function(fmt::format("function {}", static_cast<int>(code)), typed, type);
}

Term Translation::operation(const Expressions::Node& node, const std::vector<Term>& operands) {
  const ElementType to = node.type;
  const ElementType from = node.from;
  const Term& a = operands[0];
  switch (node.code) {
    case Element::Compare:
      if (node.total_order && (a.special || operands[1].special)) {
        return function(fmt::format("total order {}", static_cast<int>(node.direction)),
                        {{a, from}, {operands[1], from}}, to);
      }
      return {normal(compared(node, a, operands[1]))};
    case Element::Select:
      return choice(a.value, operands[1], operands[2], to);
    case Element::Convert:
      return converted(a, from, to);
    case Element::IsFinite: {
      if (is_finite(a, from)) return {truth(true)};
      Term finite = a;
      finite.special.reset();
      Term term = function("is finite", {{finite, from}}, to);
      if (a.special) term.value = ordinary(*a.special) && term.value;
      return term;
    }
    case Element::BitcastConvert: {
      if (from == to) return a;
      if (!from.is_integer() || !to.is_integer()) {
        return function(fmt::format("bits of {}", from.name()), {{a, from}}, to);
      }
      Term term = a;
      term.in_range = false;
      return term;
    }
    case Element::Maximum:
    case Element::Minimum:
      if (!is_boolean(to)) return extreme(operands, node.code == Element::Maximum, to);
      break;
    default:
      break;
  }
  if (is_boolean(to)) return boolean_function(node.code, operands, to);
  if (to.is_integer()) return integer_function(node.code, operands, to);
  return real_function(node.code, operands, to);
}

/// What an operation on results of the same operation is of in the end.
std::vector<std::uint32_t> Translation::leaves_of(std::uint32_t expression) const {
  const Expressions::Node& root = expressions_.node(expression);
  std::vector<std::uint32_t> leaves;
  std::vector<std::uint32_t> open = {expression};
  std::set<std::uint32_t> seen;
  while (!open.empty()) {
    const std::uint32_t each = open.back();
    open.pop_back();
    if (!seen.insert(each).second) continue;
    step();
    const Expressions::Node& node = expressions_.node(each);
    if (node.kind == root.kind && node.code == root.code && node.type == root.type) {
      for (const std::uint32_t operand : expressions_.operands(each)) open.push_back(operand);
    } else {
      leaves.push_back(each);
    }
  }
  std::ranges::sort(leaves);
  return leaves;
}

/// The expressions of whose terms one is made: of a largest of largest ones, those.
std::vector<std::uint32_t> Translation::parts_of(std::uint32_t expression) const {
  const Expressions::Node& node = expressions_.node(expression);
  const bool is_extreme = node.code == Element::Maximum || node.code == Element::Minimum;
  if (node.kind == Expressions::Kind::Operation && is_extreme && !is_boolean(node.type)) {
    return leaves_of(expression);
  }
  const auto operands = expressions_.operands(expression);
  return {operands.begin(), operands.end()};
}

Term Translation::translated(std::uint32_t expression, const std::vector<std::uint32_t>& parts) {
  const Expressions::Node& node = expressions_.node(expression);
  switch (node.kind) {
    case Expressions::Kind::Input:
      return input(node.name, node.type);
    case Expressions::Kind::Real:
      return constant(node.real);
    case Expressions::Kind::Integer:
      if (is_boolean(node.type)) return {truth(node.integer != 0)};
      return integer_constant(node.integer, node.type);
    case Expressions::Kind::Function: {
      Operands typed;
      for (const std::uint32_t part : parts) {
        typed.emplace_back(*terms_[part], expressions_.node(part).type);
      }
      Term term = function("named " + expressions_.function_name(node.name), typed, node.type);
      term.steps = node.type.is_integer();
      return term;
    }
    case Expressions::Kind::Operation:
      break;
  }
  std::vector<Term> operands;
  for (const std::uint32_t part : parts) operands.push_back(*terms_[part]);
  return operation(node, operands);
}

const Term& Translation::of(std::uint32_t expression) {
  std::vector<std::uint32_t> open = {expression};
  while (!open.empty()) {
    const std::uint32_t each = open.back();
    step();
    if (terms_[each]) {
      open.pop_back();
      continue;
    }
    const std::size_t before = open.size();
    const std::vector<std::uint32_t> parts = parts_of(each);
    for (const std::uint32_t part : parts) {
      if (!terms_[part]) open.push_back(part);
    }
    if (open.size() > before) continue;
    open.pop_back();
    terms_[each] = translated(each, parts);
  }
  return *terms_[expression];
}

}  // namespace p2::z3_encoding
