// Parts that are written for one device, between whole tensors: what they compute is a tensor of
// its own on every device, of which all elements are known to be the other module's.

#include <algorithm>
#include <numeric>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

bool starts_part(const std::string& target) {
  return target == "\"SPMDFullToShardShape\"" || target == "\"xla.sdy.GlobalToLocalShape\"";
}
bool ends_part(const std::string& target) {
  return target == "\"SPMDShardToFullShape\"" || target == "\"xla.sdy.LocalToGlobalShape\"";
}

}  // namespace

/// Of every device the one that sends to it, plus 1; 0 where none does.
std::vector<std::size_t> WholeModule::sources_of(const Node& node) {
  // Executed on the numbers of devices; nobody's is 0.
  Value value;
  for (std::size_t device = 0; device < places.devices(); ++device) {
    const Type type = type_called("s32");
    const auto number = static_cast<std::int64_t>(device) + 1;
    value.devices.push_back(
        std::make_shared<const Tensor>(Tensor{type, {}, {numbers_->integer(number, type)}}));
  }
  value = interpreter_.result(*node.computation, *node.instruction, {&value});
  std::vector<std::size_t> sources;
  for (const TensorPtr& each : value.devices)
    sources.push_back(static_cast<std::size_t>(each->cells.at(0).value));
  return sources;
}

/// What a collective makes of a tensor that every device has all elements of, its own.
/// Whether it has the sizes of the node's result those who ask check.
std::optional<std::size_t> WholeModule::exchange_of(const Module& module, const Node& node,
                                                    std::size_t operand,
                                                    std::optional<std::size_t> dimension,
                                                    const std::string& as) {
  const Instruction& instruction = *node.instruction;
  std::string opcode = as.empty() ? instruction.opcode : as;
  if (opcode.ends_with("-start")) opcode.resize(opcode.size() - 6);
  if (!is_one_of(opcode, {"all-reduce", "all-gather", "all-to-all", "collective-permute",
                          "reduce-scatter"}))
    return std::nullopt;
  Form form{"collective", opcode, {}};
  if (opcode == "all-reduce" || opcode == "collective-permute") {
    // Element by element: of what is moved or joined, each by itself.
    const Tensors::Moved moved = tensors.moved(operand);
    const Tensors::Tensor& base = tensors.at(moved.base);
    if (!moved.is_own) {
      const auto result = exchange_of(module, node, moved.base, {}, opcode);
      return result ? tensors.make_moved_as(*result, moved.dimensions) : std::nullopt;
    }
    if (base.form.opcode == "concatenate") {
      std::vector<std::size_t> parts;
      for (const std::size_t each : base.operands) {
        const auto part = exchange_of(module, node, each, {}, opcode);
        if (!part) return std::nullopt;
        parts.push_back(*part);
      }
      return tensors.make(base.form, std::move(parts), base.kind);
    }
  }
  if (!dimension && instruction.has("dimensions"))
    dimension = static_cast<std::size_t>(instruction.numbers("dimensions").at(0));
  const std::size_t along = dimension.value_or(SIZE_MAX);
  if (opcode == "reduce-scatter") return scattered(module, node, operand, along);
  if (opcode == "all-gather") {
    if (const auto all = gathered_slices(node, operand, along)) return all;
  }
  // An all-gather is one of what is moved, along a new dimension before its own.
  Tensors::Moved gathered = tensors.moved(operand);
  if (opcode == "all-gather") operand = gathered.base;
  Index sizes = tensors.at(operand).sizes;
  const Numbering alike = tensors.alike(operand, places.devices());
  std::vector<std::vector<std::uint32_t>> keys(places.devices());
  if (opcode == "collective-permute") {
    Index& numbers = form.numbers.emplace_back();
    for (const std::size_t source : sources_of(node)) {
      auto& key = keys[numbers.size()];
      if (source != 0) key.push_back(alike[source - 1]);
      numbers.push_back(static_cast<std::int64_t>(source));
    }
  } else {
    auto groups = interpreter_.groups_of(instruction, opcode != "all-to-all");
    std::size_t members = 0;
    const bool is_sum = opcode == "all-reduce";
    if (!is_sum) {
      const auto count = std::ssize(groups.at(0));
      if (opcode == "all-gather") {
        if (along >= gathered.dimensions.size() || is_empty(sizes)) return std::nullopt;
        std::int64_t elements = 1;
        for (const std::int64_t size : sizes) elements *= size;
        Digits& digits = gathered.dimensions[along];
        if (count != 1) digits.insert(digits.begin(), {elements, count});
        sizes.insert(sizes.begin(), count);
      } else {
        if (along >= sizes.size() || sizes[along] % count != 0 ||
            instruction.number("split_count", count) != count)
          return std::nullopt;
        form.numbers.push_back({static_cast<std::int64_t>(along)});
      }
    }
    if (is_sum) {
      const auto op = reducer_of(module, instruction);
      if (!op) return std::nullopt;
      form.text += " " + std::to_string(static_cast<int>(*op));
    }
    for (auto& group : groups) {
      if (is_sum) std::sort(group.begin(), group.end());
    }
    std::sort(groups.begin(), groups.end());
    for (const auto& group : groups) {
      if (group.size() != groups[0].size()) return std::nullopt;
      members += group.size();
      form.numbers.emplace_back(group.begin(), group.end());
      std::vector<std::uint32_t> key;
      for (const std::size_t each : group) key.push_back(alike[each]);
      if (is_sum) std::sort(key.begin(), key.end());
      for (std::size_t k = 0; k < group.size(); ++k) {
        keys[group[k]] = key;
        // Members have the same of an all-reduce or all-gather, another part of others.
        if (!is_sum && opcode != "all-gather")
          keys[group[k]].push_back(static_cast<std::uint32_t>(k));
      }
    }
    if (members != places.devices()) return std::nullopt;
  }
  const std::size_t result =
      tensors.family(std::move(form), {operand}, tensors.at(operand).kind, sizes, numbered(keys));
  return opcode == "all-gather" ? tensors.make_moved_as(result, gathered.dimensions) : result;
}

