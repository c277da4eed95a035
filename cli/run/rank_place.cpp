#include "cli/run/rank_place.h"

#include <unistd.h>

#include <ostream>
#include <stdexcept>

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "engine/execution/backend.h"
#include "engine/execution/processes/mpirun.h"
#include "p2/error.h"
#ifdef P2_HAS_MPI
#include "engine/execution/mpi/mpi_world.h"
#endif

namespace p2 {

using namespace execution;

int RankPlace::run(const std::function<std::optional<int>()>& there, std::ostream& err) {
  try {
    if (const auto code = there()) return sign_out(*code, *code == kUndecided);
  } catch (const InputError&) {  // mostly all ranks meet it, and one says it
    const int code = sign_out(kBadInput, true);
    if (rank_ > 0) return code;
    throw;
  } catch (const Interrupted& end) {
    err << "p2-verify: " << end.what() << "\n";
    return sign_out(kUndecided, true);
  }
  if (!end_.fault.empty()) err << "p2-verify: " << end_.fault << "\n";
  return end_.exit_code.value_or(kUndecided);
}

int RankPlace::sign_out(int code, bool failed) {
  if (board_ == nullptr) return code;
  board_->sign_out(rank_, code, failed);
  return 0;
}

RankPlace::Seat RankPlace::join_mpirun([[maybe_unused]] const Crew& crew) {
#ifdef P2_HAS_MPI
  board_of_starter_ = board_of_starter();
  if (board_of_starter_) board_ = &board_of_starter_->board();
  auto world = mpi_world(board_);
  rank_ = world->rank();
  const bool fits =
      crew.more_may_come ? world->ranks() >= crew.ranks : world->ranks() == crew.ranks;
  if (!fits) {
    throw InputError(
        {"mpirun"},
        fmt::format("{} processes for {} of {} devices, expected {}a process per "
                    "device",
                    world->ranks(), crew.of, crew.ranks, crew.more_may_come ? "at least " : ""));
  }
  const auto [local_rank, local_ranks] = place_on_host();
  return {std::move(world), local_rank, local_ranks};
#else
  throw InputError({"mpirun"}, "this build has no MPI, expected to be started without mpirun");
#endif
}

void RankPlace::start_mpirun(const std::vector<std::string>& words, std::uint32_t ranks,
                             const Limits& limits) {
  end_ = run_under_mpirun(words, ranks, limits.deadline);
}

RankPlace::Seat RankPlace::join_or_fork(const Crew& crew, std::size_t most_gathered,
                                        const Limits& limits) {
  if (under_mpirun()) return join_mpirun(crew);
  forked_ = std::make_unique<ForkedRanks>(crew.ranks, most_gathered);
  if (auto end = forked_->fork_all(limits.deadline)) {
    end_ = std::move(*end);
    return {};
  }
  board_ = &forked_->board();
  rank_ = forked_->rank();
  return {forked_->world(), rank_, crew.ranks};
}

void RankPlace::require_memory(std::uint64_t bytes, const Limits& limits, const char* expected) {
  const std::uint64_t there = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                              static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  const std::uint64_t most = limits.memory_bytes.value_or(there / 10 * 9);
  if (bytes <= most) return;
  throw std::length_error(
      fmt::format("the buffers of all devices would take {} MiB of {}, expected {}", bytes >> 20U,
                  most >> 20U, expected));
}

}  // namespace p2
