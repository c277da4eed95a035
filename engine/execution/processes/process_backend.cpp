#include "engine/execution/processes/process_backend.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "engine/execution/processes/gathering.h"
#include "engine/execution/rank_run.h"

namespace p2::execution {

std::vector<RankResult> ProcessBackend::run(const Job& job) {
  world_->end_by(job.deadline);
  RankResult own = run_rank(*rank_for(job), world_->rank(), job, world_->progress());
  const std::vector<std::byte> all = world_->gather(packed(own));
  const std::size_t size = packed_size(job);
  std::vector<RankResult> results;
  for (std::uint32_t rank = 0; rank < world_->ranks(); ++rank) {
    results.push_back(unpacked(job, std::span(all).subspan(rank * size, size)));
  }
  results[world_->rank()].issued = std::move(own.issued);
  return results;
}

void misbehave_as_process(Fault::Kind kind) {
  if (kind == Fault::Kind::Dies) ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

std::optional<PlaceInGroups> place_in(const std::vector<Group>& groups, std::uint32_t rank) {
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    const auto at = std::find(groups[g].begin(), groups[g].end(), rank);
    if (at == groups[g].end()) continue;
    return PlaceInGroups{g, static_cast<std::uint32_t>(at - groups[g].begin())};
  }
  return std::nullopt;
}

}  // namespace p2::execution
