#include "engine/execution/call_record.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/invariant.h"

namespace p2::execution {
namespace {

const Group& group_of(const Plan& plan, const Issued& issued) {
  return plan.partitions[issued.call.partition][issued.call.group];
}

std::string named(const Plan& plan, std::size_t rank, const Issued& issued) {
  return fmt::format("rank {} has {} of step {} over {{{}}} with {} elements", rank,
                     to_string(issued.call.collective), issued.step,
                     fmt::join(group_of(plan, issued), ","), issued.count);
}

/// The same call, seen from another rank.
bool matches(const Issued& a, const Issued& b) {
  Issued moved = b;
  moved.call.position = a.call.position;
  return a == moved;
}

}  // namespace

std::vector<Issued> planned_calls(const Plan& plan, std::uint32_t rank,
                                  std::size_t chunk_elements) {
  std::vector<Issued> calls;
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    const std::optional<Call>& call = plan.steps[step][rank].call;
    if (!call) continue;
    calls.push_back({static_cast<std::uint32_t>(step + 1), *call, call->rows * chunk_elements});
  }
  return calls;
}

std::vector<std::vector<Issued>> planned_calls(const Plan& plan) {
  std::vector<std::vector<Issued>> all;
  for (std::uint32_t rank = 0; rank < plan.devices; ++rank) {
    all.push_back(planned_calls(plan, rank, 1));
  }
  return all;
}

std::string record_lines(const Job& job, const std::vector<Issued>& issued) {
  std::string lines;
  for (const Issued& each : issued) {
    const bool rooted =
        each.call.collective == Collective::Reduce || each.call.collective == Collective::Broadcast;
    lines += fmt::format(
        "{{\"program\":{},\"type\":\"{}\",\"step\":{},\"collective\":\"{}\",\"group\":[{}],"
        "\"position\":{},\"count\":{},\"root\":{}}}\n",
        job.program, to_string(job.inputs.type), each.step, to_string(each.call.collective),
        fmt::join(group_of(job.plan, each), ","), each.call.position, each.count,
        rooted ? "0" : "null");
  }
  return lines;
}

std::optional<std::string> first_mismatch(const Plan& plan,
                                          const std::vector<std::vector<Issued>>& issued) {
  std::vector<std::size_t> next(issued.size(), 0);
  const auto head = [&](std::size_t rank) -> const Issued* {
    return next[rank] < issued[rank].size() ? &issued[rank][next[rank]] : nullptr;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < issued.size(); ++rank) {
      const Issued* call = head(rank);
      if (call == nullptr) continue;
      const Group& group = group_of(plan, *call);
      const bool ready = std::all_of(group.begin(), group.end(), [&](std::uint32_t other) {
        return head(other) != nullptr && matches(*call, *head(other));
      });
      if (!ready) continue;
      for (const std::uint32_t other : group) ++next[other];
      moved = true;
    }
  }
  // Of those that are stuck, the earliest: the others may only wait for it.
  std::optional<std::size_t> stuck;
  for (std::size_t rank = 0; rank < issued.size(); ++rank) {
    if (head(rank) == nullptr) continue;
    if (!stuck || head(rank)->step < head(*stuck)->step) stuck = rank;
  }
  if (!stuck) return std::nullopt;
  const Issued& call = *head(*stuck);
  for (const std::uint32_t other : group_of(plan, call)) {
    if (head(other) != nullptr && matches(call, *head(other))) continue;
    return named(plan, *stuck, call) + " to do, and " +
           (head(other) == nullptr ? fmt::format("rank {} is done", other)
                                   : named(plan, other, *head(other)));
  }
  invariant(false, "a call that all ranks of its group have to do next is not done");
  return std::nullopt;
}

}  // namespace p2::execution
