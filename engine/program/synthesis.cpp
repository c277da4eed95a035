#include "engine/program/synthesis.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <span>
#include <thread>
#include <utility>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include "engine/program/symbolic/all_sizes.h"
#include "engine/program/symbolic/exploration.h"
#include "engine/program/symbolic/machine.h"

namespace p2 {
namespace {

constexpr std::uint32_t kFar = UINT32_MAX;

/// The fewest moves from every node to a goal, or kFar.
std::vector<std::uint32_t> distances_to_goal(const TransitionGraph& graph) {
  std::vector<std::vector<NodeId>> sources(graph.nodes());
  for (NodeId node = 0; node < graph.nodes(); ++node) {
    for (const Transition& t : graph.from(node)) sources[t.target].push_back(node);
  }
  std::vector<std::uint32_t> distance(graph.nodes(), kFar);
  std::vector<NodeId> layer = graph.goals;
  for (const NodeId goal : layer) distance[goal] = 0;
  for (std::uint32_t steps = 1; !layer.empty(); ++steps) {
    std::vector<NodeId> next;
    for (const NodeId node : layer) {
      for (const NodeId source : sources[node]) {
        if (distance[source] != kFar) continue;
        distance[source] = steps;
        next.push_back(source);
      }
    }
    layer = std::move(next);
  }
  return distance;
}

}  // namespace

std::string_view to_string(SearchEngine engine) {
  constexpr std::array<std::string_view, 4> names = {"explicit", "machine", "formula", "bracket"};
  return names[static_cast<std::size_t>(engine)];
}

ProgramList::ProgramList(const Problem& problem, std::uint32_t size, const Limits& limits,
                         SearchProgress* progress, const Terms& terms)
    : ProgramList(StateGraph(problem, terms, size, limits, progress).graph(),
                  SearchEngine::Explicit) {}

ProgramList::ProgramList(const TransitionGraph& graph, SearchEngine engine) : engine_(engine) {
  settled_ = graph.settled;
  states_ = graph.nodes();
  if (graph.goals.empty()) return;
  cut_down(graph);
  count_paths();
}

void ProgramList::cut_down(const TransitionGraph& graph) {
  const std::vector<std::uint32_t> distance = distances_to_goal(graph);
  std::vector<NodeId> renumbered(graph.nodes(), kFar);
  NodeId kept = 0;
  for (NodeId node = 0; node < graph.nodes(); ++node) {
    if (distance[node] <= settled_) renumbered[node] = kept++;
  }
  reached_ = distance[0] <= settled_;
  if (!reached_) return;
  nodes_.resize(kept);
  for (const NodeId goal : graph.goals) goals_.push_back(renumbered[goal]);
  for (NodeId node = 0; node < graph.nodes(); ++node) {
    if (renumbered[node] == kFar) continue;
    for (const Transition& t : graph.from(node)) {
      if (renumbered[t.target] == kFar) continue;
      nodes_[renumbered[node]].push_back({t.move, renumbered[t.target]});
    }
  }
}

void ProgramList::count_paths() {
  if (!reached_) return;
  const auto checked_add = [](std::uint64_t a, std::uint64_t b) {
    if (a > std::numeric_limits<std::uint64_t>::max() - b) {
      throw LimitReached(LimitReached::Kind::Size,
                         "more than 2^64 programs, expected a smaller --size");
    }
    return a + b;
  };
  paths_.assign((std::size_t{settled_} + 1) * nodes_.size(), 0);
  for (const NodeId goal : goals_) paths_[goal] = 1;
  for (std::uint32_t left = 1; left <= settled_; ++left) {
    for (NodeId node = 0; node < nodes_.size(); ++node) {
      std::uint64_t total = 0;
      for (const Transition& t : nodes_[node])
        total = checked_add(total, paths(t.target, left - 1));
      paths_[std::size_t{left} * nodes_.size() + node] = total;
    }
  }
  for (std::uint32_t size = 0; size <= settled_; ++size)
    count_ = checked_add(count_, paths(0, size));
}

void ProgramList::for_each(const Visit& visit) const {
  if (!reached_) return;
  std::vector<std::uint32_t> moves;
  for (std::uint32_t size = 0; size <= settled_; ++size) walk(0, size, moves, visit);
}

std::optional<ProgramList> ProgramList::replayed(
    std::uint32_t initial, const Replay& replay,
    const std::function<Replayed(std::uint32_t)>& accepts) const {
  using Kind = Replayed::Kind;
  TransitionGraph graph;
  graph.settled = settled_;
  if (!reached_) return ProgramList(graph, engine_);
  std::map<std::pair<NodeId, std::uint32_t>, NodeId> numbers;  // this list's node, the state
  std::vector<std::pair<NodeId, std::uint32_t>> layer;
  std::vector<std::pair<NodeId, std::uint32_t>> next;
  bool decided = true;  // and a program ends where it first reaches the goal
  const auto number_of = [&](NodeId node, std::uint32_t state) {
    const auto [place, is_new] =
        numbers.emplace(std::pair(node, state), static_cast<NodeId>(numbers.size()));
    if (!is_new) return place->second;
    graph.offsets.emplace_back(0, 0);
    next.emplace_back(node, state);
    if (paths(node, 0) > 0) {
      const Kind end = accepts(state).kind;
      if (end == Kind::Legal) {
        graph.goals.push_back(place->second);
        next.pop_back();
      }
      decided = decided && end != Kind::Undecided;
    }
    return place->second;
  };
  number_of(0, initial);
  for (std::uint32_t depth = 0; depth < settled_ && decided; ++depth) {
    layer = std::exchange(next, {});
    for (const auto& [node, state] : layer) {
      const std::size_t first = graph.transitions.size();
      for (const Transition& t : nodes_[node]) {
        bool is_used = false;
        for (std::uint32_t left = 0; left + depth < settled_; ++left) {
          is_used = is_used || paths(t.target, left) > 0;
        }
        if (!is_used) continue;
        const Replayed after = replay(state, t.move);
        if (after.kind == Kind::Undecided) return std::nullopt;
        if (after.kind == Kind::Illegal) continue;
        graph.transitions.push_back({t.move, number_of(t.target, after.state)});
      }
      graph.offsets[numbers.at({node, state})] = {
          first, static_cast<std::uint32_t>(graph.transitions.size() - first)};
    }
  }
  if (!decided) return std::nullopt;
  return ProgramList(graph, engine_);
}

std::vector<bool> ProgramList::paths_with(const std::vector<bool>& wanted) const {
  std::vector<bool> with((std::size_t{settled_} + 1) * nodes_.size(), false);
  for (std::uint32_t left = 1; left <= settled_; ++left) {
    for (NodeId node = 0; node < nodes_.size(); ++node) {
      with[std::size_t{left} * nodes_.size() + node] =
          std::any_of(nodes_[node].begin(), nodes_[node].end(), [&](const Transition& t) {
            return (wanted[t.move] && paths(t.target, left - 1) > 0) ||
                   with[(std::size_t{left} - 1) * nodes_.size() + t.target];
          });
    }
  }
  return with;
}

std::optional<std::vector<std::uint32_t>> ProgramList::first_with(
    const std::vector<bool>& wanted) const {
  if (!reached_) return std::nullopt;
  const std::vector<bool> with = paths_with(wanted);
  std::uint32_t left = 0;
  while (left <= settled_ && !with[std::size_t{left} * nodes_.size()]) ++left;
  if (left > settled_) return std::nullopt;
  std::vector<std::uint32_t> moves;
  bool found = false;
  for (NodeId node = 0; left > 0;) {
    --left;
    const auto next = std::find_if(nodes_[node].begin(), nodes_[node].end(), [&](Transition t) {
      const bool anything = paths(t.target, left) > 0;
      return (anything && (found || wanted[t.move])) ||
             with[std::size_t{left} * nodes_.size() + t.target];
    });
    found = found || wanted[next->move];
    moves.push_back(next->move);
    node = next->target;
  }
  return moves;
}

void ProgramList::walk(NodeId node, std::uint32_t left, std::vector<std::uint32_t>& moves,
                       const Visit& visit) const {
  if (paths(node, left) == 0) return;
  if (left == 0) return visit(moves);
  for (const Transition& t : nodes_[node]) {
    moves.push_back(t.move);
    walk(t.target, left - 1, moves, visit);
    moves.pop_back();
  }
}

std::optional<std::uint64_t> count_over_d(std::uint32_t levels, std::uint32_t size) {
  // By number of cuts: the programs that cut there and at no other place between levels.
  constexpr std::array<std::array<std::uint64_t, 6>, 3> kByCuts = {
      {{3, 22, 10}, {3, 44, 171, 60, 2}, {3, 44, 734, 1630, 477, 34}}};
  if (levels == 0 || size < 3 || size > 5) return std::nullopt;
  const std::array<std::uint64_t, 6>& by_cuts = kByCuts[size - 3];
  std::uint64_t count = 0;
  std::uint64_t places = 1;  // of so many cuts
  for (std::uint64_t cuts = 0; cuts < by_cuts.size() && cuts < levels; ++cuts) {
    count += places * by_cuts[cuts];
    places = places * (levels - 1 - cuts) / (cuts + 1);
  }
  return count;
}

ProgramList search_programs(const Problem& problem, const SynthesisOptions& options) {
  const Limits& limits = options.limits;
  if (!options.explicit_only) {
    if (Machine::covers(problem, options.terms)) {
      Machine machine(problem);
      return {explore(machine, problem.moves.size(), options.size, limits, options.progress),
              SearchEngine::Machine};
    }
    if (bracket_covers(problem, options.terms) && bracket_is_smaller(problem)) {
      auto list = bracketed_programs(problem, options.size, limits, options.progress,
                                     options.terms.goal.collective);
      if (list) return std::move(*list);
    }
  }
  return {problem, options.size, limits, options.progress, options.terms};
}

namespace {

/// The steps, without groups, of the moves of an instance's problem.
std::vector<Step> steps_of_moves(const Instance& instance, Dialect dialect,
                                 const CollectiveSet& collectives) {
  const NamedProblem named = make_problem(instance, dialect, collectives);
  std::vector<Step> steps;
  steps.reserve(named.problem.moves.size());
  for (std::size_t move = 0; move < named.problem.moves.size(); ++move) {
    steps.push_back({named.problem.moves[move].collective, {}, named.shapes[named.shape_of[move]]});
  }
  return steps;
}

/// The number of programs of an instance by a formula, if there is one.
std::optional<std::uint64_t> count_by_formula(const Instance& instance, const Problem& problem,
                                              const SynthesisOptions& options) {
  // Where one axis is reduced over, no level has two factors of it: collapsed is (d).
  const HierarchyKind kind = instance.hierarchy.kind();
  const auto axes = std::ranges::count_if(
      instance.reduction, [&](std::uint32_t axis) { return instance.grid.axes()[axis].size > 1; });
  if (!options.count_only || options.explicit_only || options.dialect != Dialect::Published ||
      !options.terms.of_paper() || problem.beginning != Beginning{} || axes != 1 ||
      (kind != HierarchyKind::Reduction && kind != HierarchyKind::Collapsed)) {
    return std::nullopt;
  }
  return count_over_d(static_cast<std::uint32_t>(problem.factors.size()), options.size);
}

/// The beginnings of a goal, memoized by the numbers of devices in the system and in a class.
class Beginnings {
 public:
  explicit Beginnings(const Goal& goal) : goal_(goal) {}

