// What devices exchange: collectives, and the parts of a module that are written for one device,
// from global tensors to shards and back.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/block_dimensions.h"
#include "engine/hlo/interpreter/expressions.h"
#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/interpreter/ranges.h"
#include "engine/hlo/module_relation.h"
#include "engine/hlo/sharding.h"

namespace p2::hlo::interpreter {
namespace {

/// The element number of an index into one tensor of the same sizes but for one dimension.
std::size_t element_of(std::vector<std::int64_t> index, std::size_t along, std::int64_t shift,
                       const std::vector<std::int64_t>& strides) {
  index[along] += shift;
  return static_cast<std::size_t>(offset_of(index, strides));
}

}  // namespace

template <typename A>
const Collective& CollectiveOperations<A>::collective_of(const Instruction& instruction) {
  auto found = collectives_.find(&instruction);
  if (found == collectives_.end()) {
    found =
        collectives_.emplace(&instruction, resolve(instruction, module_.language, devices_)).first;
  }
  return found->second;
}

template <typename A>
auto CollectiveOperations<A>::reduced(const Instruction& instruction,
                                      const std::vector<const Tree*>& members,
                                      const std::vector<std::uint32_t>& group) -> Tree {
  const ArrayShape& shape = members[0]->array.shape;
  if (instruction.called.size() != 1) give_up(instruction, "its reducer");
  std::vector<Cell> cells;
  const std::size_t size = members[0]->array.cells->size();
  for (const Tree* member : members) {
    if (member->array.cells->size() != size) give_up(instruction, "its operands differ in size");
  }
  cells.reserve(size);
  const bool listed = local_.is_ordered(instruction, members);
  // Of a module that one device of each class runs: how many devices of a class a group has.
  const Dimensions times = list_attribute(instruction, kBlockSizes);
  if (!times.empty() && (listed || times.size() != members.size())) {
    give_up(instruction, "its classes of devices");
  }
  const Reducer reducer =
      times.empty() ? Reducer::Unknown : reducer_of(module_.computations[instruction.called[0]]);
  const auto of_member = [&](std::size_t k, std::size_t i) {
    const Cell& cell = (*members[k]->array.cells)[i];
    return reducer == Reducer::Add ? local_.repeated(cell, times[k], shape.type) : cell;
  };
  for (std::size_t i = 0; i < size; ++i) {
    if (listed) {
      std::vector<Cell> elements;
      elements.reserve(members.size());
      for (const Tree* member : members) elements.push_back((*member->array.cells)[i]);
      cells.push_back(local_.reduced_list(instruction, elements, {}, {shape.type}, group)[0]);
      continue;
    }
    Cell total = of_member(0, i);
    for (std::size_t k = 1; k < members.size(); ++k) {
      total = local_.combine(instruction.called[0], total, of_member(k, i));
    }
    cells.push_back(total);
  }
  return local_.array(shape, std::move(cells), members);
}

template <typename A>
auto CollectiveOperations<A>::joined(const std::vector<const Tree*>& parts, std::int64_t dimension,
                                     const ArrayShape& shape) const -> Tree {
  const auto along = static_cast<std::size_t>(dimension);
  const std::vector<std::int64_t> strides = strides_of(shape.sizes);
  std::vector<Cell> cells(static_cast<std::size_t>(shape.elements()));
  std::int64_t shift = 0;
  for (const Tree* part : parts) {
    std::int64_t next = 0;
    for_each_index(part->array.shape.sizes, [&](const std::vector<std::int64_t>& index) {
      cells.at(element_of(index, along, shift, strides)) = part->array.at(next++);
    });
    shift += part->array.shape.sizes[along];
  }
  work_.spend(cells.size());
  return local_.array(shape, std::move(cells), parts);
}

template <typename A>
auto CollectiveOperations<A>::part(const Tree& whole, std::int64_t dimension, std::int64_t number,
                                   std::int64_t parts, const Instruction& instruction) const
    -> Tree {
  const auto along = static_cast<std::size_t>(dimension);
  ArrayShape shape = whole.array.shape;
  if (along >= shape.sizes.size() || shape.sizes[along] % parts != 0) {
    give_up(instruction, "its operand does not divide into as many parts as the group has members");
  }
  const std::vector<std::int64_t> strides = strides_of(shape.sizes);
  shape.sizes[along] /= parts;
  std::vector<Cell> cells;
  for_each_index(shape.sizes, [&](const std::vector<std::int64_t>& index) {
    cells.push_back(
        (*whole.array.cells)[element_of(index, along, number * shape.sizes[along], strides)]);
  });
  work_.spend(cells.size());
  return local_.array(shape, std::move(cells), {&whole});
}

/// The operands are arrays of one shape on all devices, with the dimensions that are named.
template <typename A>
void CollectiveOperations<A>::require_dimensions(const Instruction& instruction,
                                                 const Operands& operands,
                                                 const Active& active) const {
  std::int64_t last = -1;
  for (const std::int64_t each : instruction.attributes.dimensions) last = std::max(last, each);
  last = std::max(last, instruction.attributes.concat_dimension.value_or(-1));
  for (const PerDevice* operand : operands) {
    for (std::uint32_t device = 0; device < active.size(); ++device) {
      if (!active[device]) continue;
      const Tree& tree = *(*operand)[device];
      if (tree.is_tuple || last >= static_cast<std::int64_t>(tree.array.shape.sizes.size())) {
        give_up(instruction, "its dimension");
      }
    }
  }
}

/// Targets without a source receive zeros.
template <typename A>
auto CollectiveOperations<A>::permuted(const Instruction& instruction, const Operands& operands,
                                       const Active& active) -> PerDevice {
  if (instruction.attributes.other("slice_sizes")) give_up(instruction, "it moves slices in place");
  const Collective& collective = collective_of(instruction);
  PerDevice results(active.size());
  for (std::uint32_t device = 0; device < active.size(); ++device) {
    if (!active[device]) continue;
    const std::uint32_t source = collective.source[device];
    if (source != kNone && !active[source]) give_up(instruction, "not all devices execute it");
    Tree all;
    all.is_tuple = true;
    for (const PerDevice* operand : operands) {
      if (source != kNone) {
        all.parts.push_back(*(*operand)[source]);
        continue;
      }
      const Array<Cell>& own = (*operand)[device]->array;
      const Cell zero = arithmetic_.integer(0, own.shape.type);
      all.parts.push_back(local_.array(own.shape, std::vector<Cell>(own.cells->size(), zero), {}));
    }
    if (operands.size() == 1) all = Tree(all.parts[0]);
    results[device] = std::make_shared<const Tree>(std::move(all));
  }
  return results;
}

template <typename A>
auto CollectiveOperations<A>::received(const Instruction& instruction, const Operands& operands,
                                       const Active& active) -> PerDevice {
  const Collective& collective = collective_of(instruction);
  PerDevice results(active.size());
  for (std::uint32_t device = 0; device < active.size(); ++device) {
    if (!active[device]) continue;
    const std::uint32_t source = collective.source[device];
    if (source != kNone) {
      results[device] = (*operands[0])[source];
      if (!results[device]) give_up(instruction, "another program computes what is sent");
      continue;
    }
    const ArrayShape& shape = instruction.shape.array;
    std::uint64_t seed = Algebra::hash(instruction.position.line, instruction.position.column);
    seed = Algebra::hash(Algebra::hash(seed, instruction.program), device);
    std::vector<Cell> cells;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      cells.push_back(arithmetic_.arbitrary(Algebra::hash(seed, cells.size()), shape.type));
    }
    work_.spend(cells.size());
    results[device] = std::make_shared<const Tree>(local_.array(shape, std::move(cells), {}));
  }
  return results;
}

