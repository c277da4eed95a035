#include "engine/execution/processes/rank_processes.h"

#include <mpi.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "engine/base/invariant.h"
#include "engine/execution/in_process.h"
#include "engine/execution/region.h"

namespace p2::execution {

/// By the groups that the world is split into, for all jobs.
struct MpiBackend::Communicators : std::map<std::vector<Group>, MPI_Comm> {};

namespace {

using Clock = std::chrono::steady_clock;

class MpiChannel final : public ControlChannel {
 public:
  explicit MpiChannel(RankBoard* board) : board_(board) {
    ::MPI_Init(nullptr, nullptr);
    ::MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    ::MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    if (board_ != nullptr) {
      board_->register_rank(static_cast<std::uint32_t>(rank_));
    } else {
      watchdog_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
    }
  }
  ~MpiChannel() override { ::MPI_Finalize(); }
  MpiChannel(const MpiChannel&) = delete;
  MpiChannel& operator=(const MpiChannel&) = delete;

  std::uint32_t rank() const override { return static_cast<std::uint32_t>(rank_); }
  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(ranks_); }
  RankProgress& progress() override {
    return board_ != nullptr ? board_->progress[static_cast<std::size_t>(rank_)] : own_;
  }
  void set_deadline(Deadline deadline) override {
    if (deadline) deadline_ = deadline->time_since_epoch().count();
  }

  void barrier() override { ::MPI_Barrier(MPI_COMM_WORLD); }
  void broadcast(std::span<std::byte> bytes) override {
    ::MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  std::vector<std::byte> all_gather(std::span<const std::byte> own) override {
    std::vector<std::byte> all(own.size() * ranks());
    const auto size = static_cast<int>(own.size());
    ::MPI_Allgather(own.data(), size, MPI_BYTE, all.data(), size, MPI_BYTE, MPI_COMM_WORLD);
    return all;
  }

 private:
  /// Without a supervisor: ends the process, and mpirun then all others.
  void watch(const std::stop_token& stop) {
    std::uint64_t steps = 0;
    Clock::time_point last_step = Clock::now();
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const auto now = Clock::now();
      const std::uint64_t here = own_.begun + own_.ended;
      // Outside of a step it waits for others, which time out inside theirs.
      if (here != steps || own_.ended == own_.begun) last_step = now;
      steps = here;
      const std::int64_t deadline = deadline_;
      const bool late = deadline != 0 && now.time_since_epoch().count() > deadline;
      if (!late && now < last_step + kStallTimeout) continue;
      std::fprintf(stderr, "p2-verify: rank %d was %s %s when time was up\n", rank_,
                   own_.ended < own_.begun ? "inside" : "not inside", describe_step(own_).c_str());
      std::_Exit(3);
    }
  }

  int rank_ = 0;
  int ranks_ = 0;
  RankBoard* board_;
  RankProgress own_;
  std::atomic<std::int64_t> deadline_ = 0;
  std::jthread watchdog_;
};

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

class MpiRank final : public HostRank {
 public:
  MpiRank(const Workload& work, ControlChannel& channel, MpiBackend::Communicators& communicators)
      : HostRank(channel.rank(), work), channel_(channel) {
    for (const std::vector<Group>& groups : work.partitions()) {
      by_partition_.push_back(communicator(groups, communicators));
    }
  }

  void barrier() override { channel_.barrier(); }

  std::uint64_t run_collective(const Call& call, std::uint64_t elements,
                               ElementType type) override {
    MPI_Comm group = by_partition_[call.partition];
    MPI_Datatype element = datatype(type);
    const auto count = static_cast<int>(elements);
    std::byte* rows = buffer(0);
    switch (call.collective) {
      case Collective::AllReduce:
        ::MPI_Allreduce(MPI_IN_PLACE, rows, count, element, MPI_SUM, group);
        break;
      case Collective::ReduceScatter:
        ::MPI_Reduce_scatter_block(rows, buffer(1), count, element, MPI_SUM, group);
        swap();
        break;
      case Collective::AllGather:
        ::MPI_Allgather(rows, count, element, buffer(1), count, element, group);
        swap();
        break;
      case Collective::Reduce:
        if (call.position == 0) {
          ::MPI_Reduce(MPI_IN_PLACE, rows, count, element, MPI_SUM, 0, group);
        } else {
          ::MPI_Reduce(rows, nullptr, count, element, MPI_SUM, 0, group);
        }
        break;
      case Collective::Broadcast:
        ::MPI_Bcast(rows, count, element, 0, group);
        break;
    }
    return static_cast<std::uint64_t>(count);
  }

  void run_transfers(const reshard::Step& step, const Regions& regions) override {
    std::vector<std::vector<reshard::Word>> messages(step.size());
    std::vector<MPI_Request> requests(step.size());
    for (std::size_t i = 0; i < step.size(); ++i) {
      const reshard::Operation& each = step[i];
      const auto peer = static_cast<int>(each.peer);
      if (each.sends) {
        const bool source = each.buffer == reshard::Buffer::Source;
        messages[i] =
            packed(words(source ? 0 : 1), source ? regions.source : regions.destination, each.box);
        ::MPI_Isend(messages[i].data(), static_cast<int>(messages[i].size()), MPI_UINT32_T, peer, 0,
                    MPI_COMM_WORLD, &requests[i]);
      } else {
        messages[i].resize(static_cast<std::size_t>(each.box.elements()));
        ::MPI_Irecv(messages[i].data(), static_cast<int>(messages[i].size()), MPI_UINT32_T, peer, 0,
                    MPI_COMM_WORLD, &requests[i]);
      }
    }
    ::MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (!step[i].sends) unpack(messages[i], step[i].box, words(1), regions.destination);
    }
  }

  void inject(InjectedFault::Kind kind) override { inject_into_process(kind); }

 private:
  /// This rank's communicator among those of the groups: the same for every job.
  MPI_Comm communicator(const std::vector<Group>& groups, MpiBackend::Communicators& known) const {
    const auto [found, is_new] = known.try_emplace(groups, MPI_COMM_NULL);
    if (!is_new) return found->second;
    const auto position = find_position(groups, number());
    const int colour = position ? static_cast<int>(position->group) : MPI_UNDEFINED;
    const int key = position ? static_cast<int>(position->position) : 0;
    ::MPI_Comm_split(MPI_COMM_WORLD, colour, key, &found->second);
    return found->second;
  }

  ControlChannel& channel_;
  std::vector<MPI_Comm> by_partition_;
};

}  // namespace

std::unique_ptr<ControlChannel> mpi_channel(RankBoard* board) {
  return std::make_unique<MpiChannel>(board);
}

MpiBackend::MpiBackend(std::unique_ptr<ControlChannel> channel)
    : ProcessBackend(std::move(channel)), communicators_(std::make_unique<Communicators>()) {}

MpiBackend::~MpiBackend() {
  for (auto& [groups, communicator] : *communicators_) {
    if (communicator != MPI_COMM_NULL) ::MPI_Comm_free(&communicator);
  }
}

std::unique_ptr<Rank> MpiBackend::make_rank(const Job& job) {
  // MPI counts in int. All ranks refuse such a plan, so none waits for another.
  if (job.work.max_message() > INT_MAX) {
    throw InputError({fmt::format("plan {}", job.number)},
                     fmt::format("a message has {} elements, expected at most {} on MPI",
                                 job.work.max_message(), INT_MAX));
  }
  return std::make_unique<MpiRank>(job.work, channel(), *communicators_);
}

}  // namespace p2::execution
