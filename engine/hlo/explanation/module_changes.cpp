#include "engine/hlo/explanation/module_changes.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace p2::hlo {
namespace {

/// The computation that combines two scalars; appended where there is none.
std::uint32_t reducer_in(Module& module, Reducer reducer, ElementType type) {
  for (std::uint32_t c = 0; c < module.computations.size(); ++c) {
    const Computation& computation = module.computations[c];
    if (reducer_of(computation) == reducer &&
        computation.instructions[computation.root].shape.array.type == type) {
      return c;
    }
  }
  const Shape scalar{false, {type, {}, {}}, {}};
  Computation computation{fmt::format("{}.{}", to_string(reducer), type.name())};
  for (std::uint32_t i = 0; i < 2; ++i) {
    Instruction parameter{fmt::format("x{}", i), "parameter", scalar};
    parameter.attributes.index = i;
    computation.instructions.push_back(std::move(parameter));
  }
  computation.parameters = {0, 1};
  computation.instructions.push_back({"result", std::string(to_string(reducer)), scalar, {0, 1}});
  computation.root = 2;
  module.computations.push_back(std::move(computation));
  return static_cast<std::uint32_t>(module.computations.size()) - 1;
}

}  // namespace

std::optional<Place> place_of(const Module& module, const Instruction* instruction) {
  for (std::size_t c = 0; c < module.computations.size(); ++c) {
    const auto& all = module.computations[c].instructions;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      if (&all[i] == instruction) return Place{c, i};
    }
  }
  return std::nullopt;
}

void insert_after(Computation& computation, std::uint32_t after, std::vector<Instruction> added,
                  std::optional<std::uint32_t> user) {
  const auto count = static_cast<std::uint32_t>(added.size());
  const auto moved = [&](std::uint32_t number, bool is_replaced) {
    return number > after || (number == after && is_replaced) ? number + count : number;
  };
  for (std::uint32_t i = 0; i < computation.instructions.size(); ++i) {
    for (std::uint32_t& operand : computation.instructions[i].operands) {
      operand = moved(operand, !user || *user == i);
    }
  }
  for (std::uint32_t& parameter : computation.parameters) parameter = moved(parameter, false);
  computation.root = moved(computation.root, !user);
  for (Instruction& each : added) each.program = computation.instructions[after].program;
  computation.instructions.insert(computation.instructions.begin() + after + 1,
                                  std::make_move_iterator(added.begin()),
                                  std::make_move_iterator(added.end()));
}

void set_groups(Instruction& instruction, const Groups& groups) {
  instruction.attributes.groups.all_in_one = false;
  instruction.attributes.groups.lists.clear();
  for (const auto& group : groups) {
    instruction.attributes.groups.lists.emplace_back(group.begin(), group.end());
  }
  instruction.attributes.has_channel = true;
  instruction.attributes.global_ids = true;
}

bool makes_same_shape(const Computation& computation, const Instruction& instruction) {
  return !instruction.operands.empty() && !instruction.shape.is_tuple &&
         !computation.instructions[instruction.operands[0]].shape.is_tuple &&
         computation.instructions[instruction.operands[0]].shape.array.sizes ==
             instruction.shape.array.sizes;
}

std::optional<Repair> without(const Module& module, const Instruction& instruction) {
  const auto place = place_of(module, &instruction);
  if (!place || !makes_same_shape(module.computations[place->computation], instruction)) return {};
  Repair repair{&instruction,
                fmt::format("{} without {}", instruction.opcode, instruction.name),
                false,
                {},
                module};
  make_copy(repair.module.computations[place->computation].instructions[place->instruction]);
  return repair;
}

std::optional<Repair> with_groups(const Module& module, const Instruction& collective,
                                  const Groups& groups, const std::string& over) {
  const auto place = place_of(module, &collective);
  if (!place) return {};
  Repair repair{&collective, fmt::format("{} as the groups of {}", over, collective.name), false,
                groups, module};
  set_groups(repair.module.computations[place->computation].instructions[place->instruction],
             groups);
  return repair;
}

std::optional<Repair> with_reduction(const Module& module, const Instruction& instruction,
                                     Reducer reducer, const Groups& groups,
                                     const std::string& over) {
  const auto place = place_of(module, &instruction);
  if (!place || instruction.shape.is_tuple) return {};
  Repair repair{&instruction,
                fmt::format("an all-reduce ({}) over {} after {}", to_string(reducer), over,
                            instruction.name),
                true, groups, module};
  Instruction added = all_reduce(repair.module, instruction, place->instruction, reducer, groups);
  insert_after(repair.module.computations[place->computation], place->instruction,
               {std::move(added)});
  return repair;
}

void make_copy(Instruction& instruction) {
  instruction.opcode = "copy";
  instruction.operands.resize(1);
  instruction.called.clear();
  instruction.attributes = {};
}

Instruction all_reduce(Module& module, const Instruction& of, std::uint32_t operand,
                       Reducer reducer, const Groups& groups) {
  Instruction added{of.name + ".reduced", "all-reduce", of.shape, {operand}};
  added.position = of.position;
  set_groups(added, groups);
  added.called = {reducer_in(module, reducer, of.shape.array.type)};
  return added;
}

}  // namespace p2::hlo
