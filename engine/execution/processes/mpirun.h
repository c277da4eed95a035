#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/execution/processes/supervision.h"

namespace p2::execution {

/// Whether mpirun started this process.
bool under_mpirun();
/// The board of the process that had mpirun start this one; nothing if a person did.
std::optional<BoardMapping> board_of_starter();

/// Has mpirun start this program anew, once per rank, on this host, with these words behind its
/// name, and waits for the end. Throws InputError where there is no mpirun.
SupervisedEnd run_under_mpirun(const std::vector<std::string>& words, std::uint32_t ranks,
                               std::optional<std::chrono::steady_clock::time_point> deadline);

}  // namespace p2::execution
