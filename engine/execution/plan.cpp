#include "engine/execution/plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/invariant.h"
#include "engine/program/derivation.h"
#include "engine/program/device_classes.h"
#include "engine/program/goal.h"

namespace p2::execution {
namespace {

bool is_rooted(Collective collective) {
  return collective == Collective::Reduce || collective == Collective::Broadcast;
}

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

/// The states of a program step by step, of which user-defined collectives and goals other than
/// AllReduce are made.
class StateByState {
 public:
  explicit StateByState(const Program& program)
      : states_(program.chunks()),
        kernels_(states_, program.terms.collectives, program.devices),
        before_(ends_of(program.terms.goal, program.beginning, program.classes, program.devices,
                        states_)
                    .begin),
        after_(before_) {}

  /// Whether the step, and all before it, are legal.
  bool take(const Step& step) {
    before_ = after_;
    legal_ = legal_ && !run_step(step, Dialect::Printed, after_, states_, kernels_);
    return legal_;
  }

  Rows held(std::uint32_t rank) const { return states_.sets().members(states_.held(after_[rank])); }

  /// For every position and chunk that it holds after the last step, where its addends are. Nothing
  /// for a step that no additions can do.
  std::optional<std::vector<RowSums>> sums(const Group& group,
                                           const std::vector<Rows>& held) const {
    const auto found = row_sums(states_, group, before_, after_);
    if (!found) return std::nullopt;
    std::vector<RowSums> all;
    for (const std::vector<RowSum>& rows : *found) {
      RowSums& sums = all.emplace_back();
      for (const RowSum& row : rows) {
        std::vector<Addend>& sum = sums.emplace_back();
        for (const std::uint32_t position : row.positions) {
          const Rows& there = held[group[position]];
          const auto at = std::lower_bound(there.begin(), there.end(), row.chunk) - there.begin();
          sum.push_back({position, static_cast<std::uint32_t>(at)});
        }
      }
    }
    return all;
  }

  /// The last step was not taken, and none that follows is.
  void refuse() {
    after_ = before_;
    legal_ = false;
  }

 private:
  StateTable states_;
  Kernels kernels_;
  SystemState before_;
  SystemState after_;
  bool legal_ = true;
};

class Planner {
 public:
  explicit Planner(const Program& program) : held_(program.devices) {
    if (!program.terms.of_paper()) states_.emplace(program);
    plan_.devices = program.devices;
    plan_.chunks = program.chunks();
    plan_.collectives = program.terms.collectives;
    for (std::uint32_t rank = 0; rank < program.devices; ++rank) {
      Rows& rows = held_[rank];
      if (states_) {
        rows = states_->held(rank);
      } else {
        rows.resize(program.devices);
        std::iota(rows.begin(), rows.end(), 0U);
      }
      plan_.max_rows = std::max(plan_.max_rows, static_cast<std::uint32_t>(rows.size()));
    }
    plan_.begin = held_;
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
    const bool legal = states_ && states_->take(step);
    if (!groups.empty()) {
      if (is_built_in(step.collective)) {
        const std::uint32_t partition = partition_of(groups);
        for (std::uint32_t g = 0; g < groups.size(); ++g)
          add(step.collective, groups[g], partition, g);
      } else if (legal) {
        add_defined(step.collective, groups);
      }
    }
    for (std::uint32_t rank = 0; rank < plan_.devices; ++rank) steps_[rank].held = held_[rank];
    plan_.steps.push_back(std::move(steps_));
  }

