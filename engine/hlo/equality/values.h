#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/hlo/equality/index_map.h"
#include "engine/hlo/number.h"
#include "engine/hlo/reducer.h"
#include "engine/hlo/shape.h"

namespace p2::hlo {

/// What an element of a tensor is, as a function of the inputs of all devices. Equal numbers, equal
/// functions; where numbers differ, functions may still be the same.
using Value = std::uint32_t;

enum class ValueKind : std::int64_t {
  Number,
  Text,      ///< a constant that is no number of ours: `inf`, …
  Input,     ///< an element of an input of a device
  Array,     ///< an element of a constant
  Position,  ///< the coordinate itself, of an iota
  Element,   ///< an element of what an operation that is not understood computes
  Sum,       ///< constant + Σ coefficient · value
  Product,   ///< Π value ^ exponent
  Maximum,
  Minimum,
  And,
  Or,
  Apply  ///< an operation that is not understood, of values
};

/// Input, Array, Position or Element: `source` says of what, `map` where. With binders it stands
/// for all values of those variables of the map, put together by `reducer`.
struct Atom {
  ValueKind kind = ValueKind::Input;
  std::int64_t source = 0;
  std::uint32_t device = 0;
  IndexMap map = {};
  Reducer reducer = Reducer::Unknown;
  std::vector<std::int64_t> binders = {};  ///< extents of the variables kBinder, kBinder + 1, …
};
constexpr Variable kBinder = Variable{1} << 40U;

struct LinearTerm {
  Value value = 0;
  Number coefficient = {};
};
struct Linear {
  Number constant = {};
  std::vector<LinearTerm> terms = {};
};

/// The store of all values: each is kept once.
class Values {
 public:
  Value number(Number number) { return intern({0, number.numerator, number.denominator}); }
  Value text(std::uint32_t fingerprint) { return intern({1, fingerprint}); }
  Value atom(const Atom& atom);
  /// `operands` in their order; sorted where the operation is commutative.
  Value apply(std::uint32_t fingerprint, std::vector<Value> operands, bool commutative);
  /// Sorts and adds up; wraps coefficients of integer types. Nothing where a number gets too large.
  std::optional<Value> of(Linear linear, ElementType type);
  /// What `reducer`, one of those but Add, makes of `members`. Nothing as above.
  std::optional<Value> combine(Reducer reducer, const std::vector<Value>& members,
                               ElementType type);

  ValueKind kind(Value value) const { return static_cast<ValueKind>(store_[value][0]); }
  bool is_atom(Value value) const;
  std::optional<Number> as_number(Value value) const;
  Atom as_atom(Value value) const;
  Linear as_linear(Value value) const;
  /// The values directly inside, and of an Apply or Text its fingerprint.
  std::vector<Value> parts(Value value) const;
  std::uint32_t fingerprint(Value value) const {
    return static_cast<std::uint32_t>(store_[value][1]);
  }
  /// Of a Product.
  std::vector<std::pair<Value, std::int64_t>> factors(Value value) const;
  /// Everything inside, and itself, parts first.
  std::vector<Value> inside(Value value) const;
  /// Whether a value changes with one of the variables.
  bool depends(Value value, const std::vector<Variable>& variables) const;

  std::uint32_t intern_map(const IndexMap& map) { return maps_.of(encode(map)); }
  IndexMap map(std::uint32_t number) const { return decode(maps_[number]); }
  Offsets& offsets() { return offsets_; }
  const Offsets& offsets() const { return offsets_; }
  std::size_t bytes() const { return store_.bytes() + maps_.bytes(); }

 private:
  Value intern(const std::vector<std::int64_t>& sequence) { return store_.of(sequence); }
  std::optional<Value> product(const std::vector<Value>& members, ElementType type);

  Interner store_;
  Interner maps_;
  Offsets offsets_;
};

/// A number as an integer of `type` holds it: modulo 2^bits. Others stay as they are.
Number wrapped(Number number, ElementType type);

}  // namespace p2::hlo
