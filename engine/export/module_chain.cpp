// Programs whose every step is one collective of XLA on the rows that a device holds, in an order
// that all devices share, and the execution of the modules made of them by their groups: what a
// device holds are rows from a first one on, each summed over a set of devices.

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "engine/export/module_lowering.h"
#include "engine/hlo/flow.h"

namespace p2::hlo {
namespace {

/// The order of the rows in a vector, relative to its first row: they count in a mixed radix, whose
/// digits stand for so many rows each, the one that changes last in front.
struct RowDigit {
  std::int64_t rows = 1;
  std::int64_t size = 1;

  bool operator==(const RowDigit&) const = default;
};
using RowOrder = std::vector<RowDigit>;

/// The same order in the fewest digits.
RowOrder merged(const RowOrder& order) {
  RowOrder all;
  for (const RowDigit& digit : order) {
    if (digit.size == 1) continue;
    if (!all.empty() && all.back().rows == digit.rows * digit.size) {
      all.back() = {digit.rows, all.back().size * digit.size};
    } else {
      all.push_back(digit);
    }
  }
  return all;
}

RowOrder joined(RowOrder front, const RowOrder& back) {
  front.insert(front.end(), back.begin(), back.end());
  return merged(front);
}

/// The digits in front that count to `parts`, and the others; nothing if a digit would have to be
/// cut where it cannot be.
std::optional<std::pair<RowOrder, RowOrder>> cut(const RowOrder& order, std::int64_t parts) {
  std::pair<RowOrder, RowOrder> halves;
  for (const RowDigit& digit : order) {
    const std::int64_t front = std::gcd(parts, digit.size);
    if (parts > 1 && front != parts && front != digit.size) return std::nullopt;
    parts /= front;
    if (front > 1) halves.first.push_back({digit.rows * (digit.size / front), front});
    if (front < digit.size) halves.second.push_back({digit.rows, digit.size / front});
  }
  if (parts != 1) return std::nullopt;
  return halves;
}

/// The first rows of all parts that digits count, in order.
std::vector<std::int64_t> offsets_of(const RowOrder& order) {
  std::vector<std::int64_t> offsets = {0};
  for (const RowDigit& digit : order) {
    std::vector<std::int64_t> all;
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < digit.size; ++i) all.push_back(offset + i * digit.rows);
    }
    offsets = std::move(all);
  }
  return offsets;
}

/// The digits that count rows; nothing if none do.
std::optional<RowOrder> order_of(const std::vector<std::int64_t>& rows) {
  RowOrder order;
  for (std::size_t length = 1; length < rows.size();) {
    RowDigit digit{rows[length] - rows[0], 1};
    while (length * static_cast<std::size_t>(digit.size) < rows.size() &&
           rows[length * static_cast<std::size_t>(digit.size)] - rows[0] ==
               digit.size * digit.rows) {
      ++digit.size;
    }
    length *= static_cast<std::size_t>(digit.size);
    order.insert(order.begin(), digit);
  }
  const std::vector<std::int64_t> counted = offsets_of(order);
  const bool same = std::ranges::equal(rows, counted, [&](std::int64_t row, std::int64_t offset) {
    return row == rows[0] + offset;
  });
  return same ? std::optional(order) : std::nullopt;
}

/// The rows that a device of a program holds: so many from the first one on, or none.
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

/// The rows of the devices of a program after some of its steps.
struct RowsOfAll {
  std::vector<HeldRows> held;  ///< by device
  RowOrder order;              ///< of the rows of every device that holds any
  std::int64_t rows = 0;       ///< of the same

  bool scatter(const std::vector<std::uint32_t>& group, std::vector<HeldRows>& after) const;
  bool gather(const std::vector<std::uint32_t>& group, std::vector<HeldRows>& after,
              std::optional<RowOrder>& gathered) const;
  bool run_group(p2::Collective collective, const std::vector<std::uint32_t>& group,
                 std::vector<HeldRows>& after, std::optional<RowOrder>& gathered) const;
  bool run(const Step& step);
  bool rearrange(ChainStep& step);
};

