#include "engine/reshard/scheduling.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace p2 {
namespace {

constexpr std::size_t kMaxCliques = 64;
constexpr std::size_t kMaxMoves = 20'000;
constexpr std::size_t kMovesPerClass = 100;
constexpr std::size_t kTabuTenure =
    7;  // moves during which a removed class cannot return, at least
constexpr std::size_t kMaxPools = 64;

using Indices = std::vector<std::size_t>;
using Hosts = std::vector<std::uint32_t>;

bool intersect(const Indices& a, const Indices& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](std::size_t i) { return std::binary_search(b.begin(), b.end(), i); });
}

/// No two tasks of the classes can overlap in time: they share a receiver, or both have one and the
/// same possible sender.
bool conflict(const TaskClass& a, const TaskClass& b) {
  return intersect(a.receivers, b.receivers) || (a.senders.size() == 1 && a.senders == b.senders);
}

/// The conflict graph of the classes, each weighted by the time that its tasks take.
struct ConflictGraph {
  std::vector<std::int64_t> length;
  std::vector<std::vector<bool>> adjacent;

  explicit ConflictGraph(const std::vector<TaskClass>& classes) {
    for (const TaskClass& a : classes) {
      length.push_back(a.size * static_cast<std::int64_t>(a.tasks.size()));
      std::vector<bool>& row = adjacent.emplace_back();
      for (const TaskClass& b : classes) row.push_back(&a != &b && conflict(a, b));
    }
  }

  std::size_t size() const { return length.size(); }
};

/// A maximal clique: from `seed`, always the longest adjacent class.
Indices grow_clique(std::size_t seed, const ConflictGraph& graph, const Indices& by_length) {
  Indices clique{seed};
  for (const std::size_t next : by_length) {
    const auto adjacent = [&](std::size_t member) { return graph.adjacent[member][next]; };
    if (std::all_of(clique.begin(), clique.end(), adjacent)) clique.push_back(next);
  }
  std::sort(clique.begin(), clique.end());
  return clique;
}

/// Tabu search for a clique of maximum weight (Wu, Hao and Glover, "Multi-neighborhood tabu search
/// for the maximum weight clique problem", 2012): every move adds the class of largest gain and
/// removes the members that are not adjacent to it.
class TabuSearch {
 public:
  TabuSearch(const ConflictGraph& graph, const Indices& clique)
      : graph_(graph), in_(graph.size()), tabu_until_(graph.size()), conflicting_(graph.size()) {
    for (const std::size_t i : clique) add(i);
    best_ = clique;
    best_length_ = length_;
  }

  Indices run() {
    const std::size_t moves = std::min(kMaxMoves, kMovesPerClass * graph_.size());
    for (move_ = 1; move_ <= moves; ++move_) {
      const std::size_t next = best_move();
      if (next == graph_.size()) continue;
      for (std::size_t i = 0; i < graph_.size(); ++i) {
        if (in_[i] && !graph_.adjacent[i][next]) remove(i);
      }
      add(next);
      if (length_ <= best_length_) continue;
      best_length_ = length_;
      best_.clear();
      for (std::size_t i = 0; i < graph_.size(); ++i) {
        if (in_[i]) best_.push_back(i);
      }
    }
    return best_;
  }

 private:
  std::size_t best_move() const {
    std::size_t best = graph_.size();
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (in_[i] || tabu_until_[i] > move_) continue;
      if (best == graph_.size() || gain(i) > gain(best)) best = i;
    }
    return best;
  }

  std::int64_t gain(std::size_t i) const { return graph_.length[i] - conflicting_[i]; }

  void add(std::size_t i) {
    in_[i] = true;
    update(i, graph_.length[i]);
  }

  void remove(std::size_t i) {
    in_[i] = false;
    tabu_until_[i] = move_ + kTabuTenure + move_ % kTabuTenure;
    update(i, -graph_.length[i]);
  }

  void update(std::size_t i, std::int64_t length) {
    length_ += length;
    for (std::size_t j = 0; j < graph_.size(); ++j) {
      if (!graph_.adjacent[i][j]) conflicting_[j] += length;
    }
  }

  const ConflictGraph& graph_;
  std::vector<bool> in_;
  std::vector<std::size_t> tabu_until_;
  std::vector<std::int64_t> conflicting_;  // by class: the length of members not adjacent to it
  std::int64_t length_ = 0;
  std::size_t move_ = 0;
  Indices best_;
  std::int64_t best_length_ = 0;
};

