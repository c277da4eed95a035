// Two modules with their relation on one element of each block.

#include "engine/hlo/interpreter/block_modules.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/collective.h"
#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/interpreter/block_dimensions.h"
#include "engine/hlo/interpreter/execution.h"
#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/operations.h"

namespace p2::hlo {
namespace {

using interpreter::BlockLink;
using interpreter::DimensionBlocks;
using interpreter::DimensionClasses;
using interpreter::KnownStarts;
using interpreter::LinkedDimensions;
using interpreter::Numbers;
using interpreter::ValueDimensions;

/// Indices are computed from arrays of at most so many elements.
constexpr std::int64_t kMaxIndexElements = 65536;
constexpr std::uint64_t kMaxIndexOperations = 10'000'000;

/// The indices at which dimensions are cut that need not be, in the order of trials.
const std::vector<std::int64_t> kCuts[] = {{1, 3}, {1}, {}};

bool is_small(const Shape& shape) {
  for (const ArrayShape& array : shape.arrays()) {
    if (array.elements() > kMaxIndexElements) return false;
  }
  return true;
}

bool is_dynamic_access(const Instruction& instruction) {
  return instruction.opcode == "dynamic-slice" || instruction.opcode == "dynamic-update-slice";
}

/// The instructions of the entry whose values depend on no input, and are small.
std::vector<bool> constant_instructions(const Computation& entry) {
  std::vector<bool> all;
  for (const Instruction& each : entry.instructions) {
    bool is_constant = each.opcode != "parameter" && is_small(each.shape) && !is_impure(each) &&
                       each.opcode != kMatchedReceive && each.opcode != "custom-call" &&
                       !(each.literal && each.literal->elided);
    for (const std::uint32_t operand : each.operands) is_constant = is_constant && all[operand];
    all.push_back(is_constant);
  }
  return all;
}

/// The starts of the dynamic slices and updates of the entry that depend on constants and on the
/// device alone: these are executed by themselves.
KnownStarts known_starts(const Module& module, const Devices& devices, const Limits& limits) {
  const Computation& entry = module.entry_computation();
  const std::vector<bool> is_constant = constant_instructions(entry);
  std::vector<bool> is_needed(entry.instructions.size(), false);
  std::vector<const Instruction*> slices;
  for (const Instruction& each : entry.instructions) {
    if (!is_dynamic_access(each) || each.shape.array.sizes.empty()) continue;
    slices.push_back(&each);
    for (std::size_t k = each.opcode == "dynamic-slice" ? 1 : 2; k < each.operands.size(); ++k) {
      if (is_constant[each.operands[k]]) is_needed[each.operands[k]] = true;
    }
  }
  KnownStarts result;
  if (slices.empty()) return result;
  for (std::size_t i = is_needed.size(); i-- > 0;) {
    if (!is_needed[i]) continue;
    for (const std::uint32_t operand : entry.instructions[i].operands) is_needed[operand] = true;
  }
  Module pruned = module;
  Computation& kept = pruned.computations[pruned.entry];
  kept.instructions.clear();
  kept.parameters.clear();
  Instruction root;
  root.name = "starts";
  root.opcode = "tuple";
  root.shape.is_tuple = true;
  root.program = kEveryProgram;
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < is_needed.size(); ++i) {
    if (!is_needed[i]) continue;
    Instruction copy = entry.instructions[i];
    for (std::uint32_t& operand : copy.operands) operand = numbers.at(operand);
    numbers[i] = static_cast<std::uint32_t>(kept.instructions.size());
    root.operands.push_back(numbers[i]);
    root.shape.parts.push_back(copy.shape);
    kept.instructions.push_back(std::move(copy));
  }
  kept.root = static_cast<std::uint32_t>(kept.instructions.size());
  kept.instructions.push_back(root);
  Numbers arithmetic;
  interpreter::Work work(limits, kMaxIndexOperations);
  interpreter::Interpreter<Numbers>::PerDevice values;
  try {
    interpreter::Interpreter<Numbers> run(pruned, 1, devices, arithmetic, work);
    values = run.run({});
  } catch (const interpreter::NotUnderstood&) {
    return result;
  }
  for (const Instruction* slice : slices) {
    const bool updates = slice->opcode == "dynamic-update-slice";
    const std::size_t first = updates ? 2 : 1;
    const ArrayShape& whole = entry.instructions[slice->operands.at(0)].shape.array;
    const ArrayShape& window =
        updates ? entry.instructions[slice->operands.at(1)].shape.array : slice->shape.array;
    const std::size_t rank = whole.sizes.size();
    if (window.sizes.size() != rank || slice->operands.size() != first + rank) continue;
    auto& starts = result[slice];
    starts.resize(rank);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t last = whole.sizes[i] - window.sizes[i];
      const auto number = numbers.find(slice->operands[first + i]);
      const Instruction& from = entry.instructions[slice->operands[first + i]];
      if (number == numbers.end() || !from.shape.array.sizes.empty()) continue;
      for (std::uint32_t device = 0; device < devices.count(); ++device) {
        if (!values[device]) continue;
        const auto& array = values[device]->parts.at(number->second).array;
        if (!array.cells || array.cells->empty()) continue;  // of another program
        if (array.unknown || array.at(0).arbitrary) {
          starts[i].clear();
          break;
        }
        const std::int64_t value = array.at(0).integer;
        const bool is_unsigned = from.shape.array.type.kind() == ElementType::Kind::Unsigned;
        starts[i].insert(value < 0 && is_unsigned ? last
                                                  : std::clamp<std::int64_t>(value, 0, last));
      }
    }
  }
  return result;
}

