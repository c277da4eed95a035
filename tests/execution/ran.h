#pragma once

#include "engine/execution/in_process.h"
#include "engine/execution/workloads.h"
#include "engine/program/synthesis.h"
#include "tests/program/instances.h"

namespace p2::execution {

/// The verdict on a program, and what running it on threads showed.
struct Ran {
  ProgramDecision verdict;
  std::uint64_t wrong = 0;  ///< elements of the result
  std::uint64_t compared = 0;
  std::uint64_t wrong_in_steps = 0;
  std::vector<RankResult> ranks = {};
};

inline Ran run_in_process(const Program& program, Dialect dialect, Inputs inputs = {},
                          std::size_t chunk_elements = 3, unsigned iterations = 0) {
  const Plan plan = plan_of(program);
  const Expectation expectation(program, dialect);
  const ProgramRun run(plan, expectation, inputs, chunk_elements);
  Job job{run};
  job.warmup = 0;
  job.iterations = iterations;
  Ran ran{expectation.decision()};
  ran.ranks = InProcess().run(job);
  for (const RankResult& rank : ran.ranks) {
    for (const Audit& audit : rank.audits) {
      if (&audit == &rank.audits.back()) {
        ran.wrong += audit.wrong;
        ran.compared += audit.compared;
      } else {
        ran.wrong_in_steps += audit.wrong;
      }
    }
  }
  return ran;
}

/// All valid programs of one placement.
inline std::vector<Program> all_programs(const Instance& instance, std::uint32_t size = 5) {
  SynthesisOptions options;
  options.size = size;
  options.jobs = 1;
  std::vector<Program> programs;
  find_programs({instance}, options)[0].for_each_lowered(
      [&](const Program& program) { programs.push_back(program); });
  return programs;
}

}  // namespace p2::execution
