// Modules that are chains of collectives on one vector, compared by the groups: in time and memory
// of devices, not of devices times elements.

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/equality/comparison.h"
#include "engine/hlo/equality/decisions.h"

namespace p2::hlo {
namespace {

constexpr std::size_t kMaxMembers = std::size_t{1} << 26U;

/// Multisets of devices, interned. The first are those of one device each.
class DeviceSets {
 public:
  explicit DeviceSets(std::uint32_t devices) : devices_(devices) {}

  /// The sum of multisets; nothing where these become too large.
  std::optional<std::uint32_t> sum(std::vector<std::uint32_t> ids) {
    if (ids.size() == 1) return ids[0];
    const auto known = sums_.find(ids);
    if (known != sums_.end()) return known->second;
    std::vector<std::uint32_t> all;
    for (const std::uint32_t id : ids) {
      if (id < devices_) {
        all.push_back(id);
      } else {
        const std::vector<std::uint32_t>& set = *sets_[id - devices_];
        all.insert(all.end(), set.begin(), set.end());
      }
      if (members_ + all.size() > kMaxMembers) return std::nullopt;
    }
    members_ += all.size();
    std::ranges::sort(all);
    const auto next = static_cast<std::uint32_t>(devices_ + sets_.size());
    const auto [set, is_new] = ids_.try_emplace(std::move(all), next);
    if (is_new) sets_.push_back(&set->first);
    return sums_[std::move(ids)] = set->second;
  }

 private:
  std::uint32_t devices_;
  std::size_t members_ = 0;
  std::map<std::vector<std::uint32_t>, std::uint32_t> ids_, sums_;
  std::vector<const std::vector<std::uint32_t>*> sets_;
};

/// What a device holds of the value of a node: the elements of the input from the first one on, in
/// the order of the node, each summed over the same devices. kNone: something else.
struct Summed {
  std::int64_t first = 0;
  std::uint32_t devices = kNone;  ///< of DeviceSets

  bool is_known() const { return devices != kNone; }
  bool operator==(const Summed&) const = default;
};

struct HeldByAll {
  std::vector<Summed> held;  ///< by device
  Digits order;              ///< of the elements in row-major order

  bool has_order = true;  ///< otherwise nothing is known of any device
};

/// So many times an element of the input of a device.
struct Contribution {
  std::int64_t element = 0;
  std::uint32_t device = 0;
  std::int64_t times = 1;

  bool operator==(const Contribution&) const = default;
};
using Contributions = std::vector<Contribution>;

/// Ascending, every element of a device once.
void normalize(Contributions& all) {
  const auto key = [](const Contribution& each) { return std::pair(each.element, each.device); };
  std::ranges::sort(all, {}, key);
  std::size_t last = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (key(all[i]) == key(all[last])) {
      all[last].times += all[i].times;
    } else {
      all[++last] = all[i];
    }
  }
  if (!all.empty()) all.resize(last + 1);
}

/// Whether all operations of a flow are those of a chain, in a row from its input to its output.
bool is_chain(const Flow& flow) {
  if (flow.inputs.size() != 1 || flow.outputs.size() != 1 || flow.nodes.empty()) return false;
  if (flow.inputs[0].sizes.size() != 1 || flow.outputs[0].node + 1 != flow.nodes.size()) {
    return false;
  }
  for (std::uint32_t i = 0; i < flow.nodes.size(); ++i) {
    const Node& node = flow.nodes[i];
    if (node.outputs.size() != 1 || (i == 0) != (node.op == Op::Parameter)) return false;
    if (i == 0) continue;
    if (node.operands.size() != 1 || node.operands[0].node + 1 != i) return false;
    const ArrayShape& operand = flow.shape(node.operands[0]);
    if (operand.type != node.outputs[0].type) return false;
    if (node.op == Op::Transpose) continue;
    if (node.op == Op::Reshape && node.instruction->opcode == "reshape") continue;
    const bool sums = node.op == Op::AllReduce || node.op == Op::ReduceScatter;
    const bool moves = node.op == Op::AllGather || node.op == Op::CollectiveBroadcast;
    if ((!sums && !moves) || (sums && node.reducer != Reducer::Add)) return false;
    if (node.collective == kNone || operand.sizes.size() != 1) return false;
    if (std::ranges::count(flow.collectives[node.collective].group, kNone) != 0) return false;
  }
  return flow.shape(flow.outputs[0]).sizes.size() == 1;
}

/// Executes a chain on all devices.
class ChainExecution {
 public:
  ChainExecution(const Flow& flow, DeviceSets& sets, LimitWatch& watch)
      : flow_(flow), sets_(sets), watch_(watch) {}

