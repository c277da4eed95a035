// Shape inference for operations on whole arrays and on elements, as XLA defines it
// (xla/service/shape_inference.cc), and the choice of the rule for an instruction.

#include "engine/hlo/shape_inference.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "engine/hlo/interpreter/element_operation.h"
#include "engine/hlo/operations.h"

namespace p2::hlo {
namespace {

using Sizes = InstructionShapes::Sizes;
using Kind = ElementType::Kind;
using interpreter::Element;

bool fits(const Sizes& inner, const Sizes& outer) {
  return std::ranges::equal(inner, outer, std::ranges::less_equal());
}

bool is_scalar(const ArrayShape& shape) { return shape.sizes.empty(); }

void require_elementwise_sizes(const InstructionShapes& of, Element code) {
  if (code == Element::BitcastConvert && of.operand().type.bits() != of.result().type.bits()) {
    return;  // another number of elements in the last dimension
  }
  for (std::size_t k = 0; k < of.operands.size(); ++k) {
    const bool may_be_scalar =
        (code == Element::Select && k == 0) || (code == Element::Clamp && k != 1);
    of.require((may_be_scalar && is_scalar(of.operand(k))) || of.operand(k).same_sizes(of.result()),
               "the sizes of an operand differ");
  }
}

void require_elementwise_types(const InstructionShapes& of, Element code) {
  switch (code) {
    case Element::BitcastConvert:
    case Element::Convert:
      return;
    case Element::Compare:
      of.require(of.result().type.kind() == Kind::Boolean, "pred is expected");
      return of.require(are_alike(of.operand(0).type, of.operand(1).type),
                        "the element types differ");
    case Element::IsFinite:
      return of.require(of.result().type.kind() == Kind::Boolean && of.operand().type.is_float(),
                        "pred of floating-point numbers is expected");
    case Element::Select:
      of.require(of.operand(0).type.kind() == Kind::Boolean, "its first operand is not of pred");
      of.require_type(of.operand(1).type);
      return of.require_type(of.operand(2).type);
    case Element::Abs:
      if (of.operand().type.is_complex() && of.result().type.is_float()) return;
      return of.require_type(of.operand().type);
    default:
      for (const ArrayShape* each : of.operands) of.require_type(each->type);
  }
}

void elementwise(const InstructionShapes& of, Element code) {
  of.require_operands(interpreter::number_of_operands(code));
  require_elementwise_sizes(of, code);
  require_elementwise_types(of, code);
}

/// `real`, `imag` and `complex`: numbers of half the bits.
void parts_of_complex(const InstructionShapes& of) {
  const bool makes = of.instruction.opcode == "complex";
  of.require_operands(makes ? 2 : 1);
  for (const ArrayShape* each : of.operands) {
    of.require(each->same_sizes(of.result()), "the sizes of an operand differ");
    const ElementType whole = makes ? of.result().type : each->type;
    const ElementType part = makes ? each->type : of.result().type;
    const bool is_part = whole.is_complex() && part.is_float() && 2 * part.bits() == whole.bits();
    of.require(is_part || (!makes && whole == part), "the element types differ");
  }
}

void id(const InstructionShapes& of) {
  const ElementType type = of.result().type;
  of.require(is_scalar(of.result()) && type.is_integer() && type.bits() >= 32, "an id is u32[]");
}

void iota(const InstructionShapes& of) {
  of.require(of.attributes().dimensions.size() == 1 &&
                 are_dimensions(of.attributes().dimensions, of.result()),
             "iota_dimension is not a dimension of it");
}

void reshape(const InstructionShapes& of) {
  of.require_operands(1);
  of.require_type(of.operand().type);
  of.require(of.operand().elements() == of.result().elements(), "the numbers of elements differ");
}

void bitcast(const InstructionShapes& of) { of.require_operands(1); }

void slice(const InstructionShapes& of) {
  const Attributes& at = of.attributes();
  const Sizes& from = of.operand().sizes;
  of.require_type(of.operand().type);
  of.require(at.starts.size() == from.size() && at.limits.size() == from.size() &&
                 at.strides.size() == from.size(),
             "a range for every dimension is expected");
  Sizes expected;
  for (std::size_t i = 0; i < from.size(); ++i) {
    of.require(0 <= at.starts[i] && at.starts[i] <= at.limits[i] && at.limits[i] <= from[i] &&
                   at.strides[i] > 0,
               "a range is out of bounds");
    expected.push_back((at.limits[i] - at.starts[i] + at.strides[i] - 1) / at.strides[i]);
  }
  of.require_sizes(expected);
}

/// Offsets: a scalar for every dimension, or all of them in one array.
void offsets(const InstructionShapes& of, std::size_t first) {
  const std::size_t rank = of.operand().sizes.size();
  const bool is_array =
      of.operands.size() == first + 1 && of.operand(first).sizes == Sizes{std::int64_t(rank)};
  of.require(is_array || of.operands.size() == first + rank,
             "an offset for every dimension is expected");
  for (std::size_t k = first; k < of.operands.size(); ++k) {
    of.require((is_array || is_scalar(of.operand(k))) && of.operand(k).type.is_integer(),
               "an offset must be a scalar integer");
  }
}

void dynamic_slice(const InstructionShapes& of) {
  of.require_type(of.operand().type);
  of.require(of.attributes().slice_sizes == of.result().sizes,
             "dynamic_slice_sizes differ from the result");
  of.require(fits(of.result().sizes, of.operand().sizes), "the slice is larger than its operand");
  offsets(of, 1);
}

void dynamic_update_slice(const InstructionShapes& of) {
  of.require(of.operands.size() >= 2, "an update is expected");
  of.require_type(of.operand(0).type);
  of.require_type(of.operand(1).type);
  of.require(of.operand().same_sizes(of.result()) && fits(of.operand(1).sizes, of.result().sizes),
             "the update is larger than its operand");
  offsets(of, 2);
}

void transpose(const InstructionShapes& of) {
  const Sizes& order = of.attributes().dimensions;
  of.require_operands(1);
  of.require_type(of.operand().type);
  of.require(order.size() == of.operand().sizes.size() && are_dimensions(order, of.operand()),
             "dimensions are not a permutation");
  Sizes expected;
  for (const std::int64_t dimension : order) {
    expected.push_back(of.operand().sizes[static_cast<std::size_t>(dimension)]);
  }
  of.require_sizes(expected);
}

void broadcast(const InstructionShapes& of) {
  const Sizes& from = of.operand().sizes;
  const Sizes& dimensions = of.attributes().dimensions;
  of.require_operands(1);
  of.require_type(of.operand().type);
  of.require(dimensions.size() == from.size() && are_dimensions(dimensions, of.result()),
             "a dimension for each of its operand's is expected");
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int64_t size = of.result().sizes[static_cast<std::size_t>(dimensions[i])];
    const bool stretched = from[i] == 1 && of.module.language == Language::StableHlo;
    of.require(size == from[i] || stretched, "sizes differ");
  }
}

void concatenate(const InstructionShapes& of) {
  const Sizes& dimensions = of.attributes().dimensions;
  of.require(dimensions.size() == 1 && are_dimensions(dimensions, of.result()),
             "dimensions is not a dimension of it");
  const auto along = static_cast<std::size_t>(dimensions[0]);
  std::int64_t sum = 0;
  for (const ArrayShape* each : of.operands) {
    Sizes sizes = each->sizes;
    of.require_type(each->type);
    of.require(sizes.size() == of.result().sizes.size(), "the ranks differ");
    sum += sizes[along];
    of.require(sum <= kMaxElements, "the result is too large");
    sizes[along] = of.result().sizes[along];
    of.require(sizes == of.result().sizes, "sizes differ across the dimension");
  }
  of.require(sum == of.result().sizes[along],
             fmt::format("{} along the dimension are expected", sum));
}

void pad(const InstructionShapes& of) {
  const Attributes& at = of.attributes();
  const std::size_t rank = of.operand().sizes.size();
  of.require(of.operands.size() == 2 && is_scalar(of.operand(1)),
             "a scalar padding value is expected");
  of.require_type(of.operand(0).type);
  of.require_type(of.operand(1).type);
  of.require(at.starts.size() == rank && at.limits.size() == rank && at.strides.size() == rank,
             "padding for every dimension is expected");
  Sizes expected;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t size = of.operand().sizes[i];
    of.require(
        at.strides[i] >= 0 && at.strides[i] <= kMaxElements / std::max<std::int64_t>(size, 1),
        "interior padding is out of bounds");
    expected.push_back(size + at.strides[i] * std::max<std::int64_t>(size - 1, 0) + at.starts[i] +
                       at.limits[i]);
  }
  of.require_sizes(expected);
}

