#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/hlo/equality/index_map.h"
#include "engine/hlo/module.h"
#include "engine/hlo/number.h"
#include "engine/hlo/shape.h"

namespace p2::hlo {

/// Hash-consing of integer sequences: equal sequences have equal numbers, counted from 0.
class Interner {
 public:
  using Sequence = std::span<const std::int64_t>;

  std::uint32_t intern(Sequence sequence);
  Sequence operator[](std::uint32_t number) const { return sequences_[number]; }
  std::size_t size() const { return sequences_.size(); }
  std::size_t bytes() const { return numbers_ * 8 + size() * 56; }

 private:
  std::vector<Sequence> sequences_;
  std::vector<std::unique_ptr<std::int64_t[]>> blocks_;  ///< which never move
  std::int64_t* next_ = nullptr;                         ///< in the last block
  std::size_t room_ = 0;                                 ///< there
  std::size_t numbers_ = 0;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

/// An index map as a sequence, and back.
std::vector<std::int64_t> encode(const IndexMap& map);
IndexMap decode(Interner::Sequence sequence);

/// A symbolic value: an element of a tensor as a function of the inputs of all devices, in a normal
/// form. Equal numbers mean equal functions; different numbers may be equal functions too.
using Value = std::uint32_t;

enum class ValueKind : std::int64_t {
  Number,
  Text,      ///< a constant that Number cannot represent: `inf`, …
  Input,     ///< an element of an input of a device
  Array,     ///< an element of a constant
  Position,  ///< the coordinate itself, of an iota
  Element,   ///< an element of the result of an uninterpreted operation on tensors
  Sum,       ///< constant + Σ coefficient · value
  Product,   ///< Π value ^ exponent
  Maximum,
  Minimum,
  And,
  Or,
  Apply,     ///< an uninterpreted function of values
  Closed,    ///< a reduction over bound variables: a definition, applied to arguments
  Reduction  ///< the definition
};

/// Input, Array, Position or Element: an element, at `map`, of `source`. With binders: the
/// reduction by `reducer` of all elements over the bound variables of the map.
struct Atom {
  ValueKind kind = ValueKind::Input;
  std::int64_t source = 0;
  std::uint32_t device = 0;
  IndexMap map = {};
  Reducer reducer = Reducer::Unknown;
  std::vector<std::int64_t> binders = {};  ///< extents of the variables kBinder, kBinder + 1, …
};
constexpr Variable kBinder = Variable{1} << 40U;

/// A variable that a reduction binds, where it is named.
struct BoundVariable {
  Variable variable = 0;
  std::int64_t extent = 1;
};

/// A variable that a reduction binds, without a name: its strides in all coordinates of an index.
struct Bound {
  std::int64_t extent = 1;
  std::vector<std::int64_t> strides = {};

  bool operator==(const Bound&) const = default;
  bool occurs() const;
};

/// Takes a variable out of an index.
Bound take_out(IndexMap& map, const BoundVariable& variable);
/// The normal form of a set of bound variables: sorted, and nested ones merged to one.
void normalize(std::vector<Bound>& all);

struct LinearTerm {
  Value value = 0;
  Number coefficient = {};
};
struct Linear {
  Number constant = {};
  std::vector<LinearTerm> terms = {};
};

/// What is known of a value of which all inputs are finite.
enum class Finiteness : std::uint8_t {
  Finite,
  MayOverflow,   ///< a function occurs in it: 0 times it may be NaN
  HasNonFinite,  ///< a constant that is infinite or NaN occurs in it: it minus itself may be NaN
};

/// The store of all values, hash-consed.
class Values {
 public:
  Value number(Number number) { return intern({0, number.numerator, number.denominator}); }
  Value text(std::uint32_t fingerprint) { return intern({1, fingerprint}); }
  Value atom(const Atom& atom);
  /// An element of a constant, which `source` identifies; `finite`: all its elements are numbers.
  Value array(std::int64_t source, const IndexMap& map, bool finite);
  /// Sorts `operands` if the function is commutative.
  Value apply(std::uint32_t fingerprint, std::vector<Value> operands, bool commutative);
  /// The normal form of a sum; integer types wrap around. Nothing on overflow of Number, and where
  /// floating-point terms that may be infinite or NaN would cancel each other.
  std::optional<Value> from_linear(Linear linear, ElementType type);
  /// The normal form of a reduction by any reducer but Unknown. Nothing on overflow.
  std::optional<Value> combine(Reducer reducer, const std::vector<Value>& members,
                               ElementType type);

  /// The reduction of `body` over variables that all occur in it; the reducer is not Unknown.
  Value reduction(Reducer reducer, Value body, const std::vector<BoundVariable>& variables);
  /// Is told of work, in units of a term of a sum, and may throw LimitReached.
  std::function<void(std::uint64_t)> on_work = [](std::uint64_t) {};

  /// For modules of which one is partitioned: members of a reduction are joined where they are one
  /// function at indices in arithmetic progression, or parts of a range that follow each other, and
  /// a sum of positions is one position of an affine coordinate.
  bool joins_ranges = false;

