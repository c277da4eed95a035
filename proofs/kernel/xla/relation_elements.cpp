// One form of functions of elements: products instead of quotients, with one constant factor, of
// which broadcasts are.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

using Factor = Tensors::Factor;

constexpr std::int64_t kMaxPart = std::int64_t{1} << 31U;  ///< products of two are exact

/// In lowest terms; nothing where that has larger parts.
std::optional<Factor> reduced(std::int64_t numerator, std::int64_t denominator) {
  std::int64_t divisor = std::gcd(numerator, denominator);
  if (denominator < 0) divisor = -divisor;
  const Factor factor{numerator / divisor, denominator / divisor};
  if (std::abs(factor.numerator) >= kMaxPart || factor.denominator >= kMaxPart) return std::nullopt;
  return factor;
}

}  // namespace

/// The one number that all elements are, if it is a fraction with such parts.
std::optional<Factor> Tensors::fraction(std::size_t number) const {
  const Tensor& known = at(number);
  if (known.form.opcode == "broadcast") return fraction(known.operands[0]);
  if (known.form.opcode != "constant" || known.kind != "float" || !known.sizes.empty())
    return std::nullopt;
  const std::string& text = known.form.text;
  const std::size_t stroke = text.find('/');
  if (stroke == std::string::npos || text.starts_with("of the name ")) return std::nullopt;
  const double parts[] = {std::strtod(text.c_str(), nullptr),
                          std::strtod(text.c_str() + stroke + 1, nullptr)};
  for (const double part : parts) {
    if (std::fabs(part) >= kMaxPart || part != std::floor(part)) return std::nullopt;
  }
  return reduced(static_cast<std::int64_t>(parts[0]), static_cast<std::int64_t>(parts[1]));
}

/// Likewise, if it is not zero.
std::optional<Factor> Tensors::factor(std::size_t number) const {
  const auto known = fraction(number);
  return known && known->numerator != 0 ? known : std::nullopt;
}

std::optional<std::size_t> Tensors::splat(const Factor& fraction, const Index& sizes) {
  const Fraction parts{static_cast<double>(fraction.numerator),
                       static_cast<double>(fraction.denominator)};
  const std::size_t scalar = intern({{"constant", text_of(parts), {}}, {}, "float", {}});
  return splat(scalar, sizes);
}

/// What is cut off at a constant above and one below, in one order.
std::optional<std::size_t> Tensors::clamped(const Form& form,
                                            const std::vector<std::size_t>& operands,
                                            const std::string& kind) {
  if (kind != "float") return integer_clamp(form, operands, kind);
  const auto cut = [&](std::size_t low, std::size_t x, std::size_t high) {
    const auto above = make({"maximum", "", {}}, {low, x}, kind);
    return above ? make({"minimum", "", {}}, {*above, high}, kind) : std::nullopt;
  };
  if (form.opcode == "clamp") return cut(operands[0], operands[1], operands[2]);
  if (form.opcode != "maximum") return std::nullopt;
  for (std::size_t k = 0; k < 2; ++k) {
    const Tensor& below = at(operands[1 - k]);
    const auto low = fraction(operands[k]);
    for (std::size_t i = 0; low && i < 2 && below.form.opcode == "minimum"; ++i) {
      const auto high = fraction(below.operands[i]);
      if (high && low->numerator * high->denominator <= high->numerator * low->denominator)
        return cut(operands[k], below.operands[1 - i], below.operands[i]);
    }
  }
  return std::nullopt;
}

/// An integer that constants cut off from both sides, in whatever way.
std::optional<std::size_t> Tensors::integer_clamp(const Form& form,
                                                  const std::vector<std::size_t>& operands,
                                                  const std::string& kind) {
  const bool is_below = form.opcode == "minimum";
  if (kind == "pred" || (!is_below && form.opcode != "maximum")) return std::nullopt;
  for (std::size_t k = 0; k < 2; ++k) {
    const Tensor& inner = at(operands[1 - k]);
    const auto outer_bound = integer(operands[k]);
    if (!outer_bound || inner.form.opcode != (is_below ? "maximum" : "minimum")) continue;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto inner_bound = integer(inner.operands[i]);
      if (!inner_bound || (is_below ? *inner_bound > *outer_bound : *inner_bound < *outer_bound))
        continue;
      const std::size_t low = is_below ? inner.operands[i] : operands[k];
      const std::size_t high = is_below ? operands[k] : inner.operands[i];
      return make({"clamp", "", {}}, {low, inner.operands[1 - i], high}, kind);
    }
  }
  return std::nullopt;
}

