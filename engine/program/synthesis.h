#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/program/program.h"
#include "engine/program/state_graph.h"

namespace p2 {

/// Who says which programs are valid.
enum class SearchEngine : std::uint8_t {
  Explicit,  ///< the states of all simulated devices (StateGraph)
  Machine,   ///< the machine of theorem T7, which knows no sizes (symbolic/machine.h)
  Formula,   ///< the number of programs by theorem T8, without a list (count_over_d)
  Bracket    ///< two approximations, from above and from below, that agree (symbolic/all_sizes.h)
};

/// `explicit`, `machine`, `formula`, `bracket`.
std::string_view to_string(SearchEngine engine);

/// What a domain says of a step, or of a state at the end of a program.
struct Replayed {
  enum class Kind : std::uint8_t { Legal, Illegal, Undecided };
  Kind kind = Kind::Undecided;
  std::uint32_t state = 0;  ///< after a legal step
};

/// The valid programs of a problem up to a size, represented by the part of a TransitionGraph that
/// lies on paths from the initial state to a goal. Programs are counted by dynamic programming,
/// without listing them. If a limit was reached, only programs up to size `settled` are counted and
/// listed.
class ProgramList {
 public:
  /// By the explicit engine.
  ProgramList(const Problem& problem, std::uint32_t size, const Limits& limits,
              SearchProgress* progress = nullptr, const Terms& terms = {});
  /// So many programs up to a size, by a formula. They cannot be listed.
  ProgramList(std::uint64_t count, std::uint32_t settled)
      : settled_(settled), count_(count), engine_(SearchEngine::Formula) {}
  /// The paths of a graph that `engine` has searched.
  ProgramList(const TransitionGraph& graph, SearchEngine engine);

  SearchEngine engine() const { return engine_; }

  /// All programs up to this size are present.
  std::uint32_t settled() const { return settled_; }
  std::uint64_t count() const { return count_; }
  /// System states that the search visited.
  std::size_t states() const { return states_; }

  /// Calls `visit` with the moves of every program: by increasing size, then in lexicographic order
  /// of the problem's moves.
  using Visit = std::function<void(std::span<const std::uint32_t> moves)>;
  void for_each(const Visit& visit) const;

  /// The programs that run from `initial` to an accepted state of another domain. Nothing if the
  /// domain does not decide a step or an end of one of them. `accepts` is asked of the last states.
  using Replay = std::function<Replayed(std::uint32_t state, std::uint32_t move)>;
  std::optional<ProgramList> replayed(std::uint32_t initial, const Replay& replay,
                                      const std::function<Replayed(std::uint32_t)>& accepts) const;

  /// The moves of the first program, in the order of for_each, that has a move m with `wanted[m]`.
  /// Does not list the programs before it.
  std::optional<std::vector<std::uint32_t>> first_with(const std::vector<bool>& wanted) const;

 private:
  void cut_down(const TransitionGraph& graph);
  void count_paths();
  void walk(NodeId node, std::uint32_t left, std::vector<std::uint32_t>& moves,
            const Visit& visit) const;
  /// [left][node]: whether a path of exactly `left` moves has a wanted one.
  std::vector<bool> paths_with(const std::vector<bool>& wanted) const;
  std::uint64_t paths(NodeId node, std::uint32_t left) const {
    return paths_[std::size_t{left} * nodes_.size() + node];
  }