/// An all-to-all: part i of the operand, or operand i, goes to member i of the group.
template <typename A>
auto CollectiveOperations<A>::exchanged(const Instruction& instruction, const Operands& operands,
                                        const Active& active) -> PerDevice {
  const Collective& collective = collective_of(instruction);
  const std::vector<std::int64_t>& along = instruction.attributes.dimensions;
  require_dimensions(instruction, operands, active);
  PerDevice results(active.size());
  for (std::uint32_t device = 0; device < active.size(); ++device) {
    if (!active[device]) continue;
    if (collective.group[device] == kNone) give_up(instruction, "a device is in no group");
    const std::vector<std::uint32_t>& group = collective.group_of(device);
    const std::uint32_t position = collective.position[device];
    std::vector<Tree> received;
    for (const std::uint32_t member : group) {
      if (!active[member]) give_up(instruction, "not all devices execute it");
      if (along.empty()) {
        if (operands.size() != group.size()) give_up(instruction, "its operands");
        received.push_back(*(*operands[position])[member]);
      } else {
        received.push_back(part(*(*operands[0])[member], along[0], position,
                                static_cast<std::int64_t>(group.size()), instruction));
      }
    }
    if (along.empty()) {
      Tree tuple;
      tuple.is_tuple = true;
      tuple.parts = std::move(received);
      if (!instruction.shape.is_tuple) tuple = tuple.parts.at(0);
      results[device] = std::make_shared<const Tree>(std::move(tuple));
      continue;
    }
    const std::int64_t to = instruction.attributes.concat_dimension.value_or(along[0]);
    std::vector<const Tree*> parts;
    parts.reserve(received.size());
    for (const Tree& each : received) parts.push_back(&each);
    ArrayShape shape = received[0].array.shape;
    shape.sizes.at(static_cast<std::size_t>(to)) *= static_cast<std::int64_t>(group.size());
    results[device] = std::make_shared<const Tree>(joined(parts, to, shape));
  }
  return results;
}

