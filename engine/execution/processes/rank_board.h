#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/execution/progress.h"

namespace p2::execution {

/// Memory that the processes of a run share with the one that watches over them: how far each has
/// come, and how the run ends.
struct RankBoard {
  static constexpr std::uint32_t kMostRanks = 1024;

  struct Life {
    std::atomic<pid_t> process = 0;    ///< 0 until the rank has signed in
    std::atomic<bool> failed = false;  ///< it gave up, before its work was done
    std::atomic<bool> done = false;    ///< it has said all: it may end
  };

  std::atomic<int> exit_code = -1;  ///< by rank 0, when all is said
  std::array<RankProgress, kMostRanks> progress;
  std::array<Life, kMostRanks> lives;

  /// Called by the process of a rank: it is there, and is to die with its parent.
  void sign_in(std::uint32_t rank);
  /// Called by the process of a rank as its last word. `failed`: others may wait for it in vain.
  void sign_out(std::uint32_t rank, int code, bool failed);

  std::span<const RankProgress> of_first(std::uint32_t ranks) const {
    return {progress.data(), ranks};
  }
};

/// A board in a mapping of its own. It may outlive neither process that looks at it: the memory
/// goes when all are gone.
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

}  // namespace p2::execution
