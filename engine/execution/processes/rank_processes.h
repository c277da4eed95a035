#pragma once

#include <sys/types.h>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/execution/runtime.h"

namespace p2::execution {

/// What the processes of a run exchange apart from the operations that are run. All ranks
/// call the same functions in the same order.
class ControlChannel {
 public:
  virtual ~ControlChannel() = default;

  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t ranks() const = 0;
  /// This rank's, visible to the supervisor.
  virtual RankProgress& progress() = 0;
  /// The deadline of the run, for a channel without a supervisor.
  virtual void set_deadline(Deadline /*deadline*/) {}

  virtual void barrier() = 0;
  /// The bytes of rank 0 become those of all ranks.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  /// The bytes of all ranks in order; equally many each.
  virtual std::vector<std::byte> all_gather(std::span<const std::byte> own) = 0;
};

/// A backend of which this process runs one rank.
class ProcessBackend : public Backend {
 public:
  explicit ProcessBackend(std::unique_ptr<ControlChannel> channel) : channel_(std::move(channel)) {}

  std::vector<RankResult> run(const Job& job) final;
  bool reports() const final { return channel_->rank() == 0; }
  bool runs(std::uint32_t rank) const final { return channel_->rank() == rank; }

 protected:
  virtual std::unique_ptr<Rank> make_rank(const Job& job) = 0;
  ControlChannel& channel() { return *channel_; }

 private:
  std::unique_ptr<ControlChannel> channel_;
};

/// The most bytes that a rank gathers for a job of `phases` phases.
std::size_t max_gathered_bytes(std::size_t phases, unsigned iterations);

/// Kills this process or suspends it for good.
[[noreturn]] void inject_into_process(InjectedFault::Kind kind);

/// The position of a rank in groups: colour and key of the split of a communicator.
struct GroupPosition {
  std::uint32_t group = 0;
  std::uint32_t position = 0;
};
/// Nothing for a rank that is in none of them.
std::optional<GroupPosition> find_position(const std::vector<Group>& groups, std::uint32_t rank);

/// Memory that the ranks of a run share with their supervisor: how far each has come, and how the
/// run ends.
struct RankBoard {
  static constexpr std::uint32_t kMaxRanks = 1024;

  struct ProcessState {
    std::atomic<pid_t> process = 0;    ///< 0 until the rank has registered
    std::atomic<bool> failed = false;  ///< it stopped before its work was done
    std::atomic<bool> done = false;    ///< its exit is expected
  };

  std::atomic<int> exit_code = -1;  ///< reported by rank 0 once all output is written
  std::array<RankProgress, kMaxRanks> progress;
  std::array<ProcessState, kMaxRanks> processes;

  /// Called by the process of a rank when it starts; it is killed when its parent dies.
  void register_rank(std::uint32_t rank);
  /// Called by the process of a rank before exiting. `failed`: others may wait for it in vain.
  void report_exit(std::uint32_t rank, int code, bool failed);

  std::span<const RankProgress> first(std::uint32_t ranks) const {
    return {progress.data(), ranks};
  }
};

/// A board in a memory mapping, which is unmapped at the end.
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

/// How a run of several processes ended.
struct SupervisedExit {
  std::optional<int> exit_code;  ///< reported by rank 0; nothing if the run did not complete
  std::string fault;             ///< then why, with the rank at fault where that is known
};

/// Waits for the children of this process, which run the ranks or start them. When a rank dies, the
/// deadline passes or no rank makes progress for kStallTimeout, all are terminated. None is left
/// when this returns.
SupervisedExit supervise(const std::vector<pid_t>& children, std::uint32_t ranks, RankBoard& board,
                         Deadline deadline);

/// The ranks that a run needs, where each is a process.
struct LaunchSpec {
  std::uint32_t ranks = 1;
  WorkloadKind kind = WorkloadKind::Program;
  bool extra_ranks = false;            ///< more processes than ranks are accepted
  std::size_t max_gathered_bytes = 0;  ///< by a rank after a job
  Deadline deadline = {};
  /// The arguments of this program with which mpirun starts it again as a rank.
  std::vector<std::string> command = {};
};

/// A rank's connection to the others, and its position among those on its host.
struct RankContext {
  std::unique_ptr<ControlChannel> channel;
  std::uint32_t local_rank = 0;
  std::uint32_t local_ranks = 1;
};

/// Ranks on one host, forked from this process, which supervises them. They share memory for the
/// barrier and for what is gathered; broadcasts go through pipes.
class ForkedRanks {
 public:
  /// No rank ever gathers more than `max_gathered` bytes. Throws ToolError where the system refuses
  /// memory or pipes.
  ForkedRanks(std::uint32_t ranks, std::size_t max_gathered);
  ~ForkedRanks();
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;

