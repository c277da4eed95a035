#include "engine/reshard/scheduling_problem.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "engine/reshard/serial_classes.h"

namespace p2 {
namespace {

constexpr std::size_t kMostPools = 64;

using Indices = std::vector<std::size_t>;
using Hosts = std::vector<std::uint32_t>;

bool contains(const Indices& all, const Indices& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

std::size_t index_in(const Hosts& hosts, std::uint32_t host) {
  return static_cast<std::size_t>(std::lower_bound(hosts.begin(), hosts.end(), host) -
                                  hosts.begin());
}

/// By host: the classes of tasks that name it.
using Users = std::map<std::uint32_t, Indices>;

/// Leaves out hosts whose classes are all among another's, of equal ones all but the first.
Hosts limiting(const Users& users) {
  Hosts kept;
  for (const auto& [host, classes] : users) {
    const bool covered = std::any_of(users.begin(), users.end(), [&](const auto& other) {
      return other.first != host && contains(other.second, classes) &&
             (other.second != classes || other.first < host);
    });
    if (!covered) kept.push_back(host);
  }
  return kept;
}

/// The sets of senders of the classes, and their unions.
std::set<Indices> sender_sets(const std::vector<TaskClass>& classes) {
  std::set<Indices> sets;
  for (const TaskClass& each : classes) {
    std::set<Indices> joined{each.senders};
    for (const Indices& other : sets) {
      Indices both;
      std::set_union(other.begin(), other.end(), each.senders.begin(), each.senders.end(),
                     std::back_inserter(both));
      joined.insert(both);
    }
    for (const Indices& set : joined) {
      if (sets.size() < kMostPools) sets.insert(set);
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
    like.push_back(first_with.emplace(users, sender_hosts.size()).first->second);
    sender_hosts.push_back(host);
  }
  receiver_hosts = limiting(receives);
  classes = classes_of(tasks, sender_hosts, equal, receiver_hosts);
  pools = pools_of(classes, sender_hosts.size());
  cliques = serial_classes(classes);
}

}  // namespace p2
