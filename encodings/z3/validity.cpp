#include "encodings/z3/queries.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "encodings/z3/lowering.h"
#include "encodings/z3/system_rows.h"

namespace p2::z3_encoding {
namespace {

/// A program as terms, step by step: the conditions under which each step is legal and the rows it
/// leaves. All arguments must outlive it; `lowering` is needed where a step has a shape.
class Execution {
 public:
  Execution(z3::context& context, const Program& program, const Lowering* lowering, Dialect dialect,
            const Rulebook& rulebook, const Meter& meter);

  /// A condition of a valid program, by the name of its rule: a premise of the definition,
  /// `master`, `empty-group`, `goal-lacks` or `goal-excess`. Returns whether to go on.
  using Condition = std::function<bool(const std::string& rule, const z3::expr& holds)>;

  /// Gives the conditions of a step, in the order in which they are checked, and takes the step.
  /// False when `condition` wanted no more; the rows then mean nothing.
  bool take(const Step& step, const Condition& condition);
  /// Gives the conditions under which the present rows are the goal.
  bool finish(const Condition& condition) const;

  SystemRows& rows() { return rows_; }

 private:
  Execution(z3::context& context, const Program& program, const Lowering* lowering, Dialect dialect,
            const Rulebook& rulebook, const Meter& meter, EndRows ends);
  bool take(const Rule& rule, const Group& group, bool of_instruction, const Condition& condition);