  HeldByAll result() {
    HeldByAll value;
    for (std::uint32_t device = 0; device < flow_.devices.count(); ++device) {
      value.held.push_back({0, device});
    }
    value.order = merged({{1, flow_.inputs[0].sizes[0]}});
    for (const Node& node : flow_.nodes) {
      if (!value.has_order) break;
      if (node.op == Op::Transpose) {
        transpose(node, value);
      } else if (node.collective != kNone) {
        value = after(node, value);
      }
    }
    return value;
  }

  /// What an element of the output of a device is the sum of, from the output backwards.
  Contributions of_element(std::uint32_t device, std::int64_t element) const {
    Contributions all = {{element, device, 1}};
    for (std::size_t i = flow_.nodes.size(); i-- > 1;) {
      watch_.step();
      const Node& node = flow_.nodes[i];
      if (node.op == Op::Transpose) {
        for (Contribution& each : all) each.element = before_transposition(node, each.element);
      } else if (node.collective != kNone) {
        all = before(node, std::move(all));
      }
    }
    return all;
  }

 private:
  const std::vector<std::int64_t>& operand_sizes(const Node& node) const {
    return flow_.shape(node.operands[0]).sizes;
  }

  /// The digits of the order, cut where dimensions end, in the order of the result's dimensions.
  void transpose(const Node& node, HeldByAll& value) const {
    std::vector<Digits> dimensions;
    Digits rest = value.order;
    for (const std::int64_t size : operand_sizes(node)) {
      auto halves = cut(rest, size);
      value.has_order = value.has_order && halves;
      if (!value.has_order) return;
      dimensions.push_back(std::move(halves->first));
      rest = std::move(halves->second);
    }
    value.order.clear();
    for (const std::int64_t dimension : node.instruction->attributes.dimensions) {
      value.order = joined(std::move(value.order), dimensions[static_cast<std::size_t>(dimension)]);
    }
  }

  HeldByAll after(const Node& node, const HeldByAll& operand) {
    const Collective& collective = flow_.collectives[node.collective];
    HeldByAll value{std::vector<Summed>(operand.held.size()), operand.order};
    std::vector<std::int64_t> parts = {0};  // of a reduce-scatter
    if (node.op == Op::ReduceScatter) {
      const std::int64_t count =
          operand_sizes(node)[0] / std::max<std::int64_t>(1, node.outputs[0].sizes[0]);
      const auto halves = cut(operand.order, count);
      if (!halves) return {{}, {}, false};
      parts = offsets_of(halves->first);
      value.order = merged(halves->second);
    }
    std::optional<Digits> members;  // of an all-gather
    for (const std::vector<std::uint32_t>& group : collective.groups) {
      watch_.step();
      const Summed root = operand.held[group.front()];
      if (node.op == Op::CollectiveBroadcast) {
        for (const std::uint32_t device : group) value.held[device] = root;
        continue;
      }
      std::vector<std::int64_t> firsts;
      std::vector<std::uint32_t> devices;
      for (const std::uint32_t device : group) {
        firsts.push_back(operand.held[device].first);
        devices.push_back(operand.held[device].devices);
      }
      if (std::ranges::count(devices, kNone) != 0) continue;
      if (node.op == Op::AllGather) {
        const auto order = digits_of(firsts);
        if (!order || std::ranges::count(devices, root.devices) != std::ssize(devices)) continue;
        if (!members) members = order;
        if (*members != *order) continue;
        for (const std::uint32_t device : group) value.held[device] = root;
        continue;
      }
      if (std::ranges::count(firsts, root.first) != std::ssize(firsts)) continue;
      const auto sum = sets_.sum(std::move(devices));
      if (!sum) continue;
      const bool scatters = node.op == Op::ReduceScatter;
      for (std::size_t i = 0; i < group.size(); ++i) {
        value.held[group[i]] = {root.first + (scatters ? parts[i] : 0), *sum};
      }
    }
    if (members) value.order = joined(*members, value.order);
    value.has_order = node.op != Op::AllGather || members;
    return value;
  }

  /// The place in the operand of an element of a transposition, both in row-major order.
  std::int64_t before_transposition(const Node& node, std::int64_t element) const {
    const std::vector<std::int64_t>& sizes = operand_sizes(node);
    const auto& dimensions = node.instruction->attributes.dimensions;
    std::vector<std::int64_t> index(sizes.size());
    for (std::size_t i = dimensions.size(); i-- > 0;) {
      const auto dimension = static_cast<std::size_t>(dimensions[i]);
      index[dimension] = element % sizes[dimension];
      element /= sizes[dimension];
    }
    std::int64_t place = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) place = place * sizes[i] + index[i];
    return place;
  }