bool RowsOfAll::scatter(const std::vector<std::uint32_t>& group,
                        std::vector<HeldRows>& after) const {
  const auto n = static_cast<std::int64_t>(group.size());
  const auto halves = cut(order, n);
  if (!halves) return false;
  const std::vector<std::int64_t> offsets = offsets_of(halves->first);
  for (std::size_t i = 0; i < group.size(); ++i) {
    after[group[i]] = {held[group[0]].first + offsets[i], rows / n};
  }
  return true;
}

/// `gathered`: the digits that count the members of the groups before; all have to be alike.
bool RowsOfAll::gather(const std::vector<std::uint32_t>& group, std::vector<HeldRows>& after,
                       std::optional<RowOrder>& gathered) const {
  std::vector<std::int64_t> firsts;
  for (const std::uint32_t device : group) {
    if (held[device].count != rows) return false;
    firsts.push_back(held[device].first);
  }
  const auto members = order_of(firsts);
  if (!members || (gathered && *gathered != *members)) return false;
  gathered = members;
  const auto n = static_cast<std::int64_t>(group.size());
  for (const std::uint32_t device : group) after[device] = {firsts[0], n * rows};
  return true;
}

/// Runs a step on the rows of a group. Whether that is a collective of XLA on the rows as they are.
bool RowsOfAll::run_group(p2::Collective collective, const std::vector<std::uint32_t>& group,
                          std::vector<HeldRows>& after, std::optional<RowOrder>& gathered) const {
  const HeldRows root = held[group[0]];
  if (root.count != rows) return false;
  if (collective == p2::Collective::AllGather) return gather(group, after, gathered);
  for (const std::uint32_t device : group) {
    if (collective != p2::Collective::Broadcast && held[device] != root) return false;
    const bool keeps = collective != p2::Collective::Reduce || device == group[0];
    after[device] = keeps ? root : HeldRows{};
  }
  return collective != p2::Collective::ReduceScatter || scatter(group, after);
}

bool RowsOfAll::run(const Step& step) {
  std::vector<HeldRows> after(held.size());
  std::vector<bool> busy(held.size());
  std::optional<RowOrder> gathered;
  for (const Group& group : step.groups) {
    if (group.size() < 2) continue;
    if (!run_group(step.collective, group, after, gathered)) return false;
    for (const std::uint32_t device : group) busy[device] = true;
  }
  // A sum leaves the devices of no group what they have; of other collectives they are in groups.
  const bool keeps = may_have_unequal_groups(step.collective);
  for (std::size_t device = 0; device < held.size(); ++device) {
    if (busy[device] || held[device].count == 0) continue;
    if (!keeps) return false;
    after[device] = held[device];
  }
  if (step.collective == p2::Collective::ReduceScatter) {
    order =
        cut(order,
            static_cast<std::int64_t>(rows / std::ranges::max(after, {}, &HeldRows::count).count))
            ->second;
  }
  if (gathered) order = joined(*gathered, order);
  held = std::move(after);
  rows = std::ranges::max(held, {}, &HeldRows::count).count;
  return std::ranges::all_of(
      held, [&](const HeldRows& each) { return each.count == 0 || each.count == rows; });
}

/// Puts the rows in ascending order. Nothing is done where they are.
bool RowsOfAll::rearrange(ChainStep& step) {
  RowOrder ascending = order;
  std::ranges::stable_sort(ascending, std::ranges::greater(), &RowDigit::rows);
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    const std::int64_t below =
        i + 1 < ascending.size() ? ascending[i + 1].rows * ascending[i + 1].size : 1;
    if (ascending[i].rows < below) return false;
  }
  if (ascending == order) return true;
  for (const RowDigit& digit : order) step.sizes.push_back(digit.size);
  for (const RowDigit& digit : ascending) {
    step.permutation.push_back(std::ranges::find(order, digit) - order.begin());
  }
  order = merged(ascending);
  return true;
}

}  // namespace

