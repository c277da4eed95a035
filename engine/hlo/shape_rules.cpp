#include "engine/hlo/shape_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/hlo/fault.h"

namespace p2::hlo {
namespace {

using Sizes = std::vector<std::int64_t>;

/// The rules for one node; each complains through require().
class Rules {
 public:
  Rules(const Flow& flow, const Node& node)
      : flow_(flow), node_(node), at_(node.instruction->attributes) {}

  void check() const {
    require(node_.op <= Op::ReplicaId || !node_.operands.empty(), "it has no operand");
    if (node_.collective != kNone) return collective();
    require(node_.op == Op::Opaque || node_.outputs.size() == 1, "one result is expected");
    switch (node_.op) {
      case Op::PartitionId:
      case Op::ReplicaId:
        return require(result().sizes.empty(), "an id is no scalar");
      case Op::Constant:
      case Op::Parameter:
      case Op::Opaque:
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
  void require(bool holds, const std::string& what) const {
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

  const ArrayShape& result(std::size_t k = 0) const { return node_.outputs[k]; }
  const ArrayShape& operand(std::size_t k = 0) const { return flow_.shape(node_.operands[k]); }

  static bool rank_holds(const Sizes& dimensions, const ArrayShape& shape) {
    Sizes sorted = dimensions;
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
           (sorted.empty() ||
            (sorted.front() >= 0 && sorted.back() < static_cast<std::int64_t>(shape.sizes.size())));
  }

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
      sizes[along] = result().sizes[along];
      require(sizes == result().sizes, "sizes differ across the dimension");
    }
    require(sum == result().sizes[along], fmt::format("{} along the dimension are expected", sum));
  }

  void layout() const {
    require(operand().type == result().type || node_.op == Op::Reshape, "the element types differ");
    const Sizes& from = operand().sizes;
    const Sizes& to = result().sizes;
    const std::size_t rank = from.size();
    Sizes expected = to;
    switch (node_.op) {
      case Op::Reshape:
        return require(operand().elements() == result().elements(),
                       "the numbers of elements differ");
      case Op::Slice:
        require(at_.starts.size() == rank, "a range for every dimension is expected");
        for (std::size_t i = 0; i < rank; ++i) {
          require(at_.starts[i] <= at_.limits[i] && at_.limits[i] <= from[i] && to.size() == rank,
                  "a range is not inside");
          expected[i] = (at_.limits[i] - at_.starts[i] + at_.strides[i] - 1) / at_.strides[i];
        }
        break;
      case Op::DynamicSlice:
        require(at_.slice_sizes == to, "dynamic_slice_sizes are others");
        require(to.size() == rank && fits(to, from), "the slice is not inside");
        return scalars_from(1);
      case Op::DynamicUpdateSlice:
        require(from == to && operand(1).sizes.size() == rank && fits(operand(1).sizes, from) &&
                    operand(1).type == result().type,
                "the update is not inside");
        return scalars_from(2);
      case Op::Transpose:
        require(at_.dimensions.size() == rank && to.size() == rank &&
                    rank_holds(at_.dimensions, operand()),
                "dimensions are no permutation");
        for (std::size_t i = 0; i < rank; ++i) {
          expected[i] = from[static_cast<std::size_t>(at_.dimensions[i])];
        }
        break;
      case Op::Broadcast:
        require(at_.dimensions.size() == rank && rank_holds(at_.dimensions, result()),
                "a dimension for each of its operand's is expected");
        for (std::size_t i = 0; i < rank; ++i) {
          const std::int64_t size = to[static_cast<std::size_t>(at_.dimensions[i])];
          const bool stretched = from[i] == 1 && flow_.module->language == Language::StableHlo;
          require(size == from[i] || stretched, "sizes differ");
        }
        return;
      case Op::Pad:
        require(node_.operands.size() == 2 && operand(1).sizes.empty(), "no value to pad with");
        require(at_.starts.size() == rank && to.size() == rank,
                "padding for every dimension is expected");
        for (std::size_t i = 0; i < rank; ++i)
          expected[i] = from[i] + at_.starts[i] + at_.limits[i];
        break;
      default:
        expected = from;
        require(rank_holds(at_.dimensions, operand()), "dimensions are none of its operand");
    }
    require(expected == to,
            fmt::format("{} is expected", to_string(ArrayShape{result().type, expected, {}})));
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

  void collective() const {
    if (node_.op == Op::AllToAll && node_.outputs.size() > 1) return tuple_all_to_all();
    require(node_.outputs.size() == node_.operands.size(), "as many results are expected");
    const auto parts = static_cast<std::int64_t>(flow_.collectives[node_.collective].group_size());
    for (std::size_t k = 0; k < node_.operands.size(); ++k) {
      require(operand(k).type == result(k).type, "the element types differ");
      Sizes expected = operand(k).sizes;
      const bool cuts =
          node_.op == Op::AllGather || node_.op == Op::ReduceScatter || node_.op == Op::AllToAll;
      if (cuts) {
        require(parts != 0, "its groups are of different sizes");
        require(at_.dimensions.size() == 1 && rank_holds(at_.dimensions, operand(k)),
                "dimensions is no dimension of it");
        auto& size = expected[static_cast<std::size_t>(at_.dimensions[0])];
        require(node_.op == Op::AllGather || size % parts == 0,
                fmt::format("{} parts of {} elements do not come out", parts, size));
        if (node_.op == Op::AllGather) size *= parts;
        if (node_.op != Op::AllGather) size /= parts;
        if (node_.op == Op::AllToAll) {
          const std::int64_t along = at_.concat_dimension.value_or(at_.dimensions[0]);
          require(rank_holds({along}, operand(k)), "concat_dimension is no dimension of it");
          expected[static_cast<std::size_t>(along)] *= parts;
        }
      }
      require(expected == result(k).sizes,
              fmt::format("{} is expected", to_string(ArrayShape{result(k).type, expected, {}})));
    }
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

  const Flow& flow_;
  const Node& node_;
  const Attributes& at_;
};

}  // namespace

void check_shapes(const Flow& flow, const Node& node) { Rules(flow, node).check(); }

}  // namespace p2::hlo