/// The sum or difference of constants is one, x − c is x + (−c), and to a sum or difference with a
/// constant another one is added to that.
std::optional<std::size_t> Tensors::sum_with_constant(const Form& form,
                                                      const std::vector<std::size_t>& operands,
                                                      const std::string& kind) {
  const bool is_difference = form.opcode == "subtract";
  if (kind != "float" || (!is_difference && form.opcode != "add")) return std::nullopt;
  const Index sizes = at(operands[1]).sizes;
  const auto sum = [&](const Factor& a, const Factor& b) -> std::optional<std::size_t> {
    const auto all = reduced(a.numerator * b.denominator + b.numerator * a.denominator,
                             a.denominator * b.denominator);
    return all ? splat(*all, sizes) : std::nullopt;
  };
  const auto first = fraction(operands[0]);
  auto second = fraction(operands[1]);
  if (second && is_difference) second->numerator = -second->numerator;
  if (first && second) return sum(*first, *second);
  if (!first && !second) return std::nullopt;
  // c ± x, for which x + c and c − x are written.
  const bool is_negated = first && is_difference;
  const std::size_t x = operands[first ? 1 : 0];
  const Factor c = first ? *first : *second;
  const Tensor& inner = at(x);
  for (std::size_t k = 0; k < 2 && inner.operands.size() == 2; ++k) {
    const auto own = fraction(inner.operands[k]);
    const bool subtracts = inner.form.opcode == "subtract" && k == 0;
    if (!own || (inner.form.opcode != "add" && !subtracts)) continue;
    const auto all = sum(c, is_negated ? own->negated() : *own);
    if (!all) return std::nullopt;
    const std::size_t rest = inner.operands[1 - k];
    return is_negated == subtracts ? make({"add", "", {}}, {rest, *all}, kind)
                                   : make({"subtract", "", {}}, {*all, rest}, kind);
  }
  if (!is_difference || first) return std::nullopt;
  const auto negative = splat(c, sizes);
  return negative ? make({"add", "", {}}, {x, *negative}, kind) : std::nullopt;
}

/// x² is x · x, x³ that times x, and their inverses likewise.
std::optional<std::size_t> Tensors::product_of_power(const Form& form,
                                                     const std::vector<std::size_t>& operands,
                                                     const std::string& kind) {
  const auto exponent = form.opcode == "power" ? fraction(operands[1]) : std::nullopt;
  if (!exponent || exponent->denominator != 1 || kind != "float") return std::nullopt;
  const std::int64_t times = std::abs(exponent->numerator);
  if (times < 1 || times > 3) return std::nullopt;
  auto product = std::optional(operands[0]);
  for (std::int64_t k = 1; k < times && product; ++k)
    product = make({"multiply", "", {}}, {operands[0], *product}, kind);
  if (!product || exponent->numerator > 0) return product;
  const auto one = splat({1, 1}, Index(at(*product).sizes));
  return one ? make({"divide", "", {}}, {*one, *product}, kind) : std::nullopt;
}

/// Whether some elements are infinite, or no numbers, for all inputs: what constants make that may
/// be, or other constants choose, and what is added to it or multiplied by it.
bool Tensors::has_infinite_constant(std::size_t number) const {
  std::set<std::size_t> seen = {number};
  for (std::vector<std::size_t> left = {number}; !left.empty();) {
    const auto& [form, operands, kind, sizes] = at(left.back());
    if (!has_input_[left.back()] && may_be_infinite_[left.back()]) return true;
    left.pop_back();
    const bool chooses = form.opcode == "select" && !has_input_[operands[0]];
    if (!chooses &&
        !is_one_of(form.opcode, {"abs", "add", "broadcast", "concatenate", "convert", "multiply",
                                 "negate", "pad", "reshape", "reverse", "subtract", "transpose"}))
      continue;
    for (const std::size_t each : operands) {
      if (seen.insert(each).second) left.push_back(each);
    }
  }
  return false;
}

