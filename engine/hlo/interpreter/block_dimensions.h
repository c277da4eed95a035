#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/hlo/collective.h"
#include "engine/hlo/interpreter/block_modules.h"
#include "engine/hlo/interpreter/dimension_classes.h"

namespace p2::hlo::interpreter {

/// How blocks of one dimension are tied to those of others.
struct BlockLink {
  enum class Kind : std::uint8_t {
    Part,     ///< index i of b is index i + offset of a, where both exist
    Mirror,   ///< index i of b is index size − 1 − i of a
    Product,  ///< index i · size(c) + j of a is the pair (i, j) of b and c
  };
  Kind kind;
  std::uint32_t a;
  std::uint32_t b;
  std::int64_t offset = 0;
  std::uint32_t c = 0;

  auto operator<=>(const BlockLink&) const = default;
};

/// Partitions of dimensions into blocks of indices that follow each other, equal in a class and as
/// links require. A fixed class has blocks of one index.
class DimensionBlocks {
 public:
  DimensionBlocks(DimensionClasses& classes, std::vector<BlockLink> links)
      : classes_(classes), links_(std::move(links)) {}

  /// A dimension is another one `times` times, and has its blocks: block i is all of the blocks i.
  void repeat(std::uint32_t dimension, std::uint32_t pattern, std::int64_t times) {
    repeated_[classes_.root(dimension)] = {pattern, times};
  }
  /// How often the elements of a dimension's blocks are there.
  std::int64_t times(std::uint32_t dimension) {
    const auto found = repeated_.find(classes_.root(dimension));
    return found == repeated_.end() ? 1 : found->second.second;
  }
  /// Makes a block begin at `index`, if that is inside of the dimension.
  void cut(std::uint32_t dimension, std::int64_t index);
  void cut_everywhere(std::uint32_t dimension) { fixed_.insert(classes_.root(dimension)); }
  /// Cuts until all links hold; false where that takes too many blocks. Throws LimitReached.
  bool close(const Limits& limits);
  /// The first index of each block, in order, and the size. Precondition: close().
  const std::vector<std::int64_t>& starts(std::uint32_t dimension);
  std::int64_t blocks(std::uint32_t dimension) {
    return classes_.size(dimension) == 0 ? 0
                                         : static_cast<std::int64_t>(starts(dimension).size()) - 1;
  }
  /// The number of the block that begins at an index, or of blocks for the size.
  std::int64_t block_at(std::uint32_t dimension, std::int64_t index);
  /// The first of the blocks that `size` indices from one on have, and the end; of a dimension that
  /// repeats one, in that. Throws LimitReached where they do not begin and end there.
  std::pair<std::int64_t, std::int64_t> blocks_of(std::uint32_t dimension, std::int64_t index,
                                                  std::int64_t size);

 private:
  using Cuts = std::set<std::int64_t>;
  bool apply(const BlockLink& link);
  bool is_fixed(std::uint32_t dimension) {
    return classes_.is_fixed(dimension) || fixed_.contains(classes_.root(dimension));
  }
  bool part(const BlockLink& link);
  bool product(const BlockLink& link);
  bool insert(std::uint32_t dimension, std::int64_t index);
  bool fix(std::uint32_t dimension);

