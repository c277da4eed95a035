// Functions of integers and truth values: what ranges and constants decide, and one form of sums,
// products and remainders.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {

/// What the elements of an integer tensor are at least, and at most, whatever the inputs are; and
/// of one of real numbers that all are one integer.
std::optional<std::pair<std::int64_t, std::int64_t>> Tensors::range(std::size_t number,
                                                                    int depth) const {
  while (is_one_of(at(number).form.opcode,
                   {"broadcast", "dynamic-slice", "reshape", "reverse", "slice", "transpose"}))
    number = at(number).operands[0];
  if (const auto value = integer(number)) return std::pair(*value, *value);
  const Tensor& known = at(number);
  if (known.kind == "float") {
    const auto value = fraction(number);
    return value && value->denominator == 1
               ? std::optional(std::pair(value->numerator, value->numerator))
               : std::nullopt;
  }
  const Type type = type_called(known.kind);
  if (!type.is_integer()) return std::nullopt;
  if (is_one_of(known.form.opcode, {"maximum", "minimum"}) && type.bits <= 32 && depth > 0) {
    const bool is_signed = type.kind == Type::Kind::Signed;
    const std::int64_t count = std::int64_t{1} << type.bits;
    const std::pair all =
        is_signed ? std::pair(-count / 2, count / 2 - 1) : std::pair(std::int64_t{0}, count - 1);
    const auto a = range(known.operands[0], depth - 1).value_or(all);
    const auto b = range(known.operands[1], depth - 1).value_or(all);
    return known.form.opcode == "maximum"
               ? std::pair(std::max(a.first, b.first), std::max(a.second, b.second))
               : std::pair(std::min(a.first, b.first), std::min(a.second, b.second));
  }
  if (known.form.opcode != "iota") return std::nullopt;
  const std::int64_t last = element_of(known.sizes, known.form.numbers[0][0]) - 1;
  const bool is_number = last < std::int64_t{1} << std::min(type_called(known.kind).bits - 1, 45);
  return last >= 0 && is_number ? std::optional(std::pair(std::int64_t{0}, last)) : std::nullopt;
}

/// A truth value as a number, compared with a constant, is the truth value, its opposite, or one of
/// both.
std::optional<std::size_t> Tensors::compared_truth(const Form& form,
                                                   const std::vector<std::size_t>& operands) {
  const auto other = integer(operands[1]);
  const Tensor& number = at(operands[0]);
  if (!other || number.form.opcode != "convert" || at(number.operands[0]).kind != "pred" ||
      !type_called(number.kind).is_integer())
    return std::nullopt;
  const std::size_t truth = number.operands[0];
  const auto holds = [&](std::int64_t value) -> std::optional<bool> {
    if (form.text == "EQ") return value == *other;
    if (form.text == "NE") return value != *other;
    if (form.text == "LT") return value < *other;
    if (form.text == "LE") return value <= *other;
    if (form.text == "GT") return value > *other;
    if (form.text == "GE") return value >= *other;
    return std::nullopt;
  };
  const auto of_false = holds(0), of_true = holds(1);
  if (!of_false || !of_true) return std::nullopt;
  if (of_false == of_true)
    return splat(scalar(*of_true ? "true" : "false", type_called("pred")), Index(number.sizes));
  return *of_true ? std::optional(truth) : make({"not", "", {}}, {truth}, "pred");
}

