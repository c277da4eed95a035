#include "encodings/z3/unrolling.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "encodings/z3/clauses.h"
#include "engine/invariant.h"

namespace p2::z3_encoding {
namespace {

/// The groups that lie in `members`, with its devices numbered from 0.
std::vector<Group> among(const std::vector<Group>& groups, const Group& members) {
  std::vector<Group> inside;
  for (const Group& group : groups) {
    Group renumbered;
    for (const std::uint32_t device : group) {
      const auto place = std::lower_bound(members.begin(), members.end(), device);
      if (place == members.end() || *place != device) continue;
      renumbered.push_back(static_cast<std::uint32_t>(place - members.begin()));
    }
    invariant(renumbered.empty() || renumbered.size() == group.size(), "a group leaves its class");
    if (!renumbered.empty()) inside.push_back(std::move(renumbered));
  }
  return inside;
}

}  // namespace

Arena arena_of(const Instance& instance, const Lowering& lowering,
               const std::vector<Instruction>& instructions) {
  Arena arena;
  arena.chunks = instance.grid.devices();
  const std::vector<Group> classes = lowering.classes();
  Group members(arena.chunks);
  for (std::uint32_t d = 0; d < arena.chunks; ++d) members[d] = d;
  if (instance.hierarchy.confined_to_reduction()) members = classes[0];
  arena.devices = static_cast<std::uint32_t>(members.size());
  arena.classes = instance.hierarchy.confined_to_reduction() ? among({members}, members) : classes;
  for (const Instruction& instruction : instructions) {
    arena.groups.push_back(among(instruction.groups, members));
  }
  return arena;
}

Unrolling::Unrolling(z3::context& context, const Arena& arena,
                     const std::vector<Instruction>& instructions, std::vector<std::string> names,
                     const Rulebook& rulebook)
    : context_(&context),
      arena_(arena),
      instructions_(instructions),
      names_(std::move(names)),
      rulebook_(rulebook),
      rows_(SystemRows::initial(context, arena.devices, arena.chunks)),
      goal_(SystemRows::goal(context, arena.devices, arena.classes, arena.chunks)) {}

Unrolling::Outcome Unrolling::outcome(std::uint32_t rule, const Group& group) const {
  const GroupRows before = rows_.of(group);
  const Rule& definition = rulebook_.rules()[rule];
  Reading reading(*context_, definition, before);
  Outcome outcome{{!holds_nothing(before)}, {}};
  for (std::size_t i = 0; i < definition.definition.premises.size(); ++i) {
    outcome.conditions.push_back(reading.premise(i));
  }
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    for (std::uint32_t r = 0; r < arena_.chunks; ++r) {
      outcome.rows.push_back(reading.row_after(i, r));
    }
  }
  return outcome;
}

Unrolling::Outcomes Unrolling::outcomes() const {
  Outcomes all;
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    for (const Group& group : arena_.groups[i]) {
      const std::pair key(instructions_[i].rule, group);
      if (!all.contains(key)) all.emplace(key, outcome(key.first, group));
    }
  }
  return all;
}

void Unrolling::choose(std::vector<z3::expr>& constraints) {
  outcomes_ = outcomes();
  std::vector<z3::expr> choices;
  z3::expr_vector any(*context_);
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    const std::string name = fmt::format("step{} {}", steps() + 1, names_[i]);
    choices.push_back(context_->bool_const(name.c_str()));
    any.push_back(choices.back());
    for (std::size_t j = 0; j < i; ++j) constraints.push_back(!choices[i] || !choices[j]);
  }
  constraints.push_back(z3::mk_or(any));
  choices_.push_back(std::move(choices));
  demand_legal(constraints);
}

void Unrolling::demand_legal(std::vector<z3::expr>& constraints) const {
  // Many rules ask the same of the same group: a condition gets a name, and its clauses, once.
  // The conditions are kept, so that no other term gets the number of one.
  std::map<unsigned, std::pair<z3::expr, z3::expr>> names;
  Clauses clauses(constraints);
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    for (const Group& group : arena_.groups[i]) {
      for (const z3::expr& demanded : outcomes_.at({instructions_[i].rule, group}).conditions) {
        const z3::expr condition = rows_.row(0, 0).is_numeral() ? demanded.simplify() : demanded;
        if (condition.is_true()) continue;
        if (!names.contains(condition.id())) {
          const std::string name = fmt::format("step{} condition{}", steps(), names.size());
          const z3::expr symbol = context_->bool_const(name.c_str());
          names.emplace(condition.id(), std::pair(condition, symbol));
          clauses.demand({symbol}, condition, true);
        }
        constraints.push_back(!choices_.back()[i] || names.at(condition.id()).second);
      }
    }
  }
}

SystemRows Unrolling::rows_after(std::size_t instruction) const {
  SystemRows after = rows_;
  for (const Group& group : arena_.groups[instruction]) {
    const Outcome& outcome = outcomes_.at({instructions_[instruction].rule, group});
    for (std::size_t place = 0; place < outcome.rows.size(); ++place) {
      const auto chunk = static_cast<std::uint32_t>(place % arena_.chunks);
      after.set(group[place / arena_.chunks], chunk, outcome.rows[place]);
    }
  }
  return after;
}

z3::expr Unrolling::end(std::vector<z3::expr>& constraints) const {
  const std::string name = fmt::format("ends after step{}", steps());
  z3::expr ends = context_->bool_const(name.c_str());
  Clauses clauses(constraints);
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    const SystemRows after = rows_after(i);
    std::set<std::pair<unsigned, unsigned>> seen;
    for (std::uint32_t d = 0; d < arena_.devices; ++d) {
      for (std::uint32_t r = 0; r < arena_.chunks; ++r) {
        if (!seen.emplace(after.row(d, r).id(), goal_.row(d, r).id()).second) continue;
        clauses.demand_equal({ends, choices_.back()[i]}, after.row(d, r), goal_.row(d, r));
      }
    }
  }
  return ends;
}

void Unrolling::go_on(std::vector<z3::expr>& constraints) {
  SystemRows symbols = rows_;
  for (std::uint32_t d = 0; d < arena_.devices; ++d) {
    for (std::uint32_t r = 0; r < arena_.chunks; ++r) {
      const std::string name = fmt::format("step{}.device{}.chunk{}", steps(), d, r);
      symbols.set(d, r, context_->bv_const(name.c_str(), arena_.devices));
    }
  }
  Clauses clauses(constraints);
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    const SystemRows after = rows_after(i);
    for (std::uint32_t d = 0; d < arena_.devices; ++d) {
      for (std::uint32_t r = 0; r < arena_.chunks; ++r) {
        clauses.demand_same(choices_.back()[i], symbols.row(d, r), after.row(d, r));
      }
    }
  }
  rows_ = symbols;
  constraints.push_back(!equal(rows_, goal_));
}

}  // namespace p2::z3_encoding
