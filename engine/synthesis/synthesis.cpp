#include "engine/synthesis/synthesis.h"

#include <algorithm>
#include <thread>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

namespace p2 {

PlacementPrograms::PlacementPrograms(Instance placed, NamedProblem problem)
    : instance_(std::move(placed)), named_(std::move(problem)) {}

void PlacementPrograms::for_each(
    const std::function<void(const std::vector<Step>& steps)>& visit) const {
  std::vector<Step> steps;
  list_->for_each([&](std::span<const std::uint32_t> moves) {
    steps.resize(moves.size());
    for (std::size_t i = 0; i < moves.size(); ++i) {
      steps[i].collective = named_.problem.moves[moves[i]].collective;
      steps[i].shape = named_.shapes[named_.shape_of[moves[i]]];
    }
    visit(steps);
  });
}

void PlacementPrograms::for_each_lowered(
    const std::function<void(const Program& program)>& visit) const {
  std::vector<Step> lowered;
  for (std::size_t move = 0; move < named_.problem.moves.size(); ++move) {
    lowered.push_back(lower(instance_.grid, named_.shapes[named_.shape_of[move]],
                            named_.problem.moves[move].collective));
  }
  Program program{instance_.grid.devices(), instance_.classes(), {}};
  list_->for_each([&](std::span<const std::uint32_t> moves) {
    program.steps.clear();
    for (const std::uint32_t move : moves) program.steps.push_back(lowered[move]);
    visit(program);
  });
}

std::vector<PlacementPrograms> synthesise(std::vector<Instance> instances,
                                          const SynthesisOptions& options) {
  std::vector<PlacementPrograms> results;
  results.reserve(instances.size());
  std::vector<std::size_t> distinct;     // results whose problem is searched
  std::vector<std::size_t> searched_by;  // result → index into `distinct`
  for (Instance& instance : instances) {
    NamedProblem named = state_problem(instance, options.dialect);
    const auto same = std::find_if(distinct.begin(), distinct.end(), [&](std::size_t other) {
      return results[other].named_.problem == named.problem;
    });
    searched_by.push_back(static_cast<std::size_t>(same - distinct.begin()));
    if (same == distinct.end()) distinct.push_back(results.size());
    results.emplace_back(std::move(instance), std::move(named));
  }
  std::vector<std::shared_ptr<const ProgramList>> lists(distinct.size());
  if (options.progress != nullptr) options.progress->searches = distinct.size();
  const auto search = [&](std::size_t i) {
    lists[i] = std::make_shared<ProgramList>(results[distinct[i]].named_.problem, options.size,
                                             options.limits, options.progress);
    if (options.progress != nullptr) ++options.progress->searches_done;
  };
  if (options.jobs == 1 || distinct.size() == 1) {
    for (std::size_t i = 0; i < distinct.size(); ++i) search(i);
  } else {
    const std::size_t jobs = options.jobs == 0 ? std::thread::hardware_concurrency() : options.jobs;
    const tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                      std::max<std::size_t>(jobs, 1));
    tbb::parallel_for(std::size_t{0}, distinct.size(), search);
  }
  for (std::size_t i = 0; i < results.size(); ++i) results[i].list_ = lists[searched_by[i]];
  return results;
}

}  // namespace p2