  DimensionClasses& classes_;
  std::vector<BlockLink> links_;
  std::set<std::uint32_t> fixed_;  ///< roots
  std::vector<Cuts> cuts_;         ///< by root: inner ones
  std::map<std::uint32_t, std::pair<std::uint32_t, std::int64_t>> repeated_;  ///< by root
  std::size_t total_ = 0;
  std::vector<std::vector<std::int64_t>> starts_;
};

/// The links of all dimensions, and what decides where indices may be repeated.
struct AllLinks {
  const std::set<BlockLink>& links;
  const std::set<BlockLink>& relating;  ///< of parts that devices hold
  const std::set<BlockLink>& moving;    ///< of operations other than slices
  const std::set<std::uint32_t>& cut;   ///< dimensions that an iota or a constant cuts
};

/// Dimensions, by root, with the one that they repeat and how often; and all links with these.
struct RepeatedDimensions {
  std::map<std::uint32_t, std::pair<std::uint32_t, std::int64_t>> patterns = {};
  std::set<BlockLink> links = {};
};

/// The dimensions that repeat some of their indices (repeated_dimensions.cpp).
RepeatedDimensions repeated_dimensions(DimensionClasses& classes, const AllLinks& all,
                                       Repetition repetition);

/// The starts that a dynamic slice or update may have along its dimensions, on any device; nothing
/// where they are not known.
using KnownStarts = std::map<const Instruction*, std::vector<std::set<std::int64_t>>>;

/// The starts of the dynamic slices and updates of the entry that depend on constants and on the
/// device alone: these are executed by themselves.
KnownStarts known_starts(const Module& module, const Devices& devices, const Limits& limits);

/// The dimensions of a module's values, with the links between those that are not passed on.
class LinkedDimensions : public ModuleDimensions {
 public:
  LinkedDimensions(const Module& module, DimensionClasses& classes, std::set<BlockLink>& links,
                   const Devices& devices, const KnownStarts& starts)
      : ModuleDimensions(module, classes, false),
        links_(links),
        devices_(devices),
        known_starts_(starts) {}

  /// Dimensions along which a `iota` counts.
  const std::vector<std::uint32_t>& counted() const { return counted_; }
  /// Dimensions and the indices at which a constant changes along them.
  const std::vector<std::pair<std::uint32_t, std::int64_t>>& changes() const { return changes_; }
  /// The links of all operations but slices.
  const std::set<BlockLink>& moving() const { return moving_; }
  /// The elements of the largest array at the sizes of blocks.
  double largest(DimensionBlocks& blocks) const;
  /// An estimate of the operations on elements of the entry at the sizes of blocks, on all devices.
  double operations(DimensionBlocks& blocks) const;
  /// The module at the sizes of blocks.
  std::shared_ptr<const Module> restricted(DimensionBlocks& blocks) const;

 private:
  using Marks = std::vector<std::vector<bool>>;
  void relate(const Instruction& instruction, const Arrays& arrays, Marks& marked) override;
  void relate_moved(const Instruction& instruction, const Arrays& arrays, Marks& marked);
  void relate_reshape(const Arrays& arrays, Marks& marked);
  void relate_collective(const Instruction& instruction, const Arrays& arrays, Marks& marked);
  void relate_constant(const Instruction& instruction, const ValueDimensions& array, Marks& marked);
  void relate_dynamic(const Instruction& instruction, const Arrays& arrays, Marks& marked);
  void link(BlockLink link) {
    links_.insert(link);
    moving_.insert(link);
  }
  std::uint32_t flattened(const std::vector<std::uint32_t>& dimensions);
  Shape restricted(const ValueDimensions& value, DimensionBlocks& blocks) const;
  void restrict_attributes(const Instruction& old, Instruction& made, const ValueDimensions& value,
                           const Values& values, DimensionBlocks& blocks) const;

  std::set<BlockLink>& links_;
  std::set<BlockLink> moving_;
  const Devices& devices_;
  const KnownStarts& known_starts_;
  std::vector<std::uint32_t> counted_;
  std::vector<std::pair<std::uint32_t, std::int64_t>> changes_;
};

/// The names of attributes of an instruction on blocks: how many elements each block that is summed
/// over has, in row-major order of these dimensions; the first and the last number of each block of
/// an iota; for each dimension of a dynamic slice, `i:` the start and the block that begins there.
constexpr std::string_view kBlockSizes = "block_sizes";
constexpr std::string_view kFirstNumbers = "first_numbers";
constexpr std::string_view kLastNumbers = "last_numbers";
constexpr std::string_view kStartSizes = "start_sizes";
constexpr std::string_view kBlockStarts = "block_starts";

}  // namespace p2::hlo::interpreter
