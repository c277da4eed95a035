#pragma once

#include <string>
#include <vector>

#include "engine/hlo/flow.h"

namespace p2::hlo {

/// A look at the shapes of one node and its operands.
class ShapeRule {
 public:
  ShapeRule(const Flow& flow, const Node& node)
      : flow_(flow), node_(node), at_(node.instruction->attributes) {}

 protected:
  using Sizes = std::vector<std::int64_t>;

  /// Throws IllFormed with `what` and all shapes unless it holds.
  void require(bool holds, const std::string& what) const;
  const ArrayShape& result(std::size_t k = 0) const { return node_.outputs[k]; }
  const ArrayShape& operand(std::size_t k = 0) const { return flow_.shape(node_.operands[k]); }
  /// Whether dimensions are some of a shape's, none twice.
  static bool rank_holds(const Sizes& dimensions, const ArrayShape& shape);
  /// Requires result `k` to have these sizes.
  void require_sizes(const Sizes& expected, std::size_t k = 0) const;

  const Flow& flow_;
  const Node& node_;
  const Attributes& at_;
};

/// Throws IllFormed where the results of a collective do not have the shapes that its groups and
/// operands lead to.
void check_collective(const Flow& flow, const Node& node);

}  // namespace p2::hlo
