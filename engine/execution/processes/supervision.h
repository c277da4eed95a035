#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/execution/runtime.h"

namespace p2::execution {

/// Memory that the ranks of a run share with their supervisor: how far each has come, and how the
/// run ends.
struct RankBoard {
  static constexpr std::uint32_t kMaxRanks = 1024;

  struct ProcessState {
    std::atomic<pid_t> process = 0;    ///< 0 until the rank has registered
    std::atomic<bool> failed = false;  ///< it stopped before its work was done
    std::atomic<bool> done = false;    ///< its exit is expected
  };

  std::atomic<int> exit_code = -1;  ///< reported by rank 0 once all output is written
  std::array<RankProgress, kMaxRanks> progress;
  std::array<ProcessState, kMaxRanks> processes;

  /// Called by the process of a rank when it starts; it is killed when its parent dies.
  void register_rank(std::uint32_t rank);
  /// Called by the process of a rank before exiting. `failed`: others may wait for it in vain.
  void report_exit(std::uint32_t rank, int code, bool failed);

  std::span<const RankProgress> first(std::uint32_t ranks) const {
    return {progress.data(), ranks};
  }
};

/// A board in a memory mapping, which is unmapped at the end.
class BoardMapping {
 public:
  /// Shared with the processes that are forked after this.
  static BoardMapping anonymous();
  /// In a new file, for processes that open it.
  static BoardMapping in_file(const std::string& path);
  static BoardMapping opened(const std::string& path);

  RankBoard& board() const { return *board_; }

 private:
  explicit BoardMapping(int file, bool is_new);

  struct Unmap {
    void operator()(RankBoard* board) const;
  };
  std::unique_ptr<RankBoard, Unmap> board_;
};

/// How a run of several processes ended.
struct SupervisedExit {
  std::optional<int> exit_code;  ///< reported by rank 0; nothing if the run did not complete
  std::string fault;             ///< then why, with the rank at fault where that is known
};

/// Waits for the children of this process, which run the ranks or start them. When a rank dies, the
/// deadline passes or no rank makes progress for kStallTimeout, all are terminated. None is left
/// when this returns.
SupervisedExit supervise(const std::vector<pid_t>& children, std::uint32_t ranks, RankBoard& board,
                         Deadline deadline);

}  // namespace p2::execution