/// Comparisons that ranges decide, and choices by a constant, or by the opposite of another.
std::optional<std::size_t> Tensors::decided(const Form& form,
                                            const std::vector<std::size_t>& operands) {
  if (form.opcode == "select") {
    if (const auto condition = integer(operands[0])) return operands[*condition == 0 ? 2 : 1];
    const Tensor& condition = at(operands[0]);
    const bool is_wide = condition.form.opcode == "broadcast";
    const Tensor own = is_wide ? at(condition.operands[0]) : condition;
    if (own.form.opcode != "not") return std::nullopt;
    const auto opposite = is_wide ? make(condition.form, own.operands, "pred") : own.operands[0];
    return opposite ? make(form, {*opposite, operands[2], operands[1]}, at(operands[1]).kind)
                    : std::nullopt;
  }
  if (form.opcode != "compare") return std::nullopt;
  if (const auto truth = compared_truth(form, operands)) return truth;
  const auto a = range(operands[0]);
  const auto b = a ? range(operands[1]) : std::nullopt;
  if (!b) return std::nullopt;
  const bool is_below = a->second < b->first;
  const bool is_above = b->second < a->first;
  const bool is_at_most = a->second <= b->first;
  const bool is_at_least = b->second <= a->first;
  std::optional<bool> truth;
  if (form.text == "EQ" || form.text == "NE") {
    const bool is_same = is_at_most && is_at_least;  // one number each
    if (is_below || is_above || is_same) truth = is_same == (form.text == "EQ");
  } else if (form.text == "LT" || form.text == "GE") {
    if (is_below || is_at_least) truth = is_below == (form.text == "LT");
  } else if (form.text == "LE" || form.text == "GT") {
    if (is_at_most || is_above) truth = is_at_most == (form.text == "LE");
  }
  if (!truth) return std::nullopt;
  return splat(scalar(*truth ? "true" : "false", type_called("pred")),
               Index(at(operands[0]).sizes));
}

/// Sums and differences of integers with constants, modulo 2^bits: x − c is x + (−c), and two
/// constants are one.
std::optional<std::size_t> Tensors::integer_sum(const Form& form,
                                                const std::vector<std::size_t>& operands,
                                                const std::string& kind) {
  const bool is_difference = form.opcode == "subtract";
  if (kind == "float" || (!is_difference && form.opcode != "add")) return std::nullopt;
  const Type type = type_called(kind);
  if (!type.is_integer() || type.bits > 32) return std::nullopt;
  // What it adds up: c and the tensors that are added or subtracted, of which one is another sum.
  struct Terms {
    std::int64_t constant = 0;
    std::optional<std::size_t> plus, minus;
  };
  const auto terms_of = [&](std::size_t number) -> Terms {
    if (const auto value = integer(number)) return {*value, {}, {}};
    const Tensor& known = at(number);
    if (known.form.opcode == "add") {
      for (std::size_t side = 0; side < 2; ++side) {
        const auto value = integer(known.operands[side]);
        if (value) return {*value, known.operands[1 - side], {}};
      }
    }
    const auto value = known.form.opcode == "subtract" ? integer(known.operands[0])
                                                       : std::optional<std::int64_t>();
    return value ? Terms{*value, {}, known.operands[1]} : Terms{0, number, {}};
  };
  Terms all = terms_of(operands[0]);
  Terms second = terms_of(operands[1]);
  const bool has_constant = !all.plus || !second.plus || all.constant != 0 || second.constant != 0;
  if (is_difference) {
    second.constant = -second.constant;
    std::swap(second.plus, second.minus);
  }
  if ((all.plus && second.plus) || (all.minus && second.minus) || !has_constant)
    return std::nullopt;
  std::int64_t sum = all.constant + second.constant;
  const std::int64_t modulus = std::int64_t{1} << type.bits;
  sum = ((sum % modulus) + modulus) % modulus;
  if (type.kind == Type::Kind::Signed && sum >= modulus / 2) sum -= modulus;
  const auto plus = all.plus ? all.plus : second.plus;
  const auto minus = all.minus ? all.minus : second.minus;
  const std::size_t scalar = intern({{"constant", std::to_string(sum), {}}, {}, kind, {}});
  const auto constant = splat(scalar, Index(at(operands[0]).sizes));
  if (!constant || (!plus && !minus)) return constant;
  if (plus && minus) return std::nullopt;
  // As it is already.
  const bool is_one = plus ? !is_difference && (operands[0] == plus || operands[1] == plus)
                           : is_difference && operands[1] == minus;
  if (is_one) return std::nullopt;
  return plus ? make({"add", "", {}}, {*plus, *constant}, kind)
              : make({"subtract", "", {}}, {*constant, *minus}, kind);
}

