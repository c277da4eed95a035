#include "cli/run/run_backend.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <stdexcept>

#include <fmt/format.h>

#include "engine/execution/in_process.h"
#include "engine/execution/processes/gathering.h"
#include "engine/execution/processes/mpirun.h"
#ifdef P2_HAS_MPI
#include "engine/execution/mpi/mpi_backend.h"
#include "engine/execution/mpi/mpi_world.h"
#endif
#ifdef P2_HAS_NCCL
#include "engine/execution/nccl/nccl_backend.h"
#endif

namespace p2 {
namespace {

using namespace execution;

constexpr std::uint32_t kMostThreads = 256;

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

/// Throws where the machine cannot hold the buffers of all ranks, before it is driven out of
/// memory.
void require_room(const RunRequest& request) {
  const std::uint64_t there = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                              static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  const std::uint64_t most = request.common.limits.memory_bytes.value_or(there / 10 * 9);
  std::uint64_t needed = 0;
  for (const RunProgram& program : request.programs) {
    // Two buffers per rank, of rows of bytes / ranks.
    needed = std::max(needed, 2 * request.sizes.back() * plan_of(program.read.program).most_rows);
  }
  if (needed <= most) return;
  throw std::length_error(
      fmt::format("the buffers of all devices would take {} MiB of {}, "
                  "expected smaller --bytes",
                  needed >> 20U, most >> 20U));
}

std::unique_ptr<Backend> in_process(const RunRequest& request) {
  for (const RunProgram& program : request.programs) {
    if (program.read.program.devices > kMostThreads) {
      throw InputError({"--backend"}, fmt::format("{} devices, expected at most {} in one process",
                                                  program.read.program.devices, kMostThreads));
    }
  }
  require_room(request);
  return std::make_unique<InProcess>();
}

}  // namespace

void RunPlace::open(const RunRequest& request, const Arguments& arguments) {
  switch (request.backend) {
    case BackendKind::InProcess:
      backend_ = in_process(request);
      break;
    case BackendKind::Mpi:
      open_mpi(request, arguments);
      break;
    case BackendKind::Nccl:
      open_nccl(request, arguments);
      break;
  }
}

int RunPlace::sign_out(int code) {
  if (board_ == nullptr) return code;
  board_->sign_out(rank_, code);
  return 0;
}

#ifdef P2_HAS_MPI
std::unique_ptr<RankWorld> RunPlace::join_mpi(std::uint32_t ranks) {
  board_of_starter_ = board_of_starter();
  if (board_of_starter_) board_ = &board_of_starter_->board();
  auto world = mpi_world(board_);
  rank_ = world->rank();
  if (world->ranks() == ranks) return world;
  throw InputError({"mpirun"}, fmt::format("{} processes for programs of {} devices, expected a "
                                           "process per device",
                                           world->ranks(), ranks));
}

void RunPlace::open_mpi(const RunRequest& request, const Arguments& arguments) {
  const std::uint32_t ranks = ranks_of(request);
  if (request.type == ElementType::BFloat16) {
    throw InputError({"--type"}, "MPI has no bfloat16, expected float32, float64 or int32");
  }
  if (request.sizes.back() / size_of(request.type) > INT_MAX / 2) {
    throw InputError({"--bytes"}, "too many elements for one call of MPI, expected at most 2^30");
  }
  if (under_mpirun()) {
    backend_ = std::make_unique<MpiBackend>(join_mpi(ranks));
    return;
  }
  require_room(request);
  std::vector<std::string> words = {"run"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  end_ = run_under_mpirun(words, ranks, request.common.limits.deadline);
}
#else
std::unique_ptr<RankWorld> RunPlace::join_mpi(std::uint32_t) {
  throw InputError({"mpirun"}, "this build has no MPI, expected to be started without mpirun");
}

void RunPlace::open_mpi(const RunRequest&, const Arguments&) {
  throw InputError({"--backend"}, "this build has no MPI, expected in-process");
}
#endif

#ifdef P2_HAS_NCCL
void RunPlace::open_nccl(const RunRequest& request, const Arguments&) {
  const std::uint32_t ranks = ranks_of(request);
  if (under_mpirun()) {
    auto world = join_mpi(ranks);
    const auto [local_rank, local_ranks] = place_on_host();
    backend_ = std::make_unique<NcclBackend>(std::move(world), local_rank, local_ranks);
    return;
  }
  forked_ = std::make_unique<ForkedRanks>(ranks, most_gathered(request));
  auto end = forked_->fork_all(request.common.limits.deadline);
  if (end) {
    end_ = std::move(*end);
    return;
  }
  board_ = &forked_->board();
  rank_ = forked_->rank();
  backend_ = std::make_unique<NcclBackend>(forked_->world(), rank_, ranks);
}
#else
void RunPlace::open_nccl(const RunRequest&, const Arguments&) {
  throw InputError({"--backend"}, "this build has no NCCL, expected in-process");
}
#endif

}  // namespace p2
