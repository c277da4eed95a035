#include "proofs/kernel/derivation.h"

namespace p2::kernel {
namespace {

/// Objects unless the device has exactly `contributors` in all its chunks.
void expect_whole(const Derivation& derivation, std::uint32_t state, std::uint32_t device,
                  const Runs& contributors, const std::string& what) {
  const State& pieces = derivation.state(state);
  const Runs all = {0, derivation.stage().problem.chunks};
  if (pieces.size() != 1 || derivation.set(pieces[0].chunks) != all ||
      derivation.set(pieces[0].contributors) != contributors) {
    reject(what + ": device " + std::to_string(device) + " holds something else");
  }
}

void check_step(std::size_t number, const Derivation& derivation, Budget& budget) {
  const Problem& problem = derivation.stage().problem;
  const Step& step = problem.steps[number - 1];
  const auto wrong = [&](std::size_t device, const std::string& what) {
    reject(problem.name(number) + ", device " + std::to_string(device) + ": " + what);
  };
  if (problem.forbids(step)) reject(problem.name(number) + ": not allowed with Master");
  budget.spend(4 * std::uint64_t{problem.devices});
  const Numbers before = derivation.system(number - 1);
  const Numbers after = derivation.system(number);
  std::vector<bool> idle(problem.devices, true);
  for (const Numbers& group : step.groups) {
    Numbers old_states;
    Numbers new_states;
    bool empty = true;
    for (const std::uint32_t device : group) {
      old_states.push_back(before[device]);
      new_states.push_back(after[device]);
      idle[device] = false;
      empty = empty && derivation.state(before[device]).empty();
    }
    if (step.instruction && empty) wrong(group[0], "its whole group holds nothing");
    const auto fault = find_fault(step.collective, old_states, new_states, derivation, budget);
    if (fault) wrong(group[fault->position], fault->what);
  }
  for (std::size_t d = 0; d < idle.size(); ++d) {
    if (idle[d] && before[d] != after[d]) wrong(d, "its state changes outside any group");
  }
}

}  // namespace

void check_steps(const Derivation& derivation, Budget& budget) {
  const Numbers first = derivation.system(0);
  for (std::uint32_t d = 0; d < first.size(); ++d) {
    expect_whole(derivation, first[d], d, {d, d + 1}, "the initial state");
  }
  for (std::size_t n = 1; n <= derivation.steps(); ++n) check_step(n, derivation, budget);
}

void check_goal(const Derivation& derivation) {
  const Numbers last = derivation.system(derivation.steps());
  for (const Numbers& members : derivation.stage().problem.classes) {
    const Runs contributors = runs_of(members);
    for (const std::uint32_t device : members) {
      expect_whole(derivation, last[device], device, contributors, "the goal");
    }
  }
}

}  // namespace p2::kernel
