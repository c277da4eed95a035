#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/execution/audit.h"
#include "engine/execution/plan.h"
#include "engine/reshard/plans/plan.h"
#include "p2/error.h"

namespace p2::execution {

/// A run in which no rank makes progress for this long is aborted.
constexpr std::chrono::seconds kStallTimeout{300};

/// When a run is aborted; nothing: never.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// Thrown to threads that wait at a barrier that is aborted, at its deadline or stalled.
struct BarrierAborted {};

/// A barrier for threads, of which there may be many more than cores: they block, for a bounded
/// time.
class Barrier {
 public:
  Barrier(std::uint32_t threads, Deadline deadline) : threads_(threads), deadline_(deadline) {}

  /// Returns when all threads have arrived. Throws BarrierAborted when the barrier is aborted, the
  /// deadline passes, or kStallTimeout is over.
  void arrive_and_wait();
  /// Aborts all waiters, present and future.
  void abort();

 private:
  std::uint32_t threads_;
  Deadline deadline_;
  std::mutex mutex_;
  std::condition_variable released_;
  std::uint32_t arrived_ = 0;
  std::uint64_t round_ = 0;
  bool aborted_ = false;
};

}  // namespace p2::execution

/// One runtime for programs of collectives and for resharding plans. A Workload says what the ranks
/// run, a Backend how: threads (in_process.h), MPI or NCCL (mpi/, nccl/). Launch, barriers, stall
/// timeout, abort, measurement and audit are the same for both kinds of workload; the operation of
/// a step, a collective or a set of sends and receives, is the only difference.
namespace p2::execution {

/// A run that a deadline, a stall or the failure of a rank ended. The message names the rank at
/// fault where that is known.
class Interrupted : public Error {
 public:
  using Error::Error;
};

enum class WorkloadKind : std::uint8_t { Program, Plan };

/// How far a rank has come, for a supervisor, which may be another process. Counts grow over the
/// whole run.
struct RankProgress {
  std::atomic<std::uint64_t> begun = 0;  ///< steps entered
  std::atomic<std::uint64_t> ended = 0;  ///< steps left
  std::atomic<std::uint32_t> job = 0;    ///< number of the current program or plan, from 1
  std::atomic<std::uint32_t> step = 0;   ///< of it, from 1
  std::atomic<WorkloadKind> kind = WorkloadKind::Program;
};

/// `step 2 of program 1`: where a rank is.
std::string describe_step(const RankProgress& rank);

/// The rank that is farthest behind: `rank 3 did not enter step 2 of program 1, where others wait
/// for it`; where all have entered as many steps, the first one that is inside: `rank 3 entered
/// step 2 of program 1 and did not leave it`; otherwise `no rank was inside a step`.
std::string describe_stall(std::span<const RankProgress> ranks);

/// What is compared with the reference, in one more run that is not timed.
enum class Check : std::uint8_t { Nothing, Result, Steps };

/// A failure that is injected into a rank, to test that the run is aborted.
struct InjectedFault {
  enum class Kind : std::uint8_t { Dies, Hangs };

  Kind kind = Kind::Dies;
  std::uint32_t rank = 0;
  std::uint32_t step = 1;  ///< before it enters this step
};

/// The regions of the tensor that a device's two buffers hold in row-major order.
struct Regions {
  reshard::Box source;
  reshard::Box destination;
};

/// One rank of a backend: two buffers, in the memory of the host or of a GPU, and operations on
/// them. A program's compact buffer is buffer 0, what a call receives goes to buffer 1 and becomes
/// buffer 0. A plan's source is buffer 0, its destination buffer 1.
class Rank {
 public:
  explicit Rank(std::uint32_t number) : number_(number) {}
  virtual ~Rank() = default;
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  std::uint32_t number() const { return number_; }

  /// Has `fill` write the first `bytes` bytes of a buffer.
  virtual void write(std::size_t buffer, std::size_t bytes,
                     const std::function<void(std::span<std::byte>)>& fill) = 0;
  /// Shows the first `bytes` bytes of a buffer to `see`.
  virtual void read(std::size_t buffer, std::size_t bytes,
                    const std::function<void(std::span<const std::byte>)>& see) = 0;

  /// Row i of the new buffer 0 is row from[i] of the old one, or zeros.
  virtual void rearrange(const Rows& from, std::size_t row_bytes) = 0;
  /// Takes part in a collective of `count` elements, in the terms of Call::rows. Returns the count
  /// that was passed to the library.
  virtual std::uint64_t run_collective(const Call& call, std::uint64_t count, ElementType type) = 0;
  /// Takes part in a user-defined collective: row i of the new buffer 0 is the sum of the rows
  /// sums[i] of the old ones of the group. Only threads of one process do.
  virtual void run_sums(const Call& call, const RowSums& sums, std::uint64_t row_elements,
                        ElementType type);
  /// Takes part in the sends and receives of a step, which are pending at once.
  virtual void run_transfers(const reshard::Step& step, const Regions& regions) = 0;

