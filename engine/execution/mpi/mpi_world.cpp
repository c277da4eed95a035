#include "engine/execution/mpi/mpi_world.h"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "engine/execution/meeting.h"

namespace p2::execution {
namespace {

using Clock = std::chrono::steady_clock;

class MpiWorld final : public RankWorld {
 public:
  explicit MpiWorld(RankBoard* board) : board_(board) {
    ::MPI_Init(nullptr, nullptr);
    ::MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    ::MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    if (board_ != nullptr) {
      board_->sign_in(static_cast<std::uint32_t>(rank_));
    } else {
      watch_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
    }
  }
  ~MpiWorld() override { ::MPI_Finalize(); }
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  std::uint32_t rank() const override { return static_cast<std::uint32_t>(rank_); }
  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(ranks_); }
  RankProgress& progress() override {
    return board_ != nullptr ? board_->progress[static_cast<std::size_t>(rank_)] : own_;
  }
  void end_by(std::optional<Clock::time_point> deadline) override {
    if (deadline) deadline_ = deadline->time_since_epoch().count();
  }

  void meet() override { ::MPI_Barrier(MPI_COMM_WORLD); }
  void share(std::span<std::byte> bytes) override {
    ::MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  std::vector<std::byte> gather(std::span<const std::byte> own) override {
    std::vector<std::byte> all(own.size() * ranks());
    const auto size = static_cast<int>(own.size());
    ::MPI_Allgather(own.data(), size, MPI_BYTE, all.data(), size, MPI_BYTE, MPI_COMM_WORLD);
    return all;
  }

 private:
  /// Where nobody else watches: ends the process, and mpirun then all others.
  void watch(const std::stop_token& stop) {
    std::uint64_t steps = 0;
    Clock::time_point last_step = Clock::now();
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const auto now = Clock::now();
      const std::uint64_t here = own_.begun + own_.ended;
      // Outside of a step it waits for those that run; whoever hangs keeps others inside theirs.
      if (here != steps || own_.ended == own_.begun) last_step = now;
      steps = here;
      const std::int64_t deadline = deadline_;
      const bool late = deadline != 0 && now.time_since_epoch().count() > deadline;
      if (!late && now < last_step + kPatience) continue;
      std::fprintf(stderr, "p2-verify: rank %d was %s step %u of program %u when time was up\n",
                   rank_, own_.ended < own_.begun ? "inside" : "not inside", own_.step.load(),
                   own_.program.load());
      std::_Exit(3);
    }
  }

  int rank_ = 0;
  int ranks_ = 0;
  RankBoard* board_;
  RankProgress own_;
  std::atomic<std::int64_t> deadline_ = 0;
  std::jthread watch_;
};

}  // namespace

std::unique_ptr<RankWorld> mpi_world(RankBoard* board) { return std::make_unique<MpiWorld>(board); }

}  // namespace p2::execution
