// Shape inference for the operations that are not opaque, as XLA defines it (ShapeInference): the
// shapes of the results must follow from those of the operands, the attributes and the groups.

#include "engine/hlo/shape.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/flow.h"
#include "engine/hlo/operations.h"

namespace p2::hlo {

namespace {

using Kind = ElementType::Kind;

struct TypeRow {
  std::string_view name;
  Kind kind;
  unsigned bits;
};

constexpr auto kTypes = std::to_array<TypeRow>({
    {"token", Kind::Other, 0},    {"opaque", Kind::Other, 0},        {"pred", Kind::Boolean, 1},
    {"s1", Kind::Signed, 1},      {"s2", Kind::Signed, 2},           {"s4", Kind::Signed, 4},
    {"s8", Kind::Signed, 8},      {"s16", Kind::Signed, 16},         {"s32", Kind::Signed, 32},
    {"s64", Kind::Signed, 64},    {"u1", Kind::Unsigned, 1},         {"u2", Kind::Unsigned, 2},
    {"u4", Kind::Unsigned, 4},    {"u8", Kind::Unsigned, 8},         {"u16", Kind::Unsigned, 16},
    {"u32", Kind::Unsigned, 32},  {"u64", Kind::Unsigned, 64},       {"f16", Kind::Float, 16},
    {"bf16", Kind::Float, 16},    {"f32", Kind::Float, 32},          {"f64", Kind::Float, 64},
    {"f4e2m1fn", Kind::Float, 4}, {"f8e3m4", Kind::Float, 8},        {"f8e4m3", Kind::Float, 8},
    {"f8e4m3fn", Kind::Float, 8}, {"f8e4m3b11fnuz", Kind::Float, 8}, {"f8e4m3fnuz", Kind::Float, 8},
    {"f8e5m2", Kind::Float, 8},   {"f8e5m2fnuz", Kind::Float, 8},    {"f8e8m0fnu", Kind::Float, 8},
    {"c64", Kind::Complex, 64},   {"c128", Kind::Complex, 128},
});

void collect(const Shape& shape, std::vector<ArrayShape>& all) {
  if (!shape.is_tuple) all.push_back(shape.array);
  for (const Shape& part : shape.parts) collect(part, all);
}

}  // namespace

std::optional<ElementType> ElementType::from_xla(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return ElementType(static_cast<std::uint8_t>(i));
  }
  return std::nullopt;
}

std::optional<ElementType> ElementType::from_mlir(std::string_view name) {
  std::string xla(name);
  std::transform(xla.begin(), xla.end(), xla.begin(), [](char ch) {
    return ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch;
  });
  if (xla == "i1") return from_xla("pred");
  if (xla == "index") return from_xla("s64");
  if (xla == "complex<f32>") return from_xla("c64");
  if (xla == "complex<f64>") return from_xla("c128");
  if (xla.rfind("ui", 0) == 0) xla.erase(1, 1);
  if (xla.rfind("si", 0) == 0) xla.erase(0, 1);
  if (xla.rfind('i', 0) == 0) xla[0] = 's';
  return from_xla(xla);
}

std::string_view ElementType::name() const { return kTypes[index_].name; }
ElementType::Kind ElementType::kind() const { return kTypes[index_].kind; }
unsigned ElementType::bits() const { return kTypes[index_].bits; }

