// The first instruction at which two modules that differ part ways. Both are executed at one random
// point; every array of the one that is wrong is looked for in the other one, from the output that
// differs back to the inputs. Repairs are tried near by.

#include "engine/hlo/explanation/explanation.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/explanation/holding.h"
#include "engine/hlo/explanation/repair.h"
#include "engine/hlo/explanation/trace.h"

namespace p2::hlo {
namespace {

/// Operations on elements, of all executions together: what is said does not depend on the time
/// that they take.
constexpr std::uint64_t kMaxOperations = 60'000'000;
constexpr std::size_t kMaxRepairs = 600;
constexpr std::chrono::milliseconds kMaxTime{2500};
constexpr std::size_t kMaxOperandsShown = 4;

NamedInstruction named(const Instruction& instruction) {
  return {instruction.name, instruction.opcode, instruction.position};
}

std::string with_line(const NamedInstruction& instruction) {
  return fmt::format("{} (line {})", instruction.name, instruction.position.line);
}

class Explainer {
 public:
  Explainer(const Module& before, const Module& after, const ModuleDecision& decision,
            const Limits& limits)
      : decision_(decision),
        relation_(*decision.relation),
        is_of_before_(relation_.is_mixed() && relation_.before == Form::Partitioned),
        subject_(is_of_before_ ? before : after),
        other_(is_of_before_ ? after : before),
        limits_(limits),
        interpretation_(decision.devices, relation_, kMaxOperations, limits_),
        other_trace_(trace(interpretation_, other_,
                           is_of_before_ ? relation_.after : relation_.before, !is_of_before_)),
        trace_(trace(interpretation_, subject_, is_of_before_ ? relation_.before : relation_.after,
                     is_of_before_)),
        groups_(likely_groups(subject_, decision.devices, relation_.mesh)),
        search_(other_trace_, relation_.is_mixed(), interpretation_, groups_) {}

  Explanation explain() {
    output_ = decision_.violation->element->output;
    const std::size_t number = relation_.is_mixed() ? relation_.outputs[output_].number : output_;
    const std::uint32_t output = trace_.outputs.at(number);
    const std::vector<std::uint32_t> region = unrelated_region(output);
    const std::uint32_t first = first_break(region);
    Explanation explanation{named(*trace_.arrays[first].instruction), is_of_before_};
    describe(first, explanation);
    repair(region, explanation);
    return explanation;
  }

 private:
  /// Constants are related to anything.
  bool is_related(std::uint32_t array) {
    return !trace_.arrays[array].depends_on_inputs || holding(array);
  }

  const std::optional<Holding>& holding(std::uint32_t array) {
    const auto [found, added] = holdings_.try_emplace(array);
    if (added) found->second = search_.find(trace_.arrays[array]);
    return found->second;
  }

  bool occurs(std::uint32_t array) {
    const auto [found, added] = occurs_.try_emplace(array);
    if (added) found->second = search_.occurs(trace_.arrays[array]);
    return found->second;
  }

  /// The arrays that are not related, from the output back to those that are, in order of
  /// execution; also the output.
  std::vector<std::uint32_t> unrelated_region(std::uint32_t output) {
    std::set<std::uint32_t> region = {output};
    std::vector<std::uint32_t> open;
    if (!is_related(output)) open.push_back(output);
    while (!open.empty()) {
      const std::uint32_t array = open.back();
      open.pop_back();
      for (const std::uint32_t operand : trace_.arrays[array].operands) {
        if (!is_related(operand) && region.insert(operand).second) open.push_back(operand);
      }
    }
    return {region.begin(), region.end()};
  }

  /// The first array with elements that the other module does not have, computed from such that it
  /// has; else the first.
  std::uint32_t first_break(const std::vector<std::uint32_t>& region) {
    for (const std::uint32_t array : region) {
      const auto& operands = trace_.arrays[array].operands;
      if (occurs(array)) continue;
      if (std::ranges::all_of(operands, [&](auto each) { return is_related(each) || occurs(each); }))
        return array;
    }
    return region.front();
  }

  const char* other_word() const { return is_of_before_ ? "after" : "before"; }

  std::string over(const Groups& groups) const {
    const std::string axes = axes_text(groups, relation_.mesh);
    return axes.empty() ? groups_text(groups) : axes;
  }

  /// How devices hold a tensor of the other module, and its name.
  std::string held_text(const Holding& holding) const {
    const NamedInstruction tensor = named(*other_trace_.arrays[holding.array].instruction);
    const std::string name =
        fmt::format("{} {} (line {})", tensor.name, other_word(), tensor.position.line);
    if (holding.reducer != Reducer::Unknown) {
      return fmt::format("partial results ({}) of {} over {}", to_string(holding.reducer), name,
                         over(holding.groups));
    }
    if (holding.factor != Number{1, 1}) {
      return fmt::format("{} times {}", to_string(holding.factor), name);
    }
    return holding.is_whole ? name : "pieces of " + name;
  }

  ExplainedOperand operand_of(std::uint32_t array) {
    ExplainedOperand operand{named(*trace_.arrays[array].instruction)};
    const auto& found = holding(array);
    if (!found) return operand;
    operand.tensor = named(*other_trace_.arrays[found->array].instruction);
    operand.groups = found->groups;
    operand.held = found->reducer != Reducer::Unknown    ? std::string(to_string(found->reducer))
                   : found->factor != Number{1, 1} ? "multiple"
                   : found->is_whole               ? "whole"
                                                   : "pieces";
    return operand;
  }