  /// Forks. In the parent, waits until all ranks have exited and returns how; in each rank, returns
  /// nothing at once.
  std::optional<SupervisedExit> fork_all(Deadline deadline);

  /// In a rank: its connection to the others. This object must outlive it.
  std::unique_ptr<ControlChannel> channel();
  std::uint32_t rank() const { return rank_; }
  RankBoard& board() const { return board_.board(); }

 private:
  struct SharedMemory;
  class Channel;

  std::uint32_t ranks_;
  std::size_t max_gathered_;
  std::uint32_t rank_ = 0;
  BoardMapping board_;
  std::size_t shared_bytes_;
  SharedMemory* shared_;
  std::vector<std::array<int, 2>> pipes_;  // by rank: from rank 0
};

/// Whether mpirun started this process.
bool under_mpirun();
/// Number of this process among those of the run on its host, and how many they are; 0 of 1 where
/// mpirun did not say.
std::pair<std::uint32_t, std::uint32_t> local_position();
/// The board of the process that launched mpirun; nothing if a user did.
std::optional<BoardMapping> inherited_board();

/// Has mpirun start this program with these arguments, once per rank, on this host, and supervises
/// the ranks. Throws InputError where there is no mpirun.
SupervisedExit launch_mpirun(const std::vector<std::string>& words, std::uint32_t ranks,
                             Deadline deadline);

/// The connection between the processes that mpirun started, on one host or several. MPI is
/// initialized as long as this object lives.
///
/// `board` may be null: then there is no supervisor, and a rank that waits inside a step past the
/// deadline or for kStallTimeout exits, whereupon mpirun terminates the others.
std::unique_ptr<ControlChannel> mpi_channel(RankBoard* board);

/// A process per rank, on buffers in its own memory. Collectives are those of the MPI library, on a
/// communicator per distinct set of groups. The sends and receives of a step are packed, posted in
/// order with MPI_Isend and MPI_Irecv, and completed with one MPI_Waitall.
///
/// No bfloat16. A plan with a message of more than 2^31 − 1 elements is refused with InputError
/// before it begins.
class MpiBackend final : public ProcessBackend {
 public:
  /// The channel must be that of MPI.
  explicit MpiBackend(std::unique_ptr<ControlChannel> channel);
  ~MpiBackend() override;

  struct Communicators;

 private:
  std::unique_ptr<Rank> make_rank(const Job& job) override;

  std::unique_ptr<Communicators> communicators_;
};

/// A process per rank, on buffers in the memory of its GPU, with one stream. Collectives are those
/// of NCCL on a communicator per distinct set of groups (ncclCommSplit: colour = group, key =
/// position). The sends and receives of a step are one group (ncclGroupStart, ncclGroupEnd) of
/// ncclSend and ncclRecv in order, packed and unpacked on the same stream. Several ranks share a
/// GPU where there are fewer GPUs than ranks: that is for tests.
///
/// Run on one GPU that ranks share; on several only against a stand-in for NCCL (docs/execution.md).
class NcclBackend final : public ProcessBackend {
 public:
  /// Selects GPU `local_rank` modulo their number and joins the other ranks. Throws InputError
  /// where there is no GPU, Interrupted where NCCL fails. Neither this process nor the one that it
  /// was forked from may have used CUDA before.
  NcclBackend(std::unique_ptr<ControlChannel> channel, std::uint32_t local_rank,
              std::uint32_t local_ranks);
  ~NcclBackend() override;

  class Device;

 private:
  std::unique_ptr<Rank> make_rank(const Job& job) override;

  std::unique_ptr<Device> device_;
};

}  // namespace p2::execution
