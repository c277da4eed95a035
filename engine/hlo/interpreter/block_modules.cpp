// Two modules with their relation on one element of each block.

#include "engine/hlo/interpreter/block_modules.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/collective.h"
#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/interpreter/block_dimensions.h"
#include "engine/hlo/interpreter/device_classes.h"
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
    if (!relate(first_.inputs(), second_.inputs(), relation_.inputs) ||
        !relate(first_.outputs(), second_.outputs(), relation_.outputs)) {
      return false;
    }
    find_patterns();
    return true;
  }

  bool has_numbers() const { return !first_.counted().empty() || !second_.counted().empty(); }

  std::optional<BlockModules> attempt(const BlockCuts& cuts, double most) {
    limits_.require(0, "cutting tensors into blocks");
    if (cuts.repeats && patterns_.empty()) return std::nullopt;
    const std::set<BlockLink>& links = cuts.repeats ? repeating_links_ : links_;
    DimensionBlocks blocks(classes_, {links.begin(), links.end()});
    for (const auto& [whole, pattern] : patterns_) {
      if (cuts.repeats) blocks.repeat(whole, pattern.first, pattern.second);
    }
    for (const LinkedDimensions* each : {&first_, &second_}) {
      for (const auto& [dimension, index] : each->changes()) blocks.cut(dimension, index);
      for (const std::uint32_t dimension : each->counted()) {
        if (!cuts.has_ranges) {
          blocks.cut_everywhere(dimension);
        } else {
          for (std::int64_t i = 1; i <= kSingleNumbers; ++i) blocks.cut(dimension, i);
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
    if (!restrict_relation(blocks, made, cuts.repeats)) return std::nullopt;
    made.operations = estimate(*made.before, made.devices, relation_.before) +
                      estimate(*made.after, made.devices, relation_.after);
    if (made.operations > most) return std::nullopt;
    made.inputs_before = starts_of(first_.inputs(), blocks);
    made.inputs_after = starts_of(second_.inputs(), blocks);
    made.outputs_before = starts_of(first_.outputs(), blocks);
    made.outputs_after = starts_of(second_.outputs(), blocks);
    for (const ValueDimensions* each : drawn_inputs()) {
      made.input_sizes.push_back(each->shape->sizes);
      made.input_tails.push_back(tails(*each, blocks));
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
      std::set<std::tuple<std::uint32_t, std::size_t, std::int64_t, std::int64_t, std::int64_t>>
          seen;
      for (std::uint32_t device = 0; device < tensors[k].pieces.size(); ++device) {
        for (const Piece& piece : tensors[k].pieces[device]) {
          const std::uint32_t number = tensors[k].number_on(device);
          if (number >= shards.size()) return false;
          if (wholes[k]->numbers.size() != shards[number]->numbers.size()) return false;
          for (std::size_t i = 0; i < piece.sizes.size(); ++i) {
            if (!seen.emplace(number, i, piece.of[i], piece.at[i], piece.sizes[i]).second) continue;
            relate(wholes[k]->numbers[i], shards[number]->numbers[i], piece, i);
          }
        }
      }
    }
    return true;
  }

  /// Dimensions of the module before partitioning that devices hold in many equal parts, and that
  /// nothing else cuts, repeat what two of these have: data-parallel ranks, of which every other
  /// one then has the same rows.
  void find_patterns() {
    std::map<std::uint32_t, std::set<std::int64_t>> offsets;
    std::map<std::uint32_t, std::int64_t> sizes;
    std::set<std::uint32_t> others;
    for (const LinkedDimensions* each : {&first_, &second_}) {
      for (const std::uint32_t dimension : each->counted()) others.insert(classes_.root(dimension));
      for (const auto& change : each->changes()) others.insert(classes_.root(change.first));
    }
    for (const BlockLink& link : links_) {
      const std::uint32_t whole = classes_.root(link.a);
      others.insert(classes_.root(link.b));
      if (link.kind == BlockLink::Kind::Product) others.insert(classes_.root(link.c));
      const std::int64_t size = classes_.size(link.b);
      const std::int64_t known = sizes.emplace(whole, size).first->second;
      const bool is_part = link.kind == BlockLink::Kind::Part && relating_.contains(link) &&
                           known == size && link.offset % size == 0;
      if (!is_part) others.insert(whole);
      offsets[whole].insert(link.offset);
    }
    for (const auto& [whole, all] : offsets) {
      const std::int64_t size = sizes.at(whole);
      const auto parts = static_cast<std::int64_t>(all.size());
      if (others.contains(whole) || classes_.is_fixed(whole) || parts < kManyParts ||
          parts % 2 != 0 || parts * size != classes_.size(whole)) {
        continue;
      }
      patterns_[whole] = {classes_.add(2 * size), parts / 2};
    }
    for (BlockLink link : links_) {
      const auto pattern = patterns_.find(classes_.root(link.a));
      if (pattern != patterns_.end()) {
        link.a = pattern->second.first;
        link.offset %= classes_.size(link.a);
      }
      repeating_links_.insert(link);
    }
  }

  /// The piece is a dimension of its own, a part of both.
  void relate(std::uint32_t whole, std::uint32_t shard, const Piece& piece, std::size_t i) {
    const std::int64_t size = piece.sizes[i];
    if (classes_.size(whole) == size && classes_.size(shard) == size) {
      classes_.tie(whole, shard);
    } else if (classes_.size(shard) == size) {
      const BlockLink link{BlockLink::Kind::Part, whole, shard, piece.of[i]};
      links_.insert(link);
      relating_.insert(link);
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

  static double estimate(const Module& module, const Devices& devices, Form form) {
    const double shared = form == Form::Global ? devices.count() : 1;
    return estimated_operations(module, devices) / shared;
  }

  /// The relation of the modules on blocks, and of devices that compute the same one alone.
  bool restrict_relation(DimensionBlocks& blocks, BlockModules& made, bool merges) const {
    made.devices = devices_;
    made.relation.before = relation_.before;
    made.relation.after = relation_.after;
    if (!relation_.is_mixed()) return true;
    const bool global_first = relation_.before == Form::Global;
    const Module& partitioned = global_first ? *made.after : *made.before;
    if (merges && !partitioned.programs.empty() && global_first) {
      DeviceClasses classes;
      if (!keep_devices(blocks, partitioned, made.relation, &classes)) return false;
      const DeviceClasses alike = classes;
      if (split_classes(partitioned, classes)) {
        for (auto* tensors : {&made.relation.inputs, &made.relation.outputs}) {
          for (TensorRelation& tensor : *tensors) select_devices(tensor, alike, classes);
        }
        made.after = std::make_shared<const Module>(module_of_classes(partitioned, classes));
        made.devices = {1, static_cast<std::int64_t>(classes.first.size())};
        made.first_devices = classes.first;
        return true;
      }
    }
    made.relation.mesh = relation_.mesh;
    made.relation.is_given = relation_.is_given;
    return keep_devices(blocks, partitioned, made.relation, nullptr);
  }

  /// What the first devices of some classes hold, of what those of larger ones do.
  static void select_devices(TensorRelation& tensor, const DeviceClasses& from,
                             const DeviceClasses& to) {
    const std::vector<std::uint32_t> numbers = std::move(tensor.numbers);
    const std::vector<std::vector<Piece>> pieces = std::move(tensor.pieces);
    tensor.numbers.clear();
    tensor.pieces.clear();
    for (const std::uint32_t device : to.first) {
      if (!numbers.empty()) tensor.numbers.push_back(numbers[from.of[device]]);
      tensor.pieces.push_back(pieces[from.of[device]]);
    }
  }

  /// What each device holds, in blocks; with `classes` only of the first device of each.
  bool keep_devices(DimensionBlocks& blocks, const Module& partitioned, ModuleRelation& made,
                    DeviceClasses* classes) const {
    const bool global_first = relation_.before == Form::Global;
    std::vector<std::pair<const std::vector<TensorRelation>*, std::vector<TensorRelation>*>> all = {
        {&relation_.inputs, &made.inputs}, {&relation_.outputs, &made.outputs}};
    std::vector<std::pair<Arrays, Arrays>> arrays = {
        {(global_first ? first_ : second_).inputs(), (global_first ? second_ : first_).inputs()},
        {(global_first ? first_ : second_).outputs(), (global_first ? second_ : first_).outputs()}};
    for (std::size_t t = 0; t < 2; ++t) {
      all[t].second->clear();
      for (std::size_t k = 0; k < all[t].first->size(); ++k) {
        const TensorRelation& from = (*all[t].first)[k];
        if (classes != nullptr && from.parts > 1) return false;
        TensorRelation& tensor = all[t].second->emplace_back();
        tensor.whole = from.whole;
        for (std::size_t i = 0; i < from.whole.sizes.size(); ++i) {
          tensor.whole.sizes[i] = blocks.blocks(arrays[t].first[k]->numbers[i]);
        }
        tensor.number = from.number;
        tensor.reducer = from.reducer;
        tensor.parts = from.parts;
        tensor.part = from.part;
        tensor.parts_are_devices = from.parts_are_devices;
        tensor.words = from.words;
      }
    }
    std::map<std::vector<std::int64_t>, std::uint32_t> known;
    for (std::uint32_t device = 0; device < devices_.count(); ++device) {
      std::vector<std::int64_t> key;
      if (classes != nullptr) key.push_back(partitioned.program_of[device]);
      std::vector<std::vector<Piece>> kept;
      for (std::size_t t = 0; t < 2; ++t) {
        for (std::size_t k = 0; k < all[t].first->size(); ++k) {
          const TensorRelation& from = (*all[t].first)[k];
          std::vector<Piece>& pieces = kept.emplace_back();
          const std::uint32_t number = from.number_on(device);
          if (number == kNone) continue;
          for (const Piece& piece : from.pieces[device]) {
            const auto made_piece = restricted(piece, arrays[t].first[k]->numbers,
                                               arrays[t].second[number]->numbers, blocks);
            if (!made_piece) return false;
            pieces.push_back(*made_piece);
            if (classes == nullptr) continue;
            key.insert(key.end(),
                       {static_cast<std::int64_t>(t), static_cast<std::int64_t>(k), number});
            for (const auto* list : {&made_piece->of, &made_piece->at, &made_piece->sizes}) {
              key.insert(key.end(), list->begin(), list->end());
            }
          }
        }
      }
      if (classes != nullptr) {
        const auto next = static_cast<std::uint32_t>(classes->first.size());
        const auto [found, added] = known.emplace(std::move(key), next);
        classes->of.push_back(found->second);
        if (!added) continue;
        classes->first.push_back(device);
      }
      std::size_t next = 0;
      for (std::size_t t = 0; t < 2; ++t) {
        for (std::size_t k = 0; k < all[t].first->size(); ++k) {
          const TensorRelation& from = (*all[t].first)[k];
          TensorRelation& tensor = (*all[t].second)[k];
          if (!from.numbers.empty()) tensor.numbers.push_back(from.numbers[device]);
          tensor.pieces.push_back(std::move(kept[next++]));
        }
      }
    }
    return true;
  }

  /// A piece in blocks; nothing where those of the whole and of the device do not fit.
  std::optional<Piece> restricted(const Piece& piece, const std::vector<std::uint32_t>& whole,
                                  const std::vector<std::uint32_t>& shard,
                                  DimensionBlocks& blocks) const {
    Piece made = piece;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const bool is_all = piece.sizes[i] == classes_.size(whole[i]);
      const std::int64_t first = is_all ? 0 : blocks.in_pattern(whole[i], piece.of[i]);
      const std::int64_t end =
          is_all ? blocks.blocks(whole[i]) : blocks.end_at(whole[i], first + piece.sizes[i]);
      const std::int64_t own = blocks.block_at(shard[i], piece.at[i] + piece.sizes[i]);
      made.of[i] = blocks.block_at(whole[i], first);
      made.at[i] = blocks.block_at(shard[i], piece.at[i]);
      made.sizes[i] = end - made.of[i];
      if (own - made.at[i] != made.sizes[i]) return std::nullopt;
    }
    return made;
  }

  /// By dimension of an array: the first block of several numbers of an iota, or kNone.
  std::vector<std::uint32_t> tails(const ValueDimensions& array, DimensionBlocks& blocks) const {
    std::set<std::uint32_t> counted;
    for (const LinkedDimensions* each : {&first_, &second_}) {
      for (const std::uint32_t dimension : each->counted())
        counted.insert(classes_.root(dimension));
    }
    std::vector<std::uint32_t> all;
    for (const std::uint32_t dimension : array.numbers) {
      all.push_back(kNone);
      if (!counted.contains(classes_.root(dimension))) continue;
      const std::vector<std::int64_t>& starts = blocks.starts(dimension);
      for (std::uint32_t i = 0; i + 1 < starts.size() && all.back() == kNone; ++i) {
        if (starts[i] >= kSingleNumbers && starts[i + 1] - starts[i] > 1) all.back() = i;
      }
    }
    return all;
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

  /// Devices hold so many parts of a dimension that it repeats some.
  static constexpr std::int64_t kManyParts = 16;
  /// Numbers of an iota that are blocks of their own where its others are together.
  static constexpr std::int64_t kSingleNumbers = 4;

  const Devices& devices_;
  const ModuleRelation& relation_;
  const Limits& limits_;
  mutable DimensionClasses classes_;
  std::set<BlockLink> links_;
  std::set<BlockLink> relating_;  ///< those of `links_` that are of the relation
  /// Dimensions, by root, with the one that they repeat and how often.
  std::map<std::uint32_t, std::pair<std::uint32_t, std::int64_t>> patterns_;
  std::set<BlockLink> repeating_links_;  ///< with these
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
  for (const bool repeats : {false, true}) {
    for (const bool has_ranges : {false, true}) {
      if (has_ranges && !restriction.has_numbers()) break;
      for (const std::vector<std::int64_t>& cuts : kCuts) {
        if (auto made = restriction.attempt({cuts, has_ranges, repeats}, most)) return made;
      }
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
