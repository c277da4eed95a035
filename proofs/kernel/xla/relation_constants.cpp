// Constants as tensors, and what a claim takes as given.

#include <algorithm>
#include <cmath>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {

namespace {

constexpr std::size_t kMaxFolds = 1024;

/// Ends the check where a fold, rounded to its type, is not the constant.
void require_rounded(const Premises::Fold& fold, const Type& type, const std::string& constant) {
  if (!type.is_float() || !is_one_of(fold.opcode, {"multiply", "divide"}))
    malformed("a fold is a product or a quotient of real numbers");
  const double a = real_literal(fold.operands[0], type);
  const double b = real_literal(fold.operands[1], type);
  const double exact = fold.opcode == "multiply" ? a * b : a / b;
  const double value = real_literal(constant, type);
  // With all digits: the smallest numbers of a type have fewer.
  const bool is_near = std::isfinite(exact) && value != 0 &&
                       std::fabs(value - exact) <= std::ldexp(std::fabs(value), -type.digits);
  if (!is_near || rounded(exact, type) != value)
    reject("a constant is not what it is said to be folded from: " + printable(constant));
}

}  // namespace

Premises Premises::read(const Json& problem) {
  Premises premises;
  for (const auto& [key, names] :
       {std::pair("constants", &premises.equal), {"finite", &premises.finite}}) {
    if (!problem.contains(key)) continue;
    for (const Json& each : as_list(problem[key])) names->insert(as_text(each));
  }
  if (!problem.contains("folds")) return premises;
  if (as_list(problem["folds"]).size() > kMaxFolds) malformed("more folds than are read");
  for (const Json& each : as_list(problem["folds"])) {
    const List& words = as_list(each);
    if (words.size() != 5) malformed("a fold is a type, a constant, an operation and two operands");
    const std::string& type = as_text(words[0]);
    const std::string& text = as_text(words[1]);
    const Fold fold{as_text(words[2]), {as_text(words[3]), as_text(words[4])}};
    require_rounded(fold, type_called(type), text);
    const auto fold_of = [&](const std::string& operand) {
      const auto inner = premises.folds.find({type, operand});
      return inner == premises.folds.end() ? nullptr : &inner->second;
    };
    for (const std::string& operand : fold.operands) {
      const Fold* const inner = fold_of(operand);
      if (inner != nullptr && (fold_of(inner->operands[0]) || fold_of(inner->operands[1])))
        malformed("more than two folds in one another");
    }
    for (const auto& [constant, other] : premises.folds) {
      if (constant.first == type && (text == other.operands[0] || text == other.operands[1]))
        malformed("a fold stands before those of its operands");
    }
    if (text == fold.operands[0] || text == fold.operands[1] ||
        !premises.folds.emplace(std::pair(type, text), fold).second)
      malformed("a constant is folded twice: " + printable(text));
  }
  return premises;
}

std::string Premises::words() const {
  std::string text, separator = "; taken as equal: constants ";
  for (const std::string& each : equal) {
    text += separator + printable(each);
    separator = ", ";
  }
  separator = "; read as what they were rounded from: ";
  for (const auto& [constant, fold] : folds) {
    text += separator +
            printable(constant.first + " " + constant.second + " as " + fold.operands[0]) +
            (fold.opcode == "multiply" ? " · " : " / ") + printable(fold.operands[1]);
    separator = ", ";
  }
  return text;
}

std::string Tensors::text_of(const Fraction& fraction) {
  return Json(fraction.numerator + 0.0).dump() + "/" + Json(fraction.denominator).dump();
}

