// The first instruction at which two modules that differ part ways. Both are executed at one random
// point; every array of the one that is wrong is looked for in the other one, from the output that
// differs back to the inputs. Repairs are tried near by.

#include "engine/hlo/explanation/explanation.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/explanation/related_modules.h"
#include "engine/hlo/interpreter/block_modules.h"

namespace p2::hlo {

NamedInstruction named(const Instruction& instruction) {
  return {instruction.name, instruction.opcode, instruction.position};
}

std::string with_line(const NamedInstruction& instruction) {
  return fmt::format("{} (line {})", instruction.name, instruction.position.line);
}

namespace {

constexpr std::size_t kMaxRepairs = 400;
constexpr double kMaxRepairWork = 2e7;  ///< operations on elements

class Explainer {
 public:
  Explainer(RelatedModules& modules, std::size_t output, std::uint32_t device)
      : modules_(modules), output_(output), device_(device) {}

  Explanation explain() {
    const std::vector<std::uint32_t> region = unrelated_region(modules_.output(output_, device_));
    const std::uint32_t first = first_break(region);
    Explanation explanation{named(*modules_.array(first).instruction), modules_.is_of_before()};
    describe(first, explanation);
    repair(region, explanation);
    return explanation;
  }

 private:
  /// The arrays that are not related, from the output back to those that are, in order of
  /// execution; also the output.
  std::vector<std::uint32_t> unrelated_region(std::uint32_t output) {
    std::set<std::uint32_t> region = {output};
    std::vector<std::uint32_t> open;
    if (!modules_.is_related(output)) open.push_back(output);
    while (!open.empty()) {
      const std::uint32_t array = open.back();
      open.pop_back();
      for (const std::uint32_t operand : modules_.array(array).operands) {
        if (!modules_.is_related(operand) && region.insert(operand).second) open.push_back(operand);
      }
    }
    return {region.begin(), region.end()};
  }

  /// The first array with elements that the other module does not have, computed from such that it
  /// has; else the first. Indices and masks of shards are not those of the other module: of numbers
  /// first.
  std::uint32_t first_break(const std::vector<std::uint32_t>& region) {
    std::vector<std::uint32_t> numbers;
    const auto is_number = [&](std::uint32_t array) {
      return modules_.array(array).shape.type.is_float();
    };
    std::ranges::copy_if(region, std::back_inserter(numbers), is_number);
    for (const std::uint32_t array : numbers) {
      const auto& operands = modules_.array(array).operands;
      if (modules_.occurs(array)) continue;
      if (std::ranges::all_of(operands, [&](std::uint32_t each) {
            return !is_number(each) || modules_.is_related(each) || modules_.occurs(each);
          })) {
        return array;
      }
    }
    for (const std::uint32_t array : region) {
      const auto& operands = modules_.array(array).operands;
      if (modules_.occurs(array)) continue;
      if (std::ranges::all_of(operands, [&](auto each) {
            return modules_.is_related(each) || modules_.occurs(each);
          }))
        return array;
    }
    return region.front();
  }

  ExplainedOperand operand_of(std::uint32_t array) {
    ExplainedOperand operand{named(*modules_.array(array).instruction)};
    const auto& found = modules_.holding(array);
    if (!found) return operand;
    operand.tensor = named(*modules_.other_trace().arrays[found->array].instruction);
    operand.groups = found->groups;
    operand.held = found->reducer != Reducer::Unknown ? std::string(to_string(found->reducer))
                   : found->factor != Number{1, 1}    ? "multiple"
                   : found->is_whole                  ? "whole"
                                                      : "pieces";
    return operand;
  }

