#include "encodings/z3/unrolling.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "engine/base/invariant.h"

namespace p2::z3_encoding {
namespace {

constexpr std::size_t kMaxLatticeFactors = 8;

std::vector<GroupShape> linear_names(const SynthesisHierarchy& hierarchy) {
  const auto levels = static_cast<std::uint32_t>(hierarchy.levels().size());
  std::vector<GroupShape> names;
  for (std::uint32_t slice = 0; slice < levels; ++slice) {
    names.push_back(linear_shape(hierarchy, slice, Form::InsideGroup, 0));
  }
  for (const Form form : {Form::Parallel, Form::Master}) {
    for (std::uint32_t slice = 0; slice < levels; ++slice) {
      for (std::uint32_t level = 0; level < slice; ++level) {
        names.push_back(linear_shape(hierarchy, slice, form, level));
      }
    }
  }
  return names;
}

/// Every way to say of every factor whether groups vary over it, pin it to zero, or neither: those
/// that pin nothing first.
std::vector<GroupShape> lattice_names(const SynthesisHierarchy& hierarchy) {
  std::vector<std::uint32_t> factors;
  for (std::uint32_t l = 0; l < hierarchy.levels().size(); ++l) {
    if (hierarchy.levels()[l].size > 1) factors.push_back(l);
  }
  if (factors.size() > kMaxLatticeFactors) {
    throw LimitReached(LimitReached::Kind::Size,
                       "the lattice has more than 8 factors greater than 1");
  }
  std::vector<GroupShape> names;
  const auto subset = [&](std::uint32_t bits) {
    std::vector<std::uint32_t> some;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      if ((bits >> i & 1U) != 0) some.push_back(factors[i]);
    }
    return some;
  };
  for (std::uint32_t pinned = 0; pinned < 1U << factors.size(); ++pinned) {
    for (std::uint32_t varied = 1; varied < 1U << factors.size(); ++varied) {
      if ((varied & pinned) != 0) continue;
      names.push_back(lattice_shape(hierarchy, subset(varied), subset(pinned)));
    }
  }
  return names;
}

}  // namespace

std::vector<Instruction> all_instructions(const Lowering& lowering, const Instance& instance,
                                          Dialect dialect, const Rulebook& rulebook,
                                          const Meter& meter) {
  const SynthesisHierarchy& hierarchy = instance.hierarchy;
  std::vector<Instruction> instructions;
  std::set<std::vector<Group>> known;
  for (const GroupShape& name :
       hierarchy.is_lattice() ? lattice_names(hierarchy) : linear_names(hierarchy)) {
    meter.checkpoint();
    const Formed formed = lowering.form(name);
    if (formed.groups.empty() || !known.insert(formed.groups).second) continue;
    for (std::uint32_t rule = 0; rule < rulebook.rules().size(); ++rule) {
      const std::string& collective = rulebook.rules()[rule].definition.name;
      if (!dialect_allows(dialect, formed.everyone, collective)) continue;
      instructions.push_back({name, rule, formed.groups});
    }
  }
  return instructions;
}

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
  const std::vector<Group> classes = lowering.classes();
  Group members(instance.grid.devices());
  std::iota(members.begin(), members.end(), 0U);
  if (instance.hierarchy.confined_to_reduction()) members = classes[0];
  arena.devices = static_cast<std::uint32_t>(members.size());
  arena.classes = instance.hierarchy.confined_to_reduction() ? among({members}, members) : classes;
  for (const Instruction& instruction : instructions) {
    arena.groups.push_back(among(instruction.groups, members));
  }
  return arena;
}

namespace {

/// Symbols that name bits of a step, shared by the choices, of which only one is made.
class Witnesses {
 public:
  Witnesses(z3::context& context, std::string step) : context_(context), step_(std::move(step)) {}

