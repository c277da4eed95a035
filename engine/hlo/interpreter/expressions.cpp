// Elements as expressions of the inputs.

#include "engine/hlo/interpreter/expressions.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "engine/hlo/interpreter/algebra.h"

namespace p2::hlo::interpreter {
namespace {

using Node = Expressions::Node;

bool same(const Node& a, const Node& b) {
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  return a.kind == b.kind && a.type == b.type && a.code == b.code && a.direction == b.direction &&
         a.total_order == b.total_order && a.from == b.from && a.integer == b.integer &&
         a.name == b.name && a.count == b.count &&
         bits(a.real.numerator) == bits(b.real.numerator) &&
         bits(a.real.denominator) == bits(b.real.denominator);
}

std::uint64_t hash_of(const Node& node, std::span<const std::uint32_t> operands) {
  const auto kind = static_cast<std::uint64_t>(node.kind);
  const auto code = static_cast<std::uint64_t>(node.code);
  const auto direction = static_cast<std::uint64_t>(node.direction);
  std::uint64_t state = Algebra::hash(kind, code << 8U | direction);
  state = Algebra::hash(state, node.type.index() | std::uint64_t{node.from.index()} << 8U);
  state = Algebra::hash(state, static_cast<std::uint64_t>(node.integer) ^ node.name);
  state = Algebra::hash(state, std::bit_cast<std::uint64_t>(node.real.numerator));
  for (const std::uint32_t operand : operands) state = Algebra::hash(state, operand);
  return state;
}

}  // namespace

Expression Expressions::added(Node node, std::span<const std::uint32_t> operands) {
  node.count = static_cast<std::uint32_t>(operands.size());
  const std::uint64_t hash = hash_of(node, operands);
  const auto [begin, end] = known_.equal_range(hash);
  for (auto found = begin; found != end; ++found) {
    if (same(nodes_[found->second], node) &&
        std::ranges::equal(this->operands(found->second), operands)) {
      return {found->second};
    }
  }
  const auto number = static_cast<std::uint32_t>(nodes_.size());
  node.first = static_cast<std::uint32_t>(operands_.size());
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  nodes_.push_back(node);
  known_.emplace(hash, number);
  return {number};
}

Expression Expressions::input(std::span<const std::uint64_t> keys, ElementType type) {
  const auto [found, is_new] =
      input_numbers_.try_emplace(std::vector(keys.begin(), keys.end()), inputs_.size());
  if (is_new) inputs_.push_back(found->first);
  Node node{Kind::Input, type};
  node.name = found->second;
  return added(node, {});
}

Expression Expressions::arbitrary(std::uint64_t key, ElementType type) {
  const std::uint64_t keys[] = {0xA4B, key};
  return input(keys, type);
}

Expression Expressions::real(Fraction value, ElementType type) {
  Node node{Kind::Real, type};
  node.real = value;
  if (value.numerator == 0) node.real.numerator = 0;  // −0 is 0
  return added(node, {});
}

Expression Expressions::constant(const LiteralElement& element, ElementType type) {
  if (type.is_complex()) {
    return function(fmt::format("complex {} {}", element.text, real_constant(element)), {}, type);
  }
  if (type.is_float()) return real(fraction_of(real_constant(element), type), type);
  return integer(Numbers().constant(element, type).integer, type);
}

Expression Expressions::integer(std::int64_t value, ElementType type) {
  if (type.is_float()) return real({static_cast<double>(value), 1}, type);
  Node node{Kind::Integer, type};
  node.integer = wrapped(static_cast<std::uint64_t>(value), type);
  return added(node, {});
}

std::optional<std::int64_t> Expressions::as_integer(const Cell& cell, ElementType /*type*/) const {
  const Node& node = nodes_[cell.value];
  return node.kind == Kind::Integer ? std::optional(node.integer) : std::nullopt;
}

Expression Expressions::function(std::string_view name, std::span<const Cell> operands,
                                 ElementType type) {
  const auto [found, is_new] = name_numbers_.try_emplace(std::string(name), names_.size());
  if (is_new) names_.push_back(found->first);
  Node node{Kind::Function, type};
  node.name = found->second;
  std::vector<std::uint32_t> all;
  for (const Cell& operand : operands) all.push_back(operand.value);
  return added(node, all);
}

/// The number of a constant.
std::optional<Scalar> Expressions::known(const Cell& cell) const {
  const Node& node = nodes_[cell.value];
  if (node.kind == Kind::Integer) return Scalar{0, node.integer};
  if (node.kind == Kind::Real) return Scalar{node.real.numerator / node.real.denominator, 0};
  return std::nullopt;
}

/// An operation that needs no expression of its own.
std::optional<Expression> Expressions::simplified(const ElementOperation& operation,
                                                  std::span<const Cell> operands) {
  const ElementType to = operation.to;
  if (operation.code == Element::Select) {
    const auto condition = as_integer(operands[0], {});
    if (condition) return operands[*condition != 0 ? 1 : 2];
    if (operands[1].value == operands[2].value) return operands[1];
  }
  const bool gates = operation.code == Element::And || operation.code == Element::Or;
  if (gates && to.kind() == ElementType::Kind::Boolean) {
    for (const std::size_t k : {0, 1}) {
      const auto value = as_integer(operands[k], to);
      if (value)
        return (*value != 0) == (operation.code == Element::And) ? operands[1 - k] : operands[k];
    }
  }
  std::vector<Scalar> numbers;
  for (const Cell& operand : operands) {
    const auto number = known(operand);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  if (to.is_complex()) return std::nullopt;
  if (!to.is_float()) {
    const Scalar result = Numbers().apply(operation, numbers);
    return result.arbitrary ? std::nullopt : std::optional(integer(result.integer, to));
  }
  if (operation.code == Element::Convert && !operation.from.is_float()) {
    const double converted = Numbers().apply(operation, numbers).real;
    if (std::abs(converted) < kExactIntegers) return real({converted, 1}, to);
  }
  return std::nullopt;
}

Expression Expressions::apply(const ElementOperation& operation, std::span<const Cell> operands) {
  const ElementType to = operation.to;
  if (operation.code == Element::Clamp) {
    const Cell low[] = {operands[0], operands[1]};
    const Cell high[] = {apply({Element::Maximum, {}, to, to}, low), operands[2]};
    return apply({Element::Minimum, {}, to, to}, high);
  }
  if (const auto simple = simplified(operation, operands)) return *simple;
  Node node{Kind::Operation, to, operation.code, operation.direction};
  if (operation.code != Element::Compare) node.direction = Direction::Eq;
  node.total_order = operation.code == Element::Compare && orders_totally(operation);
  node.from = operation.from;
  std::vector<std::uint32_t> all;
  for (const Cell& operand : operands) all.push_back(operand.value);
  if (is_commutative(operation.code)) std::ranges::sort(all);
  return added(node, all);
}

Expression Expressions::chosen(const Cell& index, ElementType index_type,
                               std::span<const Cell> choices, std::int64_t first,
                               ElementType type) {
  if (choices.size() == 1) return choices[0];
  const std::size_t half = choices.size() / 2;
  const Cell bound = integer(first + static_cast<std::int64_t>(half) - 1, index_type);
  const Cell compared[] = {index, bound};
  const Cell parts[] = {
      apply({Element::Compare, Direction::Le, index_type, *ElementType::from_xla("pred")},
            compared),
      chosen(index, index_type, choices.first(half), first, type),
      chosen(index, index_type, choices.subspan(half), first + static_cast<std::int64_t>(half),
             type)};
  return apply({Element::Select, {}, type, type}, parts);
}

Expression Expressions::choose(const Cell& index, ElementType index_type,
                               std::span<const Cell> choices, ElementType type) {
  std::int64_t last = 0;  // that an index of this type can name
  while (last + 1 < static_cast<std::int64_t>(choices.size()) &&
         wrapped(static_cast<std::uint64_t>(last + 1), index_type) == last + 1) {
    ++last;
  }
  return chosen(index, index_type, choices.first(static_cast<std::size_t>(last + 1)), 0, type);
}

Expression Expressions::sum_where(const Cell& condition, const Cell& total, const Cell& update,
                                  ElementType type) {
  const Cell parts[] = {condition, update, integer(0, type)};
  const Cell both[] = {total, apply({Element::Select, {}, type, type}, parts)};
  return apply({Element::Add, {}, type, type}, both);
}

void Expressions::add_product(Accumulator& sum, const Cell& a, const Cell& b, ElementType type) {
  const Cell factors[] = {a, b};
  const Cell product = apply({Element::Multiply, {}, type, type}, factors);
  const Cell both[] = {sum.total.value_or(product), product};
  sum.total = sum.total ? apply({Element::Add, {}, type, type}, both) : product;
}

void Expressions::add_products(std::span<Accumulator> sums, std::span<const Cell> row,
                               const Columns* columns, ElementType type) {
  for (std::size_t k = 0; k < row.size(); ++k)
    add_product(sums[0], row[k], columns[k].cells[0], type);
}

Expression Expressions::result(const Accumulator& sum, ElementType type) {
  return sum.total ? *sum.total : integer(0, type);
}

}  // namespace p2::hlo::interpreter
