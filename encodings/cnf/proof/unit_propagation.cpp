#include "encodings/cnf/proof/unit_propagation.h"

#include <algorithm>

namespace p2::cnf {

UnitPropagation::UnitPropagation(std::int32_t variables)
    : watches_(2 * (static_cast<std::size_t>(variables) + 1)),
      values_(watches_.size(), 0),
      facts_(watches_.size() / 2) {}

UnitPropagation::Index UnitPropagation::add(std::span<const Literal> clause) {
  const auto index = static_cast<Index>(clauses_.size());
  clauses_.push_back({arena_.size(), static_cast<std::uint32_t>(clause.size()), true});
  arena_.insert(arena_.end(), clause.begin(), clause.end());
  const auto stored = std::span(arena_).subspan(clauses_[index].begin);
  std::stable_partition(stored.begin(), stored.end(), [&](Literal l) { return value(l) >= 0; });
  if (stored.size() > 1) {
    watches_[slot(stored[0])].push_back({index, stored[1]});
    watches_[slot(stored[1])].push_back({index, stored[0]});
  }
  return index;
}

void UnitPropagation::assign(Literal literal, Index reason) {
  values_[slot(literal)] = 1;
  values_[slot(-literal)] = -1;
  facts_[slot(literal) / 2] = {reason, static_cast<std::uint32_t>(trail_.size())};
  trail_.push_back(literal);
}

bool UnitPropagation::visit(Watch& watch, Literal falsified, Index& conflict) {
  if (value(watch.other) > 0 || !clauses_[watch.clause].awake) return true;
  const Stored& stored = clauses_[watch.clause];
  const auto clause = std::span(arena_).subspan(stored.begin, stored.size);
  if (clause[0] == falsified) std::swap(clause[0], clause[1]);
  watch.other = clause[0];
  if (value(clause[0]) > 0) return true;
  for (std::size_t i = 2; i < clause.size(); ++i) {
    if (value(clause[i]) < 0) continue;
    std::swap(clause[1], clause[i]);
    watches_[slot(clause[1])].push_back(watch);
    return false;
  }
  if (value(clause[0]) < 0) {
    conflict = watch.clause;
  } else {
    assign(clause[0], watch.clause);
  }
  return true;
}

UnitPropagation::Index UnitPropagation::propagate() {
  Index conflict = kNone;
  while (conflict == kNone && propagated_ < trail_.size()) {
    const Literal falsified = -trail_[propagated_++];
    std::vector<Watch>& watching = watches_[slot(falsified)];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < watching.size(); ++i) {
      Watch watch = watching[i];
      if (conflict != kNone || visit(watch, falsified, conflict)) watching[kept++] = watch;
    }
    watching.resize(kept);
  }
  return conflict;
}

void UnitPropagation::undo(std::size_t size) {
  for (std::size_t i = size; i < trail_.size(); ++i) {
    values_[slot(trail_[i])] = 0;
    values_[slot(-trail_[i])] = 0;
  }
  trail_.resize(size);
  propagated_ = std::min(propagated_, size);
}

}  // namespace p2::cnf
