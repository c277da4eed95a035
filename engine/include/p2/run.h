#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "p2/answer.h"
#include "p2/instance.h"

/// Runs programs and resharding plans on real data, compares every element with the reference, and
/// measures.
///
///   RunRequest request;
///   request.instance.hierarchy = "2,4";
///   request.instance.axes = "8";
///   request.instance.reduce = "0";
///   request.bytes = "64K";
///   const RunAnswer answer = run(request, {});
///   for (const ProgramTimes& program : answer.programs) … program.sizes[0].total.seconds …
namespace p2 {

/// What carries the ranks.
enum class RunBackend : std::uint8_t {
  InProcess,  ///< a thread per device, at most 256; needs no library
  Mpi,        ///< a process per device, started with mpirun
  Nccl        ///< a process and a GPU per device, forked or started with mpirun
};

/// Programs, or plans of reshardings, and how to run them. Texts are in the notation of the command
/// line (docs/execution.md); one that is malformed is an InputError at the flag of its name.
struct RunRequest {
  /// Program files, or plans: all of the kind of the first. None: all valid programs of `instance`,
  /// which must then have system, axes and reduction.
  std::vector<std::string> files;
  /// Plans as texts in the format `reshard-plan/1` (ReshardPlanAnswer::text); then `files` is
  /// empty.
  std::vector<std::string> plan_texts;
  InstanceSpec instance;
  RunBackend backend = RunBackend::InProcess;
  unsigned warmup = 1;      ///< runs before the timed ones
  unsigned iterations = 5;  ///< timed runs, at least 1
  bool force = false;       ///< also what is refused: then wrong data are counted
  bool dry_run = false;     ///< nothing runs: the answer's document is the plan of the run

  // For programs only. With plans, whose data are of 4 bytes each, they are refused.
  std::optional<std::uint32_t> max_steps;  ///< of a program of `instance`; default 5
  std::optional<std::string> bytes;        ///< per device: `4096`, `64M`; default `1M`
  std::optional<std::string> sizes;        ///< `1K:64M` or `1K:64M:4`; excludes `bytes`
  std::optional<std::string> type;         ///< `float32` (default), `float64`, `int32`, `bfloat16`
  std::optional<std::string> inputs;  ///< `integers` (default), whose sums are exact, or `reals`
  std::optional<std::string> check;   ///< `steps` (default), `result` or `none`
  std::optional<std::size_t> top;     ///< text: one table of so many fastest programs
  std::optional<std::string> record;  ///< a folder for the calls that each rank issued
  std::optional<std::string> fault;   ///< `die:RANK:STEP`, `hang:RANK:STEP`: injected, for tests

  /// The arguments with which this program does the same: for Mpi, where mpirun starts it again.
  std::vector<std::string> command;
};

/// A step or a whole program in the terms of nccl-tests.
struct RunTime {
  std::string collective;   ///< that its bandwidths are those of
  std::uint64_t bytes = 0;  ///< S: of the buffer; for ReduceScatter and AllGather per rank × ranks
  std::uint64_t count = 0;  ///< elements per rank, as in the call
  double seconds = 0;       ///< mean over the timed runs of the slowest rank's time
  double algbw = 0;         ///< S / seconds, in GB/s
  double busbw = 0;         ///< algbw by the factor of the collective, in GB/s
  std::optional<std::uint64_t> wrong;  ///< elements; absent: not checked, or no reference is known
};

/// An element that differs from the reference.
struct WrongValue {
  std::uint32_t rank = 0;
  std::uint32_t step = 0;     ///< from 1; 0: at the end
  std::uint64_t element = 0;  ///< of the buffer
  std::optional<double> got;  ///< absent: the rank does not hold the element
  double expected = 0;
};

/// A program on buffers of one size.
struct SizeTimes {
  std::uint64_t bytes = 0;     ///< per device, as requested
  std::uint64_t elements = 0;  ///< per device: rounded up to a multiple of the devices
  std::vector<RunTime> steps;
  RunTime total;  ///< S: the buffer of a device
  /// The goal's collective alone, in the paper AllReduce, on the same classes; its seconds are not
  /// a number where the backend has no such collective.
  RunTime allreduce;
  std::uint64_t wrong = 0;                 ///< elements, over all checks
  std::vector<WrongValue> wrong_elements;  ///< the first of them
  std::vector<std::uint32_t> strayed;      ///< ranks that issued other calls than planned
};

struct ProgramTimes {
  std::string file;      ///< empty for a program of the instance
  std::string refused;   ///< why the rules refuse it; empty if they do not
  bool skipped = false;  ///< not run, since it is refused
  std::vector<SizeTimes> sizes;
};

struct PlanTimes {
  std::string file;     ///< empty for a plan that was just made
  std::string refused;  ///< why it is wrong; empty if it is right
  bool ran = false;
  double seconds = 0;       ///< mean over the timed runs of the slowest device's time
  std::uint64_t wrong = 0;  ///< elements at the end
  std::string first_wrong;  ///< `device 3, element 17: got nothing`
};

class RankSession;

/// The outcome is Refuted if something is refused and not forced, or an element is wrong, or calls
/// strayed. A deadline, a stall or a failed rank ends a run: what was measured before stays, and a
/// diagnostic names the rank.
///
/// Where ranks are processes, this is returned in several of them: in each rank, and in the process
/// that started them, which has only the exit code. `reports` is true in one: the only process, or
/// rank 0. Every process must end with what finish() returns.
struct RunAnswer : Answer {
  std::vector<ProgramTimes> programs;
  std::vector<PlanTimes> plans;
  bool reports = true;
  /// In a process that started ranks: the exit code of rank 0, which has reported.
  std::optional<int> rank_exit_code;
  std::shared_ptr<RankSession> session;  ///< of a process that is a rank

  /// To be called once the answer is shown, with the exit code of the command: in a rank, passes it
  /// on to the process that started it. Returns what this process is to exit with.
  int finish(int exit_code) const;
};

/// Whether mpirun started this process: if p2 started mpirun, another process writes the files that
/// do not depend on the run.
bool started_by_mpirun();

/// Throws InputError, also for a backend that this build lacks, and LimitReached where the buffers
/// do not fit the memory.
RunAnswer run(const RunRequest& request, const Options& options);

}  // namespace p2
