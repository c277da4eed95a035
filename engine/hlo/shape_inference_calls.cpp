// Shape inference for tuples and for operations that call computations: what is passed has the
// shapes of the parameters, and what is made those of the roots.

#include <algorithm>

#include <fmt/format.h>

#include "engine/hlo/shape_inference.h"

namespace p2::hlo {
namespace {

const Shape& root_of(const Computation& computation) {
  return computation.instructions[computation.root].shape;
}

bool is_scalar(const Shape& shape, ElementType::Kind kind) {
  return !shape.is_tuple && shape.array.sizes.empty() && shape.array.type.kind() == kind;
}

class CallRule {
 public:
  explicit CallRule(const InstructionShapes& of)
      : of_(of), instruction_(of.instruction), opcode_(of.instruction.opcode) {}

  void check() const {
    if (opcode_ == "tuple") return tuple();
    if (opcode_ == "get-tuple-element") return element();
    if (opcode_ == "while") return loop();
    if (opcode_ == "conditional") return conditional();
    require_called(1);
    if (opcode_ == "map") return map();
    if (opcode_ == "sort") return sort();
    if (opcode_ == "reduce") return reduce();
    call();
  }

 private:
  const Shape& shape_of(std::size_t operand) const {
    return of_.computation.instructions[instruction_.operands[operand]].shape;
  }
  const Shape& parameter(const Computation& computation, std::size_t k = 0) const {
    return computation.instructions[computation.parameters[k]].shape;
  }
  [[noreturn]] void refuse(const char* rule, const std::string& why) const {
    throw IllFormed(
        {rule, fmt::format("{} {}: {}.", opcode_, instruction_.name, why), instruction_.position});
  }
  void require_called(std::size_t number) const {
    if (instruction_.called.size() == number) return;
    refuse("operands", number == 1 ? "it calls no computation"
                                   : fmt::format("{} computations are expected", number));
  }
  void require_parameters(const Computation& computation, std::size_t number) const {
    if (computation.parameters.size() == number) return;
    refuse("operands",
           fmt::format("{} operands for {} parameters", number, computation.parameters.size()));
  }
  void require_result(const Shape& shape) const {
    if (!are_alike(shape, instruction_.shape)) {
      refuse("shapes", fmt::format("its shape {} is not {}, which it computes",
                                   to_string(instruction_.shape), to_string(shape)));
    }
  }
  void require_argument(std::size_t operand, const Shape& expected) const {
    if (!are_alike(shape_of(operand), expected)) {
      refuse("shapes", fmt::format("operand {} does not fit the parameter", operand));
    }
  }

  /// Requires a parameter to take an element of an operand.
  void require_element(std::size_t operand, const Shape& expected) const {
    const ElementType type = of_.operand(operand).type;
    of_.require(is_scalar(expected, type.kind()) && are_alike(expected.array.type, type),
                fmt::format("operand {} does not fit the parameter", operand));
  }

  void tuple() const {
    const Shape& shape = instruction_.shape;
    bool fits = shape.is_tuple && shape.parts.size() == instruction_.operands.size();
    for (std::size_t k = 0; fits && k < shape.parts.size(); ++k) {
      fits = are_same(shape.parts[k], shape_of(k));
    }
    if (!fits) refuse("shapes", "its operands are not " + to_string(shape));
  }

  void element() const {
    const auto index = static_cast<std::size_t>(instruction_.attributes.index);
    const Shape& shape = shape_of(0);
    if (instruction_.operands.size() != 1) refuse("operands", "one operand is expected");
    if (!shape.is_tuple || index >= shape.parts.size()) {
      refuse("operands", fmt::format("its operand has no element {}", index));
    }
    if (!are_same(shape.parts[index], instruction_.shape)) {
      refuse("shapes",
             "its shape " + to_string(instruction_.shape) + " is not that of its operand");
    }
  }

  void call() const {
    require_parameters(of_.called(), instruction_.operands.size());
    for (std::size_t k = 0; k < instruction_.operands.size(); ++k) {
      require_argument(k, parameter(of_.called(), k));
    }
    require_result(root_of(of_.called()));
  }

  /// What a loop carries has the shape of its operand, every time.
  void loop() const {
    require_called(2);
    if (instruction_.operands.size() != 1) refuse("operands", "one operand is expected");
    for (const std::size_t k : {0, 1}) {
      require_parameters(of_.called(k), 1);
      require_argument(0, parameter(of_.called(k)));
    }
    require_result(shape_of(0));
    require_result(root_of(of_.called(1)));
    if (!is_scalar(root_of(of_.called(0)), ElementType::Kind::Boolean)) {
      refuse("shapes", "its condition is not pred[]");
    }
  }

