#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/collective/language/interpreter.h"
#include "proofs/definition/shape.h"
#include "proofs/definition/violation.h"

namespace p2::definition {
namespace {

using language::GroupState;

std::string set_text(Row held) {
  std::vector<std::uint32_t> members;
  for (std::uint32_t c = 0; c < 32; ++c) {
    if ((held >> c & 1U) == 1) members.push_back(c);
  }
  return members.empty() ? "nothing" : fmt::format("{{{}}}", fmt::join(members, ","));
}

/// `{0,1} at position 0, {1,2} at position 1`
std::string rows_text(const GroupState& state, std::uint32_t chunk) {
  std::vector<std::string> rows;
  for (std::uint32_t i = 0; i < state.devices(); ++i) {
    rows.push_back(fmt::format("{} at position {}", set_text(row(state, i, chunk)), i));
  }
  return fmt::format("{}", fmt::join(rows, ", "));
}

std::string chunks_with(const GroupState& state, std::uint32_t contributor) {
  std::vector<std::uint32_t> chunks;
  for (std::uint32_t r = 0; r < state.chunks(); ++r) {
    bool held = false;
    for (std::uint32_t i = 0; i < state.devices(); ++i) held |= state.holds(i, r, contributor);
    if (held) chunks.push_back(r);
  }
  return fmt::format("{} {}", chunks.size() == 1 ? "chunk" : "chunks", fmt::join(chunks, ", "));
}

std::string explain_row(Claim claim, const Step& step, const Violation& at) {
  const auto [position, chunk, contributor] = at;
  const std::string held = set_text(row(step.after, position, chunk));
  const std::string rows = rows_text(step.before, chunk);
  switch (claim) {
    case Claim::NothingInvented:
      return fmt::format(
          "Position {} ends with the contribution of device {} in chunk {}, which nobody in the "
          "group held before, in any chunk: it is invented.",
          position, contributor, chunk);
    case Claim::ChunksApart:
      return fmt::format(
          "Position {} ends with the contribution of device {} in chunk {}, but the group held "
          "that contribution only in {}: chunks are different numbers, and one cannot become part "
          "of another.",
          position, contributor, chunk, chunks_with(step.before, contributor));
    case Claim::SumsWhole:
      return fmt::format(
          "Position {} ends with {} in chunk {}. The group held there {}: the contribution of "
          "device {} was only part of a larger sum, and a sum cannot be taken apart.",
          position, held, chunk, rows, contributor);
    case Claim::NoDoubleCount:
      return fmt::format(
          "Position {} ends with {} in chunk {}. The group held there {}: whichever of these are "
          "added up to it, a contribution is counted twice.",
          position, held, chunk, rows);
    default:
      return fmt::format(
          "Position {} ends with {} in chunk {}. The group held there {}: no disjoint ones of "
          "these add up to it.",
          position, held, chunk, rows);
  }
}

std::string explain_exchange(const Step& step, const GroupState& exchanged, const char* what,
                             std::uint32_t first) {
  const auto failed = language::first_failed_premise(step.definition, exchanged);
  const std::string outcome =
      failed ? fmt::format("the step is refused by premise {}",
                           step.definition.premises[failed->premise].name)
             : "the step ends in another state than with the two exchanged after it";
  return fmt::format("With {} {} and {} exchanged before the step, {}: their numbers matter.", what,
                     first, first + 1, outcome);
}

}  // namespace

std::string explain(Claim claim, const Step& step, const Violation& violation) {
  switch (claim) {
    case Claim::KeepsAll:
      return fmt::format(
          "Position {} held the contribution of device {} in chunk {}, and afterwards nobody in "
          "the group holds it there: it is lost.",
          violation.position, violation.contributor, violation.chunk);
    case Claim::RootKeeps:
    case Claim::OthersKeep:
      return fmt::format("Position {} drops the contribution of device {} in chunk {}.",
                         violation.position, violation.contributor, violation.chunk);
    case Claim::MeasureRises:
      return fmt::format(
          "The measure is {} before the step and {} after it. It has to rise in every step, so "
          "that no program goes on for ever.",
          language::measure(step.definition, step.before),
          language::measure(step.definition, step.after));
    case Claim::ContributorsAlike:
      return explain_exchange(
          step,
          contributors_exchanged(step.before, violation.contributor, violation.contributor + 1),
          "contributors", violation.contributor);
    case Claim::PositionsAlike:
    case Claim::NonRootsAlike:
      return explain_exchange(
          step, positions_exchanged(step.before, violation.position, violation.position + 1),
          "positions", violation.position);
    default:
      return explain_row(claim, step, violation);
  }
}

}  // namespace p2::definition
