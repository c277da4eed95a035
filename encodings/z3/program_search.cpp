#include "encodings/z3/program_search.h"

#include <algorithm>

#include <fmt/format.h>

namespace p2::z3_encoding {

ProgramSearch::ProgramSearch(const SynthesisQuery& query)
    : query_(query),
      meter_(context_, query.budget),
      rulebook_(query.definitions),
      lowering_(context_, *query.instance),
      instructions_(all_instructions(lowering_, *query.instance, query.dialect, rulebook_, meter_)),
      arena_(arena_of(*query.instance, lowering_, instructions_)),
      unrolling_(context_, arena_, instructions_, names(), rulebook_, ends(), meter_) {}

std::vector<std::string> ProgramSearch::names() const {
  std::vector<std::string> all;
  for (const Instruction& instruction : instructions_) {
    all.push_back(fmt::format("{}({})", rulebook_.rules()[instruction.rule].definition.name,
                              to_string(instruction.shape, query_.instance->hierarchy)));
  }
  return all;
}

/// The rules of the paper cannot tell whether there are contributors outside the class that stands
/// for all (Arena), and narrow rows are faster.
EndRows ProgramSearch::ends() {
  const std::uint32_t devices = query_.instance->grid.devices();
  const bool paper =
      rulebook_.rules().size() == kCollectives.size() && is_built_in(query_.goal.collective);
  return end_rows(context_, query_.goal, query_.beginning.start, arena_.classes,
                  devices * query_.beginning.chunks_per_device, paper ? arena_.devices : devices);
}

z3::expr ProgramSearch::extend(z3::solver& solver) {
  if (unrolling_.steps() > 0) unrolling_.go_on();
  unrolling_.choose();
  z3::expr ends = unrolling_.end();
  for (const z3::expr& clause : unrolling_.take()) solver.add(clause);
  if (query_.property) solver.add(z3::implies(ends, has_property()));
  exclude_known(solver);
  return ends;
}

z3::expr ProgramSearch::has_property() {
  z3::expr_vector using_it(context_);
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    const Rule& rule = rulebook_.rules()[instructions_[i].rule];
    if (!query_.property->speaks_of(instructions_[i], rule.definition)) continue;
    for (std::uint32_t step = 0; step < unrolling_.steps(); ++step) {
      using_it.push_back(unrolling_.chosen(step, i));
    }
  }
  const z3::expr used = z3::mk_or(using_it);
  return query_.property->used ? used : !used;
}

Choices ProgramSearch::read(const z3::model& model) const {
  Choices program;
  for (std::uint32_t step = 0; step < unrolling_.steps(); ++step) {
    for (std::uint32_t i = 0; i < instructions_.size(); ++i) {
      if (model.eval(unrolling_.chosen(step, i)).is_true()) program.push_back(i);
    }
  }
  return program;
}

z3::expr ProgramSearch::other_than(const Choices& program) {
  z3::expr_vector different(context_);
  for (std::uint32_t step = 0; step < program.size(); ++step) {
    different.push_back(!unrolling_.chosen(step, program[step]));
  }
  return z3::mk_or(different);
}

void ProgramSearch::exclude_known(z3::solver& solver) {
  for (const std::vector<Step>& steps : query_.known) {
    if (steps.size() != unrolling_.steps()) continue;
    if (const auto program = choices_of(steps)) solver.add(other_than(*program));
  }
}

bool ProgramSearch::empty_is_asked_for() const {
  const auto is_empty = [](const std::vector<Step>& steps) { return steps.empty(); };
  return (!query_.property || !query_.property->used) &&
         std::none_of(query_.known.begin(), query_.known.end(), is_empty);
}

std::optional<Choices> ProgramSearch::choices_of(const std::vector<Step>& steps) const {
  Choices choices;
  for (const Step& step : steps) {
    const auto same = [&](const Instruction& instruction) {
      return instruction.groups == step.groups &&
             static_cast<Collective>(instruction.rule) == step.collective;
    };
    const auto found = std::find_if(instructions_.begin(), instructions_.end(), same);
    if (found == instructions_.end()) return std::nullopt;
    choices.push_back(static_cast<std::uint32_t>(found - instructions_.begin()));
  }
  return choices;
}

}  // namespace p2::z3_encoding
