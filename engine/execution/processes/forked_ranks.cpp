#include "engine/execution/processes/forked_ranks.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <new>
#include <system_error>

#include "engine/execution/rank.h"
#include "engine/base/invariant.h"

namespace p2::execution {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

/// Where the ranks meet: a barrier that processes share.
struct ForkedRanks::Floor {
  pthread_barrier_t all_here;

  std::byte* gathered() { return reinterpret_cast<std::byte*>(this + 1); }
};

class ForkedRanks::World final : public RankWorld {
 public:
  explicit World(ForkedRanks& ranks) : of_(ranks) {}

  std::uint32_t rank() const override { return of_.rank_; }
  std::uint32_t ranks() const override { return of_.ranks_; }
  RankProgress& progress() override { return of_.board().progress[of_.rank_]; }

  void meet() override { ::pthread_barrier_wait(&of_.floor_->all_here); }

  void share(std::span<std::byte> bytes) override {
    if (of_.rank_ > 0) return move_all(of_.pipes_[of_.rank_][0], bytes, ::read);
    for (std::uint32_t rank = 1; rank < of_.ranks_; ++rank) {
      move_all(of_.pipes_[rank][1], bytes, ::write);
    }
  }

  std::vector<std::byte> gather(std::span<const std::byte> own) override {
    invariant(own.size() <= of_.most_gathered_, "a rank gathers more than was agreed on");
    std::byte* all = of_.floor_->gathered();
    std::copy(own.begin(), own.end(), all + of_.rank_ * own.size());
    meet();
    std::vector<std::byte> copy(all, all + of_.ranks_ * own.size());
    meet();
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

ForkedRanks::ForkedRanks(std::uint32_t ranks, std::size_t most_gathered)
    : ranks_(ranks),
      most_gathered_(most_gathered),
      board_(BoardMapping::anonymous()),
      floor_bytes_(sizeof(Floor) + ranks * most_gathered),
      pipes_(ranks) {
  void* memory =
      ::mmap(nullptr, floor_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("no memory for the ranks to share");
  floor_ = new (memory) Floor;
  pthread_barrierattr_t shared;
  ::pthread_barrierattr_init(&shared);
  ::pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  ::pthread_barrier_init(&floor_->all_here, &shared, ranks);
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
  ::munmap(floor_, floor_bytes_);
}

std::optional<SupervisedEnd> ForkedRanks::fork_all(
    std::optional<std::chrono::steady_clock::time_point> deadline) {
  std::vector<pid_t> children;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      rank_ = rank;
      board().sign_in(rank);
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

std::unique_ptr<RankWorld> ForkedRanks::world() { return std::make_unique<World>(*this); }

}  // namespace p2::execution
