#pragma once

#include <random>

#include "engine/reshard/exact_search.h"

namespace p2 {

ExactSchedule solve(const UnitTasks& tasks, const Limits& limits = {});

/// The shortest makespan by trying every order with every choice of senders.
std::int64_t brute_force(const UnitTasks& tasks);

/// 2 to `most` tasks over 2 to 4 hosts, of sizes up to 6.
UnitTasks random_tasks(std::mt19937_64& random, std::size_t most);

}  // namespace p2
