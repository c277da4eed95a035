#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/hlo/interpreter/numbers.h"
#include "p2/float_equality.h"

namespace p2::hlo::interpreter {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kExactIntegers = 9007199254740992.0;  ///< 2^53: doubles hold all below

/// An element as a function of all inputs, evaluated at a random point: equal functions have equal
/// `value`, and different ones do not but with a probability of about 2^-60.
struct Term {
  std::uint64_t value = 0;     ///< modulo kPrime
  std::uint64_t exponent = 0;  ///< modulo kOrder: what an exponential of it is computed from
  /// Contains the function's values, as real numbers or integers before they wrap around.
  double low = 0;
  double high = 0;
  bool nan = false;            ///< or may be NaN for some inputs
  std::uint8_t selection = 0;  ///< as Algebra::selected makes it
  bool unreal = false;         ///< infinite or NaN for almost all inputs
};

/// Numbers by the values of terms: a hash table with linear probing, as values are random.
class ValueTable {
 public:
  /// The number of a value: `number` where it had none.
  std::uint64_t try_emplace(std::uint64_t value, std::uint64_t number) {
    if (2 * (size_ + 1) > entries_.size()) grow();
    Entry& entry = find(value);
    if (entry.value == kNoValue) {
      entry = {value, number};
      ++size_;
    }
    return entry.number;
  }
  std::size_t bytes() const { return entries_.size() * sizeof(Entry); }

 private:
  static constexpr std::uint64_t kNoValue = ~std::uint64_t{0};  // values are below 2^60
  struct Entry {
    std::uint64_t value = kNoValue;
    std::uint64_t number = 0;
  };
  Entry& find(std::uint64_t value) {
    const std::size_t mask = entries_.size() - 1;
    std::size_t place = (value * 0x9E3779B97F4A7C15ULL >> 20U) & mask;
    while (entries_[place].value != value && entries_[place].value != kNoValue) {
      place = (place + 1) & mask;
    }
    return entries_[place];
  }
  void grow() {
    std::vector<Entry> old(std::max<std::size_t>(64, 2 * entries_.size()));
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.value != kNoValue) find(entry.value) = entry;
    }
  }

  std::vector<Entry> entries_;
  std::size_t size_ = 0;
};

/// Whether it is the same number for all inputs; whether that is 0.
inline bool is_constant(const Term& term) { return term.low == term.high; }
inline bool is_infinite_constant(const Term& term) {
  return is_constant(term) && std::isinf(term.low);
}
inline bool is_zero(const Term& term) { return term.low == 0 && term.high == 0; }

/// Random interpretation (Gulwani and Necula, POPL 2003): arithmetic on the real functions that the
/// elements of tensors are, each represented by its value at one random point of a finite field.
/// Sums, products and quotients are those of the field, so all identities of fractions hold and,
/// by the lemma of Schwartz and Zippel, hardly any other. Nonlinear functions are random functions
/// of their arguments. Exponentials are powers of an element of prime order, so e^x e^y = e^(x+y).
/// Maxima are random functions of the set of their arguments. A function of one integer that is
/// compared with numbers, as an index is, is a sum of steps [integer > number].
///
/// Rounding, NaN and overflow are left out, with one exception: 0 · x is 0 only where x is finite
/// for all inputs that are. A selection is 0 where it selects 0, also beside an infinity: select(c,
/// a, 0) is no product with the condition c where a may be infinite (Selections).
///
/// For an equality stricter than that of real numbers, operations on floating-point elements are
/// uninterpreted functions instead, with those identities that rounding keeps (algebra_float.cpp).
class Algebra {
 public:
  /// What a selection by a comparison is, of what may be infinite: a function of its operands, or
  /// linear in those that are selected (algebra.cpp: `selected`). The first finds more products
  /// equal, such as those of two selections; the second sums and multiples, such as gradients of
  /// ReLU on several devices. Selections by other conditions are functions, such as those that
  /// softmax makes where all is masked.
  enum class Selections : std::uint8_t { Uninterpreted, Linear };

  using Cell = Term;
  static constexpr bool kSymbolic = true;
  static constexpr bool kMayRound = true;
  static constexpr bool kHasRanges = false;

  explicit Algebra(std::uint64_t seed, FloatEquality equality = FloatEquality::Real,
                   Selections selections = Selections::Uninterpreted);

  FloatEquality equality() const { return equality_; }
  /// Whether elements of a type are rounded, so that the order of operations on them counts.
  bool rounds(ElementType type) const {
    return equality_ != FloatEquality::Real && (type.is_float() || type.is_complex());
  }