  /// A user-defined collective moves rows and adds them up as its definition says.
  void add_defined(Collective collective, const std::vector<Group>& groups) {
    std::vector<std::vector<RowSums>> sums;
    for (const Group& group : groups) {
      auto of_group = states_->sums(group, held_);
      if (!of_group) return states_->refuse();
      sums.push_back(std::move(*of_group));
    }
    const std::uint32_t partition = partition_of(groups);
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
      const Group& group = groups[g];
      Call call{collective, partition, g, 0, static_cast<std::uint32_t>(group.size()), 0};
      for (std::uint32_t i = 0; i < call.size; ++i) {
        const std::size_t most = std::max(held_[group[i]].size(), sums[g][i].size());
        call.rows = std::max(call.rows, static_cast<std::uint32_t>(most));
      }
      plan_.max_rows = std::max(plan_.max_rows, call.rows);
      for (std::uint32_t i = 0; i < call.size; ++i) {
        call.position = i;
        if (call.rows > 0) steps_[group[i]].call = call;
        steps_[group[i]].sums = std::move(sums[g][i]);
        held_[group[i]] = states_->held(group[i]);
      }
    }
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
  std::optional<StateByState> states_;
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
                     plan.collectives.name_of(issued.call.collective), issued.step,
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
    const bool rooted = is_rooted(each.call.collective);
    lines += fmt::format(
        "{{\"program\":{},\"type\":\"{}\",\"step\":{},\"collective\":\"{}\",\"group\":[{}],"
        "\"position\":{},\"count\":{},\"root\":{}}}\n",
        program, to_string(type), each.step, plan.collectives.name_of(each.call.collective),
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

namespace {

/// Counts a call of a step.
void add_call(PlanSummary::StepCalls& step, std::uint32_t ranks, std::uint32_t rows) {
  const bool of_all =
      step.collective == Collective::ReduceScatter || step.collective == Collective::AllGather;
  step.ranks = std::max(step.ranks, ranks);
  step.rows = std::max(step.rows, rows);
  step.buffer_rows = std::max(step.buffer_rows, std::uint64_t{rows} * (of_all ? ranks : 1));
}

/// Ranks are added in any order.
class RankClasses {
 public:
  void add(const PlanSummary::RankClass& each) {
    const auto [known, is_new] =
        classes_.try_emplace({each.calls, each.begins_with, each.ends_with}, each);
    if (is_new) return;
    known->second.first = std::min(known->second.first, each.first);
    known->second.ranks += each.ranks;
  }

  std::vector<PlanSummary::RankClass> by_first_rank() const {
    std::vector<PlanSummary::RankClass> all;
    for (const auto& [key, each] : classes_) all.push_back(each);
    std::ranges::sort(all, {}, &PlanSummary::RankClass::first);
    return all;
  }

 private:
  std::map<std::tuple<std::vector<PlanSummary::RankCall>, std::uint32_t, std::uint32_t>,
           PlanSummary::RankClass>
      classes_;
};

}  // namespace

PlanSummary summary_of(const Plan& plan, const std::vector<Step>& steps) {
  PlanSummary summary{plan.devices, plan.chunks, plan.max_rows,
                      static_cast<std::uint32_t>(plan.partitions.size())};
  for (const Step& step : steps) summary.steps.push_back({step.collective});
  RankClasses classes;
  for (std::uint32_t rank = 0; rank < plan.devices; ++rank) {
    PlanSummary::RankClass own{rank, 1};
    own.begins_with = own.ends_with = static_cast<std::uint32_t>(plan.begin[rank].size());
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const RankStep& step = plan.steps[i][rank];
      own.ends_with = static_cast<std::uint32_t>(step.held.size());
      if (!step.call) continue;
      const Call& call = *step.call;
      PlanSummary::StepCalls& all = summary.steps[i];
      all.communicator = call.partition;
      if (call.position == 0) ++all.groups;
      add_call(all, call.size, call.rows);
      own.calls.push_back({static_cast<std::uint32_t>(i + 1), call.size, call.rows,
                           is_rooted(call.collective) && call.position == 0});
    }
    classes.add(own);
  }
  summary.classes = classes.by_first_rank();
  return summary;
}

std::optional<PlanSummary> summary_by_patterns(const std::vector<Step>& steps, Start start,
                                               const Instance& instance) {
  DeviceClasses devices(instance, steps, start, DeviceClasses::Alike::Calls);
  if (!devices.is_small()) return std::nullopt;
  const std::uint32_t all = instance.grid.devices();
  PlanSummary summary{all, all};
  std::vector<PlanSummary::RankClass> by_class;
  for (std::uint32_t index = 0; index < devices.count(); ++index) {
    by_class.push_back({devices.first_device(index), devices.devices(index)});
    by_class.back().begins_with = devices.held(index);
    summary.max_rows = std::max(summary.max_rows, devices.held(index));
  }
  std::map<Pattern, std::uint32_t> communicators;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const Pattern& pattern = step.shape->pattern;
    const std::uint32_t size = group_size(instance.grid, pattern);
    const std::uint32_t pinned = group_size(instance.grid, {pattern.pinned, 0});
    PlanSummary::StepCalls& calls = summary.steps.emplace_back();
    calls.collective = step.collective;
    calls.groups = all / size / pinned;
    calls.communicator =
        communicators.try_emplace(pattern, static_cast<std::uint32_t>(communicators.size()))
            .first->second;
    for (std::uint32_t index = 0; index < devices.count(); ++index) {
      if (!devices.takes_part(index, pattern)) continue;
      const bool rooted = is_rooted(step.collective);
      const bool root = rooted && devices.is_root(index, pattern);
      const bool sent_by_root = step.collective == Collective::Broadcast;
      std::uint32_t rows =
          sent_by_root ? devices.held_by_root(index, pattern) : devices.held(index);
      if (step.collective == Collective::ReduceScatter) rows /= size;
      add_call(calls, size, rows);
      by_class[index].calls.push_back({static_cast<std::uint32_t>(i + 1), size, rows, root});
    }
    summary.max_rows = std::max(summary.max_rows, static_cast<std::uint32_t>(calls.buffer_rows));
    devices.take(step);
  }
  summary.communicators = static_cast<std::uint32_t>(communicators.size());
  RankClasses classes;
  for (std::uint32_t index = 0; index < devices.count(); ++index) {
    if (by_class[index].ranks == 0) continue;
    by_class[index].ends_with = devices.held(index);
    classes.add(by_class[index]);
  }
  summary.classes = classes.by_first_rank();
  return summary;
}

}  // namespace p2::execution