template <typename A>
auto CollectiveOperations<A>::execute(const Instruction& instruction, const Operands& operands,
                                      const Active& active) -> PerDevice {
  const std::string_view opcode = base_opcode(instruction.opcode);
  if (operands.empty()) give_up(instruction, "it has no operand");
  if (opcode == "collective-permute") return permuted(instruction, operands, active);
  if (opcode == "all-to-all") return exchanged(instruction, operands, active);
  const bool gathers = opcode == "all-gather";
  const bool scatters = opcode == "reduce-scatter";
  if (!gathers && !scatters && opcode != "all-reduce" && opcode != "collective-broadcast") {
    give_up(instruction, "it is not understood");
  }
  const Collective& collective = collective_of(instruction);
  const std::vector<std::int64_t>& along = instruction.attributes.dimensions;
  if ((gathers || scatters) && along.size() != 1) give_up(instruction, "its dimension");
  require_dimensions(instruction, operands, active);
  PerDevice results(active.size());
  std::map<std::uint32_t, Pointer> by_group;
  for (std::uint32_t device = 0; device < active.size(); ++device) {
    if (!active[device]) continue;
    if (collective.group[device] == kNone) {  // only a broadcast leaves devices out: they get zeros
      give_up(instruction, "a device is in no group");
    }
    const std::vector<std::uint32_t>& group = collective.group_of(device);
    Pointer& shared = by_group[collective.group[device]];
    if (!shared) {
      Tree all;
      all.is_tuple = true;
      for (const PerDevice* operand : operands) {
        std::vector<const Tree*> members;
        for (const std::uint32_t member : group) {
          if (!active[member]) give_up(instruction, "not all devices execute it");
          members.push_back((*operand)[member].get());
        }
        ArrayShape shape = members[0]->array.shape;
        if (opcode == "collective-broadcast") {
          all.parts.push_back(*members[0]);
        } else if (gathers) {
          shape.sizes.at(static_cast<std::size_t>(along[0])) *=
              static_cast<std::int64_t>(group.size());
          all.parts.push_back(joined(members, along[0], shape));
        } else {
          all.parts.push_back(reduced(instruction, members, group));
        }
      }
      if (operands.size() == 1) all = Tree(all.parts[0]);
      shared = std::make_shared<const Tree>(std::move(all));
    }
    if (!scatters) {
      results[device] = shared;
      continue;
    }
    const auto size = static_cast<std::int64_t>(group.size());
    Tree own;
    own.is_tuple = shared->is_tuple;
    for (const Tree& each : shared->parts) {
      own.parts.push_back(part(each, along[0], collective.position[device], size, instruction));
    }
    if (!own.is_tuple)
      own = part(*shared, along[0], collective.position[device], size, instruction);
    results[device] = std::make_shared<const Tree>(std::move(own));
  }
  return results;
}

template <typename A>
auto Interpreter<A>::manual_tiles(const Instruction& instruction, const std::string& text,
                                  const ArrayShape& local) const -> std::optional<Sharding> {
  if (text.find("manual") == std::string::npos) return std::nullopt;
  auto sharding = read_sharding(text, local.sizes.size(), devices_.partitions, module_.meshes);
  if (!sharding || sharding->parts > 1)
    give_up(instruction, "the sharding " + text + " is not understood");
  if (sharding->group.empty() || sharding->coordinates.empty()) return std::nullopt;
  for (std::size_t i = 0; i < local.sizes.size(); ++i) {
    if (local.sizes[i] % sharding->tiles[i] != 0)
      give_up(instruction, "tiles of a manual group that are not equal");
  }
  return sharding;
}

template <typename A>
auto Interpreter<A>::plain_sharding(const Instruction& instruction, const std::string& text,
                                    const ArrayShape& shape) const -> std::optional<Sharding> {
  auto sharding = read_sharding(text, shape.sizes.size(), devices_.partitions, module_.meshes,
                                shardy_attribute(instruction, "xla.sdy.manual_axes"));
  return sharding && sharding->is_plain() ? std::move(sharding) : std::nullopt;
}