  /// Returns when all operations are complete, on backends where they are asynchronous.
  virtual void finish() {}
  /// Returns when all ranks have arrived.
  virtual void barrier() = 0;
  /// Dies or hangs as a rank of this backend would.
  virtual void inject(InjectedFault::Kind kind) = 0;

 private:
  std::uint32_t number_;
};

/// What the ranks of a job run: ProgramRun or PlanRun. Shared by all ranks, which do not change it.
class Workload {
 public:
  virtual ~Workload() = default;

  virtual WorkloadKind kind() const = 0;
  virtual std::uint32_t ranks() const = 0;
  /// Steps of a rank, numbered from 0.
  virtual std::size_t steps(std::uint32_t rank) const = 0;
  virtual std::size_t max_steps() const = 0;
  /// Whether all ranks begin every step together, so that each can be timed and audited; otherwise
  /// they begin the first step together.
  virtual bool lockstep() const = 0;
  /// Sets of disjoint groups of ranks that collectives run on: a communicator each.
  virtual const std::vector<std::vector<Group>>& partitions() const = 0;
  /// Sizes of the two buffers of a rank.
  virtual std::array<std::size_t, 2> buffer_bytes(std::uint32_t rank) const = 0;
  /// Elements of the largest message, where the workload consists of messages; otherwise 0.
  virtual std::int64_t max_message() const = 0;
  /// Bytes of all messages of the step of a rank that has most.
  virtual std::size_t message_bytes(std::uint32_t rank) const = 0;

  /// Fills the buffers with the inputs of the rank.
  virtual void fill(Rank& rank) const = 0;
  /// Runs one step and appends its call, if it is one, to `issued`, which may be null.
  virtual void run_step(Rank& rank, std::size_t step, std::vector<Issued>* issued) const = 0;
  /// Whether the calls that a rank issued are those that the workload has for it.
  virtual bool matches(std::uint32_t rank, const std::vector<Issued>& issued) const = 0;
  /// Compares the buffer with the reference after a step; only with lockstep().
  virtual Audit audit_step(Rank& rank, std::size_t step) const = 0;
  /// Compares the buffer with the reference at the end.
  virtual Audit audit_result(Rank& rank) const = 0;

  /// Parts of a run that follow a barrier each and are timed.
  std::size_t phases() const { return lockstep() ? max_steps() : 1; }
};

/// A workload and how often it is run.
struct Job {
  const Workload& work;
  std::uint32_t number = 1;    ///< of the program or plan in the run
  unsigned warmup = 1;         ///< runs before the timed ones
  unsigned iterations = 5;     ///< timed runs
  Check check = Check::Steps;  ///< of one more run, from fresh inputs
  Deadline deadline = {};
  std::optional<InjectedFault> fault = {};

  std::size_t samples() const { return iterations * work.phases(); }
  /// How many audits every rank returns.
  std::size_t audits() const;
};

/// What one rank returns from a job.
struct RankResult {
  std::vector<double> seconds;  ///< [iteration * phases + phase]
  std::vector<Audit> audits;    ///< [step] where steps are checked, and last the result
  std::vector<Issued> issued;   ///< in the run that was checked
  bool strayed = false;         ///< the calls are not those of the workload
};

/// Mean over the timed runs of the slowest rank's seconds in a phase; 0 without timed runs.
double mean_of_slowest(const Job& job, std::span<const RankResult> results, std::size_t phase);

/// Runs the part of one rank, the same on every backend: warmup, timed runs, and one run from fresh
/// inputs that is checked. All ranks call it. A rank beyond those of the workload only takes part
/// in the barriers.
RankResult run_rank(Rank& rank, const Job& job, RankProgress& progress);

/// Something that can run jobs.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Runs the job on all its ranks. Throws Interrupted when a limit is met, a rank fails, or ranks
  /// wait for each other in a cycle; the backend must not be used afterwards.
  ///
  /// Backends of several processes have every process call it, in the same order. Each returns the
  /// times and audits of all ranks, and the calls that it issued itself.
  virtual std::vector<RankResult> run(const Job& job) = 0;
  /// Whether this process reports: always, or the process of rank 0.
  virtual bool reports() const { return true; }
  /// Whether this process runs the rank: all of them, or its own.
  virtual bool runs(std::uint32_t /*rank*/) const { return true; }
};

}  // namespace p2::execution