  Finiteness finiteness(Value value) const { return finiteness_[value]; }
  ValueKind kind(Value value) const { return static_cast<ValueKind>(store_[value][0]); }
  bool is_atom(Value value) const;
  std::optional<Number> as_number(Value value) const;
  Atom as_atom(Value value) const;
  /// Any value as a linear combination, if need be 0 + 1 · value.
  Linear as_linear(Value value) const;
  /// How many terms that has.
  std::size_t terms(Value value) const;
  /// The direct subterms.
  std::vector<Value> children(Value value) const;
  /// Of an Apply or a Text.
  std::uint32_t fingerprint(Value value) const {
    return static_cast<std::uint32_t>(store_[value][1]);
  }
  /// Of a Product: values with their exponents.
  std::vector<std::pair<Value, std::int64_t>> factors(Value value) const;
  /// All subterms and the value itself, subterms first.
  std::vector<Value> subterms(Value value) const;
  /// Whether one of the variables occurs in a value.
  bool depends_on(Value value, const std::vector<Variable>& variables) const;
  /// A function of the coordinates of its atoms, the variables of a reduction, and the arguments.
  struct Opened {
    Value skeleton = 0;
    std::vector<Bound> box = {};
    IndexMap arguments = {};
  };
  /// A reduction by `reducer`, or any value as one over no variables.
  Opened opened(Value value, Reducer reducer);
  /// Defines an element of a tensor, a function of variables, as an atom: equal functions, of
  /// whatever arguments, are then that atom by folded(). What it is an atom of, as an index of
  /// these variables; nothing where the arguments of the value do not determine each other.
  std::optional<Atom> define(std::int64_t source, Value value);
  /// A value with what has been defined, its terms and itself, as atoms of the definitions.
  Value folded(Value value, ElementType type);
  Reducer reducer_of_closed(Value value) const {
    return static_cast<Reducer>(store_[definition(value)][1]);
  }

  std::uint32_t intern_map(const IndexMap& map) { return maps_.intern(encode(map)); }
  IndexMap map(std::uint32_t number) const { return decode(maps_[number]); }
  Offsets& offsets() { return offsets_; }
  const Offsets& offsets() const { return offsets_; }
  std::size_t bytes() const { return store_.bytes() + maps_.bytes(); }

 private:
  Value intern(const std::vector<std::int64_t>& sequence);
  /// Whether it is an atom or Closed: as_atom() then gives the map.
  bool has_map(Value value) const { return is_atom(value) || kind(value) == ValueKind::Closed; }
  std::span<const Variable> free_of(Value value) const { return variable_sets_[free_[value]]; }
  /// A function that has a name. An argument is the sum of multiples of some of the arguments, the
  /// index of the atom, and an offset.
  struct Named {
    struct Dependent {
      std::vector<std::int64_t> factors;
      std::int64_t offset = 0;
    };
    std::int64_t source = 0;
    std::vector<std::size_t> index = {};
    std::vector<Dependent> arguments = {};
  };
  static std::optional<IndexMap> index_of(const Named& named, const IndexMap& arguments);
  std::optional<Value> named(Value value);
  Value definition(Value value) const { return static_cast<Value>(store_[value][1]); }
  bool is_reduction(Value value, Reducer reducer) const;
  std::vector<Variable> free_variables(const Atom& atom) const;
  std::vector<std::int64_t> form_of(Value value) const;
  Opened generalized(Value value);
  Value closed(Reducer reducer, Opened opened);
  Value rebuilt(Value value, const std::unordered_map<Value, Value>& parts);
  Value replaced(Value value, std::unordered_map<Value, Value> done);
  std::vector<std::int64_t> join_key(Value value, Reducer reducer) const;
  std::optional<std::vector<Value>> joined(Reducer reducer, const std::vector<Value>& members);
  std::optional<Value> with_folded_positions(const Linear& linear, ElementType type);
  std::optional<Value> with_joined(Value value, ElementType type);
  std::optional<Value> total(const std::vector<Value>& members, ElementType type);
  std::optional<Value> product(const std::vector<Value>& members, ElementType type);
  std::vector<Value> leaves_of(Value value) const;

  Interner store_;
  Interner maps_;
  Offsets offsets_;
  Interner variable_sets_;              ///< sorted
  std::vector<std::uint32_t> free_;     ///< by value: the variables that occur, but for bound ones
  std::vector<Finiteness> finiteness_;  ///< by value
  std::unordered_set<std::int64_t> not_finite_;  ///< sources of constants
  Interner forms_;
  /// By value: what it has in common with the same function of other arguments.
  std::vector<std::uint32_t> form_;
  std::unordered_map<Value, std::vector<Named>> named_;  ///< by skeleton
  std::unordered_set<std::int64_t> not_finite_names_;    ///< sources of Element
};

/// A number modulo 2^bits, in the range of an integer type; unchanged for other types.
Number wrap_around(Number number, ElementType type);

}  // namespace p2::hlo
