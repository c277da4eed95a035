#include "engine/execution/processes/launch.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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

#include <fmt/format.h>

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

}  // namespace p2::execution
