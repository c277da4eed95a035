#include "encodings/cnf/queries.h"

#include <vector>

#include "encodings/cnf/group_rules.h"
#include "encodings/cnf/solver.h"
#include "encodings/cnf/stage.h"
#include "engine/base/invariant.h"

namespace p2::cnf {
namespace {

/// All cells of a moment, by device, chunk and contributor.
using Cells = std::vector<bool>;

template <typename Visit>
void for_each_cell(const States& moment, Visit visit) {
  for (std::uint32_t d = 0; d < moment.devices(); ++d) {
    for (std::uint32_t r = 0; r < moment.chunks(); ++r) {
      for (std::uint32_t c = 0; c < moment.devices(); ++c) visit(d, r, c, moment.cell(d, r, c));
    }
  }
}

/// The cells of a moment as literals that hold if the cells are `values`.
std::vector<Literal> that_are(const States& moment, const Cells& values) {
  std::vector<Literal> known;
  known.reserve(values.size());
  for_each_cell(moment, [&](auto, auto, auto, Literal cell) {
    known.push_back(values[known.size()] ? cell : -cell);
  });
  return known;
}

/// The cells of a moment in the last model.
Cells cells_in_model(const Formula& formula, const States& moment) {
  Cells values;
  for_each_cell(moment,
                [&](auto, auto, auto, Literal cell) { values.push_back(formula.holds(cell)); });
  return values;
}

void apply(Collective collective, GroupRules& rules, Literal guard) {
  switch (collective) {
    case Collective::AllReduce:
      rules.addable(guard);
      return rules.all_get_union(guard);
    case Collective::ReduceScatter:
      rules.addable(guard);
      return rules.each_gets_run(guard);
    case Collective::AllGather:
      rules.gatherable(guard);
      return rules.all_get_union(guard);
    case Collective::Reduce:
      rules.addable(guard);
      return rules.root_gets_union(guard);
    case Collective::Broadcast:
      rules.contained(guard);
      return rules.all_get_root(guard);
  }
  invariant(false, "an unknown collective");
}

bool counts_chunks(Collective collective) {
  return collective == Collective::ReduceScatter || collective == Collective::AllGather;
}

class Execution {
 public:
  Execution(const ConcreteProgram& program, const Limits& limits)
      : program_(program), limits_(limits) {
    for (std::uint32_t d = 0; d < program.devices; ++d) {
      for (std::uint32_t r = 0; r < program.chunks; ++r) {
        for (std::uint32_t c = 0; c < program.devices; ++c) cells_.push_back(d == c);
      }
    }
  }

  /// Takes the step; false, and nothing taken, if it is refused.
  bool take(const ConcreteStep& step) {
    Clauses clauses(limits_);
    States before(clauses, program_.devices, program_.chunks);
    if (counts_chunks(step.collective)) before.count_chunks(clauses);
    const States after(clauses, program_.devices, program_.chunks);
    const Literal legal = clauses.fresh();
    Group rest;
    std::vector<bool> takes_part(program_.devices, false);
    for (const Group& group : step.groups) {
      GroupRules rules(clauses, before, after, group);
      if (step.of_instruction) rules.not_empty(legal);
      apply(step.collective, rules, legal);
      for (const std::uint32_t d : group) takes_part[d] = true;
    }
    for (std::uint32_t d = 0; d < program_.devices; ++d) {
      if (!takes_part[d]) rest.push_back(d);
    }
    GroupRules(clauses, before, after, rest).keep(legal);
    Formula formula(clauses, that_are(before, cells_), limits_);
    if (!formula.possible(legal)) return false;
    cells_ = cells_in_model(formula, after);
    formula.exclude(that_are(after, cells_));
    invariant(!formula.possible(legal), "the clauses of a step leave open what it does");
    return true;
  }