  std::uint32_t settled_ = 0;
  std::uint64_t count_ = 0;
  std::size_t states_ = 0;
  bool reached_ = false;
  SearchEngine engine_ = SearchEngine::Explicit;
  std::vector<NodeId> goals_;
  std::vector<std::vector<Transition>> nodes_;  // useful transitions; node 0 is initial
  std::vector<std::uint64_t> paths_;            // [left][node]: paths of exactly `left` moves
};

struct SynthesisOptions {
  Dialect dialect = Dialect::Published;
  Terms terms = {};
  std::uint32_t size = 5;              ///< maximum number of steps
  unsigned jobs = 0;                   ///< threads; 0 = one per core
  Limits limits;                       ///< memory is divided equally among the threads
  SearchProgress* progress = nullptr;  ///< may be read from another thread
  /// Use the explicit engine even where one answers that does not depend on sizes.
  bool explicit_only = false;
  /// Nobody lists the programs: where a formula is proved, they are only counted.
  bool count_only = false;
};

/// The number of valid programs of at most `size` steps over (d) with so many levels above 1 of one
/// axis, in `published`: `three_steps_for_all_levels` and `four_steps_for_all_levels` of
/// proofs/theory/numbers.v, `five_steps_for_all_levels` of five_steps.v there. Nothing for other
/// sizes, for which no formula is proved.
std::optional<std::uint64_t> count_over_d(std::uint32_t levels, std::uint32_t size);

/// All valid programs of one placement.
class PlacementPrograms {
 public:
  PlacementPrograms(Instance placed, Dialect dialect, Terms terms, Beginning beginning,
                    std::shared_ptr<const ProgramList> list)
      : instance_(std::move(placed)),
        dialect_(dialect),
        terms_(std::move(terms)),
        beginning_(beginning),
        list_(std::move(list)) {}

  const Instance& instance() const { return instance_; }
  const Beginning& beginning() const { return beginning_; }
  std::uint32_t chunks() const { return instance_.grid.devices() * beginning_.chunks_per_device; }
  /// A program of the whole system with these steps.
  Program program(std::vector<Step> steps) const {
    return {instance_.grid.devices(), instance_.classes(), std::move(steps), terms_, beginning_};
  }
  const ProgramList& list() const { return *list_; }
  /// Calls `visit` with the steps of every program, without groups, in the order of ProgramList.
  void for_each(const std::function<void(const std::vector<Step>& steps)>& visit) const;
  /// The same as a list.
  std::vector<std::vector<Step>> programs() const;
  /// The same with the groups of the whole system.
  void for_each_lowered(const std::function<void(const Program& program)>& visit) const;

 private:
  Instance instance_;
  Dialect dialect_;
  Terms terms_;
  Beginning beginning_;
  std::shared_ptr<const ProgramList> list_;
};

/// The valid programs of a problem by the machine where it is proved to decide, by the bracket
/// where that answers, else by the explicit engine.
ProgramList search_programs(const Problem& problem, const SynthesisOptions& options);

/// The searches for the valid programs of many instances; those of one problem share one.
class ProgramSearch {
 public:
  /// Searches nothing yet. Throws InputError if the goal has no beginning (beginning_of), and
  /// LimitReached for a lattice of more than 8 factors.
  ProgramSearch(std::vector<Instance> instances, const SynthesisOptions& options);

  const std::vector<Instance>& instances() const { return instances_; }
  /// Of an instance.
  const Problem& problem(std::size_t instance) const {
    return *searches_[search_of_[instance]].problem;
  }
  /// A measure of the search for the programs of an instance: devices, times pairs of moves.
  double expected_cost(std::size_t instance) const;

  /// Answers all problems on `options.jobs` threads.
  void find_all();
  /// The programs of an instance; searches unless its problem is answered. Thread-safe. Throws
  /// LimitReached for more than 2^64 programs.
  PlacementPrograms find(std::size_t instance, const Limits& limits);

 private:
  struct Search {
    const Problem* problem = nullptr;
    std::once_flag once;
    std::shared_ptr<const ProgramList> list;
  };
  void answer(Search& search, const Limits& limits);

  SynthesisOptions options_;
  std::vector<Instance> instances_;
  std::map<Problem, std::size_t> known_;  // problem → its search
  std::deque<Search> searches_;
  std::vector<std::size_t> search_of_;  // by instance
};

/// Enumerates the valid programs of every instance. Different problems run in parallel; the result
/// does not depend on the number of threads. Throws as ProgramSearch.
std::vector<PlacementPrograms> find_programs(std::vector<Instance> instances,
                                             const SynthesisOptions& options);

}  // namespace p2