  z3::context* context_;
  const Program& program_;
  const Lowering* lowering_;
  Dialect dialect_;
  const Rulebook& rulebook_;
  const Meter& meter_;
  SystemRows rows_;
  SystemRows goal_;
};

Execution::Execution(z3::context& context, const Program& program, const Lowering* lowering,
                     Dialect dialect, const Rulebook& rulebook, const Meter& meter)
    : Execution(context, program, lowering, dialect, rulebook, meter,
                end_rows(context, program.terms.goal, program.beginning.start, program.classes,
                         program.chunks(), program.devices, meter)) {}

Execution::Execution(z3::context& context, const Program& program, const Lowering* lowering,
                     Dialect dialect, const Rulebook& rulebook, const Meter& meter, EndRows ends)
    : context_(&context),
      program_(program),
      lowering_(lowering),
      dialect_(dialect),
      rulebook_(rulebook),
      meter_(meter),
      rows_(std::move(ends.begin)),
      goal_(std::move(ends.goal)) {}

bool Execution::take(const Step& step, const Condition& condition) {
  const Rule& rule = rulebook_.called(program_.terms.collectives.name_of(step.collective));
  std::vector<Group> groups = step.groups;
  if (step.shape) {
    invariant(lowering_ != nullptr, "a step has a shape but no instance");
    Formed formed = lowering_->form(*step.shape);
    const bool allowed = dialect_allows(dialect_, formed.everyone, rule.definition.name);
    if (!condition("master", context_->bool_val(allowed))) return false;
    groups = std::move(formed.groups);
  }
  for (const Group& group : groups) {
    if (!take(rule, group, step.shape.has_value(), condition)) return false;
  }
  return true;
}

bool Execution::take(const Rule& rule, const Group& group, bool of_instruction,
                     const Condition& condition) {
  const GroupRows before = rows_.of(group);
  if (of_instruction && !condition("empty-group", !holds_nothing(before))) return false;
  Reading reading(*context_, rule, before, &meter_);
  for (std::size_t i = 0; i < rule.definition.premises.size(); ++i) {
    if (!condition(rule.definition.premises[i].name, reading.premise(i))) return false;
  }
  rows_.take(group, reading);
  return true;
}

bool Execution::finish(const Condition& condition) const {
  const z3::expr none = context_->bv_val(0, program_.devices);
  // The first difference names the rule, and the same rows have no other one later.
  std::set<std::pair<unsigned, unsigned>> seen;
  for (std::uint32_t d = 0; d < program_.devices; ++d) {
    for (std::uint32_t r = 0; r < rows_.chunks(); ++r) {
      meter_.step();
      const z3::expr& held = rows_.row(d, r);
      const z3::expr& wanted = goal_.row(d, r);
      if (!seen.emplace(held.id(), wanted.id()).second) continue;
      if (!condition("goal-excess", (held & ~wanted) == none)) return false;
      if (!condition("goal-lacks", (wanted & ~held) == none)) return false;
    }
  }
  return true;
}

/// Whether a condition without symbols holds; nothing when the budget does not suffice.
std::optional<bool> decided(const z3::expr& condition, const Meter& meter) {
  const z3::expr simple = condition.simplify();
  if (simple.is_true() || simple.is_false()) return simple.is_true();
  z3::solver solver(simple.ctx());
  solver.add(!simple);
  const z3::check_result result = meter.check(solver, z3::expr_vector(simple.ctx()));
  if (result == z3::unknown) return std::nullopt;
  return result == z3::unsat;
}

std::optional<Lowering> lowering_for(z3::context& context, const ValidityQuery& query) {
  for (const Step& step : query.program->steps) {
    if (step.shape && query.instance != nullptr) return Lowering(context, *query.instance);
  }
  return std::nullopt;
}

/// Gives every distinct row of the present state a name and asserts that it is the row.
void name_rows(SystemRows& rows, std::size_t step, const Meter& meter, z3::solver& solver) {
  std::map<unsigned, z3::expr> names;
  for (std::uint32_t d = 0; d < rows.devices(); ++d) {
    for (std::uint32_t r = 0; r < rows.chunks(); ++r) {
      meter.step();
      const z3::expr row = rows.row(d, r);
      const auto found = names.find(row.id());
      if (found != names.end()) {
        rows.set(d, r, found->second);
        continue;
      }
      const std::string text = fmt::format("step{}.device{}.chunk{}", step, d, r);
      const z3::expr name = row.ctx().constant(text.c_str(), row.get_sort());
      solver.add(name == row);
      names.emplace(row.id(), name);
      rows.set(d, r, name);
    }
  }
}

std::string written(const ValidityQuery& query, z3::context& context) {
  const Meter meter(context, query.limits);
  const Rulebook rulebook(query.definitions);
  const std::optional<Lowering> lowering = lowering_for(context, query);
  Execution execution(context, *query.program, lowering ? &*lowering : nullptr, query.dialect,
                      rulebook, meter);
  z3::solver solver(context);
  z3::expr_vector failures(context);
  const auto condition = [&](const std::string&, const z3::expr& holds) {
    failures.push_back(!holds);
    return true;
  };
  std::size_t step = 0;
  name_rows(execution.rows(), step, meter, solver);
  for (const Step& taken : query.program->steps) {
    execution.take(taken, condition);
    name_rows(execution.rows(), ++step, meter, solver);
  }
  execution.finish(condition);
  solver.add(z3::mk_or(failures));
  return fmt::format("; query {}: unsat = the program is valid\n{}", ValidityQuery::kName,
                     meter.smt_lib(solver));
}

}  // namespace

EngineAnswer judge(const ValidityQuery& query) {
  EngineAnswer answer{"z3"};
  const auto run = [&] {
    z3::context context;
    const Meter meter(context, query.limits);
    const Rulebook rulebook(query.definitions);
    const std::optional<Lowering> lowering = lowering_for(context, query);
    Execution execution(context, *query.program, lowering ? &*lowering : nullptr, query.dialect,
                        rulebook, meter);
    std::size_t legal_steps = 0;
    const auto condition = [&](const std::string& rule, const z3::expr& holds) {
      const std::optional<bool> decision = meter.exhausted() ? std::nullopt : decided(holds, meter);
      if (decision == true) return true;
      answer.step = legal_steps;
      if (!decision) return false;
      answer.outcome = Outcome::Refuted;
      answer.step = std::min(legal_steps + 1, query.program->steps.size());
      answer.rule = rule;
      return false;
    };
    for (const Step& step : query.program->steps) {
      if (!execution.take(step, condition)) return;
      ++legal_steps;
    }
    if (execution.finish(condition)) answer.outcome = Outcome::Established;
  };
  try {
    guarded(run);
  } catch (const LimitReached& limit) {
    answer.outcome = Outcome::Undecided;
    answer.rule = limit.what();
  }
  return answer;
}

std::string smt_lib(const ValidityQuery& query) {
  auto context = std::make_unique<z3::context>();
  return guarded([&] {
    try {
      return written(query, *context);
    } catch (...) {
      // To delete a context takes Z3 three times as long as to fill it. Once the time is over there
      // is none for that; the end of the process, which is near, frees it.
      const auto& deadline = query.limits.deadline;
      if (deadline && std::chrono::steady_clock::now() >= *deadline) {
        static_cast<void>(context.release());
      }
      throw;
    }
  });
}

}  // namespace p2::z3_encoding