  /// The rule that refuses a step that cannot be taken. Should all premises hold, GroupRules and
  /// Premises contradict each other, and the answer is one that no other engine gives.
  std::string refusing_rule(const ConcreteStep& step) const {
    for (const Group& group : step.groups) {
      Clauses clauses(limits_);
      const States before(clauses, program_.devices, program_.chunks);
      std::vector<NamedPremise> rules;
      if (step.of_instruction) {
        rules.push_back({"empty-group", holds_something(clauses, before, group)});
      }
      for (NamedPremise& premise : premises(clauses, before, group, step.collective)) {
        rules.push_back(std::move(premise));
      }
      Formula formula(clauses, that_are(before, cells_), limits_);
      for (const NamedPremise& rule : rules) {
        if (formula.possible(-rule.holds)) return rule.name;
      }
    }
    return "no premise";
  }

  /// Nothing if the goal is reached, else the rule of the first difference: by device, then chunk.
  std::string missed_goal() const {
    Clauses clauses(limits_);
    const States last(clauses, program_.devices, program_.chunks);
    Literal missed = -clauses.truth();
    std::vector<Literal> excess_first;
    std::vector<std::size_t> class_of(program_.devices);
    for (std::size_t i = 0; i < program_.classes.size(); ++i) {
      for (const std::uint32_t d : program_.classes[i]) class_of[d] = i;
    }
    for (std::uint32_t d = 0; d < program_.devices; ++d) {
      for (std::uint32_t r = 0; r < program_.chunks; ++r) {
        std::vector<Literal> too_many;
        std::vector<Literal> wrong{missed};
        for (std::uint32_t c = 0; c < program_.devices; ++c) {
          const Literal cell = last.cell(d, r, c);
          const bool wanted = class_of[c] == class_of[d];
          if (!wanted) too_many.push_back(cell);
          wrong.push_back(wanted ? -cell : cell);
        }
        const Literal excess[] = {-missed, clauses.any_of(too_many)};
        excess_first.push_back(clauses.all_of(excess));
        missed = clauses.any_of(wrong);
      }
    }
    const Literal excess = clauses.any_of(excess_first);
    Formula formula(clauses, that_are(last, cells_), limits_);
    if (!formula.possible(missed)) return {};
    return formula.possible(excess) ? "goal-excess" : "goal-lacks";
  }

 private:
  const ConcreteProgram& program_;
  const Limits& limits_;
  Cells cells_;  ///< of the present moment
};

/// Fills in `answer` as far as the solver gets. Throws LimitReached.
void judge(const ConcreteProgram& program, const Limits& limits, EngineAnswer& answer) {
  Execution execution(program, limits);
  std::size_t legal_steps = 0;
  for (const ConcreteStep& step : program.steps) {
    answer.step = legal_steps;
    const bool legal = step.allowed && execution.take(step);
    if (!legal) {
      answer.rule = step.allowed ? execution.refusing_rule(step) : "master";
      answer.step = legal_steps + 1;
      answer.outcome = Outcome::Refuted;
      return;
    }
    ++legal_steps;
  }
  answer.step = legal_steps;
  answer.rule = execution.missed_goal();
  answer.outcome = answer.rule.empty() ? Outcome::Established : Outcome::Refuted;
  if (answer.rule.empty()) answer.step = 0;
}

}  // namespace

EngineAnswer judge(const ValidityQuery& query) {
  const ConcreteProgram program = concrete(*query.program, query.instance, query.dialect);
  EngineAnswer answer{"cnf"};
  const std::size_t cells = std::size_t{program.devices} * program.chunks * program.devices;
  if (cells > ValidityQuery::kMaxCells) {
    answer.rule = ValidityQuery::kTooLarge;
    return answer;
  }
  try {
    judge(program, query.limits, answer);
  } catch (const LimitReached& limit) {
    answer.outcome = Outcome::Undecided;
    answer.rule = limit.what();
  }
  return answer;
}

}  // namespace p2::cnf
