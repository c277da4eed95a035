#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encodings/z3/terms.h"
#include "engine/hlo/interpreter/expressions.h"

/// Private to this folder: the elements of two modules, which are expressions of their inputs, as
/// terms of Z3: real numbers, integers, Booleans and uninterpreted functions.
namespace p2::z3_encoding {

/// The bounds of a number.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool has(double number) const { return low <= number && number <= high; }
  bool within(const Interval& other) const { return low >= other.low && high <= other.high; }
  Interval operator-() const { return {-high, -low}; }
};
/// Rounded as doubles are; without bounds where these are no numbers.
Interval operator+(const Interval& a, const Interval& b);
Interval operator*(const Interval& a, const Interval& b);
Interval hull(const Interval& a, const Interval& b);

/// A bound that was computed in floating point is widened by so much of itself.
inline constexpr double kMargin = 1e-12;

/// Which values of an expression are no real numbers.
struct Special {
  z3::expr above;  ///< +∞
  z3::expr below;  ///< −∞
  z3::expr nan;
};

/// What an expression is in Z3: a Real, an Int whose value counts modulo 2^bits, or a Bool.
struct Term {
  z3::expr value;
  std::optional<Special> special = {};  ///< absent: always a real number
  Interval bounds = {};                 ///< of `value`, or of what is no overflow
  bool in_range = false;                ///< of an Int: `value` is in the range of the type
  bool steps = false;  ///< may be constant for more than a few inputs, so may vanish for them
  /// `value` as a choice among numbers, where it is one.
  std::optional<z3::expr> cases = {};
  double monomials = 1;  ///< of a Real, about, once products of sums are sums of products
  double factors = 1;    ///< of the longest product in it, about
};

inline bool is_boolean(hlo::ElementType type) {
  return type.kind() == hlo::ElementType::Kind::Boolean;
}
inline bool is_unsigned(hlo::ElementType type) {
  return type.kind() == hlo::ElementType::Kind::Unsigned;
}
/// Whether elements are taken as real numbers; those of complex and unknown types are only equal or
/// not.
inline bool is_real(hlo::ElementType type) { return !type.is_integer() && !is_boolean(type); }

/// The numbers of an integer type, or the finite ones of another.
Interval range_of(hlo::ElementType type);

inline bool is_symbol(const z3::expr& term) {
  return term.is_const() && term.decl().decl_kind() == Z3_OP_UNINTERPRETED;
}

inline bool is_null(const z3::expr& term) {
  return term.is_numeral() && std::string_view(Z3_get_numeral_string(term.ctx(), term)) == "0";
}

/// The terms of expressions. All that builds them throws LimitReached where the meter's limits are
/// reached.
class Translation {
 public:
  using ElementType = hlo::ElementType;
  using Element = hlo::interpreter::Element;
  using Expressions = hlo::interpreter::Expressions;

  Translation(z3::context& context, const Expressions& expressions, const Meter& meter);

  const Term& of(std::uint32_t expression);
  /// What holds iff two elements differ.
  z3::expr difference(const Term& a, const Term& b, ElementType type);
  /// Asserts a term, and what is known of the symbols in it. The inputs among them, by number.
  std::map<std::uint32_t, z3::expr> add_to(z3::solver& solver, const z3::expr& term);

 private:
  using Operands = std::vector<std::pair<Term, ElementType>>;
  /// What a term was replaced with; both are kept, so that no other term gets their numbers.
  struct Replacement {
    z3::expr from;
    z3::expr to;
  };
  struct Input {
    z3::expr symbol;
    std::uint32_t number;
  };