class Restriction {
 public:
  Restriction(const Module& before, const Module& after, const Devices& devices,
              const ModuleRelation& relation, const Limits& limits)
      : devices_(devices),
        relation_(relation),
        limits_(limits),
        starts_{known_starts(before, devices, limits), known_starts(after, devices, limits)},
        first_(before, classes_, links_, devices, starts_[0]),
        second_(after, classes_, links_, devices, starts_[1]) {}

  /// Whether the relation can be followed; once, before attempts.
  bool relate() {
    first_.classify();
    second_.classify();
    return relate(first_.inputs(), second_.inputs(), relation_.inputs) &&
           relate(first_.outputs(), second_.outputs(), relation_.outputs);
  }

  bool has_numbers() const { return !first_.counted().empty() || !second_.counted().empty(); }

  std::optional<BlockModules> attempt(const BlockCuts& cuts, double most) {
    limits_.require(0, "cutting tensors into blocks");
    DimensionBlocks blocks(classes_, {links_.begin(), links_.end()});
    for (const LinkedDimensions* each : {&first_, &second_}) {
      for (const auto& [dimension, index] : each->changes()) blocks.cut(dimension, index);
      for (const std::uint32_t dimension : each->counted()) {
        if (!cuts.has_ranges) {
          blocks.cut_everywhere(dimension);
        } else {
          for (std::int64_t i = 1; i < kSingleNumbers; ++i) blocks.cut(dimension, i);
        }
      }
    }
    for (std::uint32_t each = 0; each < classes_.count(); ++each) {
      if (classes_.root(each) != each) continue;
      for (const std::int64_t at : cuts.everywhere) blocks.cut(each, at);
    }
    if (!blocks.close()) return std::nullopt;
    if (first_.largest(blocks) > most || second_.largest(blocks) > most) return std::nullopt;
    BlockModules made;
    made.has_ranges = cuts.has_ranges;
    made.before = first_.restricted(blocks);
    made.after = second_.restricted(blocks);
    made.operations =
        estimate(*made.before, relation_.before) + estimate(*made.after, relation_.after);
    if (made.operations > most) return std::nullopt;
    made.relation = relation_;
    made.relation.drawn_sizes.clear();
    if (!restrict(made.relation.inputs, first_.inputs(), second_.inputs(), blocks) ||
        !restrict(made.relation.outputs, first_.outputs(), second_.outputs(), blocks)) {
      return std::nullopt;
    }
    made.inputs_before = starts_of(first_.inputs(), blocks);
    made.inputs_after = starts_of(second_.inputs(), blocks);
    made.outputs_before = starts_of(first_.outputs(), blocks);
    made.outputs_after = starts_of(second_.outputs(), blocks);
    for (const ValueDimensions* each : drawn_inputs()) {
      made.input_sizes.push_back(each->shape->sizes);
    }
    made.words = words(blocks);
    return made;
  }

 private:
  using Arrays = std::vector<const ValueDimensions*>;