std::size_t Tensors::scalar(std::string_view literal, const Type& type) {
  std::string text;
  if (type.is_float()) {
    Fraction fraction = fraction_of(real_literal(literal, type), type);
    // Binary fractions, as 2^-26, are what they are.
    Fraction binary = fraction;
    while (binary.numerator != std::floor(binary.numerator) && binary.denominator < 0x1p30)
      binary = {2 * binary.numerator, 2 * binary.denominator};
    if (binary.numerator == std::floor(binary.numerator)) fraction = binary;
    text = text_of(fraction);
    if (std::isnan(fraction.numerator)) text = "nan";
    if (std::isinf(fraction.numerator)) text = fraction.numerator > 0 ? "inf" : "-inf";
  } else {
    const auto numbers = make_numbers(0, 0);
    const auto value = numbers->known(numbers->literal(literal, type), type);
    if (!value) not_covered("a constant of type " + std::string(type.name));
    text = std::to_string(*value);
  }
  return intern({{"constant", text, {}}, {}, kind_of(type), {}});
}

std::optional<std::size_t> Tensors::splat(std::size_t scalar, const Index& sizes) {
  return make({"broadcast", "", {{}, sizes}}, {scalar}, std::string(at(scalar).kind));
}

/// What a constant was folded from, if the claim says so.
std::optional<std::size_t> Tensors::unfolded(std::string_view literal, const Type& type) {
  const auto found = premises_.folds.find({std::string(type.name), std::string(literal)});
  if (found == premises_.folds.end()) return std::nullopt;
  std::vector<std::size_t> operands;
  for (const std::string& each : found->second.operands) {
    const auto inner = unfolded(each, type);
    operands.push_back(inner ? *inner : scalar(each, type));
  }
  return make({found->second.opcode, "", {}}, std::move(operands), kind_of(type));
}

std::optional<std::size_t> Tensors::constant(const Instruction& instruction) {
  const auto elements = elements_of(instruction.text);
  const Shape& shape = instruction.shape;
  if (instruction.text.find("...") != std::string::npos) {
    const bool shows_none = trimmed(instruction.text) == "{...}";
    if (!shows_none || !premises_.equal.contains(instruction.name)) return std::nullopt;
    return intern({{"constant", "of the name " + instruction.name, {}},
                   {},
                   kind_of(shape.type),
                   shape.sizes});
  }
  if (elements.empty() || std::ssize(elements) != shape.elements()) return std::nullopt;
  const bool is_one_text = std::all_of(elements.begin(), elements.end(),
                                       [&](std::string_view each) { return each == elements[0]; });
  if (is_one_text && !instruction.is_exact) {
    if (const auto of_operands = unfolded(elements[0], shape.type))
      return shape.sizes.empty() ? of_operands : splat(*of_operands, shape.sizes);
  }
  std::string all;
  bool is_same = true;
  std::size_t first = 0;
  for (std::size_t k = 0; k < elements.size(); ++k) {
    const std::size_t number = scalar(elements[k], instruction.literal_type());
    if (k == 0) first = number;
    is_same = is_same && number == first;
    all += at(number).form.text + " ";
  }
  if (shape.sizes.empty()) return first;
  if (is_same) return splat(first, shape.sizes);
  return intern({{"constant", all, {}}, {}, kind_of(shape.type), shape.sizes});
}

bool Tensors::is_scalar(std::size_t number, const std::string& value) const {
  const Tensor& tensor = at(number);
  return tensor.form.opcode == "constant" && tensor.sizes.empty() && tensor.form.text == value;
}

std::optional<std::int64_t> Tensors::integer(std::size_t number) const {
  const Tensor& tensor = at(number);
  if (tensor.form.opcode == "broadcast") return integer(tensor.operands[0]);
  if (tensor.form.opcode != "constant" || !tensor.sizes.empty() || tensor.kind == "float" ||
      tensor.form.text.starts_with("of the name "))
    return std::nullopt;
  const std::int64_t value = integers_in(tensor.form.text).at(0);
  // Those of u64 beyond 2^63 are written as what they are modulo 2^64.
  return value < 0 && tensor.kind == "u64" ? std::nullopt : std::optional(value);
}

}  // namespace p2::kernel::xla
