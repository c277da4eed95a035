#include "interleavings.h"

#include <algorithm>

#include "machine.h"

namespace p2::msccl {

AllInterleavings all_interleavings(const Algorithm& algorithm, bool in_place,
                                   std::size_t capacity) {
  const Machine machine(algorithm, in_place, capacity);
  AllInterleavings all;
  std::set<State> seen = {machine.start()};
  std::vector<State> open = {machine.start()};
  while (!open.empty()) {
    const State state = std::move(open.back());
    open.pop_back();
    const std::vector<StepPlace> ready = machine.ready(state);
    for (const StepPlace a : ready) {
      for (const StepPlace b : ready) {
        if (a != b && machine.conflict(a, b)) all.races.insert({a, b});
      }
      State next = machine.after(state, a);
      if (seen.insert(next).second) open.push_back(std::move(next));
    }
    if (!ready.empty()) continue;
    if (!machine.finished(state)) {
      all.some_get_stuck = true;
      continue;
    }
    all.some_finish = true;
    all.results.insert(machine.result(state));
    all.all_correct = all.all_correct && machine.correct(state);
  }
  return all;
}

bool can_run(const Algorithm& algorithm, const std::vector<StepPlace>& schedule, StepPlace first,
             StepPlace second, std::size_t capacity) {
  const Machine machine(algorithm, false, capacity);
  State state = machine.start();
  const auto is_ready = [&](StepPlace place) {
    const std::vector<StepPlace> ready = machine.ready(state);
    return std::find(ready.begin(), ready.end(), place) != ready.end();
  };
  for (const StepPlace place : schedule) {
    if (!is_ready(place)) return false;
    state = machine.after(state, place);
  }
  return is_ready(first) && is_ready(second);
}

}  // namespace p2::msccl