/// Some long cliques, each ascending, the longest found among them.
std::vector<Indices> find_cliques(const std::vector<TaskClass>& classes) {
  const ConflictGraph graph(classes);
  Indices by_length(classes.size());
  std::iota(by_length.begin(), by_length.end(), std::size_t{0});
  std::stable_sort(by_length.begin(), by_length.end(),
                   [&](std::size_t a, std::size_t b) { return graph.length[a] > graph.length[b]; });
  const auto length = [&](const Indices& clique) {
    std::int64_t sum = 0;
    for (const std::size_t i : clique) sum += graph.length[i];
    return sum;
  };
  std::set<Indices> cliques;
  Indices longest;
  for (const std::size_t seed : by_length) {
    Indices clique = grow_clique(seed, graph, by_length);
    if (length(clique) > length(longest)) longest = clique;
    if (cliques.size() < kMaxCliques) cliques.insert(std::move(clique));
  }
  cliques.insert(TabuSearch(graph, longest).run());
  return {cliques.begin(), cliques.end()};
}

bool contains(const Indices& all, const Indices& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

std::size_t index_in(const Hosts& hosts, std::uint32_t host) {
  return static_cast<std::size_t>(std::lower_bound(hosts.begin(), hosts.end(), host) -
                                  hosts.begin());
}

/// By host: the classes that it can send or that it receives.
using Users = std::map<std::uint32_t, Indices>;

/// The hosts whose classes are not a subset of another host's; of equal ones the first.
Hosts undominated(const Users& users) {
  Hosts kept;
  for (const auto& user : users) {
    const bool covered = std::any_of(users.begin(), users.end(), [&](const auto& other) {
      return other.first != user.first && contains(other.second, user.second) &&
             (other.second != user.second || other.first < user.first);
    });
    if (!covered) kept.push_back(user.first);
  }
  return kept;
}

/// The sender sets of the classes, closed under union, up to kMaxPools.
std::set<Indices> sender_sets(const std::vector<TaskClass>& classes) {
  std::set<Indices> sets;
  for (const TaskClass& each : classes) {
    std::set<Indices> unions{each.senders};
    for (const Indices& other : sets) {
      Indices both;
      std::set_union(other.begin(), other.end(), each.senders.begin(), each.senders.end(),
                     std::back_inserter(both));
      unions.insert(both);
    }
    for (const Indices& set : unions) {
      if (sets.size() < kMaxPools) sets.insert(set);
    }
  }
  return sets;
}

std::vector<SenderPool> pools_of(const std::vector<TaskClass>& classes, std::size_t senders) {
  std::set<Indices> sets = sender_sets(classes);
  Indices all(senders);
  std::iota(all.begin(), all.end(), std::size_t{0});
  sets.insert(all);
  std::vector<SenderPool> pools;
  for (const Indices& set : sets) {
    SenderPool pool{set, {}};
    for (std::size_t i = 0; i < classes.size(); ++i) {
      if (contains(set, classes[i].senders)) pool.classes.push_back(i);
    }
    std::stable_sort(pool.classes.begin(), pool.classes.end(), [&](std::size_t a, std::size_t b) {
      return classes[a].size > classes[b].size;
    });
    pools.push_back(std::move(pool));
  }
  return pools;
}

std::vector<TaskClass> classes_of(const UnitTasks& tasks, const Hosts& senders,
                                  const std::vector<Indices>& equal, const Hosts& receivers) {
  std::vector<TaskClass> classes;
  for (const Indices& members : equal) {
    const UnitTask& task = tasks[members.front()];
    TaskClass each{task.size, {}, {}, members};
    for (const std::uint32_t host : task.sender_hosts) {
      each.senders.push_back(index_in(senders, host));
    }
    for (const std::uint32_t host : task.receiver_hosts) {
      if (std::binary_search(receivers.begin(), receivers.end(), host)) {
        each.receivers.push_back(index_in(receivers, host));
      }
    }
    classes.push_back(std::move(each));
  }
  return classes;
}

}  // namespace

SchedulingProblem::SchedulingProblem(const UnitTasks& tasks) {
  std::vector<Indices> equal;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto same = std::find_if(equal.begin(), equal.end(), [&](const Indices& members) {
      return tasks[members.front()] == tasks[i];
    });
    if (same == equal.end()) {
      equal.push_back({i});
    } else {
      same->push_back(i);
    }
  }
  Users sends;
  Users receives;
  for (std::size_t i = 0; i < equal.size(); ++i) {
    for (const std::uint32_t host : tasks[equal[i].front()].sender_hosts) sends[host].push_back(i);
    for (const std::uint32_t host : tasks[equal[i].front()].receiver_hosts) {
      receives[host].push_back(i);
    }
  }
  std::map<Indices, std::size_t> first_with;
  for (const auto& [host, users] : sends) {
    representative.push_back(first_with.emplace(users, sender_hosts.size()).first->second);
    sender_hosts.push_back(host);
  }
  receiver_hosts = undominated(receives);
  classes = classes_of(tasks, sender_hosts, equal, receiver_hosts);
  pools = pools_of(classes, sender_hosts.size());
  cliques = find_cliques(classes);
}

