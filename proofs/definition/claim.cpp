#include "proofs/definition/claim.h"

#include <bit>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/invariant.h"
#include "engine/collective/language/interpreter.h"
#include "proofs/definition/step.h"

namespace p2::definition {

std::string_view name_of(Claim claim) {
  switch (claim) {
    case Claim::NothingInvented:
      return "nothing-invented";
    case Claim::ChunksApart:
      return "chunks-apart";
    case Claim::SumsWhole:
      return "sums-whole";
    case Claim::NoDoubleCount:
      return "no-double-count";
    case Claim::Realisable:
      return "realisable";
    case Claim::KeepsAll:
      return "keeps-all";
    case Claim::RootKeeps:
      return "root-keeps";
    case Claim::OthersKeep:
      return "others-keep";
    case Claim::MeasureRises:
      return "measure";
    case Claim::ContributorsAlike:
      return "equivariant";
    case Claim::PositionsAlike:
      return "positions-alike";
    case Claim::NonRootsAlike:
      return "non-roots-alike";
  }
  invariant(false, "not a claim");
  return {};
}

namespace {

using language::GroupState;

/// The contributions that the group holds in `chunk`.
Row of_group(const GroupState& state, std::uint32_t chunk) {
  Row held = 0;
  for (std::uint32_t i = 0; i < state.devices(); ++i) held |= row(state, i, chunk);
  return held;
}

Row of_group(const GroupState& state) {
  Row held = 0;
  for (std::uint32_t r = 0; r < state.chunks(); ++r) held |= of_group(state, r);
  return held;
}

/// What whole rows of the group from `position` on, none of them more than `wanted`, make of it.
Row of_whole_rows(const GroupState& before, std::uint32_t chunk, Row wanted,
                  std::uint32_t position = 0) {
  Row made = 0;
  for (std::uint32_t i = position; i < before.devices(); ++i) {
    const Row part = row(before, i, chunk);
    if ((part & ~wanted) == 0) made |= part;
  }
  return made;
}

/// Whether `wanted` is a disjoint union of the group's rows from `position` on.
bool addable(const GroupState& before, std::uint32_t chunk, Row wanted,
             std::uint32_t position = 0) {
  if (wanted == 0) return true;
  if (of_whole_rows(before, chunk, wanted, position) != wanted) return false;
  const Row part = row(before, position, chunk);
  const bool fits = part != 0 && (part & ~wanted) == 0;
  return (fits && addable(before, chunk, wanted & ~part, position + 1)) ||
         addable(before, chunk, wanted, position + 1);
}

/// The contributions of the row at (position, chunk) that break the claim.
using Wrong = std::function<Row(std::uint32_t position, std::uint32_t chunk)>;

std::optional<Violation> first_wrong(const Step& step, const Wrong& wrong) {
  for (std::uint32_t i = 0; i < step.after.devices(); ++i) {
    for (std::uint32_t r = 0; r < step.after.chunks(); ++r) {
      const Row found = wrong(i, r);
      if (found != 0) {
        return Violation{i, r, static_cast<std::uint32_t>(std::countr_zero(found))};
      }
    }
  }
  return std::nullopt;
}

Wrong wrong_in_rows(Claim claim, const Step& step) {
  const GroupState& before = step.before;
  const GroupState& after = step.after;
  switch (claim) {
    case Claim::NothingInvented:
      return [&, all = of_group(before)](auto i, auto r) { return row(after, i, r) & ~all; };
    case Claim::ChunksApart:
      return [&, all = of_group(before)](auto i, auto r) {
        return row(after, i, r) & all & ~of_group(before, r);
      };
    case Claim::SumsWhole:
      return [&](auto i, auto r) {
        const Row held = row(after, i, r);
        const bool from_chunk = (held & ~of_group(before, r)) == 0;
        return from_chunk ? held & ~of_whole_rows(before, r, held) : 0;
      };
    case Claim::NoDoubleCount:
      return [&](auto i, auto r) {
        const Row held = row(after, i, r);
        const bool whole = of_whole_rows(before, r, held) == held;
        return whole && !addable(before, r, held) ? held : 0;
      };
    case Claim::Realisable:
      return [&](auto i, auto r) {
        const Row held = row(after, i, r);
        return addable(before, r, held) ? 0 : held;
      };
    case Claim::KeepsAll:
      return [&](auto i, auto r) { return row(before, i, r) & ~of_group(after, r); };
    case Claim::RootKeeps:
      return [&](auto i, auto r) { return i == 0 ? row(before, i, r) & ~row(after, i, r) : 0; };
    default:
      return [&](auto i, auto r) { return i > 0 ? row(before, i, r) & ~row(after, i, r) : 0; };
  }
}

/// Whether the step from the exchanged state is the exchanged step.
bool commutes(const Step& step, const std::function<GroupState(const GroupState&)>& exchanged) {
  const std::optional<Step> other = take(step.definition, exchanged(step.before));
  return other && other->after == exchanged(step.after);
}

std::optional<Violation> contributor_that_matters(const Step& step) {
  for (std::uint32_t c = 0; c + 1 < step.before.contributors(); ++c) {
    const auto exchanged = [c](const GroupState& state) {
      return contributors_exchanged(state, c, c + 1);
    };
    if (!commutes(step, exchanged)) return Violation{0, 0, c};
  }
  return std::nullopt;
}

std::optional<Violation> position_that_matters(const Step& step, std::uint32_t first) {
  for (std::uint32_t i = first; i + 1 < step.before.devices(); ++i) {
    const auto exchanged = [i](const GroupState& state) {
      return positions_exchanged(state, i, i + 1);
    };
    if (!commutes(step, exchanged)) return Violation{i, 0, 0};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Violation> violation(Claim claim, const Step& step) {
  switch (claim) {
    case Claim::MeasureRises:
      if (language::measure(step.definition, step.before) <
          language::measure(step.definition, step.after)) {
        return std::nullopt;
      }
      return Violation{};
    case Claim::ContributorsAlike:
      return contributor_that_matters(step);
    case Claim::PositionsAlike:
      return position_that_matters(step, 0);
    case Claim::NonRootsAlike:
      return position_that_matters(step, 1);
    default:
      return first_wrong(step, wrong_in_rows(claim, step));
  }
}

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
             : "the step ends in a different state from the one with the two exchanged after it";
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
