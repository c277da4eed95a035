#include "engine/hlo/shape_rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/hlo/fault.h"

namespace p2::hlo {
namespace {

class CollectiveRule : private ShapeRule {
 public:
  using ShapeRule::ShapeRule;

  void check() const {
    if (node_.op == Op::AllToAll && node_.outputs.size() > 1) return tuple_all_to_all();
    require(node_.outputs.size() == node_.operands.size(), "as many results are expected");
    for (std::size_t k = 0; k < node_.operands.size(); ++k) {
      require(operand(k).type == result(k).type, "the element types differ");
      Sizes expected = operand(k).sizes;
      const bool cuts =
          node_.op == Op::AllGather || node_.op == Op::ReduceScatter || node_.op == Op::AllToAll;
      if (cuts) cut(expected, k);
      require_sizes(expected, k);
    }
  }

 private:
  void cut(Sizes& sizes, std::size_t k) const {
    const auto parts = static_cast<std::int64_t>(flow_.collectives[node_.collective].group_size());
    require(parts != 0, "its groups are of different sizes");
    require(at_.dimensions.size() == 1 && rank_holds(at_.dimensions, operand(k)),
            "dimensions is no dimension of it");
    std::int64_t& size = sizes[static_cast<std::size_t>(at_.dimensions[0])];
    if (node_.op == Op::AllGather) {
      require(size <= kMostElements / parts, "the result is too large");
      size *= parts;
      return;
    }
    require(size % parts == 0, fmt::format("{} parts of {} elements do not come out", parts, size));
    size /= parts;
    if (node_.op == Op::ReduceScatter) return;
    const std::int64_t along = at_.concat_dimension.value_or(at_.dimensions[0]);
    require(rank_holds({along}, operand(k)), "concat_dimension is no dimension of it");
    require(sizes[static_cast<std::size_t>(along)] <= kMostElements / parts,
            "the result is too large");
    sizes[static_cast<std::size_t>(along)] *= parts;
  }

  void tuple_all_to_all() const {
    const std::size_t parts = flow_.collectives[node_.collective].group_size();
    require(node_.operands.size() == parts && node_.outputs.size() == parts,
            fmt::format("an operand and a result for each of {} members are expected", parts));
    for (std::size_t k = 0; k < parts; ++k) {
      require(operand(k).same_sizes(operand()) && result(k).same_sizes(operand()) &&
                  operand(k).type == result(k).type && operand(k).type == operand().type,
              "the shapes differ");
    }
  }
};

}  // namespace

void ShapeRule::require(bool holds, const std::string& what) const {
  if (holds) return;
  std::string operands;
  for (const Ref ref : node_.operands) {
    operands += (operands.empty() ? "" : ", ") + to_string(flow_.shape(ref));
  }
  throw IllFormed({"shapes",
                   fmt::format("{} {} makes {} of {}: {}.", node_.instruction->opcode,
                               node_.instruction->name, to_string(result()), operands, what),
                   node_.instruction->position});
}

bool ShapeRule::rank_holds(const Sizes& dimensions, const ArrayShape& shape) {
  Sizes sorted = dimensions;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
         (sorted.empty() ||
          (sorted.front() >= 0 && sorted.back() < static_cast<std::int64_t>(shape.sizes.size())));
}

void ShapeRule::require_sizes(const Sizes& expected, std::size_t k) const {
  require(expected == result(k).sizes,
          fmt::format("{} is expected", to_string(ArrayShape{result(k).type, expected, {}})));
}

void check_collective(const Flow& flow, const Node& node) { CollectiveRule(flow, node).check(); }

}  // namespace p2::hlo
