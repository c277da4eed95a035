#include "encodings/z3/synthesis.h"

#include <fmt/format.h>

#include "encodings/z3/program_search.h"

namespace p2::z3_encoding {
namespace {

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
/// what the end is: None if there are no more, Exists if it was stopped, Unknown if a check met a
/// limit; throws OutOfBudget if a formula did. `settled` rises with every length that is refuted to
/// have more.
Existence for_each_program(const SynthesisQuery& query, ProgramSearch& search,
                           std::optional<std::uint32_t>& settled,
                           const std::function<bool(const Choices&)>& found) {
  search.meter().checkpoint();
  const bool done = search.starts_at_goal();
  if (done && search.empty_is_asked_for() && !found({})) return Existence::Exists;
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
      if (result == z3::unknown) return Existence::Unknown;
      if (result == z3::unsat) break;
      const Choices program = search.read(solver.get_model());
      if (!found(program)) return Existence::Exists;
      solver.add(search.other_than(program));
    }
    solver.add(!ends);
    settled = length;
  }
  return Existence::None;
}

Existence ask(const SynthesisQuery& query, std::vector<Instruction>& instructions,
              std::optional<std::uint32_t>& settled,
              const std::function<bool(const Choices&)>& found) {
  try {
    ProgramSearch search(query);
    instructions = search.instructions();
    return for_each_program(query, search, settled, found);
  } catch (const OutOfBudget&) {
    return Existence::Unknown;
  }
}

}  // namespace

std::string solver_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned build = 0;
  unsigned revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  return fmt::format("{}.{}.{}", major, minor, build);
}

SynthesisAnswer enumerate(const SynthesisQuery& query) {
  SynthesisAnswer answer;
  const auto keep = [&](const Choices& program) {
    answer.programs.push_back(program);
    return true;
  };
  answer.complete = ask(query, answer.instructions, answer.settled, keep) == Existence::None;
  return answer;
}

ExistenceAnswer find_one(const SynthesisQuery& query) {
  ExistenceAnswer answer;
  answer.existence = ask(query, answer.instructions, answer.settled, [&](const Choices& program) {
    answer.witness = program;
    return false;
  });
  return answer;
}

std::string smt_lib(const SynthesisQuery& query, std::uint32_t length) {
  ProgramSearch search(query);
  z3::solver solver(search.context());
  for (std::uint32_t step = 1; step <= length; ++step) {
    const z3::expr ends = search.extend(solver);
    solver.add(step == length ? ends : !ends);
  }
  return fmt::format("; query {}, dialect {}, {} steps: unsat = there are no such programs{}\n{}",
                     query.name(), to_string(query.dialect), length,
                     query.known.empty() ? "" : " but those that are known", solver.to_smt2());
}

}  // namespace p2::z3_encoding
