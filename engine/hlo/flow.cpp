#include "engine/hlo/flow.h"

#include <fmt/format.h>

#include "engine/hlo/fault.h"
#include "engine/hlo/node_facts.h"
#include "engine/hlo/operations.h"
#include "engine/hlo/shape_rules.h"
#include "engine/hlo/value_tree.h"

namespace p2::hlo {
namespace {

constexpr int kDeepestCalls = 128;

[[noreturn]] void refuse(const Instruction& instruction, const char* rule, const std::string& why) {
  throw IllFormed({rule, fmt::format("{} {}: {}.", instruction.opcode, instruction.name, why),
                   instruction.position});
}

class FlowBuilder {
 public:
  FlowBuilder(std::shared_ptr<const Module> module, const Devices& devices,
              Fingerprints& fingerprints) {
    flow_.module = std::move(module);
    flow_.devices = devices;
    facts_.emplace(flow_, fingerprints);
  }

  Flow build() {
    const Module& module = *flow_.module;
    std::vector<TreePointer> parameters;
    for (const std::uint32_t index : module.entry_computation().parameters) {
      const Instruction& instruction = module.entry_computation().instructions[index];
      parameters.push_back(inputs(instruction, instruction.shape));
    }
    collect(*put(module.entry, parameters, 0), flow_.outputs);
    return std::move(flow_);
  }

 private:
  TreePointer inputs(const Instruction& instruction, const Shape& shape) {
    auto tree = std::make_shared<Tree>();
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
    if (flow_.nodes.size() == kMostNodes) {
      throw InputError(node.instruction->position,
                       fmt::format("more than {} operations with all calls put in place, expected "
                                   "fewer",
                                   kMostNodes));
    }
    check_shapes(flow_, node);
    flow_.nodes.push_back(std::move(node));
    return {static_cast<std::uint32_t>(flow_.nodes.size() - 1), 0};
  }

  TreePointer put(std::uint32_t index, const std::vector<TreePointer>& arguments, int depth) {
    const Computation& computation = flow_.module->computations[index];
    std::vector<TreePointer> trees;
    trees.reserve(computation.instructions.size());
    for (const Instruction& instruction : computation.instructions) {
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
    if (passes_on(opcode)) {
      if (operands.empty()) refuse(instruction, "operands", "it has no operand");
      if (opcode == "optimization-barrier" && operands.size() > 1)
        return tuple(instruction, operands);
      return same_shape(instruction, operands[0]);
    }
    if (opcode == "call" || opcode == "fusion" || opcode == "async-start") {
      return call(instruction, operands, depth);
    }
    return compute(instruction, operands);
  }

  TreePointer same_shape(const Instruction& instruction, const TreePointer& tree) const {
    if (instruction.opcode == "copy-start" || instruction.opcode == "async-update") return tree;
    if (!matches(flow_, *tree, instruction.shape)) {
      refuse(instruction, "shapes",
             "its shape " + to_string(instruction.shape) + " is not that of what it passes on");
    }
    if (!tree->started) return tree;
    auto done = std::make_shared<Tree>(*tree);
    done->started = false;
    return done;
  }

  TreePointer tuple(const Instruction& instruction, std::vector<TreePointer>& operands) const {
    auto tree = std::make_shared<Tree>();
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
    const Tree& tree = *operands[0];
    const auto index = static_cast<std::size_t>(instruction.attributes.index);
    if (tree.started) {
      throw InputError(instruction.position,
                       "an element of the result of a start, expected only its done to use it");
    }
    if (!tree.is_tuple || index >= tree.parts.size()) {
      refuse(instruction, "operands", fmt::format("its operand has no element {}", index));
    }
    return same_shape(instruction, tree.parts[index]);
  }

  TreePointer call(const Instruction& instruction, const std::vector<TreePointer>& operands,
                   int depth) {
    if (instruction.called.size() != 1) refuse(instruction, "operands", "it calls no computation");
    if (depth == kDeepestCalls) {
      throw InputError(
          instruction.position,
          fmt::format("calls nested more than {} deep, expected fewer", kDeepestCalls));
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
    TreePointer result = put(instruction.called[0], operands, depth + 1);
    if (instruction.opcode == "async-start") return started(result);
    return same_shape(instruction, result);
  }

  /// The shape of what an instruction computes; of a start, that is one part of what is written.
  static const Shape& computed_shape(const Instruction& instruction, std::string_view base) {
    const bool tuple = instruction.shape.is_tuple && instruction.shape.parts.size() > 1;
    if (base != instruction.opcode && base != "all-reduce" && tuple)
      return instruction.shape.parts[1];
    return instruction.shape;
  }

  TreePointer compute(const Instruction& instruction, const std::vector<TreePointer>& operands) {
    Node node;
    node.instruction = &instruction;
    for (const TreePointer& operand : operands) collect(*operand, node.operands);
    const std::string_view base = base_opcode(instruction.opcode);
    const Shape& shape = computed_shape(instruction, base);
    node.outputs = shape.arrays();
    std::vector<ArrayShape> shapes;
    for (const Ref ref : node.operands) shapes.push_back(flow_.shape(ref));
    node.op = operation_of(instruction, shapes);
    if (node.op == Op::Constant && !instruction.literal) node.op = Op::Opaque;
    if (node.outputs.empty() && node.op != Op::Opaque) refuse(instruction, "shapes", "no result");
    facts_->complete(node, instruction);
    Ref ref = add(std::move(node));
    const TreePointer result = tree_of_outputs(ref, shape);
    return base != instruction.opcode ? started(result) : result;
  }

  Flow flow_;
  std::optional<NodeFacts> facts_;
};

}  // namespace

Flow flow_of(std::shared_ptr<const Module> module, const Devices& devices,
             Fingerprints& fingerprints) {
  return FlowBuilder(std::move(module), devices, fingerprints).build();
}

}  // namespace p2::hlo
