#include "engine/collective/defined_kernels.h"

#include <algorithm>
#include <stdexcept>

#include "engine/base/invariant.h"

namespace p2 {
namespace {

using language::GroupState;

constexpr std::uint32_t kRefused = UINT32_MAX;

/// The largest state of a group that is written out, in contributions.
constexpr std::uint64_t kMostWrittenOut = std::uint64_t{1} << 26U;

}  // namespace

bool DefinedKernels::apply(Collective collective, std::span<const StateId> before,
                           std::span<StateId> after) {
  key_.assign(1, static_cast<std::uint32_t>(collective));
  key_.insert(key_.end(), before.begin(), before.end());
  bool known = false;
  std::uint32_t& answer = runs_.find(key_, known);
  if (!known) answer = run(collective, before);
  if (answer == kRefused) return false;
  std::copy_n(after_.begin() + answer, before.size(), after.begin());
  return true;
}

std::uint32_t DefinedKernels::run(Collective collective, std::span<const StateId> before) {
  const language::Definition& definition = collectives_.definition_of(collective);
  const GroupState group = written_out(before);
  if (first_failed_premise(definition, group)) return kRefused;
  const GroupState result = post_state(definition, group);
  if (after_.size() + before.size() >= kRefused) {
    throw std::length_error("too large, out of 32-bit results");
  }
  const auto begin = static_cast<std::uint32_t>(after_.size());
  for (std::uint32_t i = 0; i < before.size(); ++i) after_.push_back(compressed(result, i));
  return begin;
}

DefinedRefusal DefinedKernels::refusal(Collective collective,
                                       std::span<const StateId> before) const {
  const language::Definition& definition = collectives_.definition_of(collective);
  auto failed = first_failed_premise(definition, written_out(before));
  invariant(failed.has_value(), "no premise fails of a step that was refused");
  const language::Premise& premise = definition.premises[failed->premise];
  return {premise.name, premise.description, std::move(failed->witness)};
}

GroupState DefinedKernels::written_out(std::span<const StateId> group) const {
  const std::uint64_t rows = std::uint64_t{group.size()} * states_.chunks();
  if (rows > kMostWrittenOut / contributors_) {
    throw std::length_error("a group is too large for the interpreter of the definitions");
  }
  const IndexSetTable& sets = states_.sets();
  GroupState state(static_cast<std::uint32_t>(group.size()), states_.chunks(), contributors_);
  const auto each = [&](IndexSetId set, auto visit) {
    for (const Run& run : sets.runs(set)) {
      for (std::uint32_t index = run.begin; index < run.end; ++index) visit(index);
    }
  };
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    for (const Piece& piece : states_.pieces(group[i])) {
      each(piece.chunks, [&](std::uint32_t r) {
        each(piece.contributors, [&](std::uint32_t c) { state.set(i, r, c, true); });
      });
    }
  }
  return state;
}

StateId DefinedKernels::compressed(const GroupState& group, std::uint32_t position) {
  std::vector<Piece> pieces;
  std::vector<std::uint32_t> row;
  for (std::uint32_t r = 0; r < group.chunks(); ++r) {
    row.clear();
    for (std::uint32_t c = 0; c < group.contributors(); ++c) {
      if (group.holds(position, r, c)) row.push_back(c);
    }
    if (!row.empty()) pieces.push_back({states_.sets().range(r, r + 1), states_.sets().of(row)});
  }
  return states_.intern(pieces);
}

}  // namespace p2