void reverse(const InstructionShapes& of) {
  of.require_operands(1);
  of.require_type(of.operand().type);
  of.require(are_dimensions(of.attributes().dimensions, of.operand()),
             "dimensions are not dimensions of its operand");
  of.require_sizes(of.operand().sizes);
}

/// Of tuples, too.
void copy(const InstructionShapes& of) {
  of.require(of.results.size() == of.operands.size(), "as many results are expected");
  for (std::size_t k = 0; k < of.results.size(); ++k) {
    of.require_type(of.operand(k).type, k);
    of.require_sizes(of.operand(k).sizes, k);
  }
}

/// Of linked programs: an operand for each of them.
void of_own_program(const InstructionShapes& of) {
  for (const ArrayShape* each : of.operands) {
    of.require(each->type == of.result().type, "the element types differ");
    of.require(each->same_sizes(of.result()), "the shapes differ");
  }
}

void collective(const InstructionShapes& of) {
  if (of.results.size() != of.operands.size()) return;  // in a form that is not known
  for (std::size_t k = 0; k < of.operands.size(); ++k) {
    of.require_type(of.operand(k).type, k);
    of.require(of.operand(k).sizes.size() == of.result(k).sizes.size(), "the ranks differ");
  }
}

void collective_of_same_sizes(const InstructionShapes& of) {
  collective(of);
  if (of.results.size() != of.operands.size()) return;
  for (std::size_t k = 0; k < of.operands.size(); ++k) of.require_sizes(of.operand(k).sizes, k);
}