  /// The input of which `keys` names the number, the element and, if they have their own, device.
  Cell input(std::span<const std::uint64_t> keys, ElementType type);
  Cell constant(const LiteralElement& element, ElementType type);
  Cell integer(std::int64_t value, ElementType type);
  /// The value of an integer or boolean that is the same for all inputs.
  std::optional<std::int64_t> as_integer(const Cell& cell, ElementType type);
  /// What may be any number: equal only for equal keys.
  Cell arbitrary(std::uint64_t key, ElementType type);
  Cell apply(const ElementOperation& operation, std::span<const Cell> operands);
  /// The value that an integer has after it wraps around; other values as they are. Functions that
  /// are not sums and products take these.
  Cell exact(const Cell& cell, ElementType type);
  /// An uninterpreted function of cells.
  Cell function(std::string_view name, std::span<const Cell> operands, ElementType type);
  /// The choice whose number is an integer, clamped to those that exist.
  Cell choose(const Cell& index, ElementType index_type, std::span<const Cell> choices,
              ElementType type);
  /// total + update where `condition`, else total.
  Cell sum_where(const Cell& condition, const Cell& total, const Cell& update, ElementType type);
  static std::uint64_t hash(std::uint64_t state, std::uint64_t value);
  bool equal(const Cell& a, const Cell& b, ElementType type);

  /// An operation that combines a list of elements in an order that XLA leaves open.
  struct Reduction {
    std::string_view opcode;  ///< `reduce`, `all-reduce`, `dot`, …
    ElementType type;         ///< of the result
    /// What combines two elements: a binary operation, else the fingerprint of a computation.
    std::optional<Element> combiner = {};
    std::uint64_t fingerprint = 0;
    std::string_view precision = {};            ///< of the products of a dot or a convolution
    std::span<const std::uint32_t> group = {};  ///< the devices, in order
  };
  /// Where elements of any type are rounded: element `output` of the result, a function of the list
  /// in its order or, where the equality allows, of the elements as a set.
  Cell reduced(const Reduction& reduction, std::span<const Cell> elements, const Cell* initial,
               std::size_t output = 0);
  /// The sum of the products of factors, two by two; `types` are theirs.
  Cell contracted(const Reduction& reduction, std::span<const Cell> factors,
                  std::pair<ElementType, ElementType> types);

  struct Accumulator {
    WideUnsigned value = 0;
    WideUnsigned exponent = 0;
    double low = 0;
    double high = 0;
    bool nan = false;
    std::uint8_t selection = 0;
    unsigned pending = 0;
    bool has_rest = false;
    Term rest = {};
  };
  void add_product(Accumulator& sum, const Cell& a, const Cell& b, ElementType type);
  Cell result(Accumulator& sum, ElementType type);
  static constexpr std::size_t kColumns = 4;
  static constexpr std::size_t kRows = 16;
  using Columns = PackedColumns<Cell, kColumns>;
  /// As Numbers::add_products.
  void add_products(std::span<Accumulator> sums, std::span<const Cell> row, const Columns* columns,
                    ElementType type);
  /// What a reducer makes of `first` and all elements, one after the other, if it is a maximum or
  /// minimum of real numbers or truth values.
  std::optional<Cell> extremum(const ElementOperation& reducer, const Cell& first,
                               std::span<const Cell> elements);

  /// How many terms a cell is the maximum of.
  std::size_t members_of(const Cell& cell) const;

  /// Whether a selection was met that may be taken in either way.
  bool met_selections() const { return met_selections_; }
  /// The number of random values drawn: n of them coincide with a probability below n² / 2^60.
  std::uint64_t drawn() const { return drawn_; }
  std::size_t bytes() const {
    return facts_.size() * 120 + exponents_.bytes() + sums_.size() * 100;
  }

 private:
  enum class Kind : std::uint8_t { Maximum, Positive };
  /// What is known of a term besides its value.
  struct Fact {
    Kind kind = Kind::Maximum;
    bool negated = false;            ///< of Positive: 1 − [x > 0]
    std::vector<Term> members = {};  ///< of a maximum, sorted; the x of [x > 0]
  };

  /// A function of one integer, by the parts of its range: where integer ≤ upto, after the piece
  /// before. The last reaches to infinity.
  struct Piece {
    double upto = 0;
    Term value = {};
  };
  struct Piecewise {
    Term integer = {};
    std::vector<Piece> pieces = {};
  };
  /// integer + offset.
  struct Shifted {
    Term integer = {};
    double offset = 0;
  };

  // algebra.cpp: the field
  Term number(double value);
  bool is_nan_constant(const Term& a);
  Term drawn_term(std::uint64_t state, double low, double high);
  /// Infinite or NaN; of two operands, whose order does not matter.
  Term unreal_term(std::uint64_t state);
  Term unreal_pair(std::uint64_t operation, const Term& a, const Term& b);
  Term real_constant_term(double value, ElementType type);
  static Term plain_negated(const Term& a);
  static Term plain_sum(const Term& a, const Term& b);
  static Term plain_product(const Term& a, const Term& b);
  Term simple_sum(const Term& a, const Term& b, ElementType type);
  Term complex_constant_term(const LiteralElement& element);
  Term sum(const Term& a, const Term& b, ElementType type);
  Term negated(const Term& a);
  Term product(const Term& a, const Term& b, ElementType type);
  std::optional<Term> selected(const Term& condition, const Term& yes, const Term& no);
  Term multiplied_selection(const Term& selection, const Term& factor);
  Term inverse(const Term& a);
  Term settled(Term term);
  std::optional<double> known_real(const Term& term) const;
  Term unknown_function(Element code, ElementType type, std::span<const Term> operands, double low,
                        double high);