bool Tensors::can_be_finite(std::size_t number) const {
  return at(number).kind == "float" && has_input_[number] && !has_infinite_constant(number);
}

void Tensors::take_as_finite(std::size_t number) {
  finite_[number] = true;
  while (is_one_of(at(number).form.opcode, {"reshape", "transpose"})) {
    number = at(number).operands[0];  // It has the same elements.
    finite_[number] = true;
  }
  results_.clear();  // Laws ask what elements may be.
}

/// An infinite element may be above zero, and one that is no number is not zero.
Tensors::Sign Tensors::sign_made(const Tensor& tensor) const {
  if (tensor.kind != "float") return Sign::Any;
  const std::string_view opcode = tensor.form.opcode;
  const auto sign = [&](std::size_t operand) { return signs_[tensor.operands[operand]]; };
  if (opcode == "constant") {
    const bool is_one = tensor.sizes.empty() && !tensor.form.text.starts_with("of the name ") &&
                        !tensor.form.text.starts_with("-") && tensor.form.text != "nan";
    if (!is_one) return Sign::Any;
    return tensor.form.text == "0.0/1.0" ? Sign::NotBelow : Sign::Above;
  }
  if (is_one_of(opcode, {"broadcast", "reshape", "transpose"})) return sign(0);
  if (is_one_of(opcode, {"abs", "exponential", "iota", "logistic"})) return Sign::NotBelow;
  if (opcode == "convert")
    return at(tensor.operands[0]).kind == "pred" ? Sign::NotBelow : Sign::Any;
  if (opcode == "maximum") return std::max(sign(0), sign(1));
  if (opcode == "minimum") return std::min(sign(0), sign(1));
  if (opcode == "multiply" && tensor.operands[0] == tensor.operands[1])
    return std::max(sign(0), Sign::NotBelow);
  if (opcode == "add" && std::min(sign(0), sign(1)) != Sign::Any) return std::max(sign(0), sign(1));
  return Sign::Any;
}

/// Whether all elements are finite numbers, whatever the inputs are: nothing is divided but by what
/// is above zero, no root, logarithm or exponential taken, and no loop changes it.
bool Tensors::makes_finite(const Tensor& tensor) const {
  static const std::set<std::string, std::less<>> kAlways = {"compare", "input", "iota"};
  static const std::set<std::string, std::less<>> kOfFinite = {
      "abs",     "add",      "and",      "broadcast", "clamp",         "concatenate",
      "convert", "cosine",   "dot",      "erf",       "dynamic-slice", "dynamic-update-slice",
      "gather",  "logistic", "maximum",  "minimum",   "multiply",      "negate",
      "not",     "or",       "pad",      "reshape",   "reverse",       "select",
      "sine",    "slice",    "subtract", "tanh",      "transpose",     "xor"};
  const std::string_view opcode = tensor.form.opcode;
  if (kAlways.contains(opcode)) return true;
  if (opcode == "constant")
    return tensor.form.text.find("inf") == std::string::npos &&
           tensor.form.text.find("nan") == std::string::npos &&
           !tensor.form.text.starts_with("of the name ");
  const auto is_finite = [&](std::size_t operand) { return finite_[operand]; };
  if (opcode == "reduce") {
    const std::string& by = tensor.form.text;
    const auto& operands = tensor.operands;
    const bool is_some = !is_empty(at(operands[0]).sizes);
    return is_finite(operands[0]) && is_some &&
           (is_finite(operands[1]) || is_neutral(by, operands[1])) &&
           is_one_of(by, {"add", "maximum", "minimum", "multiply"});
  }
  const bool divides =
      opcode == "divide" && tensor.kind == "float" && signs_[tensor.operands[1]] == Sign::Above;
  return (divides || kOfFinite.contains(opcode)) &&
         std::all_of(tensor.operands.begin(), tensor.operands.end(), is_finite);
}

