#include "engine/execution/processes/gathering.h"

#include <cstring>
#include <type_traits>

#include "engine/base/invariant.h"

namespace p2::execution {

static_assert(std::is_trivially_copyable_v<Audit>);

namespace {

/// How many audits every rank brings back from the job.
std::size_t audits_of(const Job& job) {
  switch (job.check) {
    case Check::Nothing:
      return 0;
    case Check::Result:
      return 1;
    case Check::Steps:
      return job.plan.steps.size() + 1;
  }
  return 0;
}

}  // namespace

std::size_t packed_size(const Job& job) {
  return 1 + job.samples() * sizeof(double) + audits_of(job) * sizeof(Audit);
}

std::size_t most_packed(std::size_t steps, unsigned iterations) {
  return 1 + steps * iterations * sizeof(double) + (steps + 1) * sizeof(Audit);
}

std::vector<std::byte> packed(const RankResult& result) {
  const auto seconds = std::as_bytes(std::span(result.seconds));
  const auto audits = std::as_bytes(std::span(result.audits));
  std::vector<std::byte> bytes(seconds.begin(), seconds.end());
  bytes.insert(bytes.end(), audits.begin(), audits.end());
  bytes.push_back(std::byte{result.strayed});
  return bytes;
}

RankResult unpacked(const Job& job, std::span<const std::byte> bytes) {
  invariant(bytes.size() == packed_size(job), "what a rank sent is not of the size agreed on");
  RankResult result;
  result.seconds.resize(job.samples());
  result.audits.resize(audits_of(job));
  const std::size_t times = job.samples() * sizeof(double);
  const std::size_t audits = result.audits.size() * sizeof(Audit);
  if (times > 0) std::memcpy(result.seconds.data(), bytes.data(), times);
  if (audits > 0) std::memcpy(result.audits.data(), bytes.data() + times, audits);
  result.strayed = bytes.back() != std::byte{0};
  return result;
}

}  // namespace p2::execution
