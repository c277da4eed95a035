#include "engine/hlo/explanation/related_modules.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/hlo/interpreter/execution.h"

namespace p2::hlo {

RelatedModules::RelatedModules(const Module& before, const Module& after,
                               const ModuleDecision& decision, const Limits& limits)
    : decision_(decision),
      relation_(*decision.relation),
      is_of_before_(relation_.is_mixed() && relation_.before == Form::Partitioned),
      subject_(is_of_before_ ? before : after),
      other_(is_of_before_ ? after : before),
      limits_(limits),
      interpretation_(decision.devices, relation_, kMaxExplanationWork, limits_),
      other_trace_(p2::hlo::trace(interpretation_, other_,
                                  is_of_before_ ? relation_.after : relation_.before,
                                  !is_of_before_)),
      trace_(p2::hlo::trace(interpretation_, subject_, subject_form(), is_of_before_)),
      groups_(likely_groups(subject_, decision.devices, relation_.mesh)),
      search_(other_trace_, relation_.is_mixed(), interpretation_, groups_) {}

std::uint32_t RelatedModules::output(std::size_t number, std::uint32_t device) const {
  return trace_.outputs.at(relation_.is_mixed() ? relation_.outputs[number].number_on(device)
                                                : number);
}

std::uint32_t RelatedModules::holder_of(std::size_t output) const {
  if (!relation_.is_mixed()) return 0;
  const auto& pieces = relation_.outputs[output].pieces;
  const auto held = std::ranges::find_if(pieces, [](const auto& own) { return !own.empty(); });
  return static_cast<std::uint32_t>(held - pieces.begin());
}

bool RelatedModules::is_related(std::uint32_t array) {
  return !trace_.arrays[array].depends_on_inputs || holding(array);
}

const std::optional<Holding>& RelatedModules::holding(std::uint32_t array) {
  const auto [found, added] = holdings_.try_emplace(array);
  if (added) found->second = search_.find(trace_.arrays[array]);
  return found->second;
}

bool RelatedModules::occurs(std::uint32_t array) {
  const auto [found, added] = occurs_.try_emplace(array);
  if (added) found->second = search_.occurs(trace_.arrays[array]);
  return found->second;
}

bool RelatedModules::is_valid(const Module& changed) const {
  const Module& before = is_of_before_ ? changed : other_;
  const Module& after = is_of_before_ ? other_ : changed;
  try {
    if (differ_on_numbers(before, after, decision_.devices, relation_, kMaxExplanationWork,
                          limits_)) {
      return false;
    }
    return compare_by_execution(before, after, decision_.devices, relation_, decision_.operations,
                                kMaxExplanationWork, limits_)
               .outcome == Outcome::Established;
  } catch (const interpreter::NotUnderstood&) {
    return false;
  } catch (const IllFormed&) {
    return false;
  }
}

std::string RelatedModules::over(const Groups& groups) const {
  const std::string axes = axes_text(groups, relation_.mesh);
  return axes.empty() ? groups_text(groups) : axes;
}

std::string RelatedModules::held_text(const Holding& holding) const {
  const Instruction& tensor = *other_trace_.arrays[holding.array].instruction;
  const std::string name =
      fmt::format("{} {} (line {})", tensor.name, other_word(), tensor.position.line);
  if (holding.reducer != Reducer::Unknown) {
    const bool is_sum = holding.reducer == Reducer::Add;
    return fmt::format(
        "{} of {} over {}",
        is_sum ? "partial sums" : fmt::format("partial results ({})", to_string(holding.reducer)),
        name, over(holding.groups));
  }
  if (holding.factor != Number{1, 1}) {
    return fmt::format("{} times {}", to_string(holding.factor), name);
  }
  return holding.is_whole ? name : "pieces of " + name;
}

}  // namespace p2::hlo