  /// Links the blocks of what devices hold to those of the whole.
  bool relate(const Arrays& before, const Arrays& after,
              const std::vector<TensorRelation>& tensors) {
    if (!relation_.is_mixed()) {
      if (before.size() != after.size()) return false;
      for (std::size_t k = 0; k < before.size(); ++k) {
        if (before[k]->numbers.size() != after[k]->numbers.size()) return false;
        for (std::size_t i = 0; i < before[k]->numbers.size(); ++i) {
          classes_.tie(before[k]->numbers[i], after[k]->numbers[i]);
        }
      }
      return true;
    }
    const bool global_first = relation_.before == Form::Global;
    const Arrays& wholes = global_first ? before : after;
    const Arrays& shards = global_first ? after : before;
    if (tensors.size() != wholes.size()) return false;
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      std::set<std::pair<std::uint32_t, std::vector<std::int64_t>>> seen;
      for (std::uint32_t device = 0; device < tensors[k].pieces.size(); ++device) {
        for (const Piece& piece : tensors[k].pieces[device]) {
          const std::uint32_t number = tensors[k].number_on(device);
          if (number >= shards.size()) return false;
          if (wholes[k]->numbers.size() != shards[number]->numbers.size()) return false;
          for (std::size_t i = 0; i < piece.sizes.size(); ++i) {
            if (!seen.emplace(number,
                              std::vector<std::int64_t>{static_cast<std::int64_t>(i), piece.of[i],
                                                        piece.at[i], piece.sizes[i]})
                     .second) {
              continue;
            }
            relate(wholes[k]->numbers[i], shards[number]->numbers[i], piece, i);
          }
        }
      }
    }
    return true;
  }

  /// The piece is a dimension of its own, a part of both.
  void relate(std::uint32_t whole, std::uint32_t shard, const Piece& piece, std::size_t i) {
    const std::int64_t size = piece.sizes[i];
    if (classes_.size(whole) == size && classes_.size(shard) == size) {
      classes_.tie(whole, shard);
    } else if (classes_.size(shard) == size) {
      links_.insert({BlockLink::Kind::Part, whole, shard, piece.of[i]});
    } else {
      const std::uint32_t part = classes_.add(size);
      links_.insert({BlockLink::Kind::Part, whole, part, piece.of[i]});
      links_.insert({BlockLink::Kind::Part, shard, part, piece.at[i]});
    }
  }

  Arrays drawn_inputs() const {
    const bool is_first = relation_.before == Form::Global || !relation_.is_mixed();
    return is_first ? first_.inputs() : second_.inputs();
  }

  double estimate(const Module& module, Form form) const {
    const double shared = form == Form::Global ? devices_.count() : 1;
    return estimated_operations(module, devices_) / shared;
  }

  bool restrict(std::vector<TensorRelation>& tensors, const Arrays& before, const Arrays& after,
                DimensionBlocks& blocks) const {
    if (!relation_.is_mixed()) return true;
    const bool global_first = relation_.before == Form::Global;
    const Arrays& wholes = global_first ? before : after;
    const Arrays& shards = global_first ? after : before;
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      TensorRelation& tensor = tensors[k];
      const std::vector<std::uint32_t>& whole = wholes[k]->numbers;
      for (std::size_t i = 0; i < whole.size(); ++i) {
        tensor.whole.sizes[i] = blocks.blocks(whole[i]);
      }
      for (std::uint32_t device = 0; device < tensor.pieces.size(); ++device) {
        for (Piece& piece : tensor.pieces[device]) {
          const std::vector<std::uint32_t>& shard = shards[tensor.number_on(device)]->numbers;
          for (std::size_t i = 0; i < whole.size(); ++i) {
            const std::int64_t end = blocks.block_at(whole[i], piece.of[i] + piece.sizes[i]);
            const std::int64_t own = blocks.block_at(shard[i], piece.at[i] + piece.sizes[i]);
            piece.of[i] = blocks.block_at(whole[i], piece.of[i]);
            piece.at[i] = blocks.block_at(shard[i], piece.at[i]);
            piece.sizes[i] = end - piece.of[i];
            if (own - piece.at[i] != piece.sizes[i]) return false;
          }
        }
      }
    }
    return true;
  }

  BlockModules::Starts starts_of(const Arrays& arrays, DimensionBlocks& blocks) const {
    BlockModules::Starts all;
    for (const ValueDimensions* array : arrays) {
      auto& own = all.emplace_back();
      for (const std::uint32_t each : array->numbers) own.push_back(blocks.starts(each));
    }
    return all;
  }

  /// The sizes of inputs' dimensions that have fewer blocks.
  std::string words(DimensionBlocks& blocks) const {
    std::map<std::int64_t, std::int64_t, std::greater<>> sizes;
    for (const ValueDimensions* array : drawn_inputs()) {
      for (const std::uint32_t each : array->numbers) {
        const std::int64_t count = blocks.blocks(each);
        if (count < classes_.size(each)) {
          std::int64_t& most = sizes[classes_.size(each)];
          most = std::max(most, count);
        }
      }
    }
    std::vector<std::string> all;
    for (const auto& [size, count] : sizes) all.push_back(fmt::format("{} in {}", size, count));
    return fmt::format("{}", fmt::join(all, ", "));
  }

  /// Numbers of an iota that are blocks of their own where its others are together.
  static constexpr std::int64_t kSingleNumbers = 4;

  const Devices& devices_;
  const ModuleRelation& relation_;
  const Limits& limits_;
  mutable DimensionClasses classes_;
  std::set<BlockLink> links_;
  KnownStarts starts_[2];
  LinkedDimensions first_;
  LinkedDimensions second_;
};

}  // namespace

std::optional<BlockModules> block_modules(const Module& before, const Module& after,
                                          const Devices& devices, const ModuleRelation& relation,
                                          double most, const Limits& limits) {
  Restriction restriction(before, after, devices, relation, limits);
  if (relation.mismatch || !restriction.relate()) return std::nullopt;
  for (const bool has_ranges : {false, true}) {
    if (has_ranges && !restriction.has_numbers()) break;
    for (const std::vector<std::int64_t>& cuts : kCuts) {
      if (auto made = restriction.attempt({cuts, has_ranges}, most)) return made;
    }
  }
  return std::nullopt;
}

std::optional<BlockModules> block_modules_cut(const Module& before, const Module& after,
                                              const Devices& devices,
                                              const ModuleRelation& relation, const BlockCuts& cuts,
                                              double most, const Limits& limits) {
  Restriction restriction(before, after, devices, relation, limits);
  if (relation.mismatch || !restriction.relate()) return std::nullopt;
  return restriction.attempt(cuts, most);
}

}  // namespace p2::hlo