/// By device, the first index of the part of `size` at its position in its group; nothing of
/// others.
std::vector<Index> WholeModule::first_indices(const std::vector<std::vector<std::size_t>>& groups,
                                              std::int64_t size) const {
  std::vector<Index> indices(places.devices());
  for (const auto& group : groups) {
    for (std::size_t k = 0; k < group.size(); ++k)
      indices.at(group[k]) = {static_cast<std::int64_t>(k) * size};
  }
  return indices;
}

/// Every device's part of what an all-reduce makes.
std::optional<std::size_t> WholeModule::scattered(const Module& module, const Node& node,
                                                  std::size_t operand, std::size_t along) {
  const auto all = exchange_of(module, node, operand, along, "all-reduce");
  if (!all || along >= tensors.at(*all).sizes.size()) return std::nullopt;
  const auto groups = interpreter_.groups_of(*node.instruction, true);
  const auto count = std::ssize(groups.at(0));
  Index sizes = tensors.at(*all).sizes;
  if (sizes[along] % count != 0) return std::nullopt;
  sizes[along] /= count;
  if (count == 1) return all;
  Form form{"numbers", "", first_indices(groups, sizes[along])};
  Numbering alike = numbered(form.numbers);
  std::vector<std::size_t> operands(sizes.size() + 1, tensors.scalar("0", type_called("s32")));
  operands[0] = *all;
  operands[along + 1] = tensors.family(std::move(form), {}, "s32", {}, std::move(alike));
  const std::string kind = tensors.at(*all).kind;
  return tensors.make({"dynamic-slice", "", {std::move(sizes)}}, std::move(operands), kind);
}

/// What an all-gather makes of slices, in their order along a dimension, of a tensor that is the
/// same on all members of a group: this tensor.
std::optional<std::size_t> WholeModule::gathered_slices(const Node& node, std::size_t operand,
                                                        std::size_t along) {
  const Tensors::Tensor& slice = tensors.at(operand);
  if (slice.form.opcode != "dynamic-slice") return std::nullopt;
  const auto groups = interpreter_.groups_of(*node.instruction, true);
  const std::size_t all = slice.operands.at(0);
  for (std::size_t k = 0; k < slice.sizes.size(); ++k) {
    const std::int64_t parts = k == along ? std::ssize(groups.at(0)) : 1;
    if (tensors.at(all).sizes.at(k) != slice.sizes[k] * parts) return std::nullopt;
  }
  if (along >= slice.sizes.size()) return std::nullopt;
  const Form& starts = tensors.at(slice.operands.at(along + 1)).form;
  // Scalars: every device is in a group, as it has an index.
  if (starts.opcode != "numbers" || starts.numbers != first_indices(groups, slice.sizes[along]))
    return std::nullopt;
  const Numbering alike = tensors.alike(all, places.devices());
  for (const auto& group : groups) {
    for (const std::size_t member : group) {
      if (group.size() != groups[0].size() || alike[member] != alike[group[0]]) return std::nullopt;
    }
  }
  return all;
}