  Contributions before(const Node& node, Contributions all) const {
    const Collective& collective = flow_.collectives[node.collective];
    const std::int64_t size = operand_sizes(node)[0];
    const std::int64_t result_size = node.outputs[0].sizes[0];
    if (node.op == Op::AllGather || node.op == Op::CollectiveBroadcast) {
      for (Contribution& each : all) {
        const auto& group = collective.group_of(each.device);
        const bool gathers = node.op == Op::AllGather;
        each.device = group[gathers ? static_cast<std::size_t>(each.element / size) : 0];
        if (gathers) each.element %= size;
      }
      normalize(all);
      return all;
    }
    // One for every group and element first.
    for (Contribution& each : all) {
      if (node.op == Op::ReduceScatter)
        each.element += collective.position[each.device] * result_size;
      each.device = collective.group_of(each.device).front();
    }
    normalize(all);
    Contributions summed;
    for (const Contribution& each : all) {
      const auto& group = collective.group_of(each.device);
      watch_.step();
      for (const std::uint32_t device : group) summed.push_back({each.element, device, each.times});
    }
    normalize(summed);
    return summed;
  }

  const Flow& flow_;
  DeviceSets& sets_;
  LimitWatch& watch_;
};

/// `2·x[3] of devices 0–7 + …`.
std::string text_of(const Contributions& all, const std::string& input) {
  constexpr std::size_t kMaxTerms = 6;
  std::vector<std::string> terms;
  std::size_t count = 0;
  for (std::size_t i = 0; i < all.size();) {
    std::vector<std::uint32_t> devices;
    const Contribution& first = all[i];
    for (; i < all.size() && all[i].element == first.element && all[i].times == first.times; ++i) {
      devices.push_back(all[i].device);
    }
    if (++count > kMaxTerms) continue;
    const std::string times = first.times == 1 ? "" : fmt::format("{}·", first.times);
    terms.push_back(
        fmt::format("{}{}[{}] of {}", times, input, first.element, devices_in_words(devices)));
  }
  const std::string more = count > kMaxTerms ? fmt::format(" and {} more", count - kMaxTerms) : "";
  return fmt::format("{}{}", fmt::join(terms, " + "), more);
}

}  // namespace

std::optional<ModuleDecision> compare_chains(const Flow& before, const Flow& after,
                                             const Limits& limits) {
  constexpr std::size_t kMaxCandidates = 8;
  if (!is_chain(before) || !is_chain(after)) return std::nullopt;
  LimitWatch watch(limits, "comparison of chains of collectives");
  const Devices& devices = before.devices;
  DeviceSets sets(devices.count());
  ChainExecution of_before(before, sets, watch);
  ChainExecution of_after(after, sets, watch);
  const HeldByAll first = of_before.result();
  const HeldByAll second = of_after.result();
  ModuleDecision decision;
  decision.devices = devices;
  const bool same_order =
      first.has_order && second.has_order && merged(first.order) == merged(second.order);
  std::vector<std::uint32_t> candidates;
  for (std::uint32_t device = 0; device < devices.count(); ++device) {
    if (candidates.size() == kMaxCandidates) break;
    if (!same_order || !first.held[device].is_known() ||
        first.held[device] != second.held[device]) {
      candidates.push_back(device);
    }
  }
  if (candidates.empty()) {
    decision.symbolic = decision.outcome = Outcome::Established;
    return decision;
  }
  // Integers wrap around, and of booleans a sum is an or: equal sums may count otherwise.
  if (!before.inputs[0].type.is_float()) return std::nullopt;
  const std::int64_t size = before.shape(before.outputs[0]).sizes[0];
  for (const std::uint32_t device : candidates) {
    for (std::int64_t k = 0; k < std::min<std::int64_t>(size, kMaxCandidates); ++k) {
      const std::int64_t element = k * (size - 1) / std::min<std::int64_t>(size, kMaxCandidates);
      const Contributions expected = of_before.of_element(device, element);
      const Contributions found = of_after.of_element(device, element);
      if (expected == found) continue;
      const std::string& input = before.nodes[0].instruction->name;
      decision.symbolic = decision.outcome = Outcome::Refuted;
      decision.violation = Difference{"contributions", {}};
      decision.violation->element =
          ElementDifference{device,    device / devices.partitions, device % devices.partitions, 0,
                            {element}, text_of(expected, input),    text_of(found, input)};
      decision.violation->explanation = explain(*decision.violation->element);
      return decision;
    }
  }
  return std::nullopt;
}

}  // namespace p2::hlo
