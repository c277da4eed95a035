// What modules do beside their outputs: outfeeds, messages to the host, callbacks. Modules are not
// equal unless they do the same in the same order.

#include <algorithm>
#include <set>

#include "engine/hlo/equality/comparison.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/operations.h"

namespace p2::hlo {
namespace {

bool has_effect(const Instruction& instruction, bool is_linked) {
  const std::string& opcode = instruction.opcode;
  if (opcode == "infeed" || opcode == "outfeed") return true;
  // Messages between programs that were linked are values.
  if (opcode == "send" || opcode == "recv") return !is_linked;
  return opcode == "custom-call" && is_impure(instruction) && !is_forwarding(instruction) &&
         !interpreter::text_attribute(instruction, "custom_call_target").starts_with("xla.sdy.");
}

/// The computations that the entry computation calls, also indirectly.
std::set<std::uint32_t> called_by_entry(const Module& module) {
  std::set<std::uint32_t> called;
  std::vector<std::uint32_t> open = {module.entry};
  while (!open.empty()) {
    const std::uint32_t computation = open.back();
    open.pop_back();
    for (const Instruction& each : module.computations[computation].instructions) {
      for (const std::uint32_t next : each.called) {
        if (called.insert(next).second) open.push_back(next);
      }
    }
  }
  return called;
}

/// An operation of the entry computation with an effect, and the numbers of the earlier ones that
/// it waits for, as tokens and other operands say.
struct Effect {
  std::uint32_t instruction = 0;
  std::set<std::size_t> after = {};
};

std::vector<Effect> effects_of(const Computation& entry, bool is_linked) {
  const auto any = [&](const Instruction& each) { return has_effect(each, is_linked); };
  if (std::none_of(entry.instructions.begin(), entry.instructions.end(), any)) return {};
  std::vector<Effect> effects;
  std::vector<std::set<std::size_t>> waits(entry.instructions.size());
  for (std::uint32_t number = 0; number < entry.instructions.size(); ++number) {
    const Instruction& instruction = entry.instructions[number];
    for (const std::uint32_t operand : instruction.operands) {
      waits[number].insert(waits[operand].begin(), waits[operand].end());
    }
    if (!has_effect(instruction, is_linked)) continue;
    effects.push_back({number, waits[number]});
    waits[number].insert(effects.size() - 1);
  }
  return effects;
}

/// The same operation, but for what it is given.
bool same_operation(const Computation& a, const Effect& of_a, const Computation& b,
                    const Effect& of_b) {
  const Instruction& first = a.instructions[of_a.instruction];
  const Instruction& second = b.instructions[of_b.instruction];
  return first.opcode == second.opcode && to_string(first.shape) == to_string(second.shape) &&
         attributes_text(first) == attributes_text(second) &&
         first.attributes.sharding == second.attributes.sharding &&
         first.operands.size() == second.operands.size() && first.called.empty() &&
         second.called.empty() && of_a.after == of_b.after;
}

/// The module with all operands of its effects as outputs after its own.
std::shared_ptr<const Module> with_effects(const Module& module,
                                           const std::vector<Effect>& effects) {
  auto result = std::make_shared<Module>(module);
  Computation& entry = result->computations[module.entry];
  const auto add_tuple = [&](std::vector<std::uint32_t> operands) {
    Instruction tuple;
    tuple.name = "with effects";
    tuple.opcode = "tuple";
    tuple.shape.is_tuple = true;
    for (const std::uint32_t operand : operands) {
      tuple.shape.parts.push_back(entry.instructions[operand].shape);
    }
    tuple.operands = std::move(operands);
    tuple.position = entry.instructions[entry.root].position;
    entry.instructions.push_back(std::move(tuple));
    return static_cast<std::uint32_t>(entry.instructions.size() - 1);
  };
  std::vector<std::uint32_t> given;
  for (const Effect& effect : effects) {
    for (const std::uint32_t operand : entry.instructions[effect.instruction].operands) {
      const Shape& shape = entry.instructions[operand].shape;
      if (shape.is_tuple || !shape.array.type.is_token()) given.push_back(operand);
    }
  }
  entry.root = add_tuple({entry.root, add_tuple(std::move(given))});
  return result;
}

}  // namespace

std::optional<EffectComparison> compare_effects(const Module& before, const Module& after) {
  const Instruction* first = nullptr;
  bool nested = false;
  std::vector<Effect> effects[2];
  const Module* const modules[] = {&before, &after};
  for (std::size_t k = 0; k < 2; ++k) {
    const Module& module = *modules[k];
    const bool is_linked = !module.programs.empty();
    effects[k] = effects_of(module.entry_computation(), is_linked);
    if (first == nullptr && !effects[k].empty()) {
      first = &module.entry_computation().instructions[effects[k][0].instruction];
    }
    for (const std::uint32_t computation : called_by_entry(module)) {
      for (const Instruction& each : module.computations[computation].instructions) {
        if (!has_effect(each, is_linked)) continue;
        nested = true;
        if (first == nullptr) first = &each;
      }
    }
  }
  if (first == nullptr) return std::nullopt;
  EffectComparison result{first};
  const Computation& a = before.entry_computation();
  const Computation& b = after.entry_computation();
  const bool same = !nested && std::equal(effects[0].begin(), effects[0].end(), effects[1].begin(),
                                          effects[1].end(), [&](const Effect& x, const Effect& y) {
                                            return same_operation(a, x, b, y);
                                          });
  if (same) {
    result.before = with_effects(before, effects[0]);
    result.after = with_effects(after, effects[1]);
  }
  return result;
}

}  // namespace p2::hlo
