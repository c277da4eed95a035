#include "cli/run_backend.h"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "engine/execution/in_process.h"
#include "engine/execution/processes/mpirun.h"
#ifdef P2_HAS_MPI
#include "engine/execution/mpi/mpi_backend.h"
#endif

namespace p2 {
namespace {

using namespace execution;

constexpr std::uint32_t kMostThreads = 256;

/// The devices of all programs, which must have equally many where each is a process.
std::uint32_t ranks_of(const RunRequest& request) {
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

RunPlace::RunPlace(const RunRequest& request, const Arguments& arguments) {
  switch (request.backend) {
    case BackendKind::InProcess:
      backend_ = in_process(request);
      break;
    case BackendKind::Mpi:
      open_mpi(request, arguments);
      break;
    case BackendKind::Nccl:
      throw InputError({"--backend"}, "this build has no NCCL, expected in-process or mpi");
  }
}

int RunPlace::sign_out(int code) {
  if (!board_) return code;
  board_->board().sign_out(rank_, code);
  return 0;
}

#ifdef P2_HAS_MPI
void RunPlace::open_mpi(const RunRequest& request, const Arguments& arguments) {
  const std::uint32_t ranks = ranks_of(request);
  if (request.type == ElementType::BFloat16) {
    throw InputError({"--type"}, "MPI has no bfloat16, expected float32, float64 or int32");
  }
  if (!under_mpirun()) {
    require_room(request);
    std::vector<std::string> words = {"run"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    SupervisedEnd end = run_under_mpirun(words, ranks, request.common.limits.deadline);
    exit_code_ = end.exit_code;
    fault_ = std::move(end.fault);
    return;
  }
  board_ = board_of_starter();
  auto backend = std::make_unique<MpiBackend>(board_ ? &board_->board() : nullptr);
  rank_ = backend->rank();
  if (backend->ranks() != ranks) {
    throw InputError({"mpirun"}, fmt::format("{} processes for programs of {} devices, expected a "
                                             "process per device",
                                             backend->ranks(), ranks));
  }
  backend_ = std::move(backend);
}
#else
void RunPlace::open_mpi(const RunRequest&, const Arguments&) {
  throw InputError({"--backend"}, "this build has no MPI, expected in-process or nccl");
}
#endif

}  // namespace p2