  void conditional() const {
    const bool by_truth = is_scalar(shape_of(0), ElementType::Kind::Boolean);
    if (by_truth) require_called(2);
    if (!by_truth && !is_scalar(shape_of(0), ElementType::Kind::Signed)) {
      refuse("shapes", "its first operand is neither pred[] nor s32[]");
    }
    if (instruction_.operands.size() != instruction_.called.size() + 1) {
      refuse("operands", "an operand for every branch is expected");
    }
    for (std::size_t k = 0; k < instruction_.called.size(); ++k) {
      require_parameters(of_.called(k), 1);
      require_argument(k + 1, parameter(of_.called(k)));
      require_result(root_of(of_.called(k)));
    }
  }

  /// A function of scalars at every index.
  void map() const {
    const Computation& function = of_.called();
    require_parameters(function, of_.operands.size());
    for (std::size_t k = 0; k < of_.operands.size(); ++k) {
      of_.require(of_.operand(k).same_sizes(of_.result()), "the sizes of an operand differ");
      require_element(k, parameter(function, k));
    }
    const Shape& root = root_of(function);
    of_.require(is_scalar(root, root.array.type.kind()), "its function makes no scalar");
    of_.require_type(root.array.type);
  }

  void sort() const {
    const Computation& comparator = of_.called();
    of_.require(of_.results.size() == of_.operands.size(), "as many results are expected");
    of_.require(of_.attributes().dimensions.size() == 1 &&
                    are_dimensions(of_.attributes().dimensions, of_.operand()),
                "dimensions is not a dimension of it");
    require_parameters(comparator, 2 * of_.operands.size());
    for (std::size_t k = 0; k < of_.operands.size(); ++k) {
      of_.require_sizes(of_.operand().sizes, k);
      of_.require(of_.operand(k).same_sizes(of_.operand()), "the sizes of an operand differ");
      of_.require_type(of_.operand(k).type, k);
      for (const std::size_t side : {2 * k, 2 * k + 1}) {
        require_element(k, parameter(comparator, side));
      }
    }
    of_.require(is_scalar(root_of(comparator), ElementType::Kind::Boolean),
                "its comparator does not make pred[]");
  }

  void reduce() const {
    const std::vector<std::int64_t>& dimensions = of_.attributes().dimensions;
    require_reduction(of_);
    of_.require(are_dimensions(dimensions, of_.operand()),
                "dimensions are not dimensions of its operand");
    InstructionShapes::Sizes kept;
    for (std::size_t i = 0; i < of_.operand().sizes.size(); ++i) {
      const bool is_reduced = std::ranges::count(dimensions, static_cast<std::int64_t>(i)) > 0;
      if (!is_reduced) kept.push_back(of_.operand().sizes[i]);
    }
    for (const ArrayShape* each : of_.results) {
      of_.require(each->sizes == kept, "the remaining sizes differ");
    }
  }

  const InstructionShapes& of_;
  const Instruction& instruction_;
  const std::string& opcode_;
};

}  // namespace

void check_calling_shapes(const InstructionShapes& of) { CallRule(of).check(); }

void require_reduction(const InstructionShapes& of) {
  const std::size_t count = of.results.size();
  of.require(of.operands.size() == 2 * count, "an initial value for each operand is expected");
  std::vector<ElementType> types;
  for (std::size_t k = 0; k < count; ++k) {
    const ArrayShape& initial = of.operand(count + k);
    types.push_back(of.operand(k).type);
    of.require(of.operand(k).same_sizes(of.operand()), "the sizes of an operand differ");
    of.require(initial.sizes.empty(), "the initial value must be a scalar");
    of.require_type(of.operand(k).type, k);
    of.require_type(initial.type, k);
  }
  require_reducer(of, of.called(), types);
}

void require_reducer(const InstructionShapes& of, const Computation& reducer,
                     const std::vector<ElementType>& types) {
  const auto is_scalar_like = [](const ArrayShape& shape, ElementType type) {
    return shape.sizes.empty() && are_alike(shape.type, type);
  };
  bool fits = reducer.parameters.size() == 2 * types.size();
  for (std::size_t k = 0; fits && k < reducer.parameters.size(); ++k) {
    const Shape& each = reducer.instructions[reducer.parameters[k]].shape;
    fits = !each.is_tuple && is_scalar_like(each.array, types[k % types.size()]);
  }
  of.require(fits, "the computation does not take two scalars of each type");
  of.require(std::ranges::equal(root_of(reducer).arrays(), types, is_scalar_like),
             "the computation does not make a scalar of each type");
}

}  // namespace p2::hlo
