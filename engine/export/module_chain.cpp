// Programs whose every step is one collective of XLA on the rows as they are, and the execution of
// the modules made of them by their groups: what a device holds is a run of rows, each summed over
// a set of devices.

#include <algorithm>
#include <map>
#include <utility>

#include "engine/export/module_lowering.h"
#include "engine/hlo/flow.h"

namespace p2::hlo {
namespace {

/// The rows that a device of a program holds: `first` … `first + count − 1`, or none.
struct HeldRows {
  std::int64_t first = 0;
  std::int64_t count = 0;

  bool operator==(const HeldRows&) const = default;
};

const char* opcode_of(p2::Collective collective) {
  switch (collective) {
    case p2::Collective::ReduceScatter:
      return "reduce-scatter";
    case p2::Collective::AllGather:
      return "all-gather";
    case p2::Collective::Broadcast:
      return "collective-broadcast";
    case p2::Collective::AllReduce:
    case p2::Collective::Reduce:
      break;
  }
  return "all-reduce";
}

bool may_have_unequal_groups(p2::Collective collective) {
  return collective == p2::Collective::AllReduce || collective == p2::Collective::Reduce;
}

/// The groups of a step, by first device, and the devices of none: alone or, where all groups must
/// have the same size, among themselves. Nothing if that cannot be.
std::optional<IdGroups> groups_of_all(const Step& step, std::uint32_t devices) {
  std::vector<Group> groups;
  std::vector<bool> busy(devices, false);
  for (const Group& group : step.groups) {
    if (group.size() < 2) continue;
    groups.push_back(group);
    for (const std::uint32_t device : group) busy[device] = true;
  }
  if (groups.empty()) return std::nullopt;
  std::ranges::sort(groups, {}, [](const Group& group) { return group.front(); });
  IdGroups all;
  for (const Group& group : groups) all.emplace_back(group.begin(), group.end());
  std::vector<std::int64_t> idle;
  for (std::uint32_t device = 0; device < devices; ++device) {
    if (!busy[device]) idle.push_back(device);
  }
  std::size_t width = 1;
  if (!may_have_unequal_groups(step.collective)) {
    width = groups.front().size();
    const bool equal =
        std::ranges::all_of(groups, [&](const Group& group) { return group.size() == width; });
    if (!equal || idle.size() % width != 0) return std::nullopt;
  }
  for (std::size_t i = 0; i < idle.size(); i += width) {
    all.emplace_back(idle.begin() + static_cast<std::ptrdiff_t>(i),
                     idle.begin() + static_cast<std::ptrdiff_t>(i + width));
  }
  return all;
}

/// Runs a step on the rows of a group, all of which that hold any hold `rows`; the rows that each
/// holds afterwards. Nothing if rows would have to be rearranged.
std::optional<std::vector<HeldRows>> run_group(p2::Collective collective,
                                               const std::vector<HeldRows>& before,
                                               std::int64_t rows) {
  const auto n = static_cast<std::int64_t>(before.size());
  const HeldRows root = before.front();
  std::vector<HeldRows> after = before;
  if (root.count != rows) return std::nullopt;
  if (collective == p2::Collective::Broadcast) return std::vector(before.size(), root);
  if (collective == p2::Collective::AllGather) {
    for (std::int64_t i = 0; i < n; ++i) {
      const HeldRows next{root.first + i * rows, rows};
      if (before[static_cast<std::size_t>(i)] != next) return std::nullopt;
    }
    return std::vector(before.size(), HeldRows{root.first, n * rows});
  }
  if (std::ranges::find_if_not(before, [&](const HeldRows& each) { return each == root; }) !=
      before.end()) {
    return std::nullopt;
  }
  if (collective == p2::Collective::Reduce) {
    std::fill(after.begin() + 1, after.end(), HeldRows{});
  } else if (collective == p2::Collective::ReduceScatter) {
    if (rows % n != 0) return std::nullopt;
    for (std::int64_t i = 0; i < n; ++i) {
      after[static_cast<std::size_t>(i)] = {root.first + i * (rows / n), rows / n};
    }
  }
  return after;
}

}  // namespace

std::optional<std::vector<ChainStep>> chain_of(const Program& program) {
  std::vector<HeldRows> held(program.devices, HeldRows{0, program.chunks()});
  std::vector<ChainStep> chain;
  std::int64_t rows = program.chunks();
  for (const Step& step : program.steps) {
    if (!is_built_in(step.collective)) return std::nullopt;
    auto groups = groups_of_all(step, program.devices);
    if (!groups) return std::nullopt;
    std::vector<HeldRows> after(program.devices);
    for (const Group& group : step.groups) {
      if (group.size() < 2) continue;
      std::vector<HeldRows> before;
      for (const std::uint32_t device : group) before.push_back(held[device]);
      const auto of_group = run_group(step.collective, before, rows);
      if (!of_group) return std::nullopt;
      for (std::size_t i = 0; i < group.size(); ++i) {
        after[group[i]] = (*of_group)[i];
        held[group[i]] = {};
      }
    }
    // The devices of no group would have to keep their rows.
    if (std::ranges::any_of(held, [](const HeldRows& each) { return each.count > 0; })) {
      return std::nullopt;
    }
    held = std::move(after);
    rows = std::ranges::max(held, {}, &HeldRows::count).count;
    if (std::ranges::any_of(
            held, [&](const HeldRows& each) { return each.count != 0 && each.count != rows; })) {
      return std::nullopt;
    }
    chain.push_back({opcode_of(step.collective), std::move(*groups), rows});
  }
  return chain;
}

namespace {

/// Sets of devices, interned.
class DeviceSets {
 public:
  std::uint32_t intern(std::vector<std::uint32_t> ascending) {
    const auto next = static_cast<std::uint32_t>(sets_.size());
    const auto [known, is_new] = ids_.try_emplace(std::move(ascending), next);
    if (is_new) sets_.push_back(&known->first);
    return known->second;
  }