  // module_terms.cpp: constants, symbols, functions, integers and Booleans
  z3::expr truth(bool value) { return context_.bool_val(value); }
  z3::expr number(double value);
  z3::expr power_of_two(unsigned bits);
  z3::sort sort_of(ElementType type);
  /// Once in a few hundred calls, throws LimitReached where a limit is reached.
  void step() const {
    if (++steps_ % kCheckInterval == 0) meter_.checkpoint();
  }
  /// Sums and products in a normal form, as far as they do not become too long.
  z3::expr normal(const z3::expr& term) const;
  /// A symbol for a term, the same for the same one; constants and symbols stay.
  z3::expr named(const z3::expr& term);
  z3::expr symbol_for(const z3::expr& term);
  void add_fact(const z3::expr& symbol, const z3::expr& fact);
  /// Factors whose product would be too long become symbols.
  void shorten(Term& a, Term& b);
  Term constant(hlo::interpreter::Fraction value);
  Term integer_constant(std::int64_t value, ElementType type);
  Term input(std::uint32_t number, ElementType type);
  Term symbol(const z3::expr& value, ElementType type);
  /// An uninterpreted function of terms.
  Term function(const std::string& name, const Operands& operands, ElementType type);
  Term function(Element code, const std::vector<Term>& operands, ElementType type);
  /// The value modulo 2^bits, in the range of the type.
  z3::expr wrapped(const Term& a, ElementType type);
  Term wrapped_term(Term a, ElementType type);
  Term integer_product(const Term& a, const Term& b);
  std::optional<Term> integer_by_constant(Element code, const Term& x, std::int64_t by,
                                          ElementType type);
  Term integer_function(Element code, const std::vector<Term>& operands, ElementType type);
  Term boolean_function(Element code, const std::vector<Term>& operands, ElementType type);
  z3::expr compared(const Expressions::Node& node, const Term& a, const Term& b);
  Term converted(const Term& a, ElementType from, ElementType to);

  // module_reals.cpp: real numbers, infinities and NaNs
  static bool is_zero(const Term& a) { return !a.special && is_null(a.value); }
  static bool may_vanish(const Term& a) { return a.steps && a.bounds.has(0); }
  static bool is_finite(const Term& a, ElementType type);
  /// Without bounds where it may overflow its type, hence be infinite.
  static Term bounded(Term term, ElementType type);
  std::optional<double> known_real(const Term& a) const;
  Special special_of(const Term& a);
  static z3::expr ordinary(const Special& special) {
    return !special.above && !special.below && !special.nan;
  }
  static Term with_special(Term term, const z3::expr& above, const z3::expr& below,
                           const z3::expr& nan);
  bool cancels(const Term& a);
  static z3::expr scaled(const z3::expr& cases, const z3::expr& value, const z3::expr& open);
  static Term negated(const Term& a);
  Term sum(const Term& a, const Term& b, ElementType type);
  Term product(const Term& a, const Term& b, ElementType type);
  Term product_with_special(Term product, const Term& a, const Term& b);
  Term inverse(const Term& a, ElementType type);
  Term power(const Term& base, const Term& exponent, ElementType type);
  Term exponential(const Term& a, ElementType type);
  Term sign(const Term& a, ElementType type);
  Term choice(const z3::expr& condition, const Term& yes, const Term& no, ElementType type);
  Term extreme(std::vector<Term> all, bool largest, ElementType type);
  Term real_function(Element code, const std::vector<Term>& operands, ElementType type);

  // module_equality.cpp: expressions, and what Z3 is given of their terms
  Term operation(const Expressions::Node& node, const std::vector<Term>& operands);
  std::vector<std::uint32_t> leaves_of(std::uint32_t expression) const;
  std::vector<std::uint32_t> parts_of(std::uint32_t expression) const;
  Term translated(std::uint32_t expression, const std::vector<std::uint32_t>& parts);
  /// A term with products as applications of an uninterpreted function: normal forms know what
  /// products are, and Z3 then has linear arithmetic alone, which it decides.
  z3::expr linear(const z3::expr& term);
  z3::expr product_of(const z3::expr& term, const std::vector<z3::expr>& factors);

  static constexpr std::size_t kCheckInterval = 256;

  z3::context& context_;
  const Expressions& expressions_;
  const Meter& meter_;
  z3::params normal_;
  mutable std::size_t steps_ = 0;
  std::vector<std::optional<Term>> terms_;
  std::map<unsigned, std::vector<z3::expr>> facts_;  ///< by the number of a symbol
  std::map<unsigned, Input> inputs_;                 ///< likewise
  std::map<unsigned, Replacement> named_;            ///< with symbols, by the number of the term
  std::map<unsigned, Replacement> linear_;           ///< likewise
  std::map<unsigned, Replacement> simple_;           ///< sums in their normal form, likewise
};

}  // namespace p2::z3_encoding
