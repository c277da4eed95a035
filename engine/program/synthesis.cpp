#include "engine/program/synthesis.h"

#include <algorithm>
#include <map>
#include <thread>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

namespace p2 {
namespace {

/// What a move of the instance's problem says as a step, without groups.
std::vector<Step> steps_of_moves(const Instance& instance, Dialect dialect,
                                 const CollectiveSet& collectives) {
  const NamedProblem named = state_problem(instance, dialect, collectives);
  std::vector<Step> steps;
  steps.reserve(named.problem.moves.size());
  for (std::size_t move = 0; move < named.problem.moves.size(); ++move) {
    steps.push_back({named.problem.moves[move].collective, {}, named.shapes[named.shape_of[move]]});
  }
  return steps;
}

/// Where a goal begins, found once for all placements of the same numbers of devices.
class Beginnings {
 public:
  explicit Beginnings(const Goal& goal) : goal_(goal) {}

  Beginning of(const Instance& instance) {
    const std::uint32_t devices = instance.grid.devices();
    const std::vector<Group> classes = instance.classes();
    const std::pair key(devices, classes[0].size());
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_.emplace(key, beginning_of(goal_, devices, classes, {"--goal"})).first->second;
  }

 private:
  const Goal& goal_;
  std::map<std::pair<std::uint32_t, std::size_t>, Beginning> known_;
};

std::size_t thread_count(const SynthesisOptions& options, std::size_t searches) {
  const std::size_t wanted = options.jobs == 0 ? std::thread::hardware_concurrency() : options.jobs;
  return std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(searches, 1));
}

std::vector<std::shared_ptr<const ProgramList>> search_all(
    const std::vector<const Problem*>& problems, const SynthesisOptions& options) {
  const std::size_t threads = thread_count(options, problems.size());
  Limits limits = options.limits;
  if (limits.memory_bytes) *limits.memory_bytes /= threads;
  if (options.progress != nullptr) options.progress->searches = problems.size();
  std::vector<std::shared_ptr<const ProgramList>> lists(problems.size());
  const auto search = [&](std::size_t i) {
    lists[i] = std::make_shared<ProgramList>(*problems[i], options.size, limits, options.progress,
                                             options.terms);
    if (options.progress != nullptr) ++options.progress->searches_done;
  };
  if (threads == 1) {
    for (std::size_t i = 0; i < problems.size(); ++i) search(i);
    return lists;
  }
  const tbb::global_control at_most(tbb::global_control::max_allowed_parallelism, threads);
  tbb::parallel_for(std::size_t{0}, problems.size(), search);
  return lists;
}

}  // namespace

void PlacementPrograms::for_each(
    const std::function<void(const std::vector<Step>& steps)>& visit) const {
  const std::vector<Step> choices = steps_of_moves(instance_, dialect_, terms_.collectives);
  std::vector<Step> steps;
  list_->for_each([&](std::span<const std::uint32_t> moves) {
    steps.clear();
    for (const std::uint32_t move : moves) steps.push_back(choices[move]);
    visit(steps);
  });
}

std::vector<std::vector<Step>> PlacementPrograms::programs() const {
  std::vector<std::vector<Step>> all;
  for_each([&](const std::vector<Step>& steps) { all.push_back(steps); });
  return all;
}

void PlacementPrograms::for_each_lowered(
    const std::function<void(const Program& program)>& visit) const {
  std::vector<Step> choices = steps_of_moves(instance_, dialect_, terms_.collectives);
  for (Step& choice : choices) choice = lower(instance_.grid, *choice.shape, choice.collective);
  Program program = this->program({});
  list_->for_each([&](std::span<const std::uint32_t> moves) {
    program.steps.clear();
    for (const std::uint32_t move : moves) program.steps.push_back(choices[move]);
    visit(program);
  });
}

std::vector<PlacementPrograms> synthesise(std::vector<Instance> instances,
                                          const SynthesisOptions& options) {
  std::map<Problem, std::size_t> known;  // problem → its search
  std::vector<const Problem*> problems;  // by search
  std::vector<std::size_t> search_of;    // by instance
  Beginnings beginnings(options.terms.goal);
  for (const Instance& instance : instances) {
    const NamedProblem named = state_problem(instance, options.dialect, options.terms.collectives,
                                             beginnings.of(instance));
    const auto [place, is_new] = known.emplace(named.problem, problems.size());
    if (is_new) problems.push_back(&place->first);
    search_of.push_back(place->second);
  }
  const auto lists = search_all(problems, options);
  std::vector<PlacementPrograms> results;
  results.reserve(instances.size());
  for (std::size_t i = 0; i < instances.size(); ++i) {
    results.emplace_back(std::move(instances[i]), options.dialect, options.terms,
                         problems[search_of[i]]->beginning, lists[search_of[i]]);
  }
  return results;
}

}  // namespace p2