  /// The union of pairwise disjoint sets; nothing if two meet.
  std::optional<std::uint32_t> disjoint_union(const std::vector<std::uint32_t>& ids) {
    std::vector<std::uint32_t> all;
    for (const std::uint32_t id : ids) all.insert(all.end(), sets_[id]->begin(), sets_[id]->end());
    std::ranges::sort(all);
    if (std::ranges::adjacent_find(all) != all.end()) return std::nullopt;
    return intern(std::move(all));
  }

 private:
  std::map<std::vector<std::uint32_t>, std::uint32_t> ids_;
  std::vector<const std::vector<std::uint32_t>*> sets_;
};

/// The value of a node on a device: the rows `first` … of the input, as many as its shape says,
/// each summed over the same devices.
struct SummedRows {
  std::int64_t first = 0;
  std::uint32_t devices = 0;  ///< of DeviceSets

  bool operator==(const SummedRows&) const = default;
};

/// Executes a chain on all devices.
class ChainExecution {
 public:
  ChainExecution(const Flow& flow, const Limits& limits) : flow_(flow), limits_(limits) {}

  bool computes_all_reduce(const std::vector<std::vector<std::uint32_t>>& classes) {
    if (flow_.inputs.size() != 1 || flow_.outputs.size() != 1) return false;
    if (flow_.inputs[0].sizes.size() != 1) return false;
    for (const Node& node : flow_.nodes) {
      if (limits_.exceeded(0) || !execute(node)) return false;
    }
    const Ref output = flow_.outputs[0];
    if (!flow_.shape(output).same_sizes(flow_.inputs[0])) return false;
    const std::vector<SummedRows>& result = values_[output.node];
    for (const std::vector<std::uint32_t>& members : classes) {
      std::vector<std::uint32_t> ascending = members;
      std::ranges::sort(ascending);
      const SummedRows wanted{0, sets_.intern(std::move(ascending))};
      for (const std::uint32_t device : members) {
        if (result[device] != wanted) return false;
      }
    }
    return true;
  }

 private:
  bool execute(const Node& node) {
    const std::uint32_t devices = flow_.devices.count();
    std::vector<SummedRows>& value = values_.emplace_back(devices);
    if (node.outputs.size() != 1 || node.outputs[0].sizes.size() != 1) return false;
    if (node.op == Op::Parameter) {
      for (std::uint32_t device = 0; device < devices; ++device) {
        value[device] = {0, sets_.intern({device})};
      }
      return true;
    }
    const bool sums = node.op == Op::AllReduce || node.op == Op::ReduceScatter;
    const bool moves = node.op == Op::AllGather || node.op == Op::CollectiveBroadcast;
    if ((!sums && !moves) || (sums && node.reducer != Reducer::Add)) return false;
    if (node.operands.size() != 1 || node.collective == kNone) return false;
    const Collective& collective = flow_.collectives[node.collective];
    const bool covers = std::ranges::find(collective.group, kNone) == collective.group.end();
    if (!covers || flow_.shape(node.operands[0]).type != node.outputs[0].type) return false;
    const std::vector<SummedRows>& operand = values_[node.operands[0].node];
    const std::int64_t rows = flow_.shape(node.operands[0]).sizes[0];
    return std::ranges::all_of(collective.groups, [&](const std::vector<std::uint32_t>& group) {
      return run(node, group, operand, rows, value);
    });
  }

  /// `rows` are those of the operand.
  bool run(const Node& node, const std::vector<std::uint32_t>& group,
           const std::vector<SummedRows>& operand, std::int64_t rows,
           std::vector<SummedRows>& value) {
    const auto n = static_cast<std::int64_t>(group.size());
    const std::int64_t result_rows = node.outputs[0].sizes[0];
    const SummedRows root = operand[group.front()];
    if (node.op == Op::CollectiveBroadcast) {
      for (const std::uint32_t device : group) value[device] = root;
      return result_rows == rows;
    }
    if (node.op == Op::AllGather) {
      for (std::int64_t i = 0; i < n; ++i) {
        const std::uint32_t device = group[static_cast<std::size_t>(i)];
        if (operand[device] != SummedRows{root.first + i * rows, root.devices}) return false;
        value[device] = root;
      }
      return result_rows == n * rows;
    }
    std::vector<std::uint32_t> sets;
    for (const std::uint32_t device : group) {
      if (operand[device].first != root.first) return false;
      sets.push_back(operand[device].devices);
    }
    const std::optional<std::uint32_t> sum = sets_.disjoint_union(sets);
    if (!sum) return false;
    const bool scatters = node.op == Op::ReduceScatter;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t first = root.first + (scatters ? i * result_rows : 0);
      value[group[static_cast<std::size_t>(i)]] = {first, *sum};
    }
    return scatters ? result_rows * n == rows : result_rows == rows;
  }

  const Flow& flow_;
  const Limits& limits_;
  DeviceSets sets_;
  std::vector<std::vector<SummedRows>> values_;  // by node and device
};

}  // namespace

bool is_all_reduce_chain(const std::shared_ptr<const Module>& module, const Devices& devices,
                         const std::vector<std::vector<std::uint32_t>>& classes,
                         const Limits& limits) {
  Fingerprints fingerprints;
  try {
    const Flow flow = flow_of(module, devices, fingerprints, limits);
    return ChainExecution(flow, limits).computes_all_reduce(classes);
  } catch (const IllFormed&) {
    return false;
  }
}

}  // namespace p2::hlo