using Rule = std::function<void(const InstructionShapes&)>;

/// Whether an operation makes one array: all but those that call, and collectives.
struct KnownRule {
  Rule rule;
  bool makes_one = true;
};

std::unordered_map<std::string_view, KnownRule> known_rules() {
  std::unordered_map<std::string_view, KnownRule> rules = {
      {"bitcast", {bitcast}},
      {"broadcast", {broadcast}},
      {"complex", {parts_of_complex}},
      {"concatenate", {concatenate}},
      {"copy", {copy, false}},
      {"dynamic-slice", {dynamic_slice}},
      {"dynamic-update-slice", {dynamic_update_slice}},
      {"imag", {parts_of_complex}},
      {"iota", {iota}},
      {"pad", {pad}},
      {"partition-id", {id}},
      {"real", {parts_of_complex}},
      {"replica-id", {id}},
      {"reshape", {reshape}},
      {"reverse", {reverse}},
      {"slice", {slice}},
      {"transpose", {transpose}},
      {kOfOwnProgram, {of_own_program}},
      {"all-gather", {collective, false}},
      {"all-reduce", {collective_of_same_sizes, false}},
      {"all-to-all", {collective, false}},
      {"collective-broadcast", {collective_of_same_sizes, false}},
      {"collective-permute", {collective_of_same_sizes, false}},
      {"reduce-scatter", {collective, false}}};
  for (const std::string_view opcode : {"convolution", "dot", "gather"}) {
    rules[opcode] = {check_windowed_shapes};
  }
  for (const std::string_view opcode : {"reduce-window", "scatter", "select-and-scatter"}) {
    rules[opcode] = {check_windowed_shapes, false};
  }
  rules["map"] = {check_calling_shapes};
  for (const std::string_view opcode :
       {"call", "conditional", "fusion", "get-tuple-element", "reduce", "sort", "tuple", "while"}) {
    rules[opcode] = {check_calling_shapes, false};
  }
  return rules;
}

