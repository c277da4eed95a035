// Dimensions of which devices hold many equal parts, and that nothing but slices into equal parts
// cuts further: rows of a batch, of data-parallel ranks and their microbatches. Inputs may repeat
// some of their indices, so that most ranks and microbatches compute the same.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/hlo/interpreter/block_dimensions.h"

namespace p2::hlo::interpreter {
namespace {

/// A dimension has so many parts that it repeats some.
constexpr std::int64_t kManyParts = 16;

/// How a dimension is cut into parts of equal size.
struct EqualParts {
  std::int64_t size = 0;
  std::set<std::int64_t> offsets = {};
  std::set<std::uint32_t> parts = {};  ///< roots
};

class Repetitions {
 public:
  Repetitions(DimensionClasses& classes, const AllLinks& all, Repetition repetition)
      : classes_(classes), all_(all), repetition_(repetition) {}

  RepeatedDimensions find() {
    find_equal_parts();
    if (repetition_ == Repetition::Parts) {
      repeat_parts();
    } else {
      repeat_rows(repetition_ == Repetition::TwoRows ? 2 : 1);
    }
    for (BlockLink link : all_.links) {
      const auto pattern = result_.patterns.find(classes_.root(link.a));
      if (pattern != result_.patterns.end() && link.kind == BlockLink::Kind::Part) {
        const auto part = result_.patterns.find(classes_.root(link.b));
        if (part != result_.patterns.end()) continue;  // both repeat the same
        link.a = pattern->second.first;
        link.offset %= classes_.size(link.a);
      }
      result_.links.insert(link);
    }
    return std::move(result_);
  }

 private:
  /// Whether a link may be that of a part that is repeated.
  bool is_equal_part(const BlockLink& link) const {
    if (link.kind != BlockLink::Kind::Part || all_.moving.contains(link)) return false;
    return repetition_ != Repetition::Parts || all_.relating.contains(link);
  }

  void find_equal_parts() {
    std::set<std::uint32_t> others;
    for (const std::uint32_t each : all_.cut) others.insert(classes_.root(each));
    for (const BlockLink& link : all_.links) {
      const std::uint32_t whole = classes_.root(link.a);
      if (!is_equal_part(link)) {
        others.insert({whole, classes_.root(link.b)});
        if (link.kind == BlockLink::Kind::Product) others.insert(classes_.root(link.c));
        continue;
      }
      part_of_[classes_.root(link.b)].insert(whole);
      EqualParts& parts = parts_[whole];
      const std::int64_t size = classes_.size(link.b);
      if (parts.size == 0) parts.size = size;
      if (size == 0 || parts.size != size || link.offset % size != 0) others.insert(whole);
      parts.offsets.insert(link.offset);
      parts.parts.insert(classes_.root(link.b));
    }
    std::erase_if(parts_, [&](const auto& each) {
      const auto& [whole, parts] = each;
      const auto count = static_cast<std::int64_t>(parts.offsets.size());
      return others.contains(whole) || classes_.is_fixed(whole) || count < 2 ||
             *parts.offsets.begin() != 0 || count * parts.size != classes_.size(whole);
    });
  }

  void repeat_parts() {
    for (const auto& [whole, parts] : parts_) {
      const auto count = static_cast<std::int64_t>(parts.offsets.size());
      if (part_of_.contains(whole) || count < kManyParts || count % 2 != 0) continue;
      result_.patterns[whole] = {classes_.add(2 * parts.size), count / 2};
    }
  }

  /// Wholes and the parts of parts repeat `rows` of the smallest parts.
  void repeat_rows(std::int64_t rows) {
    for (bool changed = true; changed;) {
      changed = std::erase_if(parts_, [&](const auto& each) {
                  return !is_part_of_repeated(each.first) || !row_of(each.first, rows);
                }) > 0;
    }
    std::map<std::int64_t, std::uint32_t> patterns;  // by the size of a row
    for (const auto& [whole, parts] : parts_) {
      const std::int64_t row = *row_of(whole, rows);
      if (!patterns.contains(row)) patterns[row] = classes_.add(rows * row);
      result_.patterns[whole] = {patterns[row], classes_.size(whole) / (rows * row)};
    }
  }

  /// Whether all dimensions of which one is a part are repeated; one that is no part has to be of
  /// many rows.
  bool is_part_of_repeated(std::uint32_t dimension) const {
    const auto wholes = part_of_.find(dimension);
    if (wholes == part_of_.end()) {
      const auto row = row_of(dimension, 1);
      return row && classes_.size(dimension) / *row >= kManyParts;
    }
    for (const std::uint32_t whole : wholes->second) {
      if (!parts_.contains(whole)) return false;
    }
    return true;
  }

  /// The size of the smallest parts, if it is that of all, and `rows` of them fit.
  std::optional<std::int64_t> row_of(std::uint32_t whole, std::int64_t rows) const {
    std::set<std::int64_t> sizes;
    for (const std::uint32_t part : parts_.at(whole).parts) {
      const auto row = parts_.contains(part) ? row_of(part, rows) : classes_.size(part);
      if (!row) return std::nullopt;
      sizes.insert(*row);
    }
    if (sizes.size() != 1 || classes_.size(whole) % (rows * *sizes.begin()) != 0) {
      return std::nullopt;
    }
    return *sizes.begin();
  }

  DimensionClasses& classes_;
  const AllLinks& all_;
  Repetition repetition_;
  std::map<std::uint32_t, EqualParts> parts_;                 ///< by root of the whole
  std::map<std::uint32_t, std::set<std::uint32_t>> part_of_;  ///< by root of the part
  RepeatedDimensions result_;
};

}  // namespace

RepeatedDimensions repeated_dimensions(DimensionClasses& classes, const AllLinks& all,
                                       Repetition repetition) {
  return Repetitions(classes, all, repetition).find();
}

}  // namespace p2::hlo::interpreter
