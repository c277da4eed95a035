#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/interpreter/element_operation.h"
#include "p2/float_equality.h"
#include "p2/limits.h"

namespace p2::hlo::interpreter {

/// Counts operations on elements. Throws LimitReached.
class Work {
 public:
  Work(const Limits& limits, std::uint64_t most) : limits_(limits), most_(most) {}
  void spend(std::uint64_t operations, std::size_t bytes = 0);

 private:
  const Limits& limits_;
  std::uint64_t most_;
  std::uint64_t done_ = 0;
  std::uint64_t checked_ = 0;
};

/// Whether an arithmetic does not round floating-point numbers to their types.
template <typename Arithmetic>
bool is_real(const Arithmetic& arithmetic) {
  if constexpr (Arithmetic::kMayRound) return arithmetic.equality() == FloatEquality::Real;
  return true;
}

/// An element of an operand: its row-major number.
struct Source {
  std::int32_t operand = 0;  ///< 1 also for the padding of a pad
  std::int64_t element = 0;
};

/// For an instruction that only moves elements (slice, reshape, bitcast, transpose, broadcast,
/// concatenate, pad, reverse), where each element of the result comes from; nothing for any other.
/// A bitcast keeps the order of elements in memory, which the layouts give; the others do not
/// depend on layouts. Throws NotUnderstood where the shapes do not fit.
std::optional<std::vector<Source>> sources_of(const Instruction& instruction,
                                              const std::vector<ArrayShape>& operands,
                                              const ArrayShape& result);
/// Of one element of the result, by its row-major number: as sources_of().
std::optional<Source> source_of(const Instruction& instruction,
                                const std::vector<ArrayShape>& operands, const ArrayShape& result,
                                std::int64_t element);

/// The operations that one device executes on its own, in an arithmetic: Numbers, Algebra or
/// Expressions.
template <typename Arithmetic>
class LocalOperations {
 public:
  using Cell = typename Arithmetic::Cell;
  using Tree = ArrayTree<Cell>;
  using Cells = std::vector<Cell>;

  /// `number` distinguishes the modules whose elided constants may differ.
  LocalOperations(const Module& module, std::uint64_t number, Arithmetic& arithmetic, Work& work)
      : module_(module), number_(number), arithmetic_(arithmetic), work_(work) {}

  /// The result of an instruction. Throws NotUnderstood for one that needs other devices, calls
  /// computations other than on scalars, or has no meaning here and no results of numbers.
  Tree evaluate(const Instruction& instruction, const std::vector<const Tree*>& operands);
  /// A function on scalars: one cell for each parameter, one for each array of the root.
  Cells call(std::uint32_t computation, const Cells& arguments);
  /// The uninterpreted result of an instruction: a function of all its operands, its attributes and
  /// `salt`, or arbitrary numbers.
  Tree opaque(const Instruction& instruction, const std::vector<const Tree*>& operands,
              std::uint64_t salt);
  /// Equal for equal values, if they are symbolic.
  std::uint64_t digest(const std::vector<const Tree*>& values);
  /// A value of the shapes of another: element(number, type) of every element, from the first array
  /// to the last.
  Tree filled_like(const Tree& value,
                   const std::function<Cell(std::size_t number, ElementType type)>& element) const;
  /// An array of `cells`, unknown if one of `operands` is.
  Tree array(const ArrayShape& shape, Cells cells, const std::vector<const Tree*>& operands) const;
  /// Whether the order in which a reducer combines elements counts: it rounds, or computes with
  /// more than two integers.
  bool is_ordered(const Instruction& instruction, const std::vector<const Tree*>& operands);
  /// Where it counts: the results for lists of elements, one after the other, of `group`.
  Cells reduced_list(const Instruction& instruction, const Cells& elements, const Cells& initial,
                     const std::vector<ElementType>& types,
                     const std::vector<std::uint32_t>& group = {});
  /// The combination of two elements by a reducer.
  Cell combine(std::uint32_t reducer, const Cell& a, const Cell& b);
  /// A cell added to itself so many times in all.
  Cell repeated(const Cell& cell, std::int64_t times, ElementType type);
  Cell apply(const ElementOperation& operation, const Cells& operands) {
    return arithmetic_.apply(operation, operands);
  }
  /// The number of what a computation does, equal for computations equal up to names and order.
  std::uint64_t fingerprint(std::uint32_t computation);
  /// The instructions whose results were uninterpreted, in the order of execution.
  const std::vector<const Instruction*>& opaque_instructions() const { return opaque_; }

 private:
  using Operands = std::vector<const Tree*>;
  using Index = std::vector<std::int64_t>;
  class SumsOfProducts;

  Cell listed_element(const Instruction& constant, const LiteralElement& element);
  Tree constant(const Instruction& instruction);
  Tree iota(const Instruction& instruction);
  Tree elementwise(const Instruction& instruction, Element code, const Operands& operands);
  Tree moved(const Instruction& instruction, const Operands& operands);
  Tree dynamic_slice(const Instruction& instruction, const Operands& operands);
  Tree dynamic_update_slice(const Instruction& instruction, const Operands& operands);
  Tree symbolic_slice(const Instruction& instruction, const Operands& operands);
  Tree reduce(const Instruction& instruction, const Operands& operands);
  Tree arrays(const Instruction& instruction, const std::vector<Cells>& elements,
              const Operands& operands);
  Tree reduce_window(const Instruction& instruction, const Operands& operands);
  Tree select_and_scatter(const Instruction& instruction, const Operands& operands);
  Tree dot(const Instruction& instruction, const Operands& operands);
  Tree convolution(const Instruction& instruction, const Operands& operands);
  Tree gather(const Instruction& instruction, const Operands& operands);
  Tree scatter(const Instruction& instruction, const Operands& operands);
  Tree sort(const Instruction& instruction, const Operands& operands);
  Tree top_k(const Instruction& instruction, const Operands& operands, std::int64_t k,
             bool largest);
  Tree map(const Instruction& instruction, const Operands& operands);

  void note_opaque(const Instruction& instruction);
  void require_start(const Instruction& instruction, const Operands& operands, std::size_t first,
                     const Index& sizes, const Index& window) const;
  /// The operands of a dynamic slice from `first` on as a start index, clamped; nothing if unknown.
  std::optional<Index> start_index(const Instruction& instruction, const Operands& operands,
                                   std::size_t first, const Index& sizes, const Index& window);
  /// A computation that is a binary operation on its two parameters; nothing for any other.
  const std::optional<ElementOperation>& binary(std::uint32_t computation);
  /// One of two numbers, whichever.
  Cell either(const Cell& a, const Cell& b, ElementType type);
  std::shared_ptr<const Cells> factors_of(const Array<Cell>& factor, ElementType type);
  /// The result of reducing elements of several arrays.
  void reduce_into(const Instruction& instruction, Cells& totals, const Cells& elements);

  const Module& module_;
  std::uint64_t number_;
  Arithmetic& arithmetic_;
  Work& work_;
  std::vector<std::uint64_t> fingerprints_;
  std::vector<const Instruction*> opaque_;
  std::map<std::uint32_t, std::optional<ElementOperation>> binaries_;
};

}  // namespace p2::hlo::interpreter
