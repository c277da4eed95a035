#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/hlo/module.h"

namespace p2::hlo::interpreter {

/// The operations of XLA on single elements.
enum class Element : std::uint8_t {
  Abs,
  Add,
  And,
  Atan2,
  BitcastConvert,
  Cbrt,
  Ceil,
  Clamp,
  Compare,
  Convert,
  CountLeadingZeros,
  Cosine,
  Divide,
  Erf,
  Exponential,
  ExponentialMinusOne,
  Floor,
  IsFinite,
  Log,
  LogPlusOne,
  Logistic,
  Maximum,
  Minimum,
  Multiply,
  MultiplyHigh,
  Negate,
  Not,
  Or,
  PopulationCount,
  Power,
  ReducePrecision,
  Remainder,
  RoundAway,
  RoundEven,
  Rsqrt,
  Select,
  ShiftLeft,
  ShiftRightArithmetic,
  ShiftRightLogical,
  Sign,
  Sine,
  Sqrt,
  Subtract,
  Tan,
  Tanh,
  Xor
};

enum class Direction : std::uint8_t { Eq, Ne, Lt, Le, Gt, Ge };
/// Whether a comparison of two numbers holds.
template <typename T>
bool holds(Direction direction, T a, T b) {
  switch (direction) {
    case Direction::Eq:
      return a == b;
    case Direction::Ne:
      return a != b;
    case Direction::Lt:
      return a < b;
    case Direction::Le:
      return a <= b;
    case Direction::Gt:
      return a > b;
    case Direction::Ge:
      return a >= b;
  }
  return false;
}

/// One of them, with its types.
struct ElementOperation {
  Element code = Element::Add;
  Direction direction = Direction::Eq;  ///< of a comparison
  ElementType from = {};                ///< of the last operand
  ElementType to = {};                  ///< of the result
  std::string_view attributes = {};     ///< Attributes::others of its instruction
  std::string_view accuracy = {};       ///< Attributes::accuracy
};

/// Whether a comparison is of IEEE 754's total order.
inline bool orders_totally(const ElementOperation& comparison) {
  return comparison.attributes.find("TOTALORDER") != std::string_view::npos;
}

/// The operation of an opcode; nothing for any other.
std::optional<Element> element_of(std::string_view opcode);
std::size_t number_of_operands(Element code);
/// Nothing for an unknown direction.
std::optional<Direction> direction_of(std::string_view text);
/// Whether f(a, b) = f(b, a).
bool is_commutative(Element code);

}  // namespace p2::hlo::interpreter
