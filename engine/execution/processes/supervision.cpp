#include "engine/execution/processes/supervision.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::execution {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw ToolError(what + ": " + std::strerror(errno));
}

}  // namespace

void RankBoard::register_rank(std::uint32_t rank) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  processes[rank].process = ::getpid();
}

void RankBoard::report_exit(std::uint32_t rank, int code, bool failed) {
  if (rank == 0) exit_code = code;
  processes[rank].failed = failed;
  processes[rank].done = true;
}

BoardMapping::BoardMapping(int file, bool is_new) {
  const int flags = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = ::mmap(nullptr, sizeof(RankBoard), PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) fail("no memory for the ranks to share");
  board_.reset(is_new ? new (memory) RankBoard : static_cast<RankBoard*>(memory));
}

void BoardMapping::Unmap::operator()(RankBoard* board) const { ::munmap(board, sizeof(RankBoard)); }

BoardMapping BoardMapping::anonymous() { return BoardMapping(-1, true); }

BoardMapping BoardMapping::in_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 || ::ftruncate(file, sizeof(RankBoard)) != 0) fail(path);
  BoardMapping mapping(file, true);
  ::close(file);
  return mapping;
}

BoardMapping BoardMapping::opened(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) fail(path);
  BoardMapping mapping(file, false);
  ::close(file);
  return mapping;
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 20;
constexpr int kNotRegistered = -1;  // poll ignores negative descriptors
constexpr int kExited = -2;
constexpr std::chrono::milliseconds kGrace{3000};  // between SIGTERM and SIGKILL

class Supervisor {
 public:
  Supervisor(std::vector<pid_t> children, std::uint32_t ranks, RankBoard& board, Deadline deadline)
      : children_(std::move(children)),
        ranks_(ranks),
        board_(board),
        deadline_(deadline),
        watches_(ranks, pollfd{kNotRegistered, POLLIN, 0}) {}
  ~Supervisor() {
    for (const pollfd& watch : watches_) {
      if (watch.fd >= 0) ::close(watch.fd);
    }
  }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  SupervisedExit wait() {
    std::string fault;
    while (!children_.empty() && fault.empty()) {
      watch_new_ranks();
      ::poll(watches_.data(), watches_.size(), kPollMilliseconds);
      fault = death();
      if (fault.empty()) fault = failure();
      if (!fault.empty()) kill_ranks();  // mpirun, if there is one, then exits by itself
      if (fault.empty() && !(fault = delay()).empty()) signal_children(SIGTERM);
      reap();
    }
    if (!fault.empty()) terminate_all();
    const int code = board_.exit_code;
    if (code >= 0) return {code, {}};
    if (fault.empty()) fault = "the ranks ended before there was a result";
    return {std::nullopt, fault};
  }

 private:
  void watch_new_ranks() {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      const pid_t process = board_.processes[rank].process;
      if (process == 0 || watches_[rank].fd != kNotRegistered) continue;
      watches_[rank].fd = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
      if (watches_[rank].fd >= 0 || errno != ESRCH) continue;
      watches_[rank].fd = kExited;  // it registered and exited between two polls
      ended_.push_back(rank);
    }
  }

  /// The ranks whose processes exited unexpectedly.
  std::string death() {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      if ((watches_[rank].revents & POLLIN) == 0) continue;
      ended_.push_back(rank);
      ::close(watches_[rank].fd);
      watches_[rank].fd = kExited;
    }
    std::vector<std::uint32_t> dead = std::exchange(ended_, {});
    std::erase_if(dead, [&](std::uint32_t rank) -> bool { return board_.processes[rank].done; });
    if (dead.empty() || board_.exit_code >= 0) return {};
    // Of several, the first to die is one of those that are farthest behind.
    std::uint64_t least = UINT64_MAX;
    for (const std::uint32_t each : dead) {
      least = std::min(least, board_.progress[each].begun.load());
    }
    std::erase_if(dead, [&](std::uint32_t each) { return board_.progress[each].begun > least; });
    if (dead.size() > 1) return fmt::format("one of the ranks {} died", fmt::join(dead, ", "));
    const std::uint32_t rank = dead.front();
    const RankProgress& progress = board_.progress[rank];
    if (progress.begun == 0) return fmt::format("rank {} died before its first step", rank);
    return fmt::format("rank {} died after it had entered {}", rank, describe_step(progress));
  }

  /// A rank that failed while the others are still running after the grace period.
  std::string failure() {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      if (!board_.processes[rank].failed) continue;
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
    for (const RankProgress& rank : board_.first(ranks_)) steps += rank.begun + rank.ended;
    if (steps != progress_) last_change_ = now;
    progress_ = steps;
    const bool late = deadline_ && now > *deadline_;
    if (!late && now < last_change_ + kStallTimeout) return {};
    return describe_stall(board_.first(ranks_)) + (late ? ", when time was up" : "");
  }

  void reap() {
    std::erase_if(children_,
                  [](pid_t child) { return ::waitpid(child, nullptr, WNOHANG) == child; });
  }

  void signal_children(int signal) {
    for (const pid_t child : children_) ::kill(child, signal);
  }

  /// By descriptor: a process id may have been reused.
  void kill_ranks() {
    for (const pollfd& watch : watches_) {
      if (watch.fd >= 0) ::syscall(SYS_pidfd_send_signal, watch.fd, SIGKILL, nullptr, 0);
    }
  }

  /// Waits for the children to exit by themselves, and kills them after the grace period.
  void terminate_all() {
    const auto latest = Clock::now() + kGrace;
    while (!children_.empty() && Clock::now() < latest) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kPollMilliseconds));
      reap();
    }
    kill_ranks();
    signal_children(SIGKILL);
    for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
  }

  std::vector<pid_t> children_;
  std::uint32_t ranks_;
  RankBoard& board_;
  Deadline deadline_;
  std::vector<pollfd> watches_;       // by rank: a pidfd, kNotRegistered or kExited
  std::vector<std::uint32_t> ended_;  // exited ranks that are not examined yet
  std::uint64_t progress_ = 0;
  Clock::time_point last_change_ = Clock::now();
  std::optional<Clock::time_point> first_failure_;
};

}  // namespace

SupervisedExit supervise(const std::vector<pid_t>& children, std::uint32_t ranks, RankBoard& board,
                         Deadline deadline) {
  return Supervisor(children, ranks, board, deadline).wait();
}

}  // namespace p2::execution
