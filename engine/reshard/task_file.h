#pragma once

#include <string>

#include "engine/reshard/unit_task.h"

namespace p2 {

/// Reads `{"tasks":[{"size":1,"sender_hosts":[1,2],"receiver_hosts":[0]}]}`. Hosts may come in any
/// order. Throws InputError, at its place, for anything else, and beyond the limits of unit_task.h.
UnitTasks read_tasks(const std::string& source, const std::string& text);

}  // namespace p2
