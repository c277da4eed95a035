#include "engine/hlo/shape_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/hlo/shape_rule.h"

namespace p2::hlo {
namespace {

/// The rules for one node; each complains through require().
class Rules : private ShapeRule {
 public:
  using ShapeRule::ShapeRule;

  void check() const {
    if (node_.op == Op::Opaque) return;
    require(node_.op <= Op::ReplicaId || !node_.operands.empty(), "it has no operand");
    if (node_.collective != kNone) return check_collective(flow_, node_);
    require(node_.outputs.size() == 1, "one result is expected");
    switch (node_.op) {
      case Op::PartitionId:
      case Op::ReplicaId:
        return require(result().sizes.empty(), "an id is no scalar");
      case Op::Constant:
      case Op::Parameter:
        return;
      case Op::Iota:
        return require(at_.dimensions.size() == 1 && rank_holds(at_.dimensions, result()),
                       "iota_dimension is no dimension of it");
      case Op::Elementwise:
        return elementwise();
      case Op::Reduce:
        return reduce();
      case Op::Concatenate:
        return concatenate();
      default:
        layout();
    }
  }

 private:
  void elementwise() const {
    const std::string& opcode = node_.instruction->opcode;
    for (std::size_t k = 0; k < node_.operands.size(); ++k) {
      const bool scalar = operand(k).sizes.empty() &&
                          ((opcode == "select" && k == 0) || (opcode == "clamp" && k != 1));
      require(scalar || operand(k).same_sizes(result()), "the sizes of an operand are others");
    }
    const Reducer binary = reducer_of(opcode, result().type);
    if (binary != Reducer::Unknown || opcode == "subtract" || opcode == "divide") {
      require(node_.operands.size() == 2, "two operands are expected");
      require(operand(0).type == result().type && operand(1).type == result().type,
              "the element types differ");
    }
    const std::size_t operands = opcode == "select"                          ? 3
                                 : opcode == "compare"                       ? 2
                                 : opcode == "convert" || opcode == "negate" ? 1
                                                                             : 0;
    require(operands == 0 || node_.operands.size() == operands, "the number of operands is wrong");
  }

  void reduce() const {
    require(rank_holds(at_.dimensions, operand()), "dimensions are none of its operand");
    Sizes kept;
    for (std::size_t i = 0; i < operand().sizes.size(); ++i) {
      const auto dimension = static_cast<std::int64_t>(i);
      if (std::find(at_.dimensions.begin(), at_.dimensions.end(), dimension) ==
          at_.dimensions.end()) {
        kept.push_back(operand().sizes[i]);
      }
    }
    require(kept == result().sizes, "other sizes remain");
    require(operand(1).sizes.empty(), "the initial value is no scalar");
  }

  void concatenate() const {
    require(at_.dimensions.size() == 1 && rank_holds(at_.dimensions, result()),
            "dimensions is no dimension of it");
    const auto along = static_cast<std::size_t>(at_.dimensions[0]);
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < node_.operands.size(); ++k) {
      Sizes sizes = operand(k).sizes;
      require(sizes.size() == result().sizes.size(), "the ranks differ");
      sum += sizes[along];
      require(sum <= kMostElements, "the result is too large");
      sizes[along] = result().sizes[along];
      require(sizes == result().sizes, "sizes differ across the dimension");
    }
    require(sum == result().sizes[along], fmt::format("{} along the dimension are expected", sum));
  }

  void layout() const {
    require(operand().type == result().type || node_.op == Op::Reshape, "the element types differ");
    switch (node_.op) {
      case Op::Reshape:
        return require(operand().elements() == result().elements(),
                       "the numbers of elements differ");
      case Op::Slice:
        return slice();
      case Op::DynamicSlice:
        require(at_.slice_sizes == result().sizes, "dynamic_slice_sizes are others");
        require(fits(result().sizes, operand().sizes), "the slice is not inside");
        return scalars_from(1);
      case Op::DynamicUpdateSlice:
        require(operand().same_sizes(result()) && fits(operand(1).sizes, result().sizes) &&
                    operand(1).type == result().type,
                "the update is not inside");
        return scalars_from(2);
      case Op::Transpose:
        return transpose();
      case Op::Broadcast:
        return broadcast();
      case Op::Pad:
        return pad();
      default:
        require(rank_holds(at_.dimensions, operand()), "dimensions are none of its operand");
        require_sizes(operand().sizes);
    }
  }

  void slice() const {
    const Sizes& from = operand().sizes;
    require(at_.starts.size() == from.size() && at_.limits.size() == from.size() &&
                at_.strides.size() == from.size(),
            "a range for every dimension is expected");
    Sizes expected;
    for (std::size_t i = 0; i < from.size(); ++i) {
      require(0 <= at_.starts[i] && at_.starts[i] <= at_.limits[i] && at_.limits[i] <= from[i] &&
                  at_.strides[i] > 0,
              "a range is not inside");
      expected.push_back((at_.limits[i] - at_.starts[i] + at_.strides[i] - 1) / at_.strides[i]);
    }
    require_sizes(expected);
  }

  void transpose() const {
    require(
        at_.dimensions.size() == operand().sizes.size() && rank_holds(at_.dimensions, operand()),
        "dimensions are no permutation");
    Sizes expected;
    for (const std::int64_t dimension : at_.dimensions) {
      expected.push_back(operand().sizes[static_cast<std::size_t>(dimension)]);
    }
    require_sizes(expected);
  }

  void broadcast() const {
    const Sizes& from = operand().sizes;
    require(at_.dimensions.size() == from.size() && rank_holds(at_.dimensions, result()),
            "a dimension for each of its operand's is expected");
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::int64_t size = result().sizes[static_cast<std::size_t>(at_.dimensions[i])];
      const bool stretched = from[i] == 1 && flow_.module->language == Language::StableHlo;
      require(size == from[i] || stretched, "sizes differ");
    }
  }

  void pad() const {
    const std::size_t rank = operand().sizes.size();
    require(node_.operands.size() == 2 && operand(1).sizes.empty(), "no value to pad with");
    require(at_.starts.size() == rank && at_.limits.size() == rank && at_.strides.size() == rank,
            "padding for every dimension is expected");
    Sizes expected;
    for (std::size_t i = 0; i < rank; ++i) {
      expected.push_back(operand().sizes[i] + at_.starts[i] + at_.limits[i]);
    }
    require_sizes(expected);
  }

  static bool fits(const Sizes& inner, const Sizes& outer) {
    return std::equal(inner.begin(), inner.end(), outer.begin(), outer.end(),
                      [](std::int64_t a, std::int64_t b) { return a <= b; });
  }

  void scalars_from(std::size_t first) const {
    for (std::size_t k = first; k < node_.operands.size(); ++k) {
      require(operand(k).sizes.empty() && operand(k).type.is_integer(), "an offset is no integer");
    }
  }
};

}  // namespace

void check_shapes(const Flow& flow, const Node& node) { Rules(flow, node).check(); }

}  // namespace p2::hlo
