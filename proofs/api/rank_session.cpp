#include "proofs/api/rank_session.h"

#include <fmt/format.h>

#include "engine/execution/in_process.h"
#ifdef P2_HAS_MPI
#include "engine/execution/mpi/mpi_backend.h"
#endif
#ifdef P2_HAS_NCCL
#include "engine/execution/nccl/nccl_backend.h"
#endif

namespace p2 {

using namespace execution;

RankSession::~RankSession() {
  if (board_ != nullptr) board_->report_exit(rank_, kBadInput, true);
}

int RankSession::finish(int code) {
  if (board_ == nullptr) return code;
  // Others may wait in vain for a rank that stopped at a limit.
  board_->report_exit(rank_, code, code == kUndecided || code == kBadInput);
  board_ = nullptr;
  return 0;
}

Backend* RankSession::open(RunBackend backend, [[maybe_unused]] const LaunchSpec& spec) {
  switch (backend) {
    case RunBackend::InProcess:
      backend_ = std::make_unique<InProcess>();
      break;
    case RunBackend::Mpi: {
#ifdef P2_HAS_MPI
      if (under_mpirun()) {
        backend_ = std::make_unique<MpiBackend>(join_mpirun(spec).channel);
      } else {
        exit_ = launch_mpirun(spec.command, spec.ranks, spec.deadline);
      }
      break;
#else
      throw InputError({"--backend"}, "this build has no MPI, expected in-process");
#endif
    }
    case RunBackend::Nccl: {
#ifdef P2_HAS_NCCL
      if (std::optional<RankContext> rank = join_or_fork(spec)) {
        backend_ = std::make_unique<NcclBackend>(std::move(rank->channel), rank->local_rank,
                                                 rank->local_ranks);
      }
      break;
#else
      throw InputError({"--backend"}, "this build has no NCCL, expected in-process");
#endif
    }
  }
  return backend_.get();
}

[[maybe_unused]] RankContext RankSession::join_mpirun([[maybe_unused]] const LaunchSpec& spec) {
#ifdef P2_HAS_MPI
  inherited_board_ = inherited_board();
  if (inherited_board_) board_ = &inherited_board_->board();
  auto channel = mpi_channel(board_);
  rank_ = channel->rank();
  const bool fits =
      spec.extra_ranks ? channel->ranks() >= spec.ranks : channel->ranks() == spec.ranks;
  if (!fits) {
    throw InputError(
        {"mpirun"},
        fmt::format("{} processes for {} of {} devices, expected {}a process per device",
                    channel->ranks(), spec.kind == WorkloadKind::Program ? "programs" : "plans",
                    spec.ranks, spec.extra_ranks ? "at least " : ""));
  }
  const auto [local_rank, local_ranks] = local_position();
  return {std::move(channel), local_rank, local_ranks};
#else
  throw InputError({"mpirun"}, "this build has no MPI, expected to be started without mpirun");
#endif
}

[[maybe_unused]] std::optional<RankContext> RankSession::join_or_fork(const LaunchSpec& spec) {
  if (under_mpirun()) return join_mpirun(spec);
  forked_ = std::make_unique<ForkedRanks>(spec.ranks, spec.max_gathered_bytes);
  if (auto exit = forked_->fork_all(spec.deadline)) {
    exit_ = std::move(*exit);
    return std::nullopt;
  }
  board_ = &forked_->board();
  rank_ = forked_->rank();
  return RankContext{forked_->channel(), rank_, spec.ranks};
}

}  // namespace p2