  /// One that this choice has not used yet.
  z3::expr next(const z3::expr& choice) {
    const std::size_t index = used_[choice.id()]++;
    if (index == witnesses_.size()) {
      const std::string name = fmt::format("{} witness{}", step_, index);
      witnesses_.push_back({context_.bool_const(name.c_str()), z3::expr_vector(context_)});
    }
    witnesses_[index].choices.push_back(choice);
    return witnesses_[index].symbol;
  }
  /// Those that the choice made does not use are false: there is nothing to search for.
  void settle(Clauses& clauses) const {
    for (const Witness& witness : witnesses_) {
      clauses.add(!witness.symbol || z3::mk_or(witness.choices));
    }
  }

 private:
  struct Witness {
    z3::expr symbol;
    z3::expr_vector choices;
  };

  z3::context& context_;
  std::string step_;
  std::map<unsigned, std::size_t> used_;  ///< by the number of the choice
  std::vector<Witness> witnesses_;
};

}  // namespace

Unrolling::Unrolling(z3::context& context, const Arena& arena,
                     const std::vector<Instruction>& instructions, std::vector<std::string> names,
                     const Rulebook& rulebook, EndRows ends, const Meter& meter)
    : context_(&context),
      arena_(arena),
      instructions_(instructions),
      names_(std::move(names)),
      rulebook_(rulebook),
      meter_(meter),
      rows_(std::move(ends.begin)),
      goal_(std::move(ends.goal)),
      clauses_(meter) {}

Unrolling::RuleResult Unrolling::outcome(std::uint32_t rule, const Group& group) const {
  const GroupRows before = rows_.of(group);
  const Rule& definition = rulebook_.rules()[rule];
  Reading reading(*context_, definition, before, &meter_);
  RuleResult outcome{{!holds_nothing(before)}, {}};
  for (std::size_t i = 0; i < definition.definition.premises.size(); ++i) {
    outcome.conditions.push_back(reading.premise(i));
  }
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    for (std::uint32_t r = 0; r < rows_.chunks(); ++r) {
      outcome.rows.push_back(reading.row_after(i, r));
    }
  }
  return outcome;
}

Unrolling::RuleResults Unrolling::outcomes() const {
  RuleResults all;
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    for (const Group& group : arena_.groups[i]) {
      const std::pair key(instructions_[i].rule, group);
      if (all.contains(key)) continue;
      meter_.checkpoint();
      all.emplace(key, outcome(key.first, group));
    }
  }
  return all;
}

void Unrolling::choose() {
  outcomes_ = outcomes();
  std::vector<z3::expr> choices;
  z3::expr_vector any(*context_);
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    const std::string name = fmt::format("step{} {}", steps() + 1, names_[i]);
    choices.push_back(context_->bool_const(name.c_str()));
    any.push_back(choices.back());
    for (std::size_t j = 0; j < i; ++j) clauses_.add(!choices[i] || !choices[j]);
  }
  clauses_.add(z3::mk_or(any));
  choices_.push_back(std::move(choices));
  demand_legal();
}

std::vector<Unrolling::Demand> Unrolling::demands() const {
  std::vector<Demand> all;
  // Demands keep their conditions, so that no other term gets the number of one.
  std::map<unsigned, std::size_t> known;
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    for (const Group& group : arena_.groups[i]) {
      for (const z3::expr& demanded : outcomes_.at({instructions_[i].rule, group}).conditions) {
        const z3::expr condition = rows_.row(0, 0).is_numeral() ? demanded.simplify() : demanded;
        if (condition.is_true()) continue;
        const auto [found, fresh] = known.emplace(condition.id(), all.size());
        if (fresh) all.push_back({condition, {}});
        std::vector<std::size_t>& users = all[found->second].instructions;
        if (users.empty() || users.back() != i) users.push_back(i);
      }
    }
  }
  return all;
}

