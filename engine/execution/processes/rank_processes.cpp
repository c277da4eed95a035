#include "engine/execution/processes/rank_processes.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <pthread.h>

#include "engine/base/invariant.h"

namespace p2::execution {

namespace {

[[noreturn]] void fail(const char* what) {
  throw ToolError(std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

/// Shared by the processes: a barrier, followed by the bytes that are gathered.
struct ForkedRanks::SharedMemory {
  pthread_barrier_t barrier;

  std::byte* gathered() { return reinterpret_cast<std::byte*>(this + 1); }
};

class ForkedRanks::Channel final : public ControlChannel {
 public:
  explicit Channel(ForkedRanks& ranks) : of_(ranks) {}

  std::uint32_t rank() const override { return of_.rank_; }
  std::uint32_t ranks() const override { return of_.ranks_; }
  RankProgress& progress() override { return of_.board().progress[of_.rank_]; }

  void barrier() override { ::pthread_barrier_wait(&of_.shared_->barrier); }

  void broadcast(std::span<std::byte> bytes) override {
    if (of_.rank_ > 0) return move_all(of_.pipes_[of_.rank_][0], bytes, ::read);
    for (std::uint32_t rank = 1; rank < of_.ranks_; ++rank) {
      move_all(of_.pipes_[rank][1], bytes, ::write);
    }
  }

  std::vector<std::byte> all_gather(std::span<const std::byte> own) override {
    invariant(own.size() <= of_.max_gathered_, "a rank gathers more than agreed");
    std::byte* all = of_.shared_->gathered();
    std::copy(own.begin(), own.end(), all + of_.rank_ * own.size());
    barrier();
    std::vector<std::byte> copy(all, all + of_.ranks_ * own.size());
    barrier();
    return copy;
  }

 private:
  template <typename Move>
  static void move_all(int file, std::span<std::byte> bytes, Move move) {
    while (!bytes.empty()) {
      const ssize_t moved = move(file, bytes.data(), bytes.size());
      if (moved <= 0) throw Interrupted("the pipe between the ranks broke");
      bytes = bytes.subspan(static_cast<std::size_t>(moved));
    }
  }

  ForkedRanks& of_;
};

ForkedRanks::ForkedRanks(std::uint32_t ranks, std::size_t max_gathered)
    : ranks_(ranks),
      max_gathered_(max_gathered),
      board_(BoardMapping::anonymous()),
      shared_bytes_(sizeof(SharedMemory) + ranks * max_gathered),
      pipes_(ranks) {
  void* memory =
      ::mmap(nullptr, shared_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("no memory for the ranks to share");
  shared_ = new (memory) SharedMemory;
  pthread_barrierattr_t shared;
  ::pthread_barrierattr_init(&shared);
  ::pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  ::pthread_barrier_init(&shared_->barrier, &shared, ranks);
  ::pthread_barrierattr_destroy(&shared);
  for (auto& pipe : pipes_) {
    if (::pipe(pipe.data()) != 0) fail("no pipe between the ranks");
  }
}

ForkedRanks::~ForkedRanks() {
  for (const auto& pipe : pipes_) {
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
  ::munmap(shared_, shared_bytes_);
}

std::optional<SupervisedExit> ForkedRanks::fork_all(Deadline deadline) {
  std::vector<pid_t> children;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      rank_ = rank;
      board().register_rank(rank);
      return std::nullopt;
    }
    if (child < 0) {
      for (const pid_t started : children) ::kill(started, SIGKILL);
      fail("a rank could not be forked");
    }
    children.push_back(child);
  }
  return supervise(children, ranks_, board(), deadline);
}

std::unique_ptr<ControlChannel> ForkedRanks::channel() { return std::make_unique<Channel>(*this); }

namespace {

namespace fs = std::filesystem;

constexpr const char* kBoardVariable = "P2_RANK_BOARD";
constexpr int kExecFailed = 127;

/// A unique name for the file of the board, which is removed at the end.
class BoardFile {
 public:
  BoardFile()
      : path_(
            (fs::temp_directory_path() / fmt::format("p2-verify-ranks.{}", ::getpid())).string()) {
    fs::remove(path_);
  }
  ~BoardFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  BoardFile(const BoardFile&) = delete;
  BoardFile& operator=(const BoardFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// In the child: executes mpirun, which is terminated when its parent dies.
[[noreturn]] void exec_mpirun(const std::vector<std::string>& words, const std::string& board) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::setenv(kBoardVariable, board.c_str(), 1);
  ::setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
  ::setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0);
  if (::geteuid() == 0) {
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(kExecFailed);
}

bool is_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (::access((std::string(rest.substr(0, end)) + "/" + program).c_str(), X_OK) == 0)
      return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace

bool under_mpirun() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

std::pair<std::uint32_t, std::uint32_t> local_position() {
  const auto number = [](const char* name, unsigned long otherwise) {
    const char* text = std::getenv(name);
    return static_cast<std::uint32_t>(text == nullptr ? otherwise
                                                      : std::strtoul(text, nullptr, 10));
  };
  return {number("OMPI_COMM_WORLD_LOCAL_RANK", 0), number("OMPI_COMM_WORLD_LOCAL_SIZE", 1)};
}

std::optional<BoardMapping> inherited_board() {
  const char* path = std::getenv(kBoardVariable);
  if (path == nullptr) return std::nullopt;
  return BoardMapping::opened(path);
}

SupervisedExit launch_mpirun(const std::vector<std::string>& words, std::uint32_t ranks,
                             Deadline deadline) {
  if (!is_in_path("mpirun")) {
    throw InputError({"--backend"}, "no mpirun in PATH, expected Open MPI (openmpi-bin)");
  }
  const BoardFile file;
  const BoardMapping mapping = BoardMapping::in_file(file.path());
  std::vector<std::string> command = {"mpirun", "-n", std::to_string(ranks),
                                      fs::read_symlink("/proc/self/exe").string()};
  command.insert(command.end(), words.begin(), words.end());
  const pid_t child = ::fork();
  if (child < 0) fail("mpirun");
  if (child == 0) exec_mpirun(command, file.path());
  return supervise({child}, ranks, mapping.board(), deadline);
}

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

static_assert(std::is_trivially_copyable_v<Audit>);

namespace {

/// A RankResult without its calls as bytes, equally many on all ranks: seconds, audits, strayed.
std::size_t wire_size(const Job& job) {
  return 1 + job.samples() * sizeof(double) + job.audits() * sizeof(Audit);
}

std::vector<std::byte> to_wire(const Job& job, const RankResult& result) {
  const auto seconds = std::as_bytes(std::span(result.seconds));
  const auto audits = std::as_bytes(std::span(result.audits));
  std::vector<std::byte> bytes(seconds.begin(), seconds.end());
  bytes.insert(bytes.end(), audits.begin(), audits.end());
  bytes.push_back(std::byte{result.strayed});
  invariant(bytes.size() == wire_size(job), "a rank's result differs from the agreed size");
  return bytes;
}

RankResult from_wire(const Job& job, std::span<const std::byte> bytes) {
  RankResult result;
  result.seconds.resize(job.samples());
  result.audits.resize(job.audits());
  const std::size_t times = job.samples() * sizeof(double);
  const std::size_t audits = result.audits.size() * sizeof(Audit);
  if (times > 0) std::memcpy(result.seconds.data(), bytes.data(), times);
  if (audits > 0) std::memcpy(result.audits.data(), bytes.data() + times, audits);
  result.strayed = bytes.back() != std::byte{0};
  return result;
}

}  // namespace

std::vector<RankResult> ProcessBackend::run(const Job& job) {
  channel_->set_deadline(job.deadline);
  RankResult own = run_rank(*make_rank(job), job, channel_->progress());
  const std::vector<std::byte> all = channel_->all_gather(to_wire(job, own));
  const std::size_t size = wire_size(job);
  std::vector<RankResult> results;
  for (std::uint32_t rank = 0; rank < job.work.ranks(); ++rank) {
    results.push_back(from_wire(job, std::span(all).subspan(rank * size, size)));
  }
  if (channel_->rank() < results.size()) {
    results[channel_->rank()].issued = std::move(own.issued);
  }
  return results;
}

std::size_t max_gathered_bytes(std::size_t phases, unsigned iterations) {
  return 1 + phases * iterations * sizeof(double) + (phases + 1) * sizeof(Audit);
}

void inject_into_process(InjectedFault::Kind kind) {
  if (kind == InjectedFault::Kind::Dies) ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

std::optional<GroupPosition> find_position(const std::vector<Group>& groups, std::uint32_t rank) {
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    const auto at = std::find(groups[g].begin(), groups[g].end(), rank);
    if (at == groups[g].end()) continue;
    return GroupPosition{g, static_cast<std::uint32_t>(at - groups[g].begin())};
  }
  return std::nullopt;
}

}  // namespace p2::execution
