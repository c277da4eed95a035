#include "encodings/z3/validity.h"

#include <map>
#include <optional>

#include <fmt/format.h>

#include "encodings/z3/execution.h"

namespace p2::z3_encoding {
namespace {

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
void name_rows(SystemRows& rows, std::size_t step, z3::solver& solver) {
  std::map<unsigned, z3::expr> names;
  for (std::uint32_t d = 0; d < rows.devices(); ++d) {
    for (std::uint32_t r = 0; r < rows.chunks(); ++r) {
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

}  // namespace

Judgement judge(const ValidityQuery& query) {
  z3::context context;
  const Meter meter(context, query.budget);
  const Rulebook rulebook(query.definitions);
  const std::optional<Lowering> lowering = lowering_for(context, query);
  Execution execution(context, *query.program, lowering ? &*lowering : nullptr, query.dialect,
                      rulebook);
  Judgement judgement;
  const auto condition = [&](const std::string& rule, const z3::expr& holds) {
    const std::optional<bool> answer = meter.exhausted() ? std::nullopt : decided(holds, meter);
    if (answer == true) return true;
    judgement.kind = answer ? Judgement::Kind::Invalid : Judgement::Kind::Unknown;
    if (answer) judgement.rule = rule;
    return false;
  };
  for (const Step& step : query.program->steps) {
    judgement.step = judgement.legal_steps + 1;
    if (!execution.take(step, condition)) return judgement;
    ++judgement.legal_steps;
  }
  judgement.step = judgement.legal_steps;
  if (execution.finish(condition)) judgement.kind = Judgement::Kind::Valid;
  return judgement;
}

std::string smt_lib(const ValidityQuery& query) {
  z3::context context;
  const Rulebook rulebook(query.definitions);
  const std::optional<Lowering> lowering = lowering_for(context, query);
  Execution execution(context, *query.program, lowering ? &*lowering : nullptr, query.dialect,
                      rulebook);
  z3::solver solver(context);
  z3::expr_vector failures(context);
  const auto condition = [&](const std::string&, const z3::expr& holds) {
    failures.push_back(!holds);
    return true;
  };
  std::size_t step = 0;
  name_rows(execution.rows(), step, solver);
  for (const Step& taken : query.program->steps) {
    execution.take(taken, condition);
    name_rows(execution.rows(), ++step, solver);
  }
  execution.finish(condition);
  solver.add(z3::mk_or(failures));
  return fmt::format("; query {}: unsat = the program is valid\n{}", ValidityQuery::kName,
                     solver.to_smt2());
}

}  // namespace p2::z3_encoding
