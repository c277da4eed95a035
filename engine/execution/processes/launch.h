#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/execution/processes/process_backend.h"
#include "engine/execution/processes/supervision.h"

namespace p2::execution {

/// The ranks that a run needs, where each is a process.
struct LaunchSpec {
  std::uint32_t ranks = 1;
  WorkloadKind kind = WorkloadKind::Program;
  bool extra_ranks = false;            ///< more processes than ranks are accepted
  std::size_t max_gathered_bytes = 0;  ///< by a rank after a job
  Deadline deadline = {};
  /// The arguments of this program with which mpirun starts it again as a rank.
  std::vector<std::string> command = {};
};

/// A rank's connection to the others, and its position among those on its host.
struct RankContext {
  std::unique_ptr<ControlChannel> channel;
  std::uint32_t local_rank = 0;
  std::uint32_t local_ranks = 1;
};

/// Ranks on one host, forked from this process, which supervises them. They share memory for the
/// barrier and for what is gathered; broadcasts go through pipes.
class ForkedRanks {
 public:
  /// No rank ever gathers more than `max_gathered` bytes. Throws ToolError where the system refuses
  /// memory or pipes.
  ForkedRanks(std::uint32_t ranks, std::size_t max_gathered);
  ~ForkedRanks();
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;

  /// Forks. In the parent, waits until all ranks have exited and returns how; in each rank, returns
  /// nothing at once.
  std::optional<SupervisedExit> fork_all(Deadline deadline);

  /// In a rank: its connection to the others. This object must outlive it.
  std::unique_ptr<ControlChannel> channel();
  std::uint32_t rank() const { return rank_; }
  RankBoard& board() const { return board_.board(); }

 private:
  struct SharedMemory;
  class Channel;

  std::uint32_t ranks_;
  std::size_t max_gathered_;
  std::uint32_t rank_ = 0;
  BoardMapping board_;
  std::size_t shared_bytes_;
  SharedMemory* shared_;
  std::vector<std::array<int, 2>> pipes_;  // by rank: from rank 0
};

/// Whether mpirun started this process.
bool under_mpirun();
/// Number of this process among those of the run on its host, and how many they are; 0 of 1 where
/// mpirun did not say.
std::pair<std::uint32_t, std::uint32_t> local_position();
/// The board of the process that launched mpirun; nothing if a user did.
std::optional<BoardMapping> inherited_board();

/// Has mpirun start this program with these arguments, once per rank, on this host, and supervises
/// the ranks. Throws InputError where there is no mpirun.
SupervisedExit launch_mpirun(const std::vector<std::string>& words, std::uint32_t ranks,
                             Deadline deadline);

}  // namespace p2::execution
