// Loops with arrays that begin within them: what XLA for TPUs moved into the first iteration, where
// a choice by the counter takes it, begins before the loop again.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// The number of a constant scalar.
std::optional<std::int64_t> constant_integer(const FlatModule& flat, std::size_t number) {
  const Node& node = flat.nodes[number];
  if (node.instruction->opcode != "constant" || !node.shape.type.is_integer() ||
      !node.shape.sizes.empty() || node.shape.type.bits > 32)
    return std::nullopt;
  return integers_in(node.instruction->text).at(0);
}

/// A variable and a constant that an operation is of.
struct Counted {
  std::size_t variable = 0;
  std::int64_t number = 0;
};
std::optional<Counted> counted(const FlatModule& flat, std::size_t node, const char* opcode,
                               const char* direction, bool in_any_order) {
  const Node& each = flat.nodes[node];
  if (each.instruction->opcode != opcode || each.operands.size() != 2 ||
      each.instruction->has("type") ||
      (*direction != 0 && each.instruction->attribute("direction") != direction))
    return std::nullopt;
  for (std::size_t k = 0; k < (in_any_order ? 2 : 1); ++k) {
    if (const auto number = constant_integer(flat, each.operands[1 - k]))
      return Counted{each.operands[k], *number};
  }
  return std::nullopt;
}

/// Whether it is true in the first iteration, of which there is one, and false in all others: a
/// counter that grows up to a bound is the number that it begins with.
bool is_first_iteration(const FlatModule& flat, const Loop& loop, std::size_t number) {
  while (flat.nodes[number].instruction->opcode == "broadcast" &&
         flat.nodes[flat.nodes[number].operands[0]].shape.sizes.empty())
    number = flat.nodes[number].operands[0];
  const auto test = counted(flat, number, "compare", "EQ", true);
  const auto bound = counted(flat, loop.condition, "compare", "LT", false);
  if (!test || !bound || test->variable != bound->variable) return false;
  for (std::size_t k = 0; k < loop.variables.size(); ++k) {
    if (loop.variables[k] != test->variable || test->variable < loop.begin) continue;
    const auto step = counted(flat, loop.next[k], "add", "", true);
    const Type& type = flat.nodes[test->variable].shape.type;
    const bool is_signed = type.kind == Type::Kind::Signed;
    const std::int64_t most = (std::int64_t{1} << (is_signed ? type.bits - 1 : type.bits)) - 1;
    return step && step->variable == test->variable && step->number > 0 &&
           constant_integer(flat, loop.first[k]) == test->number && test->number < bound->number &&
           bound->number <= most - step->number;
  }
  return false;
}

/// The constant that an array is everywhere.
std::optional<std::size_t> constant_everywhere(const FlatModule& flat, std::size_t number) {
  while (flat.nodes[number].instruction->opcode == "broadcast")
    number = flat.nodes[number].operands[0];
  const Node& node = flat.nodes[number];
  return node.instruction->opcode == "constant" && node.shape.sizes.empty() ? std::optional(number)
                                                                            : std::nullopt;
}

}  // namespace

std::vector<std::size_t> begin_before(FlatModule& flat, Loop& loop, std::size_t array,
                                      std::size_t reserved) {
  const std::size_t variable = loop.variables[array];
  std::vector<std::size_t> choices;
  std::optional<std::size_t> begin;
  const auto is_variable = [&](std::size_t each) { return each == variable; };
  for (std::size_t i = variable + 1; i < loop.end; ++i) {
    const Node& node = flat.nodes[i];
    if (std::none_of(node.operands.begin(), node.operands.end(), is_variable)) continue;
    if (node.instruction->opcode != "select" || node.operands[2] != variable ||
        node.operands[0] == variable || !is_first_iteration(flat, loop, node.operands[0]))
      return {};
    const auto own = constant_everywhere(flat, node.operands[1]);
    if (!own) return {};
    const Node& first = flat.nodes[begin.value_or(*own)];
    if (first.instruction->text != flat.nodes[*own].instruction->text ||
        !(first.shape.type == flat.nodes[*own].shape.type))
      return {};
    begin = own;
    choices.push_back(i);
  }
  // Nor is it what an iteration leaves, or what another loop does.
  bool is_used = std::any_of(loop.next.begin(), loop.next.end(), is_variable);
  for (const Loop& inner : flat.loops) {
    is_used = is_used || inner.condition == variable ||
              std::any_of(inner.first.begin(), inner.first.end(), is_variable) ||
              std::any_of(inner.next.begin(), inner.next.end(), is_variable);
  }
  if (!begin || is_used || loop.condition == variable) return {};
  Instruction broadcast{"", "broadcast", flat.nodes[variable].shape, {}, "", {}};
  broadcast.attributes.set("dimensions", "{}");
  Node wide = written(flat, flat.nodes[variable], std::move(broadcast));
  wide.operands = {reserved};
  wide.is_function = true;
  flat.nodes[reserved] = flat.nodes[*begin];
  flat.nodes[reserved + 1] = std::move(wide);
  loop.first[array] = reserved + 1;
  flat.nodes[variable].operands = {reserved + 1};
  return choices;
}