namespace {

/// The time that the remaining tasks of some classes take in sum.
std::int64_t remaining_work(const PartialSchedule& state, const SchedulingProblem& problem,
                            const Indices& classes) {
  std::int64_t work = 0;
  for (const std::size_t i : classes) {
    work += problem.classes[i].size * static_cast<std::int64_t>(state.remaining[i]);
  }
  return work;
}

/// The tasks of a clique run one after another, the first at the earliest start of any of them.
std::int64_t clique_bound(const PartialSchedule& state, const SchedulingProblem& problem,
                          const std::vector<std::size_t>& clique) {
  std::int64_t start = std::numeric_limits<std::int64_t>::max();
  for (const std::size_t i : clique) {
    if (state.remaining[i] == 0) continue;
    for (const std::size_t sender : problem.classes[i].senders) {
      start = std::min(start, state.earliest_start(problem.classes[i], sender));
    }
  }
  const std::int64_t work = remaining_work(state, problem, clique);
  return work == 0 ? 0 : start + work;
}

/// By the pigeonhole principle one of n senders sends q + 1 of the n·q + 1 longest tasks, hence at
/// least the q + 1 shortest of these. The maximum over q.
std::int64_t pigeonhole_bound(const PartialSchedule& state, const SchedulingProblem& problem,
                              const SenderPool& pool) {
  std::vector<std::int64_t> sums{0};  // prefix sums of sizes, the longest first
  for (const std::size_t i : pool.classes) {
    for (std::size_t count = state.remaining[i]; count > 0; --count) {
      sums.push_back(sums.back() + problem.classes[i].size);
    }
  }
  std::int64_t largest = 0;
  const std::size_t n = pool.senders.size();
  for (std::size_t q = 0; n * q + 1 < sums.size(); ++q) {
    largest = std::max(largest, sums[n * q + 1] - sums[n * q - q]);
  }
  return largest;
}

/// When the last sender of the pool ends at the earliest.
std::int64_t pool_bound(const PartialSchedule& state, const SchedulingProblem& problem,
                        const SenderPool& pool) {
  std::int64_t total = remaining_work(state, problem, pool.classes);
  if (total == 0) return 0;
  std::int64_t first_free = std::numeric_limits<std::int64_t>::max();
  for (const std::size_t sender : pool.senders) {
    const std::int64_t free = std::max(state.now, state.send_free[sender]);
    first_free = std::min(first_free, free);
    total += free;
  }
  const auto senders = static_cast<std::int64_t>(pool.senders.size());
  return std::max((total + senders - 1) / senders,
                  first_free + pigeonhole_bound(state, problem, pool));
}

std::vector<std::int64_t> receiver_bounds(const PartialSchedule& state,
                                          const SchedulingProblem& problem) {
  std::vector<std::int64_t> ends = state.receive_free;
  for (std::int64_t& end : ends) end = std::max(end, state.now);
  for (std::size_t i = 0; i < problem.classes.size(); ++i) {
    const TaskClass& each = problem.classes[i];
    const std::int64_t work = each.size * static_cast<std::int64_t>(state.remaining[i]);
    for (const std::size_t receiver : each.receivers) ends[receiver] += work;
  }
  return ends;
}

}  // namespace

PartialSchedule::PartialSchedule(const SchedulingProblem& problem)
    : send_free(problem.sender_hosts.size()), receive_free(problem.receiver_hosts.size()) {
  for (const TaskClass& each : problem.classes) {
    remaining.push_back(each.tasks.size());
    remaining_tasks += each.tasks.size();
  }
}

std::int64_t PartialSchedule::earliest_start(const TaskClass& each, std::size_t sender) const {
  std::int64_t start = std::max(now, send_free[sender]);
  for (const std::size_t receiver : each.receivers) {
    start = std::max(start, receive_free[receiver]);
  }
  return start;
}

void PartialSchedule::start(const SchedulingProblem& problem, std::size_t number,
                            std::size_t sender) {
  const TaskClass& each = problem.classes[number];
  now = earliest_start(each, sender);
  send_free[sender] = now + each.size;
  for (const std::size_t receiver : each.receivers) receive_free[receiver] = now + each.size;
  end = std::max(end, now + each.size);
  --remaining[number];
  --remaining_tasks;
}

LowerBound lower_bound(const PartialSchedule& state, const SchedulingProblem& problem) {
  LowerBound best{state.end, LowerBound::Reason::End, 0};
  const auto raise = [&](std::int64_t value, LowerBound::Reason reason, std::size_t index) {
    if (value > best.value) best = {value, reason, index};
  };
  const auto receivers = receiver_bounds(state, problem);
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    raise(receivers[i], LowerBound::Reason::Receiver, i);
  }
  for (std::size_t i = 0; i < problem.pools.size(); ++i) {
    raise(pool_bound(state, problem, problem.pools[i]), LowerBound::Reason::Senders, i);
  }
  for (std::size_t i = 0; i < problem.cliques.size(); ++i) {
    raise(clique_bound(state, problem, problem.cliques[i]), LowerBound::Reason::Clique, i);
  }
  return best;
}

}  // namespace p2