std::int64_t volume(const std::vector<std::int64_t>& sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

bool ArrayShape::row_major() const {
  for (std::size_t i = 0; i < minor_to_major.size(); ++i) {
    if (minor_to_major[i] != static_cast<std::int64_t>(minor_to_major.size() - 1 - i)) return false;
  }
  return true;
}

std::vector<ArrayShape> Shape::arrays() const {
  std::vector<ArrayShape> all;
  collect(*this, all);
  return all;
}

bool is_foreign(const Shape& shape) {
  return shape.is_tuple ? std::any_of(shape.parts.begin(), shape.parts.end(), is_foreign)
                        : shape.array.type.name() == "opaque";
}

bool is_dynamic(const Shape& shape) {
  const std::string& text = shape.array.foreign;
  return shape.is_tuple
             ? std::any_of(shape.parts.begin(), shape.parts.end(), is_dynamic)
             : text.find('?') != std::string::npos || text.find("<=") != std::string::npos;
}

std::string to_string(const ArrayShape& shape) {
  if (!shape.foreign.empty()) return shape.foreign;
  return fmt::format("{}[{}]", shape.type.name(), fmt::join(shape.sizes, ","));
}

std::string to_string(const Shape& shape) {
  if (!shape.is_tuple) return to_string(shape.array);
  std::string text;
  for (const Shape& part : shape.parts) text += (text.empty() ? "" : ", ") + to_string(part);
  return "(" + text + ")";
}

namespace {

/// The shapes of one node and its operands.
class ShapeRule {
 public:
  ShapeRule(const Flow& flow, const Node& node)
      : flow_(flow), node_(node), at_(node.instruction->attributes) {}

 protected:
  using Sizes = std::vector<std::int64_t>;

  /// Throws IllFormed, with `what` and all shapes, unless `holds`.
  void require(bool holds, const std::string& what) const;
  const ArrayShape& result(std::size_t k = 0) const { return node_.outputs[k]; }
  const ArrayShape& operand(std::size_t k = 0) const { return flow_.shape(node_.operands[k]); }
  /// Whether `dimensions` are dimensions of a shape, without duplicates.
  static bool are_dimensions(const Sizes& dimensions, const ArrayShape& shape);
  /// Requires result `k` to have these sizes.
  void require_sizes(const Sizes& expected, std::size_t k = 0) const;

  const Flow& flow_;
  const Node& node_;
  const Attributes& at_;
};

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

bool ShapeRule::are_dimensions(const Sizes& dimensions, const ArrayShape& shape) {
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

/// The rules for collectives.
class CollectiveRule : private ShapeRule {
 public:
  using ShapeRule::ShapeRule;

  void check() const {
    if (node_.op == Op::AllToAll && node_.outputs.size() > 1) return tuple_all_to_all();
    require(node_.outputs.size() == node_.operands.size(), "as many results are expected");
    for (std::size_t k = 0; k < node_.operands.size(); ++k) {
      require(operand(k).type == result(k).type, "the element types differ");
      Sizes expected = operand(k).sizes;
      const bool changes_size =
          node_.op == Op::AllGather || node_.op == Op::ReduceScatter || node_.op == Op::AllToAll;
      if (changes_size) infer_sizes(expected, k);
      require_sizes(expected, k);
    }
  }

 private:
  void infer_sizes(Sizes& sizes, std::size_t k) const {
    const auto parts = static_cast<std::int64_t>(flow_.collectives[node_.collective].group_size());
    require(parts != 0, "its groups are of different sizes");
    require(at_.dimensions.size() == 1 && are_dimensions(at_.dimensions, operand(k)),
            "dimensions is not a dimension of it");
    std::int64_t& size = sizes[static_cast<std::size_t>(at_.dimensions[0])];
    if (node_.op == Op::AllGather) {
      require(size <= kMaxElements / parts, "the result is too large");
      size *= parts;
      return;
    }
    require(size % parts == 0, fmt::format("{} elements are not divisible by {}", size, parts));
    size /= parts;
    if (node_.op == Op::ReduceScatter) return;
    const std::int64_t along = at_.concat_dimension.value_or(at_.dimensions[0]);
    require(are_dimensions({along}, operand(k)), "concat_dimension is not a dimension of it");
    require(sizes[static_cast<std::size_t>(along)] <= kMaxElements / parts,
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

/// The rules for all nodes.
class NodeRule : private ShapeRule {
 public:
  using ShapeRule::ShapeRule;

  void check() const {
    if (node_.op == Op::Opaque) return;
    require(node_.op <= Op::ReplicaId || !node_.operands.empty(), "it has no operand");
    if (node_.collective != kNone) return CollectiveRule(flow_, node_).check();
    require(node_.outputs.size() == 1, "one result is expected");
    switch (node_.op) {
      case Op::PartitionId:
      case Op::ReplicaId:
        return require(result().sizes.empty(), "an id must be a scalar");
      case Op::Constant:
      case Op::Dot:  // by its form
      case Op::Parameter:
        return;
      case Op::Iota:
        return require(at_.dimensions.size() == 1 && are_dimensions(at_.dimensions, result()),
                       "iota_dimension is not a dimension of it");
      case Op::Elementwise:
        return elementwise();
      case Op::Reduce:
        return reduce();
      case Op::Concatenate:
        return concatenate();
      case Op::OfOwnProgram:
        for (std::size_t k = 0; k < node_.operands.size(); ++k) {
          require(operand(k).type == result().type, "the element types differ");
          require(operand(k).same_sizes(result()), "the shapes differ");
        }
        return;
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
      require(scalar || operand(k).same_sizes(result()), "the sizes of an operand differ");
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
    require(are_dimensions(at_.dimensions, operand()),
            "dimensions are not dimensions of its operand");
    Sizes kept;
    for (std::size_t i = 0; i < operand().sizes.size(); ++i) {
      const auto dimension = static_cast<std::int64_t>(i);
      if (std::find(at_.dimensions.begin(), at_.dimensions.end(), dimension) ==
          at_.dimensions.end()) {
        kept.push_back(operand().sizes[i]);
      }
    }
    require(kept == result().sizes, "the remaining sizes differ");
    require(operand(1).sizes.empty(), "the initial value must be a scalar");
  }

  void concatenate() const {
    require(at_.dimensions.size() == 1 && are_dimensions(at_.dimensions, result()),
            "dimensions is not a dimension of it");
    const auto along = static_cast<std::size_t>(at_.dimensions[0]);
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < node_.operands.size(); ++k) {
      Sizes sizes = operand(k).sizes;
      require(operand(k).type == result().type, "the element types differ");
      require(sizes.size() == result().sizes.size(), "the ranks differ");
      sum += sizes[along];
      require(sum <= kMaxElements, "the result is too large");
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
        require(at_.slice_sizes == result().sizes, "dynamic_slice_sizes differ from the result");
        require(fits(result().sizes, operand().sizes), "the slice is larger than its operand");
        return scalars_from(1);
      case Op::DynamicUpdateSlice:
        require(operand().same_sizes(result()) && fits(operand(1).sizes, result().sizes) &&
                    operand(1).type == result().type,
                "the update is larger than its operand");
        return scalars_from(2);
      case Op::Transpose:
        return transpose();
      case Op::Broadcast:
        return broadcast();
      case Op::Pad:
        return pad();
      default:
        require(are_dimensions(at_.dimensions, operand()),
                "dimensions are not dimensions of its operand");
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
              "a range is out of bounds");
      expected.push_back((at_.limits[i] - at_.starts[i] + at_.strides[i] - 1) / at_.strides[i]);
    }
    require_sizes(expected);
  }

  void transpose() const {
    require(at_.dimensions.size() == operand().sizes.size() &&
                are_dimensions(at_.dimensions, operand()),
            "dimensions are not a permutation");
    Sizes expected;
    for (const std::int64_t dimension : at_.dimensions) {
      expected.push_back(operand().sizes[static_cast<std::size_t>(dimension)]);
    }
    require_sizes(expected);
  }

  void broadcast() const {
    const Sizes& from = operand().sizes;
    require(at_.dimensions.size() == from.size() && are_dimensions(at_.dimensions, result()),
            "a dimension for each of its operand's is expected");
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::int64_t size = result().sizes[static_cast<std::size_t>(at_.dimensions[i])];
      const bool stretched = from[i] == 1 && flow_.module->language == Language::StableHlo;
      require(size == from[i] || stretched, "sizes differ");
    }
  }

  void pad() const {
    const std::size_t rank = operand().sizes.size();
    require(node_.operands.size() == 2 && operand(1).sizes.empty(),
            "a scalar padding value is expected");
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
      require(operand(k).sizes.empty() && operand(k).type.is_integer(),
              "an offset must be a scalar integer");
    }
  }
};

}  // namespace

void check_shapes(const Flow& flow, const Node& node) { NodeRule(flow, node).check(); }

}  // namespace p2::hlo