template <typename A>
auto Interpreter<A>::shards_of(const Instruction& instruction, const Operands& operands,
                               const Active& active) -> PerDevice {
  using Index = std::vector<std::int64_t>;
  const auto listed = instruction.attributes.shardy.find("xla.sdy.in_shardings");
  const bool is_listed = listed != instruction.attributes.shardy.end();
  std::vector<std::string> texts;
  if (is_listed) {
    texts = sharding_list(listed->second);
  } else if (instruction.operands.size() == 1) {
    texts = {current_->instructions[instruction.operands[0]].attributes.sharding};
  }
  if (texts.size() != operands.size()) give_up(instruction, "the shardings of its operands");
  const std::vector<ArrayShape> shapes = instruction.shape.arrays();
  if (shapes.size() != operands.size()) give_up(instruction, "its results");
  std::vector<Sharding> shardings;
  std::vector<std::optional<Sharding>> locals;  // the tiles of a manual group's tensor
  std::vector<TensorRelation> tiles;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const auto sharding = plain_sharding(instruction, texts[k], shapes[k]);
    if (!sharding) {
      give_up(instruction, texts[k].empty() ? "its operand has no sharding"
                                            : "the sharding " + texts[k] + " is not understood");
    }
    const ArrayShape& whole = current_->instructions[instruction.operands[k]].shape.array;
    locals.push_back(is_listed
                         ? std::nullopt
                         : manual_tiles(instruction, instruction.attributes.sharding, shapes[k]));
    const auto& local = locals.back();
    if (sharding->tile_sizes(whole.sizes) !=
        (local ? local->tile_sizes(shapes[k].sizes) : shapes[k].sizes)) {
      give_up(instruction, "the shard's sizes are not those of its sharding");
    }
    for (std::size_t i = 0; local && i < whole.sizes.size() && !sharding->tiles.empty(); ++i) {
      if (whole.sizes[i] % sharding->tiles[i] != 0)
        give_up(instruction, "tiles of a manual group that are not equal");
    }
    tiles.push_back(tiled(*sharding, whole, 0, devices_));
    shardings.push_back(*sharding);
  }
  // Its own element at an index; in a manual group, that of the device whose tile has it.
  const auto element_of = [&](std::size_t k, std::uint32_t device, const Index& index) {
    if (!locals[k]) return tiles[k].element_of(device, index);
    const Sharding& local = *locals[k];
    const auto partition_of = [&](std::uint32_t each) { return each % devices_.partitions; };
    const auto group_of = [&](std::uint32_t each) {
      return std::pair(each / devices_.partitions,
                       local.group[static_cast<std::size_t>(partition_of(each))]);
    };
    const Index sizes = local.tile_sizes(shapes[k].sizes);
    std::optional<std::int64_t> found;
    for (std::uint32_t other = 0; other < active.size(); ++other) {
      if (group_of(other) != group_of(device)) continue;
      Index within = local.tile_start(shapes[k].sizes, partition_of(other));
      bool inside = true;
      for (std::size_t i = 0; i < index.size(); ++i) {
        within[i] = index[i] - within[i];
        inside = inside && within[i] >= 0 && within[i] < sizes[i];
      }
      if (!inside) continue;
      const auto element = tiles[k].element_of(other, within);
      if (!element || (found && *found != *element))
        give_up(instruction, "devices hold different tiles of a manual group");
      found = element;
    }
    if (!found) give_up(instruction, "its tiles do not cover the tensor");
    work_.spend(active.size());
    return found;
  };
  PerDevice results(active.size());
  for (std::uint32_t device = 0; device < active.size(); ++device) {
    if (!active[device]) continue;
    Tree result;
    result.is_tuple = instruction.shape.is_tuple;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Array<Cell>& whole = (*operands[k])[device]->array;
      Tree part;
      if (shardings[k].is_replicated() && !locals[k]) {
        part.array = whole;
      } else {
        std::vector<Cell> cells;
        for_each_index(shapes[k].sizes, [&](const Index& index) {
          const auto element = element_of(k, device, index);
          cells.push_back(element ? whole.at(*element)
                                  : arithmetic_.arbitrary(
                                        Algebra::hash(Algebra::hash(number_, device), cells.size()),
                                        shapes[k].type));
        });
        work_.spend(cells.size());
        part.array.shape = shapes[k];
        part.array.cells = std::make_shared<const std::vector<Cell>>(std::move(cells));
        part.array.unknown = whole.unknown;
      }
      part.array.shape = shapes[k];
      if (!result.is_tuple) {
        result = std::move(part);
      } else {
        result.parts.push_back(std::move(part));
      }
    }
    results[device] = std::make_shared<const Tree>(std::move(result));
  }
  return results;
}