void Unrolling::demand_legal() {
  Witnesses witnesses(*context_, fmt::format("step{}", steps()));
  for (const Demand& demand : demands()) {
    // Many rules ask the same of the same group: such a condition has its clauses once.
    if (demand.instructions.size() > 1) {
      clauses_.demand({any_of(demand.instructions)}, demand.condition, true);
      continue;
    }
    const z3::expr& choice = choices_.back()[demand.instructions[0]];
    clauses_.demand_witnessed(choice, demand.condition, [&] { return witnesses.next(choice); });
  }
  witnesses.settle(clauses_);
}

SystemRows Unrolling::rows_after(std::size_t instruction) const {
  SystemRows after = rows_;
  for (const Group& group : arena_.groups[instruction]) {
    const RuleResult& outcome = outcomes_.at({instructions_[instruction].rule, group});
    for (std::size_t place = 0; place < outcome.rows.size(); ++place) {
      const auto chunk = static_cast<std::uint32_t>(place % rows_.chunks());
      after.set(group[place / rows_.chunks()], chunk, outcome.rows[place]);
    }
  }
  return after;
}

z3::expr Unrolling::any_of(const std::vector<std::size_t>& alike) {
  if (alike.size() == 1) return choices_.back()[alike[0]];
  if (const auto found = guards_.find(alike); found != guards_.end()) return found->second;
  const std::string name = fmt::format("step{} alike{}", steps(), guards_.size());
  z3::expr guard = context_->bool_const(name.c_str());
  z3::expr_vector any(*context_);
  for (const std::size_t i : alike) {
    any.push_back(choices_.back()[i]);
    clauses_.add(!choices_.back()[i] || guard);
  }
  clauses_.add(!guard || z3::mk_or(any));
  guards_.emplace(alike, guard);
  return guard;
}

z3::expr Unrolling::end() {
  const std::string name = fmt::format("ends after step{}", steps());
  z3::expr ends = context_->bool_const(name.c_str());
  std::map<std::pair<unsigned, unsigned>, std::vector<std::size_t>> alike;
  std::map<std::pair<unsigned, unsigned>, std::pair<z3::expr, z3::expr>> rows;
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    const SystemRows after = rows_after(i);
    for (std::uint32_t d = 0; d < arena_.devices; ++d) {
      meter_.checkpoint();
      for (std::uint32_t r = 0; r < rows_.chunks(); ++r) {
        const std::pair key(after.row(d, r).id(), goal_.row(d, r).id());
        rows.emplace(key, std::pair(after.row(d, r), goal_.row(d, r)));
        std::vector<std::size_t>& users = alike[key];
        if (users.empty() || users.back() != i) users.push_back(i);
      }
    }
  }
  for (const auto& [key, users] : alike) {
    const auto& [row, goal] = rows.at(key);
    clauses_.demand_equal({ends, any_of(users)}, row, goal);
  }
  return ends;
}

void Unrolling::go_on() {
  meter_.require_room(double(sizeof(z3::expr)) * arena_.devices * rows_.chunks() *
                      double(instructions_.size() + 1));
  SystemRows symbols = rows_;
  const unsigned width = rows_.row(0, 0).get_sort().bv_size();
  std::vector<SystemRows> after;
  for (std::size_t i = 0; i < instructions_.size(); ++i) after.push_back(rows_after(i));
  for (std::uint32_t d = 0; d < arena_.devices; ++d) {
    for (std::uint32_t r = 0; r < rows_.chunks(); ++r) {
      const std::string name = fmt::format("step{}.device{}.chunk{}", steps(), d, r);
      meter_.step();
      symbols.set(d, r, context_->bv_const(name.c_str(), width));
      std::map<unsigned, std::vector<std::size_t>> alike;
      for (std::size_t i = 0; i < after.size(); ++i) alike[after[i].row(d, r).id()].push_back(i);
      for (const auto& [id, users] : alike) {
        clauses_.demand_same(any_of(users), symbols.row(d, r), after[users[0]].row(d, r));
      }
    }
  }
  rows_ = symbols;
  guards_.clear();
  clauses_.add(!equal(rows_, goal_));
}

}  // namespace p2::z3_encoding
