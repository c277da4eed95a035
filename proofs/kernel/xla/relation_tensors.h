#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/interned.h"
#include "proofs/kernel/xla/interpreter.h"

namespace p2::kernel::xla {

struct Node;

/// What an operation is, besides its operands and the type of its result.
struct Form {
  std::string opcode;
  std::string text;            ///< what has no rule of its own
  std::vector<Index> numbers;  ///< dimensions and sizes, as relation_tensors.cpp lists them
  auto operator<=>(const Form&) const = default;
  void add_to(Hasher& hash) const { hash.add(opcode).add(text).add(numbers); }
};
inline std::int64_t element_of(const Index& index, std::int64_t at) {
  return index.at(static_cast<std::size_t>(at));
}
/// `float` for all types of real numbers.
std::string kind_of(const Type& type);
/// What a reducer does, if that is one commutative and associative operation.
std::optional<Op> reducer_of(const Module& module, const Instruction& instruction);
Form form_of(const Module& module, const Node& node, const std::vector<Index>& operands);
/// The sizes of the result; nothing where the operands do not fit.
std::optional<Index> sizes_of(const Form& form, const std::vector<Index>& operands);
/// Whether sizes_of knows it, if an operation has one result.
bool has_sizes(const std::string& opcode, std::size_t operands);
/// Whether results have the types that follow from the operands'; true of operations of which that
/// is not known.
bool have_types(const std::string& opcode, const std::vector<Type>& operands,
                const std::vector<Shape>& results);

/// One of the factors of a row-major number: (number / stride) mod size.
struct Digit {
  std::int64_t stride = 1, size = 1;
  bool operator==(const Digit&) const = default;
};
using Digits = std::vector<Digit>;
/// The dimension that a digit of more than one index is of.
std::size_t dimension_of(const Digit& digit, const Index& sizes, const Index& strides);
bool is_empty(const Index& sizes);

/// What a claim takes as given, besides what the modules' texts say.
struct Premises {
  /// What a compiler computed of two constants, and rounded to their type.
  struct Fold {
    std::string opcode;  ///< `multiply` or `divide`
    std::string operands[2];
  };

  std::set<std::string> equal = {};  ///< printed without elements, of one value by their names
  /// By the type and text of a constant, which stands for this, not rounded. An operand may be one
  /// of these, of constants that are none.
  std::map<std::pair<std::string, std::string>, Fold> folds = {};
  /// Names of instructions of the whole module: the claim is of inputs for which all elements of
  /// what these make are finite.
  std::set<std::string> finite = {};

  /// The keys `constants`, `folds` and `finite` of a problem, if it has them. Ends the check at a
  /// fold whose rounded value is not the constant.
  static Premises read(const Json& problem);
  /// What has to be said of constants beside the claim, each after `; `.
  std::string words() const;
};

/// Whole tensors, as functions of the inputs. Equal functions that are made the same way have the
/// same number.
class Tensors {
 public:
  struct Tensor {
    Form form;
    std::vector<std::size_t> operands;
    std::string kind;
    Index sizes;
    auto operator<=>(const Tensor&) const = default;
    void add_to(Hasher& hash) const { hash.add(form).add(operands).add(kind).add(sizes); }
  };

  explicit Tensors(Premises premises) : premises_(std::move(premises)) {}

  const Premises& premises() const { return premises_; }