/// The number of a device, if it is one.
std::optional<std::size_t> WholeModule::number_of_device(const Node& node) {
  const std::string& opcode = node.instruction->opcode;
  if (!is_one_of(opcode, {"partition-id", "replica-id"})) return std::nullopt;
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 0; id < static_cast<std::int64_t>(places.devices()); ++id)
    ids.push_back(opcode == "partition-id" ? id % devices_.partitions : id / devices_.partitions);
  return tensors.family({opcode, "", {}}, {}, kind_of(node.shape.type), node.shape.sizes,
                        numbered(ids));
}

/// Of a node of the module that is not partitioned: the tensor that the begin of such a part cuts
/// from a whole one, that its end puts together, or that it exchanges; nothing where shards are
/// uneven, or not surely equal on the devices that have the same.
std::optional<std::size_t> WholeModule::manual_tensor(const FlatModule& flat, const Node& node,
                                                      const std::vector<std::size_t>& made) {
  const Instruction& instruction = *node.instruction;
  if (const auto id = number_of_device(node)) return id;
  if (instruction.opcode != "custom-call") {
    if (node.operands.size() != 1) return std::nullopt;
    return exchange_of(flat.module, node, made[node.operands[0]]);
  }
  const std::string& target = instruction.attribute("custom_call_target");
  const bool is_cut = starts_part(target);
  if ((!is_cut && !ends_part(target)) || node.part >= node.operands.size()) return std::nullopt;
  const std::size_t from = made[node.operands[node.part]];
  const Index& of = tensors.at(from).sizes;
  const Index& sizes = node.shape.sizes;
  const Index& whole = is_cut ? of : sizes;
  const Index& own = is_cut ? sizes : of;
  if (of.size() != sizes.size()) return std::nullopt;
  const Sharding sharding =
      manual_sharding(flat.module, *node.computation, instruction, node.part, is_cut, devices_);
  std::vector<std::size_t> tile_places;
  bool is_all = true;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const std::int64_t parts = sharding.is_replicated() ? 1 : sharding.parts.at(k);
    if (whole[k] != own[k] * parts) return std::nullopt;
    is_all = is_all && parts == 1;
    std::vector<Segments> devices;
    for (std::size_t device = 0; device < places.devices(); ++device) {
      const std::size_t partition = device % static_cast<std::size_t>(devices_.partitions);
      const std::int64_t tile = sharding.is_replicated() ? 0 : sharding.tiles.at(partition).at(k);
      devices.push_back({{0, tile * own[k], own[k]}});
    }
    tile_places.push_back(places.segments(own[k], whole[k], std::move(devices)));
  }
  const Numbering tiles = places.classes(tile_places);
  const Numbering alike = tensors.alike(from, places.devices());
  const auto& wanted = is_cut ? Numbering(places.devices(), 0) : tiles;
  if (Places::common(alike, wanted) != wanted) return std::nullopt;
  if (is_all) return from;
  Form form{is_cut ? "shard" : "whole", "", {{}}};
  for (const std::size_t place : tile_places)
    form.numbers[0].push_back(static_cast<std::int64_t>(place));
  const std::size_t to = tensors.family(std::move(form), {from}, tensors.at(from).kind, sizes,
                                        is_cut ? tiles : Numbering(places.devices(), 0));
  borders.push_back({from, to, std::move(tile_places), is_cut});
  return to;
}

/// The same array as elements of another tensor: of a shard, what lies within it, or of the whole
/// that shards make.
std::optional<Fact> RelatedModules::seen_as(const Fact& fact, const Index& hint) {
  if (hint.size() != 1 || fact.partial || fact.view || fact.share) return std::nullopt;
  const WholeModule::Border& border = borders_.at(static_cast<std::size_t>(hint[0]));
  if (fact.tensor != border.from) return std::nullopt;
  Fact result{0, border.to, {}, {}};
  for (std::size_t k = 0; k < fact.places.size(); ++k) {
    const Place shard = places_.at(border.places[k]);
    const std::int64_t whole = border.is_cut ? shard.size : shard.whole;
    if (border.is_cut && places_.is_free(fact.places[k])) {
      result.places.push_back(places_.free(places_.at(fact.places[k]).size, whole));
      continue;
    }
    const auto from = places_.fixed(fact.places[k]);
    if (!from || !places_.is_total(*from)) return std::nullopt;
    const Place place = places_.at(*from);
    std::vector<Segments> devices = place.devices;
    for (std::size_t device = 0; device < devices.size(); ++device) {
      if (shard.devices.at(device).size() != 1) return std::nullopt;
      const Segment& all = shard.devices[device][0];
      for (Segment& each : devices[device]) {
        if (border.is_cut && (each.of < all.of || each.of + each.size > all.of + all.size))
          return std::nullopt;
        each.of += border.is_cut ? -all.of : all.of;
      }
    }
    result.places.push_back(places_.segments(place.size, whole, std::move(devices)));
  }
  return result;
}

}  // namespace p2::kernel::xla
