#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/hlo/equality/comparison_context.h"

namespace p2::hlo {

/// Evaluates a flow backwards: what an array holds on a device at an index, from what its operands
/// hold at the indices it is made of. The index has variables, so one answer is for a whole region.
class Evaluation {
 public:
  Evaluation(ComparisonContext& context, std::uint32_t flow, Space& space)
      : context_(context),
        values_(context.values),
        space_(space),
        flow_(*context.flows[flow]),
        number_(flow) {}

  /// Throws Refinement where the region has no one answer, NeedsTensor and OutOfReach. `owner` of a
  /// refinement's variable is the caller.
  Value at(Ref ref, std::uint32_t device, const IndexMap& map);
  /// Variables mean something else from now on.
  void forget();

 private:
  using Answer = std::optional<Value>;
  using Operands = std::optional<std::vector<Value>>;
  /// A reduction under way: the parts of the operand's region that are put together.
  struct Reduction {
    std::vector<Region> parts;
  };

  // evaluation.cpp
  Answer compute(const Query& query);
  Answer understood(const Query& query, const Node& node, const IndexMap& map);
  Answer ask(Ref ref, std::uint32_t device, const IndexMap& map);
  Operands ask_all(const std::vector<Ref>& refs, std::uint32_t device, const IndexMap& map);
  std::uint32_t canonical_device(Ref ref, std::uint32_t device) const;
  Value opaque(const Query& query, const Node& node, const IndexMap& map);
  std::vector<std::int64_t> opaque_operands(const Query& query, const Node& node) const;
  bool refine_reduction(const Refinement& refinement);

  // evaluation_layout.cpp
  Answer slice(const Query& query, const Node& node, const IndexMap& map);
  Answer dynamic_slice(const Query& query, const Node& node, IndexMap map);
  Answer update_slice(const Query& query, const Node& node, IndexMap map);
  Answer reorder(const Query& query, const Node& node, const IndexMap& map);
  Answer concatenate(const Query& query, const Node& node, IndexMap map);
  Answer pad(const Query& query, const Node& node, IndexMap map);
  IndexMap reshaped(const Node& node, const IndexMap& map) const;
  Coordinate offset(Value value, ElementType type, std::int64_t most);

  // evaluation_constants.cpp
  Answer constant(const Query& query, const Node& node, const IndexMap& map);
  Answer fold(const Node& node, const std::vector<Value>& operands);
  Answer fold_numbers(const Node& node, const std::vector<Number>& numbers);
  Answer convert(const Node& node, Value value);

  // evaluation_arithmetic.cpp
  Answer elementwise(const Query& query, const Node& node, const IndexMap& map);
  Value arithmetic(const Node& node, const std::vector<Value>& operands);
  Value uninterpreted(const Node& node, const std::vector<Value>& operands);
  Value combine(const Node& node, Reducer reducer, std::vector<Value> members, ElementType type);
  Answer add(const std::vector<Value>& members, ElementType type);
  Answer multiply(const std::vector<Value>& members, ElementType type);
  Value add_in_order(const std::vector<Value>& members);
  bool keeps_order(ElementType type) const { return context_.ordered && type.is_float(); }
  bool fits(Value value, ElementType type) const;

  // evaluation_collectives.cpp
  Answer collective(const Query& query, const Node& node, IndexMap map);
  Answer reduce_members(const Query& query, const Node& node, const IndexMap& map);
  Answer all_to_all(const Query& query, const Node& node, IndexMap map);

  // evaluation_binding.cpp
  std::optional<Value> bind(const Node& node, Value value, const Region& part);
  std::optional<Value> bind_atom(Reducer reducer, const Atom& atom, const Region& part,
                                 std::int64_t& times) const;

  // evaluation_reduce.cpp
  Answer reduce(const Query& query, const Node& node, const IndexMap& map);
  Answer reduce_one_by_one(const Query& query, Reduction& reduction);
  std::int64_t indices(const Region& part) const;
  bool is_neutral(const Node& node, Value initial) const;
  Region operand_region(const Node& node, const IndexMap& map);

  ComparisonContext& context_;
  Values& values_;
  Space& space_;
  const Flow& flow_;
  std::uint32_t number_;
  Answers answers_;
  std::vector<Query> wanted_;
  std::vector<Query> open_;
  std::unordered_map<Query, Reduction, QueryHash> reductions_;
};

}  // namespace p2::hlo