/// A finite x where p, and 0 elsewhere, is p · x.
std::optional<std::size_t> Tensors::choice_as_product(const Form& form,
                                                      const std::vector<std::size_t>& operands,
                                                      const std::string& kind) {
  if (form.opcode != "select" || kind != "float") return std::nullopt;
  const bool is_first = is_zero(operands[2]);
  const std::size_t x = operands[is_first ? 1 : 2];
  if ((!is_first && !is_zero(operands[1])) || !finite_[x]) return std::nullopt;
  auto where = std::optional(operands[0]);
  if (!is_first) where = make({"not", "", {}}, {*where}, "pred");
  if (where) where = make({"convert", "", {}}, {*where}, kind);
  return where ? make({"multiply", "", {}}, {*where, x}, kind) : std::nullopt;
}

std::optional<std::size_t> Tensors::one_of_elements(const Form& form,
                                                    const std::vector<std::size_t>& operands,
                                                    const std::string& kind) {
  if (form.opcode == "convert" && kind == "float") {
    // Small integers are numbers of all types.
    const auto value = integer(operands[0]);
    if (value && std::abs(*value) <= 256) return splat({*value, 1}, Index(at(operands[0]).sizes));
  }
  if (const auto simple = operand_alone(form, operands)) return simple;
  if (const auto simple = of_integers(form, operands, kind)) return simple;
  if (const auto simple = clamped(form, operands, kind)) return simple;
  if (const auto simple = choice_as_product(form, operands, kind)) return simple;
  if (const auto simple = function_of_narrow(form, operands, kind)) return simple;
  if (const auto simple = with_one_factor(form, operands, kind)) return simple;
  if (const auto simple = with_one_inverse(form, operands, kind)) return simple;
  if (const auto simple = sum_with_constant(form, operands, kind)) return simple;
  if (const auto simple = product_of_power(form, operands, kind)) return simple;
  return quotient_as_product(form, operands, kind);
}

bool Tensors::is_neutral(std::string_view by, std::size_t number) const {
  const Tensor& known = at(number);
  if (known.form.opcode == "broadcast") return is_neutral(by, known.operands[0]);
  if (is_one_of(by, {"add", "or", "xor"})) return is_zero(number);
  if (by == "multiply") return is_scalar(number, "1.0/1.0") || is_scalar(number, "1");
  if (by == "and") return known.kind == "pred" && is_scalar(number, "1");
  return is_scalar(number, by == "maximum" ? "-inf" : "inf") &&
         is_one_of(by, {"maximum", "minimum"});
}

/// x + 0, x − 0, max(x, −∞) and others are x; so is a choice of true where x and false elsewhere.
std::optional<std::size_t> Tensors::operand_alone(const Form& form,
                                                  const std::vector<std::size_t>& operands) {
  const std::string_view opcode = form.opcode;
  if (opcode == "select") {
    const bool is_truth =
        at(operands[1]).kind == "pred" && integer(operands[1]) == 1 && integer(operands[2]) == 0;
    return is_truth ? std::optional(operands[0]) : std::nullopt;
  }
  // x^1, and truth values that are not false, or true.
  if (opcode == "power" && is_neutral("multiply", operands[1])) return operands[0];
  if (opcode == "compare" && at(operands[0]).kind == "pred") {
    const std::int64_t same = form.text == "EQ" ? 1 : 0;
    if (form.text != "EQ" && form.text != "NE") return std::nullopt;
    if (integer(operands[1]) == same) return operands[0];
    return integer(operands[0]) == same ? std::optional(operands[1]) : std::nullopt;
  }
  const bool is_bitwise = is_one_of(opcode, {"or", "xor"}) && at(operands[0]).kind != "pred";
  if (operands.size() != 2 || is_bitwise) return std::nullopt;
  if (is_neutral(opcode == "subtract" ? "add" : opcode, operands[1])) return operands[0];
  return is_neutral(opcode, operands[0]) ? std::optional(operands[1]) : std::nullopt;
}

