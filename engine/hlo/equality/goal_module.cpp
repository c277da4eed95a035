// The specification of a module as a module: one collective for each output.

#include <string_view>

#include <fmt/format.h>

#include "engine/hlo/equality/equivalence.h"

namespace p2::hlo {
namespace {

struct GoalRow {
  std::string_view name;
  Goal goal;
  const char* opcode;
};
constexpr GoalRow kGoals[] = {{"allreduce", Goal::AllReduce, "all-reduce"},
                              {"reducescatter", Goal::ReduceScatter, "reduce-scatter"},
                              {"allgather", Goal::AllGather, "all-gather"},
                              {"broadcast", Goal::Broadcast, "collective-broadcast"},
                              {"alltoall", Goal::AllToAll, "all-to-all"}};

const char* opcode_of(Goal goal) {
  for (const GoalRow& row : kGoals) {
    if (row.goal == goal) return row.opcode;
  }
  return "";
}

Instruction parameter(const std::string& name, const ArrayShape& shape, std::size_t number) {
  Instruction instruction{name, "parameter"};
  instruction.shape.array = shape;
  instruction.attributes.index = static_cast<std::int64_t>(number);
  return instruction;
}

/// The reducer of a sum.
Computation adder(ElementType type) {
  const ArrayShape scalar{type, {}, {}};
  Computation computation{"add"};
  computation.instructions = {parameter("a", scalar, 0), parameter("b", scalar, 1)};
  computation.parameters = {0, 1};
  Instruction& sum = computation.instructions.emplace_back(Instruction{"sum", "add"});
  sum.shape.array = scalar;
  sum.operands = {0, 1};
  computation.root = 2;
  return computation;
}

std::int64_t first_difference(const ArrayShape& from, const ArrayShape& to) {
  for (std::size_t i = 0; i < from.sizes.size() && i < to.sizes.size(); ++i) {
    if (from.sizes[i] != to.sizes[i]) return static_cast<std::int64_t>(i);
  }
  return 0;
}

}  // namespace

std::optional<Goal> goal_called(std::string_view name) {
  for (const GoalRow& row : kGoals) {
    if (row.name == name) return row.goal;
  }
  return std::nullopt;
}

std::shared_ptr<const Module> goal_module(const Module& module, Goal goal,
                                          const std::vector<std::vector<std::uint32_t>>& classes) {
  const Computation& entry = module.entry_computation();
  std::vector<ArrayShape> inputs;
  for (const std::uint32_t index : entry.parameters) {
    for (ArrayShape& shape : entry.instructions[index].shape.arrays()) {
      inputs.push_back(std::move(shape));
    }
  }
  const std::vector<ArrayShape> outputs = entry.instructions[entry.root].shape.arrays();
  if (inputs.size() != outputs.size()) {
    throw InputError({module.file},
                     fmt::format("{} inputs and {} outputs, expected one output for every input to "
                                 "compare it with a goal",
                                 inputs.size(), outputs.size()));
  }
  auto result = std::make_shared<Module>(Module{"goal", "goal", module.language});
  result->replicas = module.replicas;
  result->partitions = module.partitions;
  Computation computation{"goal"};
  Instruction root{"all", "tuple"};
  root.shape.is_tuple = true;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    computation.parameters.push_back(static_cast<std::uint32_t>(computation.instructions.size()));
    computation.instructions.push_back(parameter(fmt::format("x{}", k), inputs[k], k));
    Instruction collective{fmt::format("of input {}", k), opcode_of(goal)};
    collective.shape.array = outputs[k];
    collective.operands = {computation.parameters.back()};
    Attributes& attributes = collective.attributes;
    attributes.has_channel = true;
    attributes.global_ids = true;
    attributes.groups = {false, {}};
    for (const auto& each : classes) {
      attributes.groups.lists.emplace_back(each.begin(), each.end());
    }
    attributes.dimensions = {first_difference(inputs[k], outputs[k])};
    collective.called = {static_cast<std::uint32_t>(result->computations.size())};
    result->computations.push_back(adder(inputs[k].type));
    root.operands.push_back(static_cast<std::uint32_t>(computation.instructions.size()));
    root.shape.parts.push_back({false, outputs[k], {}});
    computation.instructions.push_back(std::move(collective));
  }
  computation.root = static_cast<std::uint32_t>(computation.instructions.size());
  computation.instructions.push_back(std::move(root));
  result->entry = static_cast<std::uint32_t>(result->computations.size());
  result->computations.push_back(std::move(computation));
  return result;
}

}  // namespace p2::hlo
