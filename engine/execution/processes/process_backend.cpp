#include "engine/execution/processes/rank_processes.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <type_traits>

#include "engine/base/invariant.h"

namespace p2::execution {

static_assert(std::is_trivially_copyable_v<Audit>);

namespace {

/// A RankResult without its calls as bytes, equally many on all ranks: seconds, audits, strayed.
std::size_t wire_size(const Job& job) {
  return 1 + job.samples() * sizeof(double) + job.audits() * sizeof(Audit);
}

std::vector<std::byte> to_wire(const Job& job, const RankResult& result) {
  const auto seconds = std::as_bytes(std::span(result.seconds));
  const auto audits = std::as_bytes(std::span(result.audits));
  std::vector<std::byte> bytes(seconds.begin(), seconds.end());
  bytes.insert(bytes.end(), audits.begin(), audits.end());
  bytes.push_back(std::byte{result.strayed});
  invariant(bytes.size() == wire_size(job), "a rank's result differs from the agreed size");
  return bytes;
}

RankResult from_wire(const Job& job, std::span<const std::byte> bytes) {
  RankResult result;
  result.seconds.resize(job.samples());
  result.audits.resize(job.audits());
  const std::size_t times = job.samples() * sizeof(double);
  const std::size_t audits = result.audits.size() * sizeof(Audit);
  if (times > 0) std::memcpy(result.seconds.data(), bytes.data(), times);
  if (audits > 0) std::memcpy(result.audits.data(), bytes.data() + times, audits);
  result.strayed = bytes.back() != std::byte{0};
  return result;
}

}  // namespace

std::vector<RankResult> ProcessBackend::run(const Job& job) {
  channel_->set_deadline(job.deadline);
  RankResult own = run_rank(*make_rank(job), job, channel_->progress());
  const std::vector<std::byte> all = channel_->all_gather(to_wire(job, own));
  const std::size_t size = wire_size(job);
  std::vector<RankResult> results;
  for (std::uint32_t rank = 0; rank < job.work.ranks(); ++rank) {
    results.push_back(from_wire(job, std::span(all).subspan(rank * size, size)));
  }
  if (channel_->rank() < results.size()) {
    results[channel_->rank()].issued = std::move(own.issued);
  }
  return results;
}

std::size_t max_gathered_bytes(std::size_t phases, unsigned iterations) {
  return 1 + phases * iterations * sizeof(double) + (phases + 1) * sizeof(Audit);
}

void inject_into_process(InjectedFault::Kind kind) {
  if (kind == InjectedFault::Kind::Dies) ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

std::optional<GroupPosition> find_position(const std::vector<Group>& groups, std::uint32_t rank) {
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    const auto at = std::find(groups[g].begin(), groups[g].end(), rank);
    if (at == groups[g].end()) continue;
    return GroupPosition{g, static_cast<std::uint32_t>(at - groups[g].begin())};
  }
  return std::nullopt;
}

}  // namespace p2::execution