  std::size_t input(std::size_t number, const Shape& shape);
  /// One scalar everywhere.
  std::optional<std::size_t> splat(std::size_t scalar, const Index& sizes);
  std::size_t zeros_of(const std::string& kind, const Index& sizes);
  /// Nothing where the operands do not fit.
  std::optional<std::size_t> make(const Form& form, std::vector<std::size_t> operands,
                                  const std::string& kind);
  std::size_t scalar(std::string_view literal, const Type& type);
  /// Nothing where elements are missing.
  std::optional<std::size_t> constant(const Instruction& instruction);
  /// One of the tensors, of the same sizes, whose sum `sum` is; of the operation that adds them.
  std::size_t summand(const Form& form, std::vector<std::size_t> operands, std::size_t sum);
  /// A tensor of which nothing is known.
  std::size_t unknown(const Shape& shape);
  /// A tensor that every device has its own of; devices in one class of `alike` have the same.
  std::size_t family(Form form, std::vector<std::size_t> operands, const std::string& kind,
                     Index sizes, Numbering alike);
  void vary(std::size_t number, Numbering alike);
  Numbering alike(std::size_t number, std::size_t devices) const;
  bool varies(std::size_t number) const { return alike_.contains(number); }
  /// What a loop changes, in any iteration, and what it is after the loop.
  std::size_t variable(std::size_t number, std::size_t first, const Shape& shape);
  std::size_t result(std::size_t variable);
  /// Variables may be infinite or zero where what they are after an iteration may be, and so what
  /// is computed from them.
  void spread(const std::vector<std::pair<std::size_t, std::size_t>>& variables);
  const Tensor& at(std::size_t number) const { return tensors_.at(number); }
  std::size_t count() const { return tensors_.size(); }
  // relation_moves.cpp
  struct Moved {
    std::size_t base = 0;
    std::vector<Digits> dimensions;  ///< of every dimension, outermost first
    bool is_own = false;             ///< whether nothing is moved
  };
  const Moved& moved(std::size_t number) const;
  /// Dimensions in a tensor of sizes `own` are those in one of sizes `next`, of which some are cut
  /// or wider; these are digits as they are.
  static void resize(std::vector<Digits>& dimensions, const Index& own, const Index& next);
  /// Moved as these dimensions say.
  std::optional<std::size_t> make_moved_as(std::size_t number,
                                           const std::vector<Digits>& dimensions);
  bool is_scalar(std::size_t number, const std::string& value) const;
  /// A fraction in lowest terms, above and below zero.
  struct Factor {
    std::int64_t numerator = 1, denominator = 1;
    bool is_one() const { return numerator == denominator; }
    Factor negated() const { return {-numerator, denominator}; }
  };
  /// Whether elements may be infinite or no numbers: what is computed from constants that are, or
  /// by a division by zero. Products with them are not linear.
  bool may_be_infinite(std::size_t number) const { return may_be_infinite_.at(number); }
  /// Whether elements may be zero for all inputs, by the constants they are computed from.
  bool may_be_zero(std::size_t number) const { return may_be_zero_.at(number); }
  bool is_zero(std::size_t number) const;
  /// Whether all elements are finite numbers, for all inputs that the claim is of.
  bool is_finite(std::size_t number) const { return finite_[number]; }
  /// Whether that may be taken as given: it depends on inputs, and is so for some of them as far as
  /// constants say.
  bool can_be_finite(std::size_t number) const;
  void take_as_finite(std::size_t number);
  /// Whether the operation `by` makes of this number, or elements that all are, and x always x.
  bool is_neutral(std::string_view by, std::size_t number) const;
  /// The integer that all elements are.
  std::optional<std::int64_t> integer(std::size_t number) const;
  /// The dimension along which every element of a tensor is its index.
  std::optional<std::size_t> counted(std::size_t number) const;