std::optional<std::vector<ChainStep>> chain_of(const Program& program) {
  const std::int64_t chunks = program.chunks();
  RowsOfAll all{std::vector(program.devices, HeldRows{0, chunks}), merged({{1, chunks}}), chunks};
  std::vector<ChainStep> chain;
  for (const Step& step : program.steps) {
    if (!is_built_in(step.collective)) return std::nullopt;
    auto groups = groups_of_all(step, program.devices);
    if (!groups) return std::nullopt;
    ChainStep& link = chain.emplace_back();
    if (step.collective == p2::Collective::ReduceScatter && !all.rearrange(link)) {
      return std::nullopt;
    }
    if (!all.run(step)) return std::nullopt;
    link.opcode = opcode_of(step.collective);
    link.groups = std::move(*groups);
    link.rows = all.rows;
  }
  ChainStep last;
  if (!all.rearrange(last)) return std::nullopt;
  if (!last.sizes.empty()) chain.push_back(std::move(last));
  return chain;
}

namespace {

/// Sets of devices, interned. The first are those of one device each.
class DeviceSets {
 public:
  explicit DeviceSets(std::uint32_t devices) : devices_(devices) {}

  std::uint32_t intern(std::vector<std::uint32_t> ascending) {
    if (ascending.size() == 1) return ascending[0];
    const auto next = static_cast<std::uint32_t>(devices_ + sets_.size());
    const auto [known, is_new] = ids_.try_emplace(std::move(ascending), next);
    if (is_new) sets_.push_back(&known->first);
    return known->second;
  }

  /// The union of pairwise disjoint sets; nothing if two meet.
  std::optional<std::uint32_t> disjoint_union(std::vector<std::uint32_t> ids) {
    if (ids.size() == 1) return ids[0];
    const auto known = unions_.find(ids);
    if (known != unions_.end()) return known->second;
    std::vector<std::uint32_t> all;
    for (const std::uint32_t id : ids) {
      if (id < devices_) {
        all.push_back(id);
      } else {
        const std::vector<std::uint32_t>& set = *sets_[id - devices_];
        all.insert(all.end(), set.begin(), set.end());
      }
    }
    std::ranges::sort(all);
    if (std::ranges::adjacent_find(all) != all.end()) return std::nullopt;
    return unions_[std::move(ids)] = intern(std::move(all));
  }

 private:
  std::uint32_t devices_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> ids_, unions_;
  std::vector<const std::vector<std::uint32_t>*> sets_;
};

/// What a device holds of the value of a node: the rows from the first one on, in the order of the
/// node, each summed over the same devices.
struct SummedRows {
  std::int64_t first = 0;
  std::uint32_t devices = 0;  ///< of DeviceSets

  bool operator==(const SummedRows&) const = default;
};

/// Executes a chain on all devices.
class ChainExecution {
 public:
  ChainExecution(const Flow& flow, const Limits& limits)
      : flow_(flow), limits_(limits), sets_(flow.devices.count()) {}

  bool computes_all_reduce(const std::vector<std::vector<std::uint32_t>>& classes) {
    if (flow_.inputs.size() != 1 || flow_.outputs.size() != 1) return false;
    if (flow_.inputs[0].sizes.size() != 1) return false;
    for (const Node& node : flow_.nodes) {
      if (limits_.exceeded(0) || !execute(node)) return false;
    }
    const Ref output = flow_.outputs[0];
    if (!flow_.shape(output).same_sizes(flow_.inputs[0])) return false;
    const Value& result = values_[output.node];
    if (result.order != merged({{1, flow_.inputs[0].sizes[0]}})) return false;
    for (const std::vector<std::uint32_t>& members : classes) {
      std::vector<std::uint32_t> ascending = members;
      std::ranges::sort(ascending);
      const SummedRows wanted{0, sets_.intern(std::move(ascending))};
      for (const std::uint32_t device : members) {
        if (result.held[device] != wanted) return false;
      }
    }
    return true;
  }

 private:
  struct Value {
    std::vector<SummedRows> held;  ///< by device
    RowOrder order;                ///< of the elements in row-major order
  };