const KnownRule* rule_of(std::string_view opcode) {
  static const std::unordered_map<std::string_view, KnownRule> kRules = known_rules();
  const auto found = kRules.find(opcode);
  return found == kRules.end() ? nullptr : &found->second;
}

bool is_one_of(std::string_view opcode, std::initializer_list<std::string_view> opcodes) {
  return std::ranges::find(opcodes, opcode) != opcodes.end();
}

/// Whether an operation may have no operands, and whether its operands may be tuples without
/// arrays.
bool may_have_none(std::string_view opcode) {
  return is_one_of(opcode, {"call", "fusion", "iota", "partition-id", "replica-id", "tuple"});
}
bool may_be_tuples(std::string_view opcode) {
  return is_one_of(
      opcode, {"call", "conditional", "copy", "fusion", "get-tuple-element", "tuple", "while"});
}

void append_arrays(const Shape& shape, std::vector<const ArrayShape*>& arrays) {
  if (!shape.is_tuple) arrays.push_back(&shape.array);
  for (const Shape& part : shape.parts) append_arrays(part, arrays);
}

bool is_fixed(const std::vector<const ArrayShape*>& arrays) {
  return std::ranges::all_of(arrays, [](const ArrayShape* each) { return each->foreign.empty(); });
}

void check_instruction(const Module& module, const Computation& computation,
                       const Instruction& instruction) {
  const std::string_view opcode = base_opcode(instruction.opcode);
  const auto element = interpreter::element_of(opcode);
  const KnownRule* const known = element ? nullptr : rule_of(opcode);
  if (!element && known == nullptr) return;
  InstructionShapes of{module, computation, instruction};
  const bool looks_at_tuples = opcode == "tuple" || opcode == "get-tuple-element";
  if (!looks_at_tuples) {
    for (const std::uint32_t each : instruction.operands) {
      append_arrays(computation.instructions[each].shape, of.operands);
    }
    append_arrays(computed_shape(instruction), of.results);
  }
  if (!is_fixed(of.operands) || !is_fixed(of.results)) return;
  const bool has_operand = instruction.operands.empty()
                               ? may_have_none(opcode)
                               : !of.operands.empty() || may_be_tuples(opcode);
  if (!has_operand) {
    throw IllFormed({"shapes", fmt::format("{} {} has no operand.", opcode, instruction.name),
                     instruction.position});
  }
  if (element || known->makes_one) {
    of.require(of.results.size() == 1, "one result is expected");
  }
  if (element) return elementwise(of, *element);
  known->rule(of);
}

/// The sizes of the results of collectives whose groups are known.
class CollectiveSizes {
 public:
  CollectiveSizes(const InstructionShapes& of, Op op, std::size_t members)
      : of_(of), op_(op), members_(members) {}

  void check() const {
    if (op_ == Op::AllToAll && computed_shape(of_.instruction).is_tuple) return tuple_all_to_all();
    of_.require(of_.results.size() == of_.operands.size(), "as many results are expected");
    for (std::size_t k = 0; k < of_.operands.size(); ++k) {
      of_.require(of_.operand(k).type == of_.result(k).type, "the element types differ");
      Sizes expected = of_.operand(k).sizes;
      const bool changes_size =
          op_ == Op::AllGather || op_ == Op::ReduceScatter || op_ == Op::AllToAll;
      if (changes_size) infer(expected, k);
      of_.require_sizes(expected, k);
    }
  }