 private:
  std::size_t intern(Tensor tensor);
  Moved move_of(std::size_t number) const;
  std::optional<std::size_t> made(const Form& form, std::vector<std::size_t> operands,
                                  const std::string& kind);
  static std::optional<std::vector<Digits>> moved_by(const Form& form,
                                                     const std::vector<Digits>& dimensions);
  std::size_t make_moved(const Moved& moved);
  std::optional<std::size_t> make_moved_back(std::size_t number,
                                             const std::vector<Digits>& dimensions,
                                             const Index& own);
  std::optional<std::size_t> function_of_broadcasts(const Form& form,
                                                    const std::vector<std::size_t>& operands,
                                                    const std::string& kind);
  std::optional<std::size_t> elements_of_moved(const Form& form, std::vector<std::size_t> operands,
                                               const std::string& kind);
  std::optional<std::size_t> moved_broadcast(const Moved& moved, int depth = 8);
  std::optional<std::size_t> reshaped_broadcast(const Moved& moved);
  std::optional<std::vector<std::size_t>> cut_moved(Moved& moved, const Index& sizes,
                                                    const Index& next) const;
  std::optional<std::size_t> slice_of_moved(const Form& form, std::size_t operand);
  std::optional<std::size_t> concatenation_of_moved(const Form& form,
                                                    std::vector<std::size_t> operands,
                                                    const std::string& kind);
  std::optional<std::size_t> dynamic_slice_of_moved(const Form& form,
                                                    const std::vector<std::size_t>& operands);
  // relation_contractions.cpp
  std::optional<std::size_t> dot_of_padded(const Form& form,
                                           const std::vector<std::size_t>& operands,
                                           const std::string& kind);
  std::optional<std::size_t> product_of_pairs(const Form& form,
                                              const std::vector<std::size_t>& operands,
                                              const std::string& kind);
  bool is_wide(std::size_t number, int depth = 8) const;
  std::optional<std::size_t> dot_of_broadcast(const Form& form,
                                              const std::vector<std::size_t>& operands,
                                              const std::string& kind);
  std::optional<std::size_t> dot_of_moved(const Form& form,
                                          const std::vector<std::size_t>& operands,
                                          const std::string& kind);
  std::optional<std::size_t> reduction_of_moved(const Form& form,
                                                const std::vector<std::size_t>& operands,
                                                const std::string& kind);
  std::optional<std::size_t> sum_of_batches(const Moved& moved, const Index& along);
  std::optional<std::size_t> reduction_of_parts(const Form& form,
                                                const std::vector<std::size_t>& operands,
                                                const std::string& kind);
  std::optional<std::size_t> sum_of_products(const Index& along, std::size_t product,
                                             const Index& sizes);
  std::optional<std::size_t> sum_of_scaled(const Form& form,
                                           const std::vector<std::size_t>& operands,
                                           const std::string& kind);
  std::optional<std::size_t> slice_of_dot(const Form& form, std::size_t operand);
  std::optional<std::size_t> joined_slices(const Form& form,
                                           const std::vector<std::size_t>& operands,
                                           const std::string& kind);
  std::optional<std::size_t> padded(const Form& form, const std::vector<std::size_t>& operands,
                                    const std::string& kind);
  std::optional<std::size_t> padded_in_order(const std::vector<std::size_t>& operands, Index low,
                                             Index high, const std::string& kind);
  // relation_integers.cpp
  std::optional<std::size_t> of_integers(const Form& form, const std::vector<std::size_t>& operands,
                                         const std::string& kind);
  std::optional<std::pair<std::int64_t, std::int64_t>> range(std::size_t number,
                                                             int depth = 4) const;
  std::optional<std::size_t> compared_truth(const Form& form,
                                            const std::vector<std::size_t>& operands);
  std::optional<std::size_t> decided(const Form& form, const std::vector<std::size_t>& operands);
  std::optional<std::size_t> integer_sum(const Form& form, const std::vector<std::size_t>& operands,
                                         const std::string& kind);
  std::optional<std::size_t> computed_bits(const Form& form,
                                           const std::vector<std::size_t>& operands,
                                           const std::string& kind);
  std::optional<std::size_t> last_bits(const Form& form, const std::vector<std::size_t>& operands,
                                       const std::string& kind);
  std::optional<std::size_t> product_of_truth(const Form& form,
                                              const std::vector<std::size_t>& operands,
                                              const std::string& kind);
  // relation_functions.cpp
  std::optional<std::size_t> convolution_of_padded(const Form& form,
                                                   const std::vector<std::size_t>& operands,
                                                   const std::string& kind);
  std::optional<std::size_t> canonical_convolution(const Form& form,
                                                   const std::vector<std::size_t>& operands,
                                                   const std::string& kind);
  // relation_lookups.cpp
  std::optional<std::size_t> choice_of_update(const Form& form,
                                              const std::vector<std::size_t>& operands,
                                              const std::string& kind);
  std::optional<std::size_t> with_plain_starts(const Form& form,
                                               const std::vector<std::size_t>& operands,
                                               const std::string& kind);
  std::optional<std::size_t> simple_gather(const Form& form,
                                           const std::vector<std::size_t>& operands,
                                           const std::string& kind);
  std::optional<std::size_t> simple_scatter(const Form& form,
                                            const std::vector<std::size_t>& operands,
                                            const std::string& kind);
  std::optional<std::size_t> listed_gather(const Form& form,
                                           const std::vector<std::size_t>& operands,
                                           const std::string& kind);
  std::optional<std::size_t> listed_scatter(const Form& form,
                                            const std::vector<std::size_t>& operands,
                                            const std::string& kind);
  std::optional<std::size_t> gather_of_all(const Form& form,
                                           const std::vector<std::size_t>& operands,
                                           const std::string& kind);
  std::optional<std::size_t> scatter_into_zero(const Form& form,
                                               const std::vector<std::size_t>& operands,
                                               const std::string& kind);
  std::optional<std::size_t> scatter_of_all(const Form& form,
                                            const std::vector<std::size_t>& operands,
                                            const std::string& kind);
  // relation_tensors.cpp
  std::optional<std::size_t> simplified(const Form& form, const std::vector<std::size_t>& operands,
                                        const std::string& kind);
  // relation_elements.cpp
  std::optional<std::size_t> one_of_elements(const Form& form,
                                             const std::vector<std::size_t>& operands,
                                             const std::string& kind);
  std::optional<std::size_t> function_of_narrow(const Form& form,
                                                const std::vector<std::size_t>& operands,
                                                const std::string& kind);
  bool has_infinite_constant(std::size_t number) const;
  /// What is known of signs, for all inputs: all elements that are numbers are above zero, or not
  /// below.
  enum class Sign : std::uint8_t { Any, NotBelow, Above };
  Sign sign_made(const Tensor& tensor) const;
  std::optional<std::size_t> product_of_power(const Form& form,
                                              const std::vector<std::size_t>& operands,
                                              const std::string& kind);
  bool makes_finite(const Tensor& tensor) const;
  std::optional<std::size_t> choice_as_product(const Form& form,
                                               const std::vector<std::size_t>& operands,
                                               const std::string& kind);
  std::optional<std::size_t> integer_clamp(const Form& form,
                                           const std::vector<std::size_t>& operands,
                                           const std::string& kind);
  std::optional<std::size_t> clamped(const Form& form, const std::vector<std::size_t>& operands,
                                     const std::string& kind);
  std::optional<std::size_t> operand_alone(const Form& form,
                                           const std::vector<std::size_t>& operands);
  std::optional<std::size_t> quotient_as_product(const Form& form,
                                                 const std::vector<std::size_t>& operands,
                                                 const std::string& kind);
  std::optional<std::size_t> sum_with_constant(const Form& form,
                                               const std::vector<std::size_t>& operands,
                                               const std::string& kind);
  struct Scaled {
    Factor by;
    std::size_t of = 0;
  };
  std::optional<std::size_t> inverted(std::size_t number);
  std::optional<std::size_t> with_one_inverse(const Form& form,
                                              const std::vector<std::size_t>& operands,
                                              const std::string& kind);
  std::optional<Scaled> scaled(std::size_t number) const;
  std::optional<std::size_t> scaled_by(std::size_t number, const std::optional<Factor>& by);
  std::optional<Factor> fraction(std::size_t number) const;
  std::optional<Factor> factor(std::size_t number) const;
  std::optional<std::size_t> splat(const Factor& fraction, const Index& sizes);
  std::optional<std::size_t> with_one_factor(const Form& form,
                                             const std::vector<std::size_t>& operands,
                                             const std::string& kind);
  static std::string text_of(const Fraction& fraction);
  std::optional<std::size_t> unfolded(std::string_view literal, const Type& type);
  bool update(std::size_t number);
  bool add_to(std::size_t number, bool may_be_infinite, bool may_be_zero);
  bool is_below_zero(std::size_t number) const;
  static constexpr int kMaxDepth = 100;  ///< of laws that are applied to what a law makes
  Premises premises_;
  int depth_ = 0;
  Interned<Tensor> tensors_;
  /// What make() was asked for, and what it made: repeated layers ask for the same again.
  struct Application {
    std::size_t form = 0;  ///< in forms_
    std::vector<std::size_t> operands;
    std::string kind;
    bool operator==(const Application&) const = default;
    void add_to(Hasher& hash) const { hash.add(form).add(operands).add(kind); }
  };
  Interned<Form> forms_;
  Interned<Application> applications_;
  std::vector<std::optional<std::optional<std::size_t>>> results_;
  mutable std::deque<std::optional<Moved>> moved_;  ///< by tensor, of those that were asked for
  std::map<std::size_t, Numbering> alike_;          ///< of tensors that are not the same everywhere
  std::vector<bool> may_be_infinite_, may_be_zero_, has_input_, finite_;
  std::vector<Sign> signs_;
};

}  // namespace p2::kernel::xla