/// Of integer constants a function of their bits is one.
std::optional<std::size_t> Tensors::computed_bits(const Form& form,
                                                  const std::vector<std::size_t>& operands,
                                                  const std::string& kind) {
  if (!is_one_of(form.opcode, {"and", "multiply", "negate", "not", "or", "shift-left",
                               "shift-right-arithmetic", "shift-right-logical", "xor"}) ||
      kind == "float" || !type_called(kind).is_integer())
    return std::nullopt;
  const Type type = type_called(kind);
  const auto numbers = make_numbers(0, 0);
  std::vector<Cell> cells;
  for (const std::size_t each : operands) {
    const auto value = integer(each);
    if (!value || at(each).kind != kind) return std::nullopt;
    cells.push_back(numbers->integer(*value, type));
  }
  const Elementwise operation{op_called(form.opcode).value(), type, type};
  const auto value = numbers->known(numbers->apply(operation, cells), type);
  if (!value) return std::nullopt;
  const std::size_t one = intern({{"constant", std::to_string(*value), {}}, {}, kind, {}});
  return splat(one, Index(at(operands[0]).sizes));
}

/// The remainder by a power of two keeps the last bits, of the magnitude.
std::optional<std::size_t> Tensors::last_bits(const Form& form,
                                              const std::vector<std::size_t>& operands,
                                              const std::string& kind) {
  const auto divisor =
      form.opcode == "remainder" && kind != "float" && type_called(kind).is_integer()
          ? integer(operands[1])
          : std::optional<std::int64_t>();
  if (!divisor || *divisor < 1 || !std::has_single_bit(static_cast<std::uint64_t>(*divisor)))
    return std::nullopt;
  const Index sizes = at(operands[0]).sizes;
  const auto all = [&](std::int64_t number) {
    return splat(scalar(std::to_string(number), type_called(kind)), sizes).value();
  };
  const std::size_t mask = all(*divisor - 1);
  const std::size_t x = operands[0];
  const auto bits = [&](std::size_t of) { return make({"and", "", {}}, {of, mask}, kind); };
  if (type_called(kind).kind != Type::Kind::Signed) return bits(x);
  const auto is_below = make({"compare", "LT", {}}, {x, all(0)}, "pred");
  const auto minus = make({"negate", "", {}}, {x}, kind);
  const auto size = make({"select", "", {}}, {is_below.value(), minus.value(), x}, kind);
  const auto last = bits(size.value());
  const auto negative = make({"negate", "", {}}, {last.value()}, kind);
  return make({"select", "", {}}, {*is_below, negative.value(), *last}, kind);
}

/// Of integers a product with a truth value is a choice.
std::optional<std::size_t> Tensors::product_of_truth(const Form& form,
                                                     const std::vector<std::size_t>& operands,
                                                     const std::string& kind) {
  if (form.opcode != "multiply" || kind == "float" || !type_called(kind).is_integer())
    return std::nullopt;
  for (std::size_t k = 0; k < 2; ++k) {
    const Tensor& truth = at(operands[k]);
    if (truth.form.opcode != "convert" || at(truth.operands[0]).kind != "pred") continue;
    const std::size_t where = truth.operands[0];
    const std::size_t zeros = zeros_of(kind, Index(truth.sizes));
    return make({"select", "", {}}, {where, operands[1 - k], zeros}, kind);
  }
  return std::nullopt;
}

std::optional<std::size_t> Tensors::of_integers(const Form& form,
                                                const std::vector<std::size_t>& operands,
                                                const std::string& kind) {
  if (const auto simple = decided(form, operands)) return simple;
  if (const auto simple = computed_bits(form, operands, kind)) return simple;
  if (const auto simple = last_bits(form, operands, kind)) return simple;
  if (const auto simple = product_of_truth(form, operands, kind)) return simple;
  return integer_sum(form, operands, kind);
}

}  // namespace p2::kernel::xla
