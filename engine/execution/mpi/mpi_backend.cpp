#include "engine/execution/mpi/mpi_backend.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

#include "engine/execution/host_buffer.h"
#include "engine/execution/meeting.h"
#include "engine/execution/processes/gathering.h"
#include "engine/execution/rank_run.h"
#include "engine/invariant.h"

namespace p2::execution {
namespace {

MPI_Datatype datatype(ElementType type) {
  switch (type) {
    case ElementType::Float32:
      return MPI_FLOAT;
    case ElementType::Float64:
      return MPI_DOUBLE;
    case ElementType::Int32:
      return MPI_INT32_T;
    case ElementType::BFloat16:
      break;
  }
  invariant(false, "MPI has no bfloat16");
  return MPI_DATATYPE_NULL;
}

using Communicators = std::map<std::vector<Group>, MPI_Comm>;

class MpiRank final : public Rank {
 public:
  MpiRank(const Job& job, Communicators& communicators)
      : job_(job),
        communicators_(communicators),
        type_(datatype(job.inputs.type)),
        buffer_(job.plan.most_rows, job.row_bytes()) {
    ::MPI_Comm_rank(MPI_COMM_WORLD, &number_);
    for (const std::vector<Group>& groups : job.plan.partitions) of_.push_back(of(groups));
  }

  void fill(std::size_t bytes, const std::function<void(std::span<std::byte>)>& write) override {
    write({buffer_.rows(), bytes});
  }
  void show(std::size_t bytes,
            const std::function<void(std::span<const std::byte>)>& read) override {
    read({buffer_.rows(), bytes});
  }
  void rearrange(const Rows& from) override { buffer_.rearrange(from); }
  void meet() override { ::MPI_Barrier(MPI_COMM_WORLD); }

  std::uint64_t take_part(const Call& call) override {
    const MPI_Comm group = of_[call.partition];
    const auto count = static_cast<int>(call.rows * job_.chunk_elements);
    std::byte* rows = buffer_.rows();
    switch (call.collective) {
      case Collective::AllReduce:
        ::MPI_Allreduce(MPI_IN_PLACE, rows, count, type_, MPI_SUM, group);
        break;
      case Collective::ReduceScatter:
        ::MPI_Reduce_scatter_block(rows, buffer_.spare(), count, type_, MPI_SUM, group);
        buffer_.swap();
        break;
      case Collective::AllGather:
        ::MPI_Allgather(rows, count, type_, buffer_.spare(), count, type_, group);
        buffer_.swap();
        break;
      case Collective::Reduce:
        if (call.position == 0) {
          ::MPI_Reduce(MPI_IN_PLACE, rows, count, type_, MPI_SUM, 0, group);
        } else {
          ::MPI_Reduce(rows, nullptr, count, type_, MPI_SUM, 0, group);
        }
        break;
      case Collective::Broadcast:
        ::MPI_Bcast(rows, count, type_, 0, group);
        break;
    }
    return static_cast<std::uint64_t>(count);
  }

  void misbehave(Fault::Kind kind) override {
    if (kind == Fault::Kind::Dies) ::kill(::getpid(), SIGKILL);
    for (;;) ::pause();
  }

 private:
  /// This rank's communicator among those of the groups: in every program in which they occur.
  MPI_Comm of(const std::vector<Group>& groups) {
    const auto [known, is_new] = communicators_.try_emplace(groups, MPI_COMM_NULL);
    if (!is_new) return known->second;
    int colour = MPI_UNDEFINED;
    int key = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto at = std::find(groups[g].begin(), groups[g].end(), number_);
      if (at == groups[g].end()) continue;
      colour = static_cast<int>(g);
      key = static_cast<int>(at - groups[g].begin());
    }
    ::MPI_Comm_split(MPI_COMM_WORLD, colour, key, &known->second);
    return known->second;
  }

  const Job& job_;
  Communicators& communicators_;
  MPI_Datatype type_;
  HostBuffer buffer_;
  int number_ = 0;
  std::vector<MPI_Comm> of_;
};

}  // namespace

/// Started MPI, and what outlives a job.
class MpiBackend::World {
 public:
  explicit World(RankBoard* board) : board_(board) {
    ::MPI_Init(nullptr, nullptr);
    ::MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ::MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (board_ != nullptr) {
      board_->sign_in(static_cast<std::uint32_t>(rank));
    } else {
      watch_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
    }
  }
  ~World() {
    for (auto& [groups, communicator] : communicators) {
      if (communicator != MPI_COMM_NULL) ::MPI_Comm_free(&communicator);
    }
    ::MPI_Finalize();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  RankProgress& progress() {
    return board_ != nullptr ? board_->progress[static_cast<std::size_t>(rank)] : own_;
  }
  void set_deadline(const Job& job) {
    if (job.deadline) deadline_ = job.deadline->time_since_epoch().count();
  }

  int rank = 0;
  int ranks = 0;
  Communicators communicators;

 private:
  using Clock = std::chrono::steady_clock;

  /// Where nobody else watches: ends the process, and mpirun then all others.
  void watch(const std::stop_token& stop) {
    std::uint64_t steps = 0;
    Clock::time_point last_step = Clock::now();
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const auto now = Clock::now();
      const std::uint64_t here = own_.begun + own_.ended;
      if (here != steps) last_step = now;
      steps = here;
      const std::int64_t deadline = deadline_;
      const bool late = deadline != 0 && now.time_since_epoch().count() > deadline;
      if (!late && now < last_step + kPatience) continue;
      std::fprintf(stderr, "p2-verify: rank %d was %s step %u of program %u when time was up\n",
                   rank, own_.ended < own_.begun ? "inside" : "not inside", own_.step.load(),
                   own_.program.load());
      std::_Exit(3);
    }
  }

  RankBoard* board_;
  RankProgress own_;
  std::atomic<std::int64_t> deadline_ = 0;
  std::jthread watch_;
};

MpiBackend::MpiBackend(RankBoard* board) : world_(std::make_unique<World>(board)) {}
MpiBackend::~MpiBackend() = default;

std::uint32_t MpiBackend::rank() const { return static_cast<std::uint32_t>(world_->rank); }
std::uint32_t MpiBackend::ranks() const { return static_cast<std::uint32_t>(world_->ranks); }

std::vector<RankResult> MpiBackend::run(const Job& job) {
  world_->set_deadline(job);
  MpiRank own(job, world_->communicators);
  RankResult result = run_rank(own, rank(), job, world_->progress());
  const std::vector<std::byte> mine = packed(result);
  std::vector<std::byte> all(mine.size() * ranks());
  const auto size = static_cast<int>(mine.size());
  ::MPI_Allgather(mine.data(), size, MPI_BYTE, all.data(), size, MPI_BYTE, MPI_COMM_WORLD);
  std::vector<RankResult> results;
  for (std::uint32_t number = 0; number < ranks(); ++number) {
    results.push_back(unpacked(job, std::span(all).subspan(number * mine.size(), mine.size())));
  }
  results[rank()].issued = std::move(result.issued);
  return results;
}

}  // namespace p2::execution
