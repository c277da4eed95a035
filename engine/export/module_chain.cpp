// Programs whose every step is one collective of XLA on the rows that a device holds, in an order
// that all devices share.

#include <algorithm>
#include <utility>

#include "engine/export/module_lowering.h"

namespace p2::hlo {
namespace {

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
  Digits order;                ///< of the rows of every device that holds any
  std::int64_t rows = 0;       ///< of the same

  bool scatter(const std::vector<std::uint32_t>& group, std::vector<HeldRows>& after) const;
  bool gather(const std::vector<std::uint32_t>& group, std::vector<HeldRows>& after,
              std::optional<Digits>& gathered) const;
  bool run_group(p2::Collective collective, const std::vector<std::uint32_t>& group,
                 std::vector<HeldRows>& after, std::optional<Digits>& gathered) const;
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
                       std::optional<Digits>& gathered) const {
  std::vector<std::int64_t> firsts;
  for (const std::uint32_t device : group) {
    if (held[device].count != rows) return false;
    firsts.push_back(held[device].first);
  }
  const auto members = digits_of(firsts);
  if (!members || (gathered && *gathered != *members)) return false;
  gathered = members;
  const auto n = static_cast<std::int64_t>(group.size());
  for (const std::uint32_t device : group) after[device] = {firsts[0], n * rows};
  return true;
}

/// Runs a step on the rows of a group. Whether that is a collective of XLA on the rows as they are.
bool RowsOfAll::run_group(p2::Collective collective, const std::vector<std::uint32_t>& group,
                          std::vector<HeldRows>& after, std::optional<Digits>& gathered) const {
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
  std::optional<Digits> gathered;
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
  Digits ascending = order;
  std::ranges::stable_sort(ascending, std::ranges::greater(), &Digit::stride);
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    const std::int64_t below =
        i + 1 < ascending.size() ? ascending[i + 1].stride * ascending[i + 1].size : 1;
    if (ascending[i].stride < below) return false;
  }
  if (ascending == order) return true;
  for (const Digit& digit : order) step.sizes.push_back(digit.size);
  for (const Digit& digit : ascending) {
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

}  // namespace p2::hlo
