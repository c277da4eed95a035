#include "cli/run/plan_place.h"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "engine/execution/processes/mpirun.h"
#include "engine/input/input_error.h"
#include "engine/reshard/execution/in_process.h"
#ifdef P2_HAS_MPI
#include "engine/execution/mpi/mpi_world.h"
#include "engine/reshard/execution/mpi/plan_mpi.h"
#endif
#ifdef P2_HAS_NCCL
#include "engine/reshard/execution/nccl/plan_nccl.h"
#endif

namespace p2 {

using namespace execution;

namespace {

/// Throws where the machine cannot hold the buffers of all devices, before it is driven out of
/// memory.
void require_room(const std::vector<reshard::Plan>& plans, const CommonOptions& common) {
  const std::uint64_t there = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                              static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  const std::uint64_t most = common.limits.memory_bytes.value_or(there / 10 * 9);
  std::uint64_t needed = 0;
  for (const reshard::Plan& plan : plans) {
    std::uint64_t words = 0;
    for (const reshard::Layout* layout : {&plan.problem.from, &plan.problem.to}) {
      for (const reshard::Box& box : plan.problem.regions(*layout)) {
        words += static_cast<std::uint64_t>(box.elements());
      }
    }
    needed = std::max(needed, 2 * words * sizeof(reshard::Word));  // what they begin with, too
  }
  if (needed <= most) return;
  throw std::length_error(
      fmt::format("the buffers of all devices would take {} MiB of {}, expected a smaller tensor",
                  needed >> 20U, most >> 20U));
}

}  // namespace

void PlanPlace::open(const PlanRunOptions& options, const std::vector<reshard::Plan>& plans,
                     const CommonOptions& common, const Arguments& words) {
  constexpr std::uint32_t kMostThreads = 256;
  std::uint32_t ranks = 1;
  for (const reshard::Plan& plan : plans) ranks = std::max(ranks, plan.problem.devices());
  const bool threads = options.backend == BackendKind::InProcess;
  const std::uint32_t most = threads ? kMostThreads : RankBoard::kMostRanks;
  if (ranks > most) {
    throw InputError({"--backend"}, fmt::format("{} devices, expected at most {}", ranks, most));
  }
  if (!under_mpirun()) require_room(plans, common);
  switch (options.backend) {
    case BackendKind::InProcess:
      backend_ = std::make_unique<reshard::PlanInProcess>();
      break;
    case BackendKind::Mpi:
      open_mpi(ranks, common, words);
      break;
    case BackendKind::Nccl:
      open_nccl(ranks, options, common);
      break;
  }
}

int PlanPlace::sign_out(int code) {
  if (board_ == nullptr) return code;
  board_->sign_out(rank_, code);
  return 0;
}

#ifdef P2_HAS_MPI
std::unique_ptr<RankWorld> PlanPlace::join_mpi(std::uint32_t ranks) {
  board_of_starter_ = board_of_starter();
  if (board_of_starter_) board_ = &board_of_starter_->board();
  auto world = mpi_world(board_);
  rank_ = world->rank();
  if (world->ranks() >= ranks) return world;
  throw InputError({"mpirun"}, fmt::format("{} processes for plans of {} devices, expected at "
                                           "least a process per device",
                                           world->ranks(), ranks));
}

void PlanPlace::open_mpi(std::uint32_t ranks, const CommonOptions& common, const Arguments& words) {
  if (under_mpirun()) {
    backend_ = std::make_unique<reshard::PlanMpi>(join_mpi(ranks));
  } else {
    end_ = run_under_mpirun(words, ranks, common.limits.deadline);
  }
}
#else
std::unique_ptr<RankWorld> PlanPlace::join_mpi(std::uint32_t) {
  throw InputError({"mpirun"}, "this build has no MPI, expected to be started without mpirun");
}

void PlanPlace::open_mpi(std::uint32_t, const CommonOptions&, const Arguments&) {
  throw InputError({"--backend"}, "this build has no MPI, expected in-process");
}
#endif

#ifdef P2_HAS_NCCL
void PlanPlace::open_nccl(std::uint32_t ranks, const PlanRunOptions& options,
                          const CommonOptions& common) {
  if (under_mpirun()) {
    auto world = join_mpi(ranks);
    const auto [local_rank, local_ranks] = place_on_host();
    backend_ = std::make_unique<reshard::PlanNccl>(std::move(world), local_rank, local_ranks);
    return;
  }
  forked_ =
      std::make_unique<ForkedRanks>(ranks, reshard::most_gathered_of_plan(options.iterations));
  auto end = forked_->fork_all(common.limits.deadline);
  if (end) {
    end_ = std::move(*end);
    return;
  }
  board_ = &forked_->board();
  rank_ = forked_->rank();
  backend_ = std::make_unique<reshard::PlanNccl>(forked_->world(), rank_, ranks);
}
#else
void PlanPlace::open_nccl(std::uint32_t, const PlanRunOptions&, const CommonOptions&) {
  throw InputError({"--backend"}, "this build has no NCCL, expected in-process");
}
#endif

}  // namespace p2