 private:
  void infer(Sizes& sizes, std::size_t k) const {
    const Attributes& at = of_.attributes();
    const auto parts = static_cast<std::int64_t>(members_);
    of_.require(parts != 0, "its groups are of different sizes");
    of_.require(at.dimensions.size() == 1 && are_dimensions(at.dimensions, of_.operand(k)),
                "dimensions is not a dimension of it");
    std::int64_t& size = sizes[static_cast<std::size_t>(at.dimensions[0])];
    if (op_ == Op::AllGather) {
      of_.require(size <= kMaxElements / parts, "the result is too large");
      size *= parts;
      return;
    }
    of_.require(size % parts == 0, fmt::format("{} elements are not divisible by {}", size, parts));
    size /= parts;
    if (op_ == Op::ReduceScatter) return;
    const std::int64_t along = at.concat_dimension.value_or(at.dimensions[0]);
    of_.require(are_dimensions({along}, of_.operand(k)),
                "concat_dimension is not a dimension of it");
    of_.require(sizes[static_cast<std::size_t>(along)] <= kMaxElements / parts,
                "the result is too large");
    sizes[static_cast<std::size_t>(along)] *= parts;
  }

  void tuple_all_to_all() const {
    of_.require(
        of_.operands.size() == members_ && of_.results.size() == members_,
        fmt::format("an operand and a result for each of {} members are expected", members_));
    for (std::size_t k = 0; k < members_; ++k) {
      of_.require(of_.operand(k).same_sizes(of_.operand()) &&
                      of_.result(k).same_sizes(of_.operand()) &&
                      of_.operand(k).type == of_.result(k).type &&
                      of_.operand(k).type == of_.operand().type,
                  "the shapes differ");
    }
  }

  const InstructionShapes& of_;
  Op op_;
  std::size_t members_;
};

}  // namespace

bool are_dimensions(const std::vector<std::int64_t>& dimensions, const ArrayShape& shape) {
  Sizes sorted = dimensions;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
         (sorted.empty() ||
          (sorted.front() >= 0 && sorted.back() < static_cast<std::int64_t>(shape.sizes.size())));
}

void InstructionShapes::require(bool holds, const std::string& what) const {
  if (holds) return;
  std::string from;
  for (const ArrayShape* each : operands) from += (from.empty() ? "" : ", ") + to_string(*each);
  throw IllFormed({"shapes",
                   fmt::format("{} {} makes {} of {}: {}.", instruction.opcode, instruction.name,
                               to_string(instruction.shape), from, what),
                   instruction.position});
}

const Computation& InstructionShapes::called(std::size_t k) const {
  require(k < instruction.called.size(), "it calls no computation");
  return module.computations[instruction.called[k]];
}

void InstructionShapes::require_operands(std::size_t number) const {
  if (operands.size() == number) return;
  require(false, number == 1   ? "one operand is expected"
                 : number == 2 ? "two operands are expected"
                               : "the number of operands is wrong");
}

void InstructionShapes::require_sizes(const Sizes& expected, std::size_t k) const {
  if (expected == result(k).sizes) return;
  require(false,
          fmt::format("{} is expected", to_string(ArrayShape{result(k).type, expected, {}})));
}

void InstructionShapes::require_type(ElementType type, std::size_t k) const {
  require(are_alike(type, result(k).type), "the element types differ");
}

void check_shapes(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      check_instruction(module, computation, instruction);
    }
  }
}

void check_collective_shapes(const Flow& flow, const Node& node) {
  InstructionShapes of{*flow.module, flow.module->entry_computation(), *node.instruction};
  for (const Ref each : node.operands) of.operands.push_back(&flow.shape(each));
  for (const ArrayShape& each : node.outputs) of.results.push_back(&each);
  CollectiveSizes(of, node.op, flow.collectives[node.collective].group_size()).check();
}

}  // namespace p2::hlo