  bool execute(const Node& node) {
    const std::uint32_t devices = flow_.devices.count();
    values_.emplace_back();
    if (node.outputs.size() != 1) return false;
    const std::vector<std::int64_t>& sizes = node.outputs[0].sizes;
    if (node.op == Op::Parameter) {
      Value& value = values_.back();
      for (std::uint32_t device = 0; device < devices; ++device) {
        value.held.push_back({0, sets_.intern({device})});
      }
      value.order = merged({{1, sizes[0]}});
      return true;
    }
    if (node.operands.size() != 1) return false;
    const ArrayShape& shape = flow_.shape(node.operands[0]);
    const Value& operand = values_[node.operands[0].node];
    if (shape.type != node.outputs[0].type) return false;
    if (node.op == Op::Reshape && node.instruction->opcode == "reshape") {
      values_.back() = operand;
      return true;
    }
    if (node.op == Op::Transpose) return transpose(node, shape.sizes, operand);
    const bool sums = node.op == Op::AllReduce || node.op == Op::ReduceScatter;
    const bool moves = node.op == Op::AllGather || node.op == Op::CollectiveBroadcast;
    if ((!sums && !moves) || (sums && node.reducer != Reducer::Add)) return false;
    if (node.collective == kNone || sizes.size() != 1 || shape.sizes.size() != 1) return false;
    const Collective& collective = flow_.collectives[node.collective];
    if (std::ranges::find(collective.group, kNone) != collective.group.end()) return false;
    return run(node, collective, shape.sizes[0], operand, values_.back());
  }

  /// The digits of the order, cut where dimensions end, in the order of the result's dimensions.
  bool transpose(const Node& node, const std::vector<std::int64_t>& sizes, const Value& operand) {
    std::vector<RowOrder> dimensions;
    RowOrder rest = operand.order;
    for (const std::int64_t size : sizes) {
      auto halves = cut(rest, size);
      if (!halves) return false;
      dimensions.push_back(std::move(halves->first));
      rest = std::move(halves->second);
    }
    RowOrder order;
    for (const std::int64_t dimension : node.instruction->attributes.dimensions) {
      order = joined(std::move(order), dimensions[static_cast<std::size_t>(dimension)]);
    }
    values_.back() = {operand.held, std::move(order)};
    return true;
  }

  /// `rows` are those of the operand.
  bool run(const Node& node, const Collective& collective, std::int64_t rows, const Value& operand,
           Value& value) {
    const std::int64_t result_rows = node.outputs[0].sizes[0];
    value.held.resize(operand.held.size());
    value.order = operand.order;
    std::vector<std::int64_t> parts = {0};  // of a reduce-scatter
    if (node.op == Op::ReduceScatter) {
      if (result_rows == 0 || rows % result_rows != 0) return false;
      auto halves = cut(operand.order, rows / result_rows);
      if (!halves) return false;
      parts = offsets_of(halves->first);
      value.order = merged(halves->second);
    }
    std::optional<RowOrder> members;  // of an all-gather
    for (const std::vector<std::uint32_t>& group : collective.groups) {
      if (limits_.exceeded(0)) return false;
      const SummedRows root = operand.held[group.front()];
      if (node.op == Op::CollectiveBroadcast) {
        for (const std::uint32_t device : group) value.held[device] = root;
        continue;
      }
      std::vector<std::int64_t> firsts;
      std::vector<std::uint32_t> sets;
      for (const std::uint32_t device : group) {
        firsts.push_back(operand.held[device].first);
        sets.push_back(operand.held[device].devices);
        value.held[device] = root;
      }
      if (node.op == Op::AllGather) {
        const auto order = order_of(firsts);
        if (!order || (members && *members != *order)) return false;
        members = order;
        if (std::ranges::any_of(sets, [&](std::uint32_t set) { return set != root.devices; }) ||
            result_rows != static_cast<std::int64_t>(group.size()) * rows) {
          return false;
        }
        continue;
      }
      if (std::ranges::any_of(firsts, [&](std::int64_t row) { return row != root.first; })) {
        return false;
      }
      const auto sum = sets_.disjoint_union(std::move(sets));
      if (!sum) return false;
      const bool scatters = node.op == Op::ReduceScatter;
      if (scatters && parts.size() != group.size()) return false;
      for (std::size_t i = 0; i < group.size(); ++i) {
        value.held[group[i]] = {root.first + (scatters ? parts[i] : 0), *sum};
      }
    }
    if (members) {
      value.order = joined(*members, value.order);
      return true;
    }
    return node.op == Op::ReduceScatter || result_rows == rows;
  }

  const Flow& flow_;
  const Limits& limits_;
  DeviceSets sets_;
  std::vector<Value> values_;  // by node
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
