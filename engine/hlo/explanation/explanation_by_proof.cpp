// Where two modules part ways that are too large to be executed, by how far a proof goes; and what
// would let it go on.

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/explanation/module_changes.h"
#include "engine/hlo/explanation/related_modules.h"
#include "engine/hlo/flow.h"

namespace p2::hlo {
namespace {

constexpr int kMaxSteps = 3;  ///< back from where the proof ends

class ProofEnd {
 public:
  ProofEnd(const Flow& flow, const Module& other, const char* other_word,
           const ModuleDecision& decision, const HeldArrays& held)
      : trace_(trace_of(flow)),
        module_(*flow.module),
        other_(other),
        other_word_(other_word),
        held_(held),
        mesh_(decision.relation->mesh),
        groups_(likely_groups(module_, decision.devices, mesh_)) {}

  /// The array that the instruction makes.
  std::optional<std::uint32_t> find(const std::string& instruction) const {
    for (std::uint32_t k = 0; k < trace_.arrays.size(); ++k) {
      if (trace_.arrays[k].instruction->name == instruction) return k;
    }
    return std::nullopt;
  }

  Explanation explain(std::uint32_t end, bool is_of_before) const {
    const TracedArray& array = trace_.arrays[end];
    Explanation explanation{named(*array.instruction), is_of_before};
    std::vector<std::string> parts;
    std::set<const Instruction*> seen;
    for (const std::uint32_t each : array.operands) {
      const Instruction& instruction = *trace_.arrays[each].instruction;
      if (!trace_.arrays[each].depends_on_inputs || !seen.insert(&instruction).second) continue;
      const ExplainedOperand operand = operand_of(each);
      explanation.operands.push_back(operand);
      if (parts.size() < kMaxOperandsShown)
        parts.push_back(
            fmt::format("{}: {}", with_line(operand.instruction), words_of(operand, each)));
      else if (parts.size() == kMaxOperandsShown)
        parts.emplace_back("…");
    }
    explanation.paragraph =
        fmt::format("Up to {} ({}) tensors are related to those of the module {}.",
                    array.instruction->name, array.instruction->opcode, other_word_);
    if (!parts.empty())
      explanation.paragraph += fmt::format(" It is computed from {}.", fmt::join(parts, "; "));
    return explanation;
  }

  /// Changes of collectives near the end, until `visit` returns false.
  void for_each_repair(std::uint32_t end, const std::function<bool(Repair&&)>& visit) const {
    bool goes_on = true;
    const auto offer = [&](const auto& make) {
      if (!goes_on) return;
      if (auto repair = make()) goes_on = visit(std::move(*repair));
    };
    const std::vector<std::uint32_t> near = near_to(end);
    std::vector<const Instruction*> collectives;
    for (const std::uint32_t each : near) {
      const Instruction* instruction = trace_.arrays[each].instruction;
      if (is_collective(base_opcode(instruction->opcode))) collectives.push_back(instruction);
    }
    for (const Instruction* each : collectives) offer([&] { return without(module_, *each); });
    // Where parts come from first.
    for (const std::uint32_t each : std::set<std::uint32_t>(near.begin(), near.end())) {
      const auto element = first_element(each);
      if (!element || element->reducer == Reducer::Unknown) continue;
      const std::vector<Groups> own = {element->groups};
      for (const Groups& groups : element->groups.empty() ? groups_ : own) {
        offer([&] {
          return with_reduction(module_, *trace_.arrays[each].instruction, element->reducer, groups,
                                over(groups));
        });
      }
    }
    for (const Instruction* each : collectives) {
      if (!each->attributes.pairs.empty()) continue;
      for (const Groups& groups : groups_)
        offer([&] { return with_groups(module_, *each, groups, over(groups)); });
    }
    // Where devices have tensors of their own, nothing is known to be a part of a sum.
    std::vector<std::uint32_t> close = trace_.arrays[end].operands;
    close.push_back(end);
    for (const std::uint32_t each : close) {
      const TracedArray& array = trace_.arrays[each];
      if (!array.depends_on_inputs || !array.shape.type.is_float() || is_partial(each)) continue;
      for (const Groups& groups : groups_) {
        offer([&] {
          return with_reduction(module_, *array.instruction, Reducer::Add, groups, over(groups));
        });
      }
    }
  }