  void describe(std::uint32_t array, Explanation& explanation) {
    const TracedArray& broken = trace_.arrays[array];
    const std::string what = fmt::format("{} ({})", broken.instruction->name,
                                         broken.instruction->opcode);
    std::string& text = explanation.paragraph;
    if (broken.depends_on_inputs && holding(array)) {
      explanation.operands.push_back(operand_of(array));
      text = fmt::format("Output {} is {}: {}.", output_, what, held_text(*holding(array)));
      return;
    }
    text = !broken.depends_on_inputs
               ? fmt::format("Output {} is {}, which depends on no input", output_, what)
           : occurs(array)
               ? fmt::format("{} has elements of the module {} only, but devices do not hold a tensor "
                             "of it in pieces", what, other_word())
               : fmt::format("{} computes what the module {} does not", what, other_word());
    std::vector<std::string> parts;
    std::set<const Instruction*> seen;
    for (const std::uint32_t number : broken.operands) {
      const TracedArray& operand = trace_.arrays[number];
      if (!operand.depends_on_inputs || !seen.insert(operand.instruction).second) continue;
      if (parts.size() == kMaxOperandsShown) {
        parts.emplace_back("…");
        break;
      }
      explanation.operands.push_back(operand_of(number));
      const auto& found = holding(number);
      parts.push_back(fmt::format("{}: {}", with_line(named(*operand.instruction)),
                                  found ? held_text(*found)
                                  : occurs(number)
                                      ? fmt::format("elements of the module {}", other_word())
                                      : fmt::format("nothing of the module {}", other_word())));
    }
    text += parts.empty() ? "." : fmt::format(". It is computed from {}.", fmt::join(parts, "; "));
    text += counterpart_text(broken);
  }

  /// What the other module computes of the same tensors by the same operation, if it is one.
  std::string counterpart_text(const TracedArray& broken) {
    std::set<std::uint32_t> tensors;
    for (const std::uint32_t operand : broken.operands) {
      if (!trace_.arrays[operand].depends_on_inputs || !holding(operand)) continue;
      tensors.insert(holding(operand)->array);
    }
    const TracedArray* found = nullptr;
    for (const TracedArray& each : other_trace_.arrays) {
      const bool uses = std::ranges::any_of(
          each.operands, [&](std::uint32_t operand) { return tensors.contains(operand); });
      if (!uses || each.instruction->opcode != broken.instruction->opcode) continue;
      if (found != nullptr) return {};
      found = &each;
    }
    if (found == nullptr) return {};
    std::vector<std::string> operands;
    for (const std::uint32_t operand : found->operands) {
      operands.push_back(with_line(named(*other_trace_.arrays[operand].instruction)));
    }
    return fmt::format(" {} {} is computed from {}.", with_line(named(*found->instruction)),
                       other_word(), fmt::join(operands, ", "));
  }

  /// Changes that make the modules equal at the random point are compared as any two modules.
  void repair(const std::vector<std::uint32_t>& region, Explanation& explanation) {
    const RepairQuestion question{
        subject_, other_, trace_, decision_.devices, relation_.mesh, groups_, region,
        [&](std::uint32_t array) -> const std::optional<Holding>& { return holding(array); }};
    std::size_t tried = 0;
    try {
      for_each_repair(question, [&](Repair&& repair) {
        if (++tried > kMaxRepairs) return false;
        if (!is_equal_at_point(repair.module) || !is_valid(repair.module)) return true;
        explanation.repair = ExplainedRepair{repair.words, named(*repair.place), repair.groups};
        return false;
      });
    } catch (const LimitReached&) {
    }
  }

  bool is_equal_at_point(const Module& repaired) {
    try {
      const auto values =
          interpretation_.run(repaired, is_of_before_ ? relation_.before : relation_.after,
                              is_of_before_);
      return is_of_before_ ? interpretation_.are_equal(values, other_trace_.results)
                           : interpretation_.are_equal(other_trace_.results, values);
    } catch (const interpreter::NotUnderstood&) {
    } catch (const IllFormed&) {
    }
    return false;
  }

  bool is_valid(const Module& repaired) const {
    const Module& before = is_of_before_ ? repaired : other_;
    const Module& after = is_of_before_ ? other_ : repaired;
    try {
      return compare_by_execution(before, after, decision_.devices, relation_, decision_.operations,
                                  kMaxOperations, limits_)
                 .outcome == Outcome::Established;
    } catch (const IllFormed&) {
      return false;
    }
  }

  const ModuleDecision& decision_;
  const ModuleRelation& relation_;
  bool is_of_before_;
  const Module& subject_;
  const Module& other_;
  const Limits& limits_;
  RandomInterpretation interpretation_;
  Trace other_trace_;
  Trace trace_;
  std::vector<Groups> groups_;
  HoldingSearch search_;
  std::size_t output_ = 0;
  std::map<std::uint32_t, std::optional<Holding>> holdings_;
  std::map<std::uint32_t, bool> occurs_;
};

}  // namespace

std::optional<Explanation> explain(const Module& before, const Module& after,
                                   const ModuleDecision& decision, const Limits& limits) {
  if (!decision.violation || !decision.violation->element || !decision.relation) return {};
  if (decision.operations * 2 > static_cast<double>(kMaxOperations)) return {};
  Limits bounded = limits;
  const auto soon = std::chrono::steady_clock::now() + kMaxTime;
  bounded.deadline = bounded.deadline ? std::min(*bounded.deadline, soon) : soon;
  try {
    return Explainer(before, after, decision, bounded).explain();
  } catch (const interpreter::NotUnderstood&) {
  } catch (const IllFormed&) {
  } catch (const LimitReached&) {
  }
  return {};
}

}  // namespace p2::hlo
