#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/interpreter/numbers.h"

namespace p2::hlo::interpreter {

/// An element as an expression of the inputs: its number in Expressions.
struct Expression {
  std::uint32_t value = 0;
};

/// Arithmetic that computes nothing but integers without inputs: it records what every element is
/// computed from. Equal operations on equal operands are one expression.
class Expressions {
 public:
  using Cell = Expression;
  static constexpr bool kSymbolic = true;
  static constexpr bool kMayRound = false;
  static constexpr bool kHasRanges = false;

  enum class Kind : std::uint8_t { Input, Real, Integer, Operation, Function };
  struct Node {
    Kind kind = Kind::Integer;
    ElementType type = {};                ///< of the element
    Element code = Element::Add;          ///< of an operation, as its direction and `from`
    Direction direction = Direction::Eq;  ///< of a comparison
    bool total_order = false;             ///< likewise: IEEE 754's
    ElementType from = {};                ///< the type of the last operand
    Fraction real = {};                   ///< of a floating-point constant, which may be infinite
    std::int64_t integer = 0;             ///< of a constant, in the range of its type
    std::uint32_t name = 0;               ///< the number of an input, or of a function's name
    std::uint32_t first = 0;              ///< of its operands
    std::uint32_t count = 0;
  };

  FloatEquality equality() const { return FloatEquality::Real; }
  std::size_t size() const { return nodes_.size(); }
  const Node& node(std::uint32_t expression) const { return nodes_[expression]; }
  /// Earlier expressions.
  std::span<const std::uint32_t> operands(std::uint32_t expression) const {
    const Node& node = nodes_[expression];
    return std::span(operands_).subspan(node.first, node.count);
  }
  /// What tells an input from all others (execution_tensors.h).
  const std::vector<std::uint64_t>& input_keys(std::uint32_t input) const { return inputs_[input]; }
  const std::string& function_name(std::uint32_t name) const { return names_[name]; }

  Cell input(std::span<const std::uint64_t> keys, ElementType type);
  Cell constant(const LiteralElement& element, ElementType type);
  Cell integer(std::int64_t value, ElementType type);
  std::optional<std::int64_t> as_integer(const Cell& cell, ElementType type) const;
  Cell arbitrary(std::uint64_t key, ElementType type);
  Cell apply(const ElementOperation& operation, std::span<const Cell> operands);
  /// An integer stands for its value modulo 2^bits, wherever it is used.
  Cell exact(const Cell& cell, ElementType /*type*/) const { return cell; }
  Cell function(std::string_view name, std::span<const Cell> operands, ElementType type);
  Cell choose(const Cell& index, ElementType index_type, std::span<const Cell> choices,
              ElementType type);
  Cell sum_where(const Cell& condition, const Cell& total, const Cell& update, ElementType type);
  /// Whether they are one expression.
  bool equal(const Cell& a, const Cell& b, ElementType /*type*/) const {
    return a.value == b.value;
  }

  struct Accumulator {
    std::optional<Cell> total = {};
  };
  void add_product(Accumulator& sum, const Cell& a, const Cell& b, ElementType type);
  Cell result(const Accumulator& sum, ElementType type);
  static constexpr std::size_t kColumns = 1;
  static constexpr std::size_t kRows = 1;
  using Columns = PackedColumns<Cell, kColumns>;
  /// As Numbers::add_products.
  void add_products(std::span<Accumulator> sums, std::span<const Cell> row, const Columns* columns,
                    ElementType type);

 private:
  Cell added(Node node, std::span<const std::uint32_t> operands);
  Cell real(Fraction value, ElementType type);
  std::optional<Scalar> known(const Cell& cell) const;
  std::optional<Cell> simplified(const ElementOperation& operation, std::span<const Cell> operands);
  Cell chosen(const Cell& index, ElementType index_type, std::span<const Cell> choices,
              std::int64_t first, ElementType type);

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> operands_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> known_;
  std::map<std::vector<std::uint64_t>, std::uint32_t> input_numbers_;
  std::vector<std::vector<std::uint64_t>> inputs_;
  std::map<std::string, std::uint32_t, std::less<>> name_numbers_;
  std::vector<std::string> names_;
};

/// Two elements that must be equal.
struct OutputElement {
  Expression before;
  Expression after;
  ElementType type;
  std::uint32_t device = 0;
  std::size_t output = 0;
  std::vector<std::int64_t> index = {};
};

/// The outputs of two modules as expressions of their inputs.
struct OutputExpressions {
  Expressions expressions = {};
  std::vector<OutputElement> elements = {};
};

}  // namespace p2::hlo::interpreter
