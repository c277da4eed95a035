#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proofs/kernel/xla/module.h"

namespace p2::kernel::xla {

/// An element of a tensor. Its meaning is that of the arithmetic that made it.
struct Cell {
  /// As a term: its value at a random point, modulo a prime. As a number: an integer or boolean.
  std::uint64_t value = 0;
  /// As a term: the same modulo the order of the exponential's base.
  std::uint64_t exponent = 0;
  /// As a term: bounds of its values for all inputs. As a number: `low` is a real number.
  double low = 0, high = 0;
  bool nan = false;  ///< as a term: may be NaN or not a number at all; as a number: is arbitrary

  bool is_known() const { return low == high && !nan; }  ///< of terms
};
using Cells = std::span<const Cell>;

/// Elementwise operations, by their opcodes.
enum class Op : std::uint8_t {
  Abs,
  Add,
  And,
  Ceil,
  Clamp,
  Compare,
  Convert,
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
  Negate,
  Not,
  Or,
  Popcount,
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
  Xor,
  BitcastConvert,
  Cbrt,
  Atan2,
  CountLeadingZeros
};
std::optional<Op> op_called(const std::string& opcode);

enum class Direction : std::uint8_t { Eq, Ne, Lt, Le, Gt, Ge };

struct Elementwise {
  Op op = Op::Add;
  Type from, to;
  Direction direction = Direction::Eq;
};

/// A keyed pseudo-random function (SipHash-2-4, Aumasson and Bernstein 2012).
class Hash {
 public:
  Hash(std::uint64_t first, std::uint64_t second);
  Hash& add(std::uint64_t value);
  Hash& add(std::string_view text);
  std::uint64_t result() const;

 private:
  void round();
  std::uint64_t v_[4];
};

/// What cells are and how they are computed with.
class Arithmetic {
 public:
  Arithmetic() = default;
  Arithmetic(const Arithmetic&) = delete;
  Arithmetic& operator=(const Arithmetic&) = delete;
  virtual ~Arithmetic() = default;

  /// The input of these numbers: its own, the element's and, where they are free, the device's.
  virtual Cell input(std::span<const std::uint64_t> keys, const Type& type) = 0;
  virtual Cell literal(std::string_view text, const Type& type) = 0;
  virtual Cell integer(std::int64_t value, const Type& type) = 0;
  /// An integer or boolean that is the same for all inputs.
  virtual std::optional<std::int64_t> known(const Cell& cell, const Type& type) = 0;
  /// Whether two cells of one type are equal for all inputs; of numbers, up to their rounding.
  virtual bool same(const Cell& a, const Cell& b, const Type& type) = 0;
  virtual Cell apply(const Elementwise& operation, Cells operands) = 0;
  /// What may be anything, and is equal to nothing else.
  virtual Cell arbitrary(const Type& type) = 0;
  /// A function of which nothing is known but its name.
  virtual Cell function(std::string_view name, Cells operands, const Type& type) = 0;
  /// The choice whose number `index` is, clamped to those that exist.
  virtual Cell choose(const Cell& index, const Type& index_type, Cells choices,
                      const Type& type) = 0;
};

/// Terms in the inputs (docs/certificates.md). `first` and `second` are secret.
std::unique_ptr<Arithmetic> make_terms(std::uint64_t first, std::uint64_t second);

/// Real numbers in double precision, integers that wrap around in their types. Inputs are drawn by
/// `seed`, in the way `draw` (docs/certificates.md).
constexpr std::uint32_t kDraws = 4;
std::unique_ptr<Arithmetic> make_numbers(std::uint32_t draw, std::uint64_t seed);

/// The integer of a type that is `value` modulo 2^bits.
std::int64_t wrapped(std::uint64_t value, const Type& type);
/// One operation on real numbers, or on integers in their type.
Cell computed(const Elementwise& operation, Cells operands);
/// The simplest fraction that rounds to the constant as its type does; a denominator of 1 where
/// there is none with a denominator up to 10^7.
struct Fraction {
  double numerator = 0, denominator = 1;
};
Fraction fraction_of(double value, const Type& type);
double real_literal(std::string_view text, const Type& type);

}  // namespace p2::kernel::xla
