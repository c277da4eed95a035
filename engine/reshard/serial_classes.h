#pragma once

#include "engine/reshard/scheduling_problem.h"

namespace p2 {

/// Sets of classes of which no two tasks can ever run at once, each ascending: some that take long
/// together, the longest found among them. Two tasks cannot that share a receiver, or that have
/// only one sender and the same.
std::vector<std::vector<std::size_t>> serial_classes(const std::vector<TaskClass>& classes);

}  // namespace p2