  Beginning of(const Instance& instance) {
    if (is_built_in(goal_.collective)) {
      return beginning_of(goal_.collective, instance.class_size());
    }
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

ProgramSearch::ProgramSearch(std::vector<Instance> instances, const SynthesisOptions& options)
    : options_(options), instances_(std::move(instances)) {
  Beginnings beginnings(options_.terms.goal);
  for (const Instance& instance : instances_) {
    NamedProblem named = make_problem(instance, options_.dialect, options_.terms.collectives,
                                      beginnings.of(instance));
    const auto count = count_by_formula(instance, named.problem, options_);
    const auto [place, is_new] = known_.emplace(std::move(named.problem), searches_.size());
    if (is_new) {
      Search& search = searches_.emplace_back();
      search.problem = &place->first;
      if (count) search.list = std::make_shared<ProgramList>(*count, options_.size);
    }
    search_of_.push_back(place->second);
  }
  if (options_.progress != nullptr) options_.progress->searches = searches_.size();
}

double ProgramSearch::expected_cost(std::size_t instance) const {
  const auto moves = static_cast<double>(problem(instance).moves.size());
  return instances_[instance].grid.devices() * moves * moves;
}

void ProgramSearch::answer(Search& search, const Limits& limits) {
  std::call_once(search.once, [&] {
    if (!search.list) {
      SynthesisOptions options = options_;
      options.limits = limits;
      search.list = std::make_shared<ProgramList>(search_programs(*search.problem, options));
    }
    if (options_.progress != nullptr) ++options_.progress->searches_done;
  });
}

void ProgramSearch::find_all() {
  const std::size_t threads = thread_count(options_, searches_.size());
  if (threads == 1) {
    for (Search& search : searches_) answer(search, options_.limits);
    return;
  }
  const tbb::global_control at_most(tbb::global_control::max_allowed_parallelism, threads);
  tbb::parallel_for(std::size_t{0}, searches_.size(),
                    [&](std::size_t i) { answer(searches_[i], options_.limits); });
}

PlacementPrograms ProgramSearch::find(std::size_t instance, const Limits& limits) {
  Search& search = searches_[search_of_[instance]];
  answer(search, limits);
  return {instances_[instance], options_.dialect, options_.terms, search.problem->beginning,
          search.list};
}

std::vector<PlacementPrograms> find_programs(std::vector<Instance> instances,
                                             const SynthesisOptions& options) {
  ProgramSearch search(std::move(instances), options);
  search.find_all();
  std::vector<PlacementPrograms> results;
  results.reserve(search.instances().size());
  for (std::size_t i = 0; i < search.instances().size(); ++i) {
    results.push_back(search.find(i, options.limits));
  }
  return results;
}

}  // namespace p2
