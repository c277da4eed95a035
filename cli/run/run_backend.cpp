#include "cli/run/run_backend.h"

#include <algorithm>
#include <climits>

#include <fmt/format.h>

#include "engine/execution/in_process.h"
#include "engine/execution/processes/gathering.h"
#include "engine/execution/processes/mpirun.h"
#ifdef P2_HAS_MPI
#include "engine/execution/mpi/mpi_backend.h"
#endif
#ifdef P2_HAS_NCCL
#include "engine/execution/nccl/nccl_backend.h"
#endif

namespace p2 {
namespace {

using namespace execution;

constexpr std::uint32_t kMostThreads = 256;
[[maybe_unused]] constexpr const char* kPrograms = "programs";
constexpr const char* kSmaller = "smaller --bytes";

// The two below are for backends that a build may lack.

/// The devices of all programs, which must have equally many where each is a process.
[[maybe_unused]] std::uint32_t ranks_of(const RunRequest& request) {
  std::uint32_t ranks = 1;
  for (const RunProgram& program : request.programs) {
    const std::uint32_t devices = program.read.program.devices;
    if (&program != &request.programs.front() && devices != ranks) {
      throw InputError({"--backend"},
                       fmt::format("programs for {} and for {} devices, expected the same number, "
                                   "as each is a process",
                                   ranks, devices));
    }
    ranks = devices;
  }
  if (ranks > RankBoard::kMostRanks) {
    throw InputError({"--backend"}, fmt::format("{} devices, expected at most {} processes", ranks,
                                                RankBoard::kMostRanks));
  }
  return ranks;
}

/// The most bytes that a rank has to tell the others after a job of the request.
[[maybe_unused]] std::size_t most_gathered(const RunRequest& request) {
  std::size_t steps = 1;
  for (const RunProgram& program : request.programs) {
    steps = std::max(steps, program.read.program.steps.size());
  }
  return most_packed(steps, request.iterations);
}

/// The bytes of the buffers of all ranks, of the program with the largest: two per rank, of rows of
/// bytes / ranks.
std::uint64_t buffer_bytes(const RunRequest& request) {
  std::uint64_t bytes = 0;
  for (const RunProgram& program : request.programs) {
    bytes = std::max(bytes, 2 * request.sizes.back() * plan_of(program.read.program).most_rows);
  }
  return bytes;
}

void require_threads(const RunRequest& request) {
  for (const RunProgram& program : request.programs) {
    if (program.read.program.devices > kMostThreads) {
      throw InputError({"--backend"}, fmt::format("{} devices, expected at most {} in one process",
                                                  program.read.program.devices, kMostThreads));
    }
  }
}

}  // namespace

void RunPlace::open(const RunRequest& request, const Arguments& arguments) {
  switch (request.backend) {
    case BackendKind::InProcess:
      require_threads(request);
      require_memory(buffer_bytes(request), request.common.limits, kSmaller);
      backend_ = std::make_unique<InProcess>();
      break;
    case BackendKind::Mpi:
      open_mpi(request, arguments);
      break;
    case BackendKind::Nccl:
      open_nccl(request);
      break;
  }
}

#ifdef P2_HAS_MPI
void RunPlace::open_mpi(const RunRequest& request, const Arguments& arguments) {
  const std::uint32_t ranks = ranks_of(request);
  if (request.type == ElementType::BFloat16) {
    throw InputError({"--type"}, "MPI has no bfloat16, expected float32, float64 or int32");
  }
  if (request.sizes.back() / size_of(request.type) > INT_MAX / 2) {
    throw InputError({"--bytes"}, "too many elements for one call of MPI, expected at most 2^30");
  }
  if (under_mpirun()) {
    backend_ = std::make_unique<MpiBackend>(join_mpirun({ranks, kPrograms}).world);
    return;
  }
  require_memory(buffer_bytes(request), request.common.limits, kSmaller);
  std::vector<std::string> words = {"run"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  start_mpirun(words, ranks, request.common.limits);
}
#else
void RunPlace::open_mpi(const RunRequest&, const Arguments&) {
  throw InputError({"--backend"}, "this build has no MPI, expected in-process");
}
#endif

#ifdef P2_HAS_NCCL
void RunPlace::open_nccl(const RunRequest& request) {
  Seat seat =
      join_or_fork({ranks_of(request), kPrograms}, most_gathered(request), request.common.limits);
  if (!seat.world) return;
  backend_ =
      std::make_unique<NcclBackend>(std::move(seat.world), seat.local_rank, seat.local_ranks);
}
#else
void RunPlace::open_nccl(const RunRequest&) {
  throw InputError({"--backend"}, "this build has no NCCL, expected in-process");
}
#endif

}  // namespace p2
