#include "engine/execution/plan.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/invariant.h"

namespace p2::execution {
namespace {

Rows united(const Group& group, const std::vector<Rows>& held) {
  Rows all;
  for (const std::uint32_t rank : group)
    all.insert(all.end(), held[rank].begin(), held[rank].end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// The rearrangement of a buffer that holds `held` into `rows` rows that start with the chunks
/// `wanted`; nothing if there is nothing to move.
std::optional<Rows> arrangement(const Rows& held, const Rows& wanted, std::size_t rows) {
  if (held == wanted && rows == wanted.size()) return std::nullopt;
  Rows from(rows, kZeros);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto at = std::lower_bound(held.begin(), held.end(), wanted[i]);
    if (at != held.end() && *at == wanted[i]) {
      from[i] = static_cast<std::uint32_t>(at - held.begin());
    }
  }
  return from;
}

/// The rearrangement into the chunks `all` of what the ranks of the group contributed, `rows` rows
/// each; nothing if they are already in order.
std::optional<Rows> merging(const Group& group, const std::vector<Rows>& held, const Rows& all,
                            std::uint32_t rows) {
  Rows from(all.size(), kZeros);
  for (std::size_t i = group.size(); i-- > 0;) {
    const Rows& brought = held[group[i]];
    for (std::size_t j = 0; j < brought.size(); ++j) {
      const auto at = std::lower_bound(all.begin(), all.end(), brought[j]) - all.begin();
      from[static_cast<std::size_t>(at)] = static_cast<std::uint32_t>(i * rows + j);
    }
  }
  Rows in_order(all.size());
  std::iota(in_order.begin(), in_order.end(), 0U);
  return from == in_order ? std::nullopt : std::optional(from);
}

class Planner {
 public:
  explicit Planner(const Program& program) : held_(program.devices) {
    plan_.devices = program.devices;
    plan_.max_rows = program.devices;
    for (Rows& rows : held_) {
      rows.resize(program.devices);
      std::iota(rows.begin(), rows.end(), 0U);
    }
    for (const Step& step : program.steps) add(step);
  }

  Plan take() && { return std::move(plan_); }

 private:
  void add(const Step& step) {
    std::vector<Group> groups;
    for (const Group& group : step.groups) {
      if (group.size() > 1) groups.push_back(group);
    }
    steps_.assign(plan_.devices, {});
    if (!groups.empty()) {
      const std::uint32_t partition = partition_of(groups);
      for (std::uint32_t g = 0; g < groups.size(); ++g)
        add(step.collective, groups[g], partition, g);
    }
    for (std::uint32_t rank = 0; rank < plan_.devices; ++rank) steps_[rank].held = held_[rank];
    plan_.steps.push_back(std::move(steps_));
  }

  std::uint32_t partition_of(const std::vector<Group>& groups) {
    const auto known = std::find(plan_.partitions.begin(), plan_.partitions.end(), groups);
    const auto index = static_cast<std::uint32_t>(known - plan_.partitions.begin());
    if (known == plan_.partitions.end()) plan_.partitions.push_back(groups);
    return index;
  }

  void add(Collective collective, const Group& group, std::uint32_t partition,
           std::uint32_t index) {
    const auto size = static_cast<std::uint32_t>(group.size());
    const Rows all = collective == Collective::Broadcast ? held_[group[0]] : united(group, held_);
    const auto rows = static_cast<std::uint32_t>(all.size());
    Call call{collective, partition, index, 0, size, rows};
    if (collective == Collective::ReduceScatter) call.rows = (rows + size - 1) / size;
    if (collective == Collective::AllGather) {
      call.rows = 0;
      for (const std::uint32_t rank : group) {
        call.rows = std::max(call.rows, static_cast<std::uint32_t>(held_[rank].size()));
      }
    }
    std::vector<Rows> after(size, all);
    for (std::uint32_t i = 0; i < size; ++i) {
      RankStep& step = steps_[group[i]];
      if (call.rows > 0) {
        call.position = i;
        step.call = call;
        step.pack = packing(call, held_[group[i]], all);
        if (collective == Collective::AllGather)
          step.unpack = merging(group, held_, all, call.rows);
      }
      if (collective == Collective::Reduce && i > 0) after[i].clear();
      if (collective == Collective::ReduceScatter) after[i] = block(all, i, call.rows);
    }
    const bool packed = std::any_of(group.begin(), group.end(), [&](std::uint32_t rank) {
      return steps_[rank].call && steps_[rank].pack;
    });
    for (const std::uint32_t rank : group) {
      if (steps_[rank].call) steps_[rank].call->packed = packed;
    }
    for (std::uint32_t i = 0; i < size; ++i) held_[group[i]] = std::move(after[i]);
    const bool of_all =
        collective == Collective::ReduceScatter || collective == Collective::AllGather;
    plan_.max_rows = std::max(plan_.max_rows, of_all ? call.rows * size : call.rows);
  }

  static std::optional<Rows> packing(const Call& call, const Rows& held, const Rows& all) {
    switch (call.collective) {
      case Collective::AllReduce:
      case Collective::Reduce:
        return arrangement(held, all, call.rows);
      case Collective::ReduceScatter:
        return arrangement(held, all, std::size_t{call.rows} * call.size);
      case Collective::AllGather:
        return arrangement(held, held, call.rows);
      case Collective::Broadcast:
        return std::nullopt;
    }
    return std::nullopt;
  }

  static Rows block(const Rows& all, std::size_t i, std::size_t rows) {
    const std::size_t begin = std::min(i * rows, all.size());
    const std::size_t end = std::min(begin + rows, all.size());
    return {all.begin() + static_cast<std::ptrdiff_t>(begin),
            all.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  Plan plan_;
  std::vector<Rows> held_;
  std::vector<RankStep> steps_;
};

}  // namespace

Plan plan_of(const Program& program) { return Planner(program).take(); }

namespace {

const Group& group_of(const Plan& plan, const Issued& issued) {
  return plan.partitions[issued.call.partition][issued.call.group];
}

std::string named(const Plan& plan, std::size_t rank, const Issued& issued) {
  return fmt::format("rank {} has {} of step {} over {{{}}} with {} elements", rank,
                     to_string(issued.call.collective), issued.step,
                     fmt::join(group_of(plan, issued), ","), issued.count);
}

/// Whether two ranks make the same call.
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

std::string record_lines(const Plan& plan, std::uint32_t program, ElementType type,
                         const std::vector<Issued>& issued) {
  std::string lines;
  for (const Issued& each : issued) {
    const bool rooted =
        each.call.collective == Collective::Reduce || each.call.collective == Collective::Broadcast;
    lines += fmt::format(
        "{{\"program\":{},\"type\":\"{}\",\"step\":{},\"collective\":\"{}\",\"group\":[{}],"
        "\"position\":{},\"count\":{},\"root\":{}}}\n",
        program, to_string(type), each.step, to_string(each.call.collective),
        fmt::join(group_of(plan, each), ","), each.call.position, each.count,
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
  // Of the blocked calls the earliest: the others may only be waiting for it.
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