  // algebra_functions.cpp
  Term real(const ElementOperation& operation, std::span<const Term> operands);
  Term integral(const ElementOperation& operation, std::span<const Term> operands);
  Term exponential(const Term& a, ElementType type);
  Term power(const Term& base, const Term& exponent, ElementType type);
  void add_members(std::vector<Term>& members, const Term& term) const;
  Term maximum_of(std::vector<Term> members, bool nan);
  Term maximum(const Term& a, const Term& b);
  Term maximum(const Term& first, std::span<const Term> elements);
  Term minimum(const Term& a, const Term& b);
  Term unwrapped(const Term& a, ElementType type);
  Term compare(const ElementOperation& operation, const Term& a, const Term& b);
  Term positive(const Term& a);
  Term is_zero(const Term& a);
  Term complement(const Term& a);
  Term select(const Term& condition, const Term& yes, const Term& no, ElementType type);
  Term convert(const Term& a, ElementType from, ElementType to);

  // algebra_piecewise.cpp
  Shifted shifted(const Term& a) const;
  Term step(const Term& integer, double threshold);
  const Piecewise* piecewise(const Term& a) const;
  Term from_pieces(Piecewise all, ElementType type);
  /// f of the pieces' values; nothing unless one of the operands is piecewise and the others are
  /// functions of the same integer or constants.
  using OfPieces = std::function<std::optional<Term>(const std::vector<Term>&)>;
  std::optional<Term> by_pieces(std::initializer_list<const Term*> operands, ElementType type,
                                bool any_other, const OfPieces& function);
  std::optional<Term> wrapped_by_pieces(const Term& a, ElementType type, double low, double high);
  std::optional<Term> compared_by_pieces(Direction direction, const Term& a, const Term& b);
  std::optional<Term> greater_by_pieces(const Term& a, const Term& b);
  std::optional<Term> choose_by_pieces(const Term& index, std::span<const Term> choices,
                                       ElementType type);

  // algebra_float.cpp
  /// The addends of a sum as a multiset: the sums of random numbers for each of them, and for each
  /// of their negations.
  struct Addends {
    std::uint64_t sum = 0;
    std::uint64_t negated = 0;
    std::size_t count = 0;
    Term only = {};  ///< if there is one
  };
  struct Widened {
    Term from = {};
    ElementType type = {};
  };
  Term float_term(std::uint64_t state);
  Term float_constant(double value, ElementType type);
  Term float_constant(const LiteralElement& element, ElementType type);
  std::optional<double> known_float(const Term& a) const;
  bool is_any_zero(const Term& a) const;
  Term float_negated(const Term& a);
  Term float_sum(const Term& a, const Term& b, ElementType type);
  Term float_product(const Term& a, const Term& b, ElementType type);
  Term float_quotient(const Term& a, const Term& b, ElementType type);
  Term float_maximum(const Term& a, const Term& b, ElementType type, bool least);
  Term float_select(const Term& condition, const Term& yes, const Term& no, ElementType type);
  Term float_compare(const ElementOperation& operation, Term a, Term b);
  Term float_convert(const Term& a, ElementType from, ElementType to);
  Term float_operation(const ElementOperation& operation, std::span<const Term> operands);
  void add_addend(Addends& all, const Term& a, ElementType type) const;
  Term sum_of(const Addends& all, ElementType type);

  std::uint64_t seed_;
  FloatEquality equality_;
  Selections selections_;
  bool met_selections_ = false;
  std::uint64_t generator_;  ///< e
  std::uint64_t drawn_ = 0;
  std::unordered_map<std::uint64_t, Fact> facts_;
  ValueTable exponents_;
  /// The last term that was inverted: a tensor is often divided by one broadcast. The reciprocals
  /// of its value and its exponent.
  Term inverted_ = {};
  std::uint64_t inverse_value_ = 0;
  std::uint64_t inverse_exponent_ = 0;
  std::unordered_map<std::uint64_t, Piecewise> piecewise_;
  std::unordered_map<std::uint64_t, Shifted> shifted_;
  std::unordered_map<std::uint64_t, double> reals_;  ///< constants that are no doubles
  // Where floating-point numbers are rounded, by value:
  std::unordered_map<std::uint64_t, double> floats_;    ///< constants
  std::unordered_map<std::uint64_t, Addends> sums_;     ///< sums
  std::unordered_map<std::uint64_t, Widened> widened_;  ///< conversions to a wider type
};

}  // namespace p2::hlo::interpreter