template <typename A>
auto Interpreter<A>::whole_of(const Instruction& instruction, const Operands& operands,
                              const Active& active) -> PerDevice {
  const auto listed = instruction.attributes.shardy.find("xla.sdy.out_shardings");
  const std::vector<std::string> texts = sharding_list(listed != instruction.attributes.shardy.end()
                                                           ? listed->second
                                                           : instruction.attributes.sharding);
  const std::vector<ArrayShape> shapes = instruction.shape.arrays();
  if (texts.size() != operands.size() || shapes.size() != operands.size()) {
    give_up(instruction, "the shardings of its results");
  }
  Tree result;
  result.is_tuple = instruction.shape.is_tuple;
  const bool is_listed = listed != instruction.attributes.shardy.end();
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const auto sharding = plain_sharding(instruction, texts[k], shapes[k]);
    if (!sharding) {
      give_up(instruction, "the sharding " + texts[k] + " is not understood");
    }
    // Of a manual group's tensor a device has the tile that its sharding gives.
    const Instruction& from = current_->instructions[instruction.operands[k]];
    const auto local = is_listed
                           ? std::nullopt
                           : manual_tiles(instruction, from.attributes.sharding, from.shape.array);
    const TensorRelation tiles = tiled(*sharding, shapes[k], 0, devices_);
    std::vector<Cell> cells(static_cast<std::size_t>(shapes[k].elements()));
    std::vector<bool> written(cells.size(), false);
    Tree part;
    for (std::uint32_t device = 0; device < active.size(); ++device) {
      if (!active[device]) give_up(instruction, "not all devices execute it");
      const Array<Cell>& shard = (*operands[k])[device]->array;
      const std::vector<std::int64_t>& sizes = shard.shape.sizes;
      const std::vector<std::int64_t> own = local ? local->tile_sizes(sizes) : sizes;
      if (own != sharding->tile_sizes(shapes[k].sizes))
        give_up(instruction, "the shard's sizes are not those of its sharding");
      part.array.unknown |= shard.unknown;
      const std::vector<std::int64_t> strides = strides_of(sizes);
      const std::int64_t first =
          local ? offset_of(local->tile_start(sizes, device % devices_.partitions), strides) : 0;
      for_each_index(own, [&](const std::vector<std::int64_t>& index) {
        const Cell& cell = shard.at(first + offset_of(index, strides));
        const auto element = tiles.element_of(device, index);
        if (!element) return;
        const auto to = static_cast<std::size_t>(*element);
        if (written[to] && !arithmetic_.equal(cells[to], cell, shapes[k].type)) {
          if (A::kSymbolic) give_up(instruction, "devices hold different values of one element");
          part.array.unknown = true;
        }
        cells[to] = cell;
        written[to] = true;
      });
      work_.spend(shard.cells->size());
    }
    if (!std::all_of(written.begin(), written.end(), [](bool each) { return each; })) {
      give_up(instruction, "its shards do not cover the tensor");
    }
    part.array.shape = shapes[k];
    part.array.cells = std::make_shared<const std::vector<Cell>>(std::move(cells));
    if (!result.is_tuple) {
      result = std::move(part);
    } else {
      result.parts.push_back(std::move(part));
    }
  }
  const auto shared = std::make_shared<const Tree>(std::move(result));
  return PerDevice(active.size(), shared);
}

template class CollectiveOperations<Numbers>;
template class CollectiveOperations<Algebra>;
template class CollectiveOperations<Expressions>;

template auto Interpreter<Numbers>::shards_of(const Instruction&, const Operands&, const Active&)
    -> PerDevice;
template auto Interpreter<Numbers>::whole_of(const Instruction&, const Operands&, const Active&)
    -> PerDevice;

template auto Interpreter<Algebra>::shards_of(const Instruction&, const Operands&, const Active&)
    -> PerDevice;
template auto Interpreter<Algebra>::whole_of(const Instruction&, const Operands&, const Active&)
    -> PerDevice;

template auto Interpreter<Expressions>::shards_of(const Instruction&, const Operands&,
                                                  const Active&) -> PerDevice;
template auto Interpreter<Expressions>::whole_of(const Instruction&, const Operands&, const Active&)
    -> PerDevice;

template class CollectiveOperations<Ranges>;
template auto Interpreter<Ranges>::shards_of(const Instruction&, const Operands&, const Active&)
    -> PerDevice;
template auto Interpreter<Ranges>::whole_of(const Instruction&, const Operands&, const Active&)
    -> PerDevice;

}  // namespace p2::hlo::interpreter