  void describe(std::uint32_t array, Explanation& explanation) {
    const TracedArray& broken = modules_.array(array);
    const std::string what =
        fmt::format("{} ({})", broken.instruction->name, broken.instruction->opcode);
    std::string& text = explanation.paragraph;
    if (broken.depends_on_inputs && modules_.holding(array)) {
      explanation.operands.push_back(operand_of(array));
      const Holding& holding = *modules_.holding(array);
      const std::uint32_t expected = modules_.other_trace().outputs.at(output_);
      text = fmt::format("Output {} is {}: {}", output_, what, modules_.held_text(holding));
      text +=
          holding.array == expected
              ? "."
              : fmt::format(", but {} {}.",
                            with_line(named(*modules_.other_trace().arrays[expected].instruction)),
                            modules_.other_word());
      return;
    }
    text =
        !broken.depends_on_inputs
            ? fmt::format("Output {} is {}, which depends on no input", output_, what)
        : modules_.occurs(array)
            ? fmt::format(
                  "{} has elements of the module {} only, but no tensor of it was found of "
                  "which devices hold these pieces",
                  what, modules_.other_word())
            : fmt::format("{} computes what the module {} does not", what, modules_.other_word());
    std::vector<std::string> parts;
    std::set<const Instruction*> seen;
    for (const std::uint32_t number : broken.operands) {
      const TracedArray& operand = modules_.array(number);
      if (!operand.depends_on_inputs || !seen.insert(operand.instruction).second) continue;
      if (parts.size() == kMaxOperandsShown) {
        parts.emplace_back("…");
        break;
      }
      explanation.operands.push_back(operand_of(number));
      const auto& found = modules_.holding(number);
      parts.push_back(
          fmt::format("{}: {}", with_line(named(*operand.instruction)),
                      found ? modules_.held_text(*found)
                      : modules_.occurs(number)
                          ? fmt::format("elements of the module {}", modules_.other_word())
                          : fmt::format("not of the module {}", modules_.other_word())));
    }
    text += parts.empty() ? "." : fmt::format(". It is computed from {}.", fmt::join(parts, "; "));
    text += counterpart_text(broken);
  }

  /// What the other module computes of the same tensors by the same operation, if it is one.
  std::string counterpart_text(const TracedArray& broken) {
    std::set<std::uint32_t> tensors;
    for (const std::uint32_t operand : broken.operands) {
      if (!modules_.array(operand).depends_on_inputs || !modules_.holding(operand)) continue;
      tensors.insert(modules_.holding(operand)->array);
    }
    const TracedArray* found = nullptr;
    for (const TracedArray& each : modules_.other_trace().arrays) {
      const bool uses = std::ranges::any_of(
          each.operands, [&](std::uint32_t operand) { return tensors.contains(operand); });
      if (!uses || each.instruction->opcode != broken.instruction->opcode) continue;
      if (found != nullptr) return {};
      found = &each;
    }
    if (found == nullptr) return {};
    std::vector<std::string> operands;
    for (const std::uint32_t operand : found->operands) {
      operands.push_back(with_line(named(*modules_.other_trace().arrays[operand].instruction)));
    }
    return fmt::format(" {} {} is computed from {}.", with_line(named(*found->instruction)),
                       modules_.other_word(), fmt::join(operands, ", "));
  }

  /// Changes that make the modules equal at the random point are compared as any two modules.
  void repair(const std::vector<std::uint32_t>& region, Explanation& explanation) {
    std::size_t tried = 0;
    try {
      for_each_repair(modules_, region, [&](Repair&& repair) {
        ++tried;
        if (tried > kMaxRepairs ||
            static_cast<double>(tried) * modules_.operations() > kMaxRepairWork) {
          return false;
        }
        if (!modules_.is_valid(repair.module)) return true;
        explanation.repair =
            ExplainedRepair{repair.words, repair.is_missing, named(*repair.place), repair.groups};
        return false;
      });
    } catch (const LimitReached&) {
    }
  }

  RelatedModules& modules_;
  std::size_t output_;
  std::uint32_t device_;
};

}  // namespace

std::optional<Explanation> explain(const Module& before, const Module& after,
                                   const ModuleDecision& decision, const Limits& limits) {
  if (!decision.violation || !decision.violation->element || !decision.relation) return {};
  const auto explained = [&](const Module& first, const Module& second,
                             const ModuleDecision& found) {
    return explain_within(found, limits, [&](const Limits& bounded) -> std::optional<Explanation> {
      RelatedModules modules(first, second, found, bounded);
      const ElementDifference& differing = *decision.violation->element;
      return Explainer(modules, differing.output, differing.device).explain();
    });
  };
  if (!is_too_large_for_explanation(decision)) return explained(before, after, decision);
  std::optional<BlockModules> blocks;
  try {
    blocks = block_modules(before, after, decision.devices, *decision.relation,
                           kMaxExplainedOperations, limits, false);
  } catch (const LimitReached&) {
  }
  if (!blocks || blocks->has_ranges) return {};
  ModuleDecision found = decision;
  found.relation = std::make_shared<const ModuleRelation>(blocks->relation);
  found.operations = blocks->operations;
  auto explanation = explained(*blocks->before, *blocks->after, found);
  if (!explanation) return {};
  explanation->is_on_blocks = true;
  // The numbers of such a repair are those of blocks.
  const bool counts = explanation->repair && explanation->repair->place.opcode.ends_with("slice");
  if (counts) explanation->repair.reset();
  return explanation;
}

}  // namespace p2::hlo
