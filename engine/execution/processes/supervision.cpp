#include "engine/execution/processes/supervision.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/execution/meeting.h"

namespace p2::execution {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kGlanceMilliseconds = 20;
constexpr int kNotYet = -1;  // there is no process to watch; poll overlooks what is negative
constexpr int kNoMore = -2;
constexpr std::chrono::milliseconds kGrace{3000};  // between asking to end and killing

class Supervisor {
 public:
  Supervisor(std::vector<pid_t> children, std::uint32_t ranks, RankBoard& board,
             std::optional<Clock::time_point> deadline)
      : children_(std::move(children)),
        ranks_(ranks),
        board_(board),
        deadline_(deadline),
        watches_(ranks, pollfd{kNotYet, POLLIN, 0}) {}
  ~Supervisor() {
    for (const pollfd& watch : watches_) {
      if (watch.fd >= 0) ::close(watch.fd);
    }
  }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  SupervisedEnd wait() {
    std::string fault;
    while (!children_.empty() && fault.empty()) {
      watch_new_ranks();
      ::poll(watches_.data(), watches_.size(), kGlanceMilliseconds);
      fault = death();
      if (fault.empty()) fault = failure();
      if (!fault.empty()) kill_ranks();  // then mpirun, if there is one, ends by itself
      if (fault.empty() && !(fault = delay()).empty()) signal_children(SIGTERM);
      reap();
    }
    if (!fault.empty()) end_all();
    const int code = board_.exit_code;
    if (code >= 0) return {code, {}};
    if (fault.empty()) fault = "the ranks ended before there was a result";
    return {std::nullopt, fault};
  }

 private:
  void watch_new_ranks() {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      const pid_t process = board_.lives[rank].process;
      if (process == 0 || watches_[rank].fd != kNotYet) continue;
      watches_[rank].fd = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
      if (watches_[rank].fd >= 0 || errno != ESRCH) continue;
      watches_[rank].fd = kNoMore;  // it came and ended between two glances
      ended_.push_back(rank);
    }
  }

  /// The ranks whose processes ended without having signed out.
  std::string death() {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      if ((watches_[rank].revents & POLLIN) == 0) continue;
      ended_.push_back(rank);
      ::close(watches_[rank].fd);
      watches_[rank].fd = kNoMore;
    }
    std::vector<std::uint32_t> dead = std::exchange(ended_, {});
    std::erase_if(dead, [&](std::uint32_t rank) -> bool { return board_.lives[rank].done; });
    if (dead.empty() || board_.exit_code >= 0) return {};
    // Of several, the first to die is one that did not get as far as the others.
    std::uint64_t least = UINT64_MAX;
    for (const std::uint32_t each : dead) {
      least = std::min(least, board_.progress[each].begun.load());
    }
    std::erase_if(dead, [&](std::uint32_t each) { return board_.progress[each].begun > least; });
    if (dead.size() > 1) return fmt::format("one of the ranks {} died", fmt::join(dead, ", "));
    const std::uint32_t rank = dead.front();
    const RankProgress& progress = board_.progress[rank];
    if (progress.begun == 0) return fmt::format("rank {} died before its first step", rank);
    return fmt::format("rank {} died after it had entered step {} of program {}", rank,
                       progress.step.load(), progress.program.load());
  }

  /// A rank gave up and the others go on, or wait for it, when they have had time to end as well.
  std::string failure() {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      if (!board_.lives[rank].failed) continue;
      const auto now = Clock::now();
      if (!first_failure_) first_failure_ = now;
      if (now < *first_failure_ + kGrace) return {};
      return fmt::format("rank {} gave up, and others waited for it", rank);
    }
    return {};
  }

  std::string delay() {
    const auto now = Clock::now();
    std::uint64_t steps = 0;
    for (const RankProgress& rank : board_.of_first(ranks_)) steps += rank.begun + rank.ended;
    if (steps != steps_) last_step_ = now;
    steps_ = steps;
    const bool late = deadline_ && now > *deadline_;
    if (!late && now < last_step_ + kPatience) return {};
    return who_is_late(board_.of_first(ranks_)) + (late ? ", when time was up" : "");
  }

  void reap() {
    std::erase_if(children_,
                  [](pid_t child) { return ::waitpid(child, nullptr, WNOHANG) == child; });
  }

  void signal_children(int signal) {
    for (const pid_t child : children_) ::kill(child, signal);
  }

  /// By descriptor: the number may be another process's by now.
  void kill_ranks() {
    for (const pollfd& watch : watches_) {
      if (watch.fd >= 0) ::syscall(SYS_pidfd_send_signal, watch.fd, SIGKILL, nullptr, 0);
    }
  }

  /// Waits a while for the end that is under way, and then brings it about.
  void end_all() {
    const auto patience = Clock::now() + kGrace;
    while (!children_.empty() && Clock::now() < patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kGlanceMilliseconds));
      reap();
    }
    kill_ranks();
    signal_children(SIGKILL);
    for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
  }

  std::vector<pid_t> children_;
  std::uint32_t ranks_;
  RankBoard& board_;
  std::optional<Clock::time_point> deadline_;
  std::vector<pollfd> watches_;       // by rank: a descriptor of its process, kNotYet or kNoMore
  std::vector<std::uint32_t> ended_;  // ranks, not looked into yet
  std::uint64_t steps_ = 0;
  Clock::time_point last_step_ = Clock::now();
  std::optional<Clock::time_point> first_failure_;
};

}  // namespace

SupervisedEnd supervise(const std::vector<pid_t>& children, std::uint32_t ranks, RankBoard& board,
                        std::optional<Clock::time_point> deadline) {
  return Supervisor(children, ranks, board, deadline).wait();
}

}  // namespace p2::execution