 private:
  std::optional<HeldElement> first_element(std::uint32_t number) const {
    const HeldArrays::Array array = array_on(trace_, number, 0);
    return held_.element(array, std::vector<std::int64_t>(array.shape.sizes.size(), 0));
  }

  bool is_partial(std::uint32_t number) const {
    const auto element = first_element(number);
    return element && element->reducer != Reducer::Unknown;
  }
  /// A tensor of the other module, or a piece of one.
  bool is_plain(std::uint32_t number) const {
    const auto element = first_element(number);
    return element && !element->tensor.empty() && element->reducer == Reducer::Unknown;
  }

  ExplainedOperand operand_of(std::uint32_t number) const {
    const HeldArrays::Array array = array_on(trace_, number, 0);
    ExplainedOperand operand{named(array.instruction)};
    const auto element = first_element(number);
    if (!element || element->tensor.empty()) return operand;
    const auto look_in = [&](const Computation& computation) {
      for (const Instruction& each : computation.instructions) {
        if (each.name == element->tensor && !operand.tensor) operand.tensor = named(each);
      }
    };
    look_in(other_.entry_computation());
    std::ranges::for_each(other_.computations, look_in);
    bool is_whole = true;
    for (std::size_t k = 0; k < array.shape.sizes.size(); ++k)
      is_whole = is_whole && !held_.range(array, k);
    operand.held = element->reducer != Reducer::Unknown ? std::string(to_string(element->reducer))
                   : is_whole                           ? "whole"
                                                        : "pieces";
    return operand;
  }

  std::string words_of(const ExplainedOperand& operand, std::uint32_t number) const {
    const auto element = first_element(number);
    const Reducer reducer = element ? element->reducer : Reducer::Unknown;
    if (operand.tensor)
      return held_words(*operand.tensor, other_word_, reducer, operand.held == "whole", "");
    return reducer != Reducer::Unknown ? "partial results"
                                       : fmt::format("no tensor of the module {}", other_word_);
  }

  /// The end, and what it is computed from: what is no tensor of the other module as far as it
  /// goes, its tensors a few steps.
  std::vector<std::uint32_t> near_to(std::uint32_t end) const {
    std::vector<std::uint32_t> near = {end};
    std::map<std::uint32_t, int> steps = {{end, 0}};
    for (std::size_t k = 0; k < near.size(); ++k) {
      for (const std::uint32_t each : trace_.arrays[near[k]].operands) {
        const int step = steps.at(near[k]) + (is_plain(each) ? 1 : 0);
        if (step <= kMaxSteps && trace_.arrays[each].depends_on_inputs &&
            steps.emplace(each, step).second)
          near.push_back(each);
      }
    }
    return near;
  }

  std::string over(const Groups& groups) const { return groups_text(groups, mesh_); }

  Trace trace_;
  const Module& module_;
  const Module& other_;
  const char* other_word_;
  const HeldArrays& held_;
  const std::vector<MeshAxis>& mesh_;
  std::vector<Groups> groups_;
};

}  // namespace

std::optional<Explanation> explain_end(
    const std::shared_ptr<const Module>& before, const std::shared_ptr<const Module>& after,
    const ModuleDecision& decision, const std::string& end, const HeldArrays& held,
    const Limits& limits, const std::function<std::optional<bool>(const Module&)>& is_equal) {
  const bool is_of_before = decision.relation->is_reversed();
  Fingerprints fingerprints;
  const Flow flow = flow_of(is_of_before ? before : after, decision.devices, fingerprints, limits);
  const ProofEnd proof(flow, is_of_before ? *after : *before, is_of_before ? "after" : "before",
                       decision, held);
  const auto array = proof.find(end);
  if (!array) return std::nullopt;
  Explanation explanation = proof.explain(*array, is_of_before);
  proof.for_each_repair(*array, [&](Repair&& repair) {
    const auto found = is_equal(repair.module);
    if (found == true) {
      explanation.repair =
          ExplainedRepair{repair.words, repair.is_missing, named(*repair.place), repair.groups};
    }
    return found == false;
  });
  return explanation;
}

}  // namespace p2::hlo
