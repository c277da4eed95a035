#include "cli/run/plan_place.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/execution/processes/mpirun.h"
#include "p2/error.h"
#include "engine/execution/plans/in_process.h"
#ifdef P2_HAS_MPI
#include "engine/execution/mpi/plan_mpi.h"
#endif
#ifdef P2_HAS_NCCL
#include "engine/execution/nccl/plan_nccl.h"
#endif

namespace p2 {

using namespace execution;

namespace {

[[maybe_unused]] constexpr const char* kPlans = "plans";

/// The bytes of the buffers of all devices, of the plan with the largest: what they begin with,
/// too.
std::uint64_t buffer_bytes(const std::vector<reshard::Plan>& plans) {
  std::uint64_t bytes = 0;
  for (const reshard::Plan& plan : plans) {
    std::uint64_t words = 0;
    for (const reshard::Layout* layout : {&plan.problem.from, &plan.problem.to}) {
      for (const reshard::Box& box : plan.problem.regions(*layout)) {
        words += static_cast<std::uint64_t>(box.elements());
      }
    }
    bytes = std::max(bytes, 2 * words * sizeof(reshard::Word));
  }
  return bytes;
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
  if (!under_mpirun()) {
    require_memory(buffer_bytes(plans), common.limits, "a smaller tensor");
  }
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

#ifdef P2_HAS_MPI
void PlanPlace::open_mpi(std::uint32_t ranks, const CommonOptions& common, const Arguments& words) {
  if (!under_mpirun()) return start_mpirun(words, ranks, common.limits);
  backend_ = std::make_unique<reshard::PlanMpi>(join_mpirun({ranks, kPlans, true}).world);
}
#else
void PlanPlace::open_mpi(std::uint32_t, const CommonOptions&, const Arguments&) {
  throw InputError({"--backend"}, "this build has no MPI, expected in-process");
}
#endif

#ifdef P2_HAS_NCCL
void PlanPlace::open_nccl(std::uint32_t ranks, const PlanRunOptions& options,
                          const CommonOptions& common) {
  Seat seat = join_or_fork({ranks, kPlans, true},
                           reshard::most_gathered_of_plan(options.iterations), common.limits);
  if (!seat.world) return;
  backend_ =
      std::make_unique<reshard::PlanNccl>(std::move(seat.world), seat.local_rank, seat.local_ranks);
}
#else
void PlanPlace::open_nccl(std::uint32_t, const PlanRunOptions&, const CommonOptions&) {
  throw InputError({"--backend"}, "this build has no NCCL, expected in-process");
}
#endif

}  // namespace p2
