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
#include "engine/hlo/interpreter/execution.h"
#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/operations.h"

namespace p2::hlo {
namespace {

using interpreter::BlockLink;
using interpreter::DimensionBlocks;
using interpreter::DimensionClasses;
using interpreter::known_starts;
using interpreter::KnownStarts;
using interpreter::LinkedDimensions;
using interpreter::repeated_dimensions;
using interpreter::RepeatedDimensions;
using interpreter::ValueDimensions;

/// The indices at which dimensions are cut that need not be, in the order of trials.
const std::vector<std::int64_t> kCuts[] = {{1, 3}, {1}, {}};

/// What one more cut multiplies the operations by, at least.
constexpr double kNextCut = 2;

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
    find_repetitions();
    return true;
  }

  bool has_numbers() const { return !first_.counted().empty() || !second_.counted().empty(); }

  std::optional<BlockModules> attempt(const BlockCuts& cuts, double most) {
    limits_.require(0, "cutting tensors into blocks");
    const bool repeats = cuts.repetition != Repetition::None;
    const RepeatedDimensions& repeated = repeated_[cuts.repetition];
    if (repeats && repeated.patterns.empty()) return std::nullopt;
    const std::set<BlockLink>& links = repeats ? repeated.links : links_;
    DimensionBlocks blocks(classes_, {links.begin(), links.end()});
    for (const auto& [whole, pattern] : repeated.patterns) {
      blocks.repeat(whole, pattern.first, pattern.second);
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
    if (!blocks.close(limits_)) return std::nullopt;
    if (first_.largest(blocks) > most || second_.largest(blocks) > most) return std::nullopt;
    // Devices that compute the same are executed once.
    if (!repeats && operations(blocks) > most) return std::nullopt;
    BlockModules made;
    made.has_ranges = cuts.has_ranges;
    made.before = first_.restricted(blocks);
    made.after = second_.restricted(blocks);
    if (repeats) {
      made.before = std::make_shared<const Module>(without_repetitions(*made.before));
      made.after = std::make_shared<const Module>(without_repetitions(*made.after));
    }
    if (!restrict_relation(blocks, made, repeats)) return std::nullopt;
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

  /// For each repetition the dimensions that have it.
  void find_repetitions() {
    std::set<std::uint32_t> cut;
    std::set<BlockLink> moving;
    for (const LinkedDimensions* each : {&first_, &second_}) {
      cut.insert(each->counted().begin(), each->counted().end());
      for (const auto& change : each->changes()) cut.insert(change.first);
      moving.insert(each->moving().begin(), each->moving().end());
    }
    for (const Repetition each : {Repetition::Parts, Repetition::TwoRows, Repetition::OneRow}) {
      repeated_[each] = repeated_dimensions(classes_, {links_, relating_, moving, cut}, each);
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

  /// An estimate for both modules.
  double operations(DimensionBlocks& blocks) const {
    const auto shared = [&](Form form) { return form == Form::Global ? devices_.count() : 1; };
    return first_.operations(blocks) / shared(relation_.before) +
           second_.operations(blocks) / shared(relation_.after);
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
      const auto [first, end] = blocks.blocks_of(whole[i], piece.of[i], piece.sizes[i]);
      const auto [own, own_end] = blocks.blocks_of(shard[i], piece.at[i], piece.sizes[i]);
      made.of[i] = first;
      made.at[i] = own;
      made.sizes[i] = end - first;
      if (own_end - own != made.sizes[i]) return std::nullopt;
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

  /// Numbers of an iota that are blocks of their own where its others are together.
  static constexpr std::int64_t kSingleNumbers = 4;

  const Devices& devices_;
  const ModuleRelation& relation_;
  const Limits& limits_;
  mutable DimensionClasses classes_;
  std::set<BlockLink> links_;
  std::set<BlockLink> relating_;  ///< those of `links_` that are of the relation
  std::map<Repetition, RepeatedDimensions> repeated_;
  KnownStarts starts_[2];
  LinkedDimensions first_;
  LinkedDimensions second_;
};

}  // namespace

std::optional<BlockModules> block_modules(const Module& before, const Module& after,
                                          const Devices& devices, const ModuleRelation& relation,
                                          double most, const Limits& limits, bool repeats_rows) {
  Restriction restriction(before, after, devices, relation, limits);
  if (relation.mismatch || !restriction.relate()) return std::nullopt;
  for (const Repetition repetition :
       {Repetition::None, Repetition::Parts, Repetition::TwoRows, Repetition::OneRow}) {
    const bool repeats = repetition != Repetition::None;
    if (repeats && !repeats_rows) break;
    for (const bool has_ranges : {false, true}) {
      if (has_ranges && !restriction.has_numbers()) break;
      // What repetitions save shows when modules are made: the smallest first.
      std::optional<BlockModules> found;
      for (std::size_t k = 0; k < std::size(kCuts) && (repeats || !found); ++k) {
        const auto& cuts = kCuts[repeats ? std::size(kCuts) - 1 - k : k];
        auto made = restriction.attempt({cuts, has_ranges, repetition}, most);
        if (repeats && !made) break;
        const bool is_last = repeats && made->operations * kNextCut > most;
        if (made) found = std::move(made);
        if (is_last) break;
      }
      if (found) return found;
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
