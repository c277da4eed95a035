#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/execution/processes/rank_board.h"

namespace p2::execution {

/// How a run of several processes ended.
struct SupervisedEnd {
  std::optional<int> exit_code;  ///< what rank 0 said; nothing when it came to no end
  std::string fault;             ///< otherwise why, with the rank at fault where that is known
};

/// Waits for the processes `children` of this one, which run the ranks or start them, and watches
/// the board. When a rank dies, the deadline passes or no rank gets on for kPatience, all are
/// ended: none is left when this returns.
SupervisedEnd supervise(const std::vector<pid_t>& children, std::uint32_t ranks, RankBoard& board,
                        std::optional<std::chrono::steady_clock::time_point> deadline);

}  // namespace p2::execution