/// A function of broadcasts along the same dimensions, or of scalars, is a broadcast of it.
std::optional<std::size_t> Tensors::function_of_narrow(const Form& form,
                                                       const std::vector<std::size_t>& operands,
                                                       const std::string& kind) {
  // Constants are factors of what is wide, but of what is made of that where they stay in it.
  const bool has_factor = form.opcode == "multiply" && kind == "float" &&
                          factor(operands[0]).has_value() != factor(operands[1]).has_value();
  if (has_factor) return std::nullopt;
  const bool keeps_factors = !is_one_of(form.opcode, {"convert", "divide", "multiply", "negate"});
  std::vector<Form> forms;
  std::vector<std::size_t> all;
  for (const std::size_t each : operands) {
    const auto own = keeps_factors ? scaled(each) : std::nullopt;
    const Tensor& wide = at(own ? own->of : each);
    if (wide.form.opcode != "broadcast") return std::nullopt;
    const auto narrow =
        own ? scaled_by(wide.operands[0], own->by) : std::optional(wide.operands[0]);
    if (!narrow) return std::nullopt;
    all.push_back(*narrow);
    forms.push_back(wide.form);
  }
  const auto is_of_scalar = [](const Form& each) { return each.numbers[0].empty(); };
  const auto first = std::find_if_not(forms.begin(), forms.end(), is_of_scalar);
  if (forms.empty()) return std::nullopt;
  const auto of = static_cast<std::size_t>(first == forms.end() ? 0 : first - forms.begin());
  const Form wide = forms[of];
  const Index narrow = at(all[of]).sizes;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (forms[k] == wide) continue;
    if (!is_of_scalar(forms[k]) || forms[k].numbers[1] != wide.numbers[1]) return std::nullopt;
    const auto same = make({"broadcast", "", {{}, narrow}}, {all[k]}, std::string(at(all[k]).kind));
    if (!same) return std::nullopt;
    all[k] = *same;
  }
  const auto result = make(form, std::move(all), kind);
  return result ? make(wide, {*result}, kind) : std::nullopt;
}

/// x / y is x · (1/y), 1 / √y is what `rsqrt` makes, and 1 / x^y is
/// x^(−y).
std::optional<std::size_t> Tensors::quotient_as_product(const Form& form,
                                                        const std::vector<std::size_t>& operands,
                                                        const std::string& kind) {
  if (form.opcode != "divide" || kind != "float") return std::nullopt;
  const auto own = factor(operands[0]);
  const Tensor& below = at(operands[1]);
  if (own && own->is_one()) {
    if (below.form.opcode == "sqrt") return make({"rsqrt", "", {}}, below.operands, kind);
    if (below.form.opcode != "power") return std::nullopt;
    const std::size_t base = below.operands[0];
    const auto exponent = make({"negate", "", {}}, {below.operands[1]}, kind);
    return exponent ? make({"power", "", {}}, {base, *exponent}, kind) : std::nullopt;
  }
  const auto ones = splat({1, 1}, Index(below.sizes));
  const auto inverse = ones ? make(form, {*ones, operands[1]}, kind) : std::nullopt;
  return inverse ? make({"multiply", "", {}}, {operands[0], *inverse}, kind) : std::nullopt;
}

/// What x is, of which this is the inverse; also where that is made wide.
std::optional<std::size_t> Tensors::inverted(std::size_t number) {
  const Tensor& known = at(number);
  if (known.form.opcode == "broadcast") {
    const auto narrow = inverted(known.operands[0]);
    return narrow ? make(known.form, {*narrow}, known.kind) : std::nullopt;
  }
  if (known.form.opcode != "divide") return std::nullopt;
  const auto above = factor(known.operands[0]);
  return above && above->is_one() ? std::optional(known.operands[1]) : std::nullopt;
}

/// x · (1/y) · (1/z) is x · (1/yz).
std::optional<std::size_t> Tensors::with_one_inverse(const Form& form,
                                                     const std::vector<std::size_t>& operands,
                                                     const std::string& kind) {
  if (form.opcode != "multiply" || kind != "float") return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    const auto y = inverted(operands[side]);
    if (!y) continue;
    const std::size_t other = operands[1 - side];
    auto z = inverted(other);
    std::optional<std::size_t> x;
    if (!z && at(other).form.opcode == "multiply") {
      const std::vector<std::size_t> factors = at(other).operands;
      for (std::size_t k = 0; k < 2 && !z; ++k) {
        z = inverted(factors[k]);
        x = factors[1 - k];
      }
    }
    // Of zeros the inverses have signs.
    if (!z || may_be_zero(*y) || may_be_zero(*z)) continue;
    const auto below = make(form, {*y, *z}, kind);
    const auto ones = below ? splat({1, 1}, Index(at(*below).sizes)) : std::nullopt;
    const auto inverse = ones ? make({"divide", "", {}}, {*ones, *below}, kind) : std::nullopt;
    return inverse && x ? make(form, {*x, *inverse}, kind) : inverse;
  }
  return std::nullopt;
}

