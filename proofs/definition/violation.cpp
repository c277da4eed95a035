#include "proofs/definition/violation.h"

#include <bit>
#include <functional>

#include "engine/collective/language/interpreter.h"
#include "proofs/definition/shape.h"

namespace p2::definition {
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

/// What whole rows of the group, none of them more than `wanted`, make of it.
Row of_whole_rows(const GroupState& before, std::uint32_t chunk, Row wanted) {
  Row made = 0;
  for (std::uint32_t i = 0; i < before.devices(); ++i) {
    const Row part = row(before, i, chunk);
    if ((part & ~wanted) == 0) made |= part;
  }
  return made;
}

/// Whether `wanted` is a disjoint union of the group's rows from `position` on.
bool addable(const GroupState& before, std::uint32_t chunk, Row wanted,
             std::uint32_t position = 0) {
  if (wanted == 0) return true;
  if (position == before.devices()) return false;
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

}  // namespace p2::definition
