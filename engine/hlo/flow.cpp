// Builds the data-flow graph of a module: inlines calls and fusions, resolves tuples, and joins the
// start and done of asynchronous operations.

#include "engine/hlo/flow.h"

#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "engine/base/limits.h"
#include "engine/hlo/module.h"
#include "engine/hlo/operations.h"
#include "engine/hlo/shape_inference.h"

namespace p2::hlo {
namespace {

/// The value of an instruction: an array, or a tuple of values.
struct ValueTree {
  bool is_tuple = false;
  Ref ref = {};
  std::vector<std::shared_ptr<const ValueTree>> parts = {};
  /// The result of an asynchronous start, whose shape in the text also has the operands.
  bool is_async = false;
};
using TreePointer = std::shared_ptr<const ValueTree>;

/// Appends the arrays at the leaves, from left to right.
void append_leaves(const ValueTree& tree, std::vector<Ref>& refs) {
  if (!tree.is_tuple) refs.push_back(tree.ref);
  for (const TreePointer& part : tree.parts) append_leaves(*part, refs);
}

bool matches(const Flow& flow, const ValueTree& tree, const Shape& shape) {
  if (tree.is_tuple != shape.is_tuple || tree.parts.size() != shape.parts.size()) return false;
  for (std::size_t i = 0; i < tree.parts.size(); ++i) {
    if (!matches(flow, *tree.parts[i], shape.parts[i])) return false;
  }
  return tree.is_tuple || (flow.shape(tree.ref).same_sizes(shape.array) &&
                           flow.shape(tree.ref).type == shape.array.type);
}

/// The outputs of a node, from `ref` on, as a tree of `shape`. Advances `ref` past the last one.
TreePointer tree_of_outputs(Ref& ref, const Shape& shape) {
  auto tree = std::make_shared<ValueTree>();
  tree->is_tuple = shape.is_tuple;
  for (const Shape& part : shape.parts) tree->parts.push_back(tree_of_outputs(ref, part));
  if (!shape.is_tuple) {
    tree->ref = ref;
    ++ref.output;
  }
  return tree;
}

TreePointer with_async(const TreePointer& tree, bool is_async) {
  auto result = std::make_shared<ValueTree>(*tree);
  result->is_async = is_async;
  return result;
}

constexpr int kMaxCallDepth = 128;

[[noreturn]] void refuse(const Instruction& instruction, const char* rule, const std::string& why) {
  throw IllFormed({rule, fmt::format("{} {}: {}.", instruction.opcode, instruction.name, why),
                   instruction.position});
}

class FlowBuilder {
 public:
  FlowBuilder(std::shared_ptr<const Module> module, const Devices& devices,
              Fingerprints& fingerprints, const Limits& limits)
      : watch_(limits, "following the data flow of a module") {
    flow_.module = std::move(module);
    flow_.devices = devices;
    completion_.emplace(flow_, fingerprints);
  }

  Flow build() {
    const Module& module = *flow_.module;
    std::vector<TreePointer> parameters;
    for (const std::uint32_t index : module.entry_computation().parameters) {
      const Instruction& instruction = module.entry_computation().instructions[index];
      parameters.push_back(inputs(instruction, instruction.shape));
    }
    append_leaves(*inlined(module.entry, parameters, 0), flow_.outputs);
    return std::move(flow_);
  }

 private:
  TreePointer inputs(const Instruction& instruction, const Shape& shape) {
    auto tree = std::make_shared<ValueTree>();
    tree->is_tuple = shape.is_tuple;
    for (const Shape& part : shape.parts) tree->parts.push_back(inputs(instruction, part));
    if (!shape.is_tuple) {
      Node node{Op::Parameter, &instruction, {shape.array}};
      node.parameter = static_cast<std::uint32_t>(flow_.inputs.size());
      flow_.inputs.push_back(shape.array);
      tree->ref = add(std::move(node));
    }
    return tree;
  }

  Ref add(Node node) {
    watch_.step();
    if (flow_.nodes.size() == kMaxNodes) {
      throw InputError(
          node.instruction->position,
          fmt::format("more than {} operations after inlining all calls, expected fewer",
                      kMaxNodes));
    }
    if (node.collective != kNone) check_collective_shapes(flow_, node);
    watch_.require_growth(flow_.nodes, 1);
    flow_.nodes.push_back(std::move(node));
    return {static_cast<std::uint32_t>(flow_.nodes.size() - 1), 0};
  }

  /// The value of a computation's root, with `arguments` for its parameters.
  TreePointer inlined(std::uint32_t index, const std::vector<TreePointer>& arguments, int depth) {
    const Computation& computation = flow_.module->computations[index];
    std::vector<TreePointer> trees;
    trees.reserve(computation.instructions.size());
    for (const Instruction& instruction : computation.instructions) {
      watch_.step();  // copies and calls are no nodes
      computation_ = &computation;
      if (instruction.opcode == "parameter") {
        trees.push_back(arguments[static_cast<std::size_t>(instruction.attributes.index)]);
      } else {
        std::vector<TreePointer> operands;
        for (const std::uint32_t operand : instruction.operands) operands.push_back(trees[operand]);
        trees.push_back(tree_of(instruction, operands, depth));
      }
    }
    return trees[computation.root];
  }

