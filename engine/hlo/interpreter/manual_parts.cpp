// Parts of a module that are written for one device: from global tensors to shards, and back.

#include <algorithm>

#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/expressions.h"
#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/module_relation.h"
#include "engine/hlo/sharding.h"

namespace p2::hlo::interpreter {

template <typename A>
auto Interpreter<A>::shards_of(const Instruction& instruction, const Operands& operands,
                               const Active& active) -> PerDevice {
  const auto listed = instruction.attributes.shardy.find("xla.sdy.in_shardings");
  std::vector<std::string> texts;
  if (listed != instruction.attributes.shardy.end()) {
    texts = sharding_list(listed->second);
  } else if (instruction.operands.size() == 1) {
    texts = {current_->instructions[instruction.operands[0]].attributes.sharding};
  }
  if (texts.size() != operands.size()) give_up(instruction, "the shardings of its operands");
  const std::vector<ArrayShape> shapes = instruction.shape.arrays();
  if (shapes.size() != operands.size()) give_up(instruction, "its results");
  std::vector<Sharding> shardings;
  std::vector<TensorRelation> tiles;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const auto sharding =
        read_sharding(texts[k], shapes[k].sizes.size(), devices_.partitions, module_.meshes);
    if (!sharding || sharding->kind != Sharding::Kind::Tiled) {
      give_up(instruction, texts[k].empty() ? "its operand has no sharding"
                                            : "the sharding " + texts[k] + " is not understood");
    }
    const ArrayShape& whole = current_->instructions[instruction.operands[k]].shape.array;
    if (sharding->tile_sizes(whole.sizes) != shapes[k].sizes) {
      give_up(instruction, "the shard's sizes are not those of its sharding");
    }
    tiles.push_back(tiled(*sharding, whole, 0, devices_));
    shardings.push_back(*sharding);
  }
  PerDevice results(active.size());
  for (std::uint32_t device = 0; device < active.size(); ++device) {
    if (!active[device]) continue;
    Tree result;
    result.is_tuple = instruction.shape.is_tuple;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Array<Cell>& whole = (*operands[k])[device]->array;
      Tree part;
      if (shardings[k].is_replicated()) {
        part.array = whole;
      } else {
        std::vector<Cell> cells;
        for_each_index(shapes[k].sizes, [&](const std::vector<std::int64_t>& index) {
          const auto element = tiles[k].element_of(device, index);
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
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const auto sharding =
        read_sharding(texts[k], shapes[k].sizes.size(), devices_.partitions, module_.meshes);
    if (!sharding || sharding->kind != Sharding::Kind::Tiled) {
      give_up(instruction, "the sharding " + texts[k] + " is not understood");
    }
    const TensorRelation tiles = tiled(*sharding, shapes[k], 0, devices_);
    std::vector<Cell> cells(static_cast<std::size_t>(shapes[k].elements()));
    std::vector<bool> written(cells.size(), false);
    Tree part;
    for (std::uint32_t device = 0; device < active.size(); ++device) {
      if (!active[device]) give_up(instruction, "not all devices execute it");
      const Array<Cell>& shard = (*operands[k])[device]->array;
      if (shard.shape.sizes != sharding->tile_sizes(shapes[k].sizes))
        give_up(instruction, "the shard's sizes are not those of its sharding");
      part.array.unknown |= shard.unknown;
      std::int64_t next = 0;
      for_each_index(shard.shape.sizes, [&](const std::vector<std::int64_t>& index) {
        const Cell& cell = shard.at(next++);
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
      work_.spend(static_cast<std::uint64_t>(next));
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

}  // namespace p2::hlo::interpreter