/// The factor of x · c, and x, if that is how it is made.
std::optional<Tensors::Scaled> Tensors::scaled(std::size_t number) const {
  const Tensor& known = at(number);
  if (known.form.opcode != "multiply") return std::nullopt;
  const std::size_t side = factor(known.operands[0]) ? 0 : 1;
  const auto by = factor(known.operands[side]);
  // Of two constants whose product has larger parts none is a factor.
  return by && !factor(known.operands[1 - side])
             ? std::optional(Scaled{*by, known.operands[1 - side]})
             : std::nullopt;
}

/// x · c; x if c is 1, and −x if it is −1. Nothing where the constant has larger parts.
std::optional<std::size_t> Tensors::scaled_by(std::size_t number, const std::optional<Factor>& by) {
  if (!by) return std::nullopt;
  if (by->is_one()) return number;
  if (by->negated().is_one()) return make({"negate", "", {}}, {number}, "float");
  const auto wide = splat(*by, Index(at(number).sizes));
  return wide ? make({"multiply", "", {}}, {number, *wide}, "float") : std::nullopt;
}

/// x / c is x · (1/c), (x · a) · (y · b) is (x · y) · ab, and −x · c is x · (−c). Negated
/// constants are constants.
std::optional<std::size_t> Tensors::with_one_factor(const Form& form,
                                                    const std::vector<std::size_t>& operands,
                                                    const std::string& kind) {
  const bool is_quotient = form.opcode == "divide";
  if (kind == "float" && form.opcode == "negate") {
    if (const auto one = fraction(operands[0]))
      return splat(one->negated(), Index(at(operands[0]).sizes));
    const auto own = scaled(operands[0]);
    return own ? scaled_by(own->of, own->by.negated()) : std::nullopt;
  }
  if (kind != "float" || (!is_quotient && form.opcode != "multiply")) return std::nullopt;
  std::optional<Factor> all = Factor{};
  std::optional<std::size_t> rest[2];
  int factors = 0;
  for (std::size_t k = 0; k < 2; ++k) {
    std::optional<Factor> by = factor(operands[k]);
    if (!by) {
      const auto own = scaled(operands[k]);
      rest[k] = own ? own->of : operands[k];
      if (!own) continue;
      by = own->by;
    }
    ++factors;
    if (is_quotient && k == 1) by = reduced(by->denominator, by->numerator);
    if (all && by)
      all = reduced(all->numerator * by->numerator, all->denominator * by->denominator);
    else
      all.reset();
  }
  // Signs belong to constants, if there are any.
  bool had_sign = all && all->negated().is_one();
  for (auto& each : rest) {
    if (!each || factors == 0 || at(*each).form.opcode != "negate") continue;
    each = at(*each).operands[0];
    if (all) all = all->negated();
    had_sign = true;
  }
  // A product with one constant is as it should be, and so is 1 / y.
  const auto first = factor(operands[0]);
  const bool is_inverse = is_quotient && first && factors == 1 && rest[1];
  const bool is_one_product = !is_quotient && factors == 1 && !had_sign &&
                              (factor(operands[0]) || factor(operands[1])) && !all->is_one();
  if (factors == 0 || is_one_product || !all || (is_inverse && first->is_one()))
    return std::nullopt;
  if (!rest[0] && !rest[1]) return splat(*all, Index(at(operands[0]).sizes));
  auto product = rest[0] ? rest[0] : rest[1];
  if (rest[1] && (rest[0] || is_quotient)) {
    const auto above = rest[0] ? rest[0] : splat({1, 1}, Index(at(*rest[1]).sizes));
    product = above ? make(form, {*above, *rest[1]}, kind) : std::nullopt;
  }
  return product ? scaled_by(*product, all) : std::nullopt;
}

}  // namespace p2::kernel::xla