  TreePointer tree_of(const Instruction& instruction, std::vector<TreePointer>& operands,
                      int depth) {
    const std::string& opcode = instruction.opcode;
    if (opcode == "tuple") return tuple(instruction, operands);
    if (opcode == "get-tuple-element") return element(instruction, operands);
    if (is_forwarding(instruction)) {
      if (operands.empty()) refuse(instruction, "operands", "it has no operand");
      if (is_barrier(instruction) && operands.size() > 1) return tuple(instruction, operands);
      return forwarded(instruction, operands[0]);
    }
    if (opcode == "call" || opcode == "fusion" || opcode == "async-start") {
      return call(instruction, operands, depth);
    }
    return compute(instruction, operands);
  }

  TreePointer forwarded(const Instruction& instruction, const TreePointer& tree) const {
    if (instruction.opcode == "copy-start" || instruction.opcode == "async-update") return tree;
    if (!matches(flow_, *tree, instruction.shape)) {
      refuse(instruction, "shapes",
             "its shape " + to_string(instruction.shape) + " is not that of its operand");
    }
    return tree->is_async ? with_async(tree, false) : tree;
  }

  TreePointer tuple(const Instruction& instruction, std::vector<TreePointer>& operands) const {
    auto tree = std::make_shared<ValueTree>();
    tree->is_tuple = true;
    tree->parts = std::move(operands);
    if (!matches(flow_, *tree, instruction.shape)) {
      refuse(instruction, "shapes", "its operands are not " + to_string(instruction.shape));
    }
    return tree;
  }

  TreePointer element(const Instruction& instruction,
                      const std::vector<TreePointer>& operands) const {
    if (operands.size() != 1) refuse(instruction, "operands", "one operand is expected");
    const ValueTree& tree = *operands[0];
    const auto index = static_cast<std::size_t>(instruction.attributes.index);
    if (tree.is_async) {
      throw InputError(instruction.position,
                       "only the matching -done may use the result of a -start");
    }
    if (!tree.is_tuple || index >= tree.parts.size()) {
      refuse(instruction, "operands", fmt::format("its operand has no element {}", index));
    }
    return forwarded(instruction, tree.parts[index]);
  }

  TreePointer call(const Instruction& instruction, const std::vector<TreePointer>& operands,
                   int depth) {
    if (instruction.called.size() != 1) refuse(instruction, "operands", "it calls no computation");
    if (depth == kMaxCallDepth) {
      throw InputError(
          instruction.position,
          fmt::format("calls nested more than {} deep, expected fewer", kMaxCallDepth));
    }
    const Computation& callee = flow_.module->computations[instruction.called[0]];
    if (callee.parameters.size() != operands.size()) {
      refuse(
          instruction, "operands",
          fmt::format("{} operands for {} parameters", operands.size(), callee.parameters.size()));
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!matches(flow_, *operands[i], callee.instructions[callee.parameters[i]].shape)) {
        refuse(instruction, "shapes", fmt::format("operand {} does not fit the parameter", i));
      }
    }
    TreePointer result = inlined(instruction.called[0], operands, depth + 1);
    if (instruction.opcode == "async-start") return with_async(result, true);
    return forwarded(instruction, result);
  }

  /// Whether a bitcast, which keeps the order in memory, keeps that of the indices: by the layouts
  /// in the text, since copies are not nodes.
  bool keeps_order(const Instruction& instruction) const {
    const Shape& from = computation_->instructions[instruction.operands.at(0)].shape;
    const ArrayShape& operand = from.array;
    const ArrayShape& result = instruction.shape.array;
    if (from.is_tuple || instruction.shape.is_tuple) return false;
    return (operand.row_major() && result.row_major()) ||
           (operand.sizes == result.sizes && operand.minor_to_major == result.minor_to_major);
  }

  TreePointer compute(const Instruction& instruction, const std::vector<TreePointer>& operands) {
    Node node;
    node.instruction = &instruction;
    for (const TreePointer& operand : operands) append_leaves(*operand, node.operands);
    const Shape& shape = computed_shape(instruction);
    node.outputs = shape.arrays();
    std::vector<ArrayShape> shapes;
    for (const Ref ref : node.operands) shapes.push_back(flow_.shape(ref));
    node.op = operation_of(instruction, shapes);
    if (node.op == Op::Constant && !instruction.literal) node.op = Op::Opaque;
    if (instruction.opcode == "bitcast" && !keeps_order(instruction)) node.op = Op::Opaque;
    if (node.outputs.empty() && node.op != Op::Opaque) refuse(instruction, "shapes", "no result");
    completion_->complete(node, instruction);
    Ref ref = add(std::move(node));
    const TreePointer result = tree_of_outputs(ref, shape);
    const bool is_start = base_opcode(instruction.opcode) != instruction.opcode;
    return is_start ? with_async(result, true) : result;
  }

  LimitWatch watch_;
  const Computation* computation_ = nullptr;  ///< whose instruction is looked at
  Flow flow_;
  std::optional<NodeCompletion> completion_;
};

}  // namespace

Flow flow_of(std::shared_ptr<const Module> module, const Devices& devices,
             Fingerprints& fingerprints, const Limits& limits) {
  return FlowBuilder(std::move(module), devices, fingerprints, limits).build();
}

}  // namespace p2::hlo
