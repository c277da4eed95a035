#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/execution/processes/supervision.h"

namespace p2::execution {

/// Whether mpirun started this process.
bool under_mpirun();
/// Which of the processes on its host this one is, and how many they are; 0 of 1 where mpirun did
/// not say.
std::pair<std::uint32_t, std::uint32_t> place_on_host();
/// The board of the process that had mpirun start this one; nothing if a person did.
std::optional<BoardMapping> board_of_starter();

/// Has mpirun start this program anew, once per rank, on this host, with these words behind its
/// name, and waits for the end. Throws InputError where there is no mpirun.
SupervisedEnd run_under_mpirun(const std::vector<std::string>& words, std::uint32_t ranks,
                               std::optional<std::chrono::steady_clock::time_point> deadline);

}  // namespace p2::execution
