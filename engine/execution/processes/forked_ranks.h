#pragma once

#include <memory>
#include <vector>

#include "engine/execution/processes/rank_board.h"
#include "engine/execution/processes/rank_world.h"
#include "engine/execution/processes/supervision.h"

namespace p2::execution {

/// Ranks on one host, forked from this process, which watches over them. They meet in memory that
/// they share; bytes for all come through pipes.
class ForkedRanks {
 public:
  /// No rank ever gathers more than `most_gathered` bytes.
  ForkedRanks(std::uint32_t ranks, std::size_t most_gathered);
  ~ForkedRanks();
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;

  /// Forks. In the parent, waits for the end of all ranks and returns it; in each rank, returns
  /// nothing at once.
  std::optional<SupervisedEnd> fork_all(
      std::optional<std::chrono::steady_clock::time_point> deadline);

  /// In a rank: its view of the others. This object must outlive it.
  std::unique_ptr<RankWorld> world();
  std::uint32_t rank() const { return rank_; }
  RankBoard& board() const { return board_.board(); }

 private:
  struct Floor;
  class World;

  std::uint32_t ranks_;
  std::size_t most_gathered_;
  std::uint32_t rank_ = 0;
  BoardMapping board_;
  std::size_t floor_bytes_;
  Floor* floor_;                           // shared, followed by the bytes that are gathered
  std::vector<std::array<int, 2>> pipes_;  // by rank: what rank 0 has to say to it
};

}  // namespace p2::execution
