#include "encodings/z3/synthesis.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "encodings/z3/unrolling.h"

namespace p2::z3_encoding {
namespace {

/// Everything a query is made of, from the formulas for groups to the solver.
class ProgramSearch {
 public:
  /// The query must outlive the search. Throws LimitReached.
  explicit ProgramSearch(const SynthesisQuery& query);

  z3::context& context() { return context_; }
  const std::vector<Instruction>& instructions() const { return instructions_; }
  bool starts_at_goal() const { return unrolling_.starts_at_goal(); }
  const Meter& meter() const { return meter_; }

  /// Adds one more step to `solver`; the symbol returned demands that programs end there and have
  /// the property.
  z3::expr extend(z3::solver& solver);
  /// The program of a model.
  Choices read(const z3::model& model) const;
  z3::expr other_than(const Choices& program);
  /// Whether the empty program, if it is valid, is asked for.
  bool empty_is_asked_for() const;

 private:
  /// Excludes the known programs of as many steps as there are.
  void exclude_known(z3::solver& solver);
  std::vector<std::string> names() const;
  EndRows ends();
  z3::expr has_property();
  /// The choices that are these steps, if they are instructions.
  std::optional<Choices> choices_of(const std::vector<Step>& steps) const;

  const SynthesisQuery& query_;
  z3::context context_;
  Meter meter_;
  Rulebook rulebook_;
  Lowering lowering_;
  std::vector<Instruction> instructions_;
  Arena arena_;
  Unrolling unrolling_;
};

ProgramSearch::ProgramSearch(const SynthesisQuery& query)
    : query_(query),
      meter_(context_, query.limits),
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
                  devices * query_.beginning.chunks_per_device, paper ? arena_.devices : devices,
                  meter_);
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

/// Z3's finite-domain solver: it keeps bits and what it learns from one check to the next. True
/// first, because a choice that is made settles a whole row of others (docs/performance.md).
z3::solver solver_for(z3::context& context) {
  z3::solver solver(context, "QF_FD");
  z3::params params(context);
  params.set("phase", context.str_symbol("always_true"));
  params.set("restart.initial", 1000U);
  params.set("compact", false);
  solver.set(params);
  return solver;
}

/// Calls `found` with every program, by increasing size, until it returns false. The result says
/// what the end is: Refuted if there are no more, Established if it was stopped, Undecided if a
/// check met a limit; throws LimitReached if a formula did. `settled` rises with every length that
/// is refuted to have more.
Outcome for_each_program(const SynthesisQuery& query, ProgramSearch& search,
                         std::optional<std::uint32_t>& settled,
                         const std::function<bool(const Choices&)>& found) {
  search.meter().checkpoint();
  const bool done = search.starts_at_goal();
  if (done && search.empty_is_asked_for() && !found({})) return Outcome::Established;
  settled = 0;
  // With nothing to do, or nothing that can be done, no longer program exists.
  if (done || search.instructions().empty()) settled = query.size;
  z3::solver solver = solver_for(search.context());
  for (std::uint32_t length = *settled + 1; length <= query.size; ++length) {
    const z3::expr ends = search.extend(solver);
    z3::expr_vector assumptions(search.context());
    assumptions.push_back(ends);
    for (;;) {
      const z3::check_result result = search.meter().check(solver, assumptions);
      if (result == z3::unknown) return Outcome::Undecided;
      if (result == z3::unsat) break;
      const Choices program = search.read(solver.get_model());
      if (!found(program)) return Outcome::Established;
      solver.add(search.other_than(program));
    }
    solver.add(!ends);
    settled = length;
  }
  return Outcome::Refuted;
}

Outcome ask(const SynthesisQuery& query, std::vector<Instruction>& instructions,
            std::optional<std::uint32_t>& settled,
            const std::function<bool(const Choices&)>& found) {
  try {
    return guarded([&] {
      ProgramSearch search(query);
      instructions = search.instructions();
      return for_each_program(query, search, settled, found);
    });
  } catch (const LimitReached&) {
    return Outcome::Undecided;
  }
}

std::string written(const SynthesisQuery& query, std::uint32_t length) {
  ProgramSearch search(query);
  z3::solver solver(search.context());
  for (std::uint32_t step = 1; step <= length; ++step) {
    const z3::expr ends = search.extend(solver);
    solver.add(step == length ? ends : !ends);
  }
  return fmt::format("; query {}, dialect {}, {} steps: unsat = there are no such programs{}\n{}",
                     query.name(), to_string(query.dialect), length,
                     query.known.empty() ? "" : " but those that are known",
                     search.meter().smt_lib(solver));
}

}  // namespace

SynthesisAnswer enumerate(const SynthesisQuery& query) {
  SynthesisAnswer answer;
  const auto keep = [&](const Choices& program) {
    answer.programs.push_back(program);
    return true;
  };
  answer.complete = ask(query, answer.instructions, answer.settled, keep) == Outcome::Refuted;
  return answer;
}

ExistenceAnswer find_one(const SynthesisQuery& query) {
  ExistenceAnswer answer;
  answer.outcome = ask(query, answer.instructions, answer.settled, [&](const Choices& program) {
    answer.witness = program;
    return false;
  });
  return answer;
}

std::string smt_lib(const SynthesisQuery& query, std::uint32_t length) {
  return guarded([&] { return written(query, length); });
}

}  // namespace p2::z3_encoding