void begin_at_choices(FlatModule& flat, Loop& loop, Budget& budget, const AddNode& add) {
  const std::size_t end = loop.end;
  budget.spend(end - loop.begin);
  for (const Loop& inner : flat.loops) {
    if (loop.contains(inner)) return;
  }
  // By node, the variable that it depends on, plus 1; 0: none.
  constexpr std::size_t kSeveral = SIZE_MAX;
  std::vector<std::size_t> depends(end - loop.begin, 0);
  const auto of = [&](std::size_t node) -> std::size_t {
    return node < loop.begin ? 0 : depends[node - loop.begin];
  };
  for (std::size_t k = 0; k < loop.variables.size(); ++k) {
    if (loop.variables[k] >= loop.begin) depends[loop.variables[k] - loop.begin] = k + 1;
  }
  for (std::size_t i = loop.begin; i < end; ++i) {
    for (const std::size_t each : flat.nodes[i].operands) {
      std::size_t& own = depends[i - loop.begin];
      if (of(each) != 0 && of(each) != own) own = own == 0 ? of(each) : kSeveral;
    }
  }
  for (std::size_t i = loop.begin; i < end; ++i) {
    const Node choice = flat.nodes[i];
    if (choice.instruction->opcode != "select" || choice.operands.size() != 3) continue;
    const std::size_t variable = choice.operands[1];
    const std::size_t later = choice.operands[2];
    const std::size_t k = of(later) - 1;
    if (of(later) == 0 || of(later) == kSeveral || variable != loop.variables[k] ||
        later == variable || loop.next[k] == variable)
      continue;
    budget.spend(loop.variables.size() + later - variable);
    if (!is_first_iteration(flat, loop, choice.operands[0])) continue;
    const auto has_type = [&](std::size_t node) {
      return flat.nodes[node].shape.type == choice.shape.type;
    };
    if (!has_type(variable) || !has_type(later)) continue;
    // What it is made of, of the array that an iteration leaves.
    std::vector<bool> is_made(later - variable + 1, false);
    is_made.back() = true;
    bool promises = false;
    for (std::size_t node = later; node > variable; --node) {
      if (!is_made[node - variable]) continue;
      promises = promises || flat.nodes[node].promises();
      for (const std::size_t each : flat.nodes[node].operands) {
        if (of(each) == k + 1) is_made[each - variable] = true;
      }
    }
    if (promises) continue;  // Nobody makes it of the last array.
    std::map<std::size_t, std::size_t> next = {{variable, loop.next[k]}};
    for (std::size_t node = variable + 1; node <= later; ++node) {
      if (!is_made[node - variable]) continue;
      Node copy = flat.nodes[node];
      for (std::size_t& each : copy.operands) {
        if (next.contains(each)) each = next.at(each);
      }
      next[node] = add(std::move(copy));
      flat.forms[next[node]] = flat.forms[node];
    }
    Node begun = flat.nodes[variable];
    begun.operands = {loop.first[k]};
    flat.nodes[i] = std::move(begun);
    flat.forms[i] = nullptr;
    loop.first.push_back(loop.first[k]);
    loop.variables.push_back(i);
    loop.next.push_back(next.at(later));
  }
  loop.end = flat.nodes.size();
}

}  // namespace p2::kernel::xla
