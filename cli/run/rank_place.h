#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/execution/processes/forked_ranks.h"
#include "p2/limits.h"

namespace p2 {

/// Where ranks run: in this process, in this process as one rank of several, or in processes that
/// this one started and whose end it has seen. What opens backends derives from it.
class RankPlace {
 public:
  /// Calls `there`, which opens a backend, runs on it and returns an exit code, or nothing where
  /// the processes that were started have done it all. Returns what this process is to exit with;
  /// as a rank of several it has said its last word by then. Input errors are passed on by one rank
  /// only, and what interrupts a run goes to `err`.
  int run(const std::function<std::optional<int>()>& there, std::ostream& err);

 protected:
  /// The ranks that are wanted, for a backend in which each is a process.
  struct Crew {
    std::uint32_t ranks = 1;
    const char* of = "";         ///< what they run, for messages: `programs`
    bool more_may_come = false;  ///< processes beyond the ranks have nothing to do
  };
  /// A rank's link to the others, and which of how many on its host it is.
  struct Seat {
    std::unique_ptr<execution::RankWorld> world;  ///< nothing: others have done it all
    std::uint32_t local_rank = 0;
    std::uint32_t local_ranks = 1;
  };

  /// As one of the processes that mpirun started. Throws InputError for other numbers of them.
  Seat join_mpirun(const Crew& crew);
  /// Has mpirun start `ranks` processes that do what `words` say, and waits for them.
  void start_mpirun(const std::vector<std::string>& words, std::uint32_t ranks,
                    const Limits& limits);
  /// As one of the processes that mpirun started, or else forks them all; no rank gathers more than
  /// `most_gathered` bytes.
  Seat join_or_fork(const Crew& crew, std::size_t most_gathered, const Limits& limits);

  /// Throws std::length_error where the machine cannot hold `bytes`, before it is driven out of
  /// memory; the message ends in what was `expected`.
  static void require_memory(std::uint64_t bytes, const Limits& limits, const char* expected);

 private:
  int sign_out(int code, bool failed);

  std::optional<execution::BoardMapping> board_of_starter_;
  std::unique_ptr<execution::ForkedRanks> forked_;
  execution::RankBoard* board_ = nullptr;  // of one of the two
  std::uint32_t rank_ = 0;
  execution::SupervisedEnd end_;
};

}  // namespace p2
