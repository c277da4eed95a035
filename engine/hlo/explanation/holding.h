#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/hlo/explanation/trace.h"

namespace p2::hlo {

/// Groups of devices, each device in one.
using Groups = std::vector<std::vector<std::uint32_t>>;

/// How an array of one module is made of an array of another: what devices hold are boxes of it
/// that cover it; or, over groups of devices, the reductions of what they hold are; or multiples.
struct Holding {
  std::uint32_t array = 0;             ///< of the other module
  Reducer reducer = Reducer::Unknown;  ///< Unknown: the boxes themselves
  Groups groups = {};                  ///< whose reductions are the boxes
  Number factor = {1, 1};              ///< what is held is so many times the boxes
  /// By device: the first index of its box; empty where the arrays have other ranks, or the device
  /// holds none of it.
  std::vector<std::vector<std::int64_t>> starts = {};

  bool is_plain() const { return reducer == Reducer::Unknown && factor == Number{1, 1}; }
  /// Every device holds the whole.
  bool is_whole = false;
};

/// Finds the arrays of one module in those of another, by the values of their elements at a random
/// point: what is found is equal for all inputs, but for a probability of about 2^-60 per pair.
class HoldingSearch {
 public:
  /// `is_global`: devices hold boxes of arrays that are the same on all devices, and together all
  /// of it; else a device holds boxes of what the same device has in the other module. `groups`:
  /// those over which reductions are tried.
  HoldingSearch(const Trace& other, bool is_global, RandomInterpretation& interpretation,
                std::vector<Groups> groups);

  std::optional<Holding> find(const TracedArray& array);
  /// Whether every element is an element of some array of the other module.
  bool occurs(const TracedArray& array) const;

 private:
  /// An element of the other module, and where it is.
  struct Entry {
    std::uint64_t value = 0;
    std::uint32_t block = 0;
    std::uint32_t position = 0;
  };

  std::optional<Holding> find_boxes(const TracedArray& array, const std::vector<Cells>& cells,
                                    bool is_exact);
  std::optional<Holding> reduced(const TracedArray& array);
  std::optional<Holding> scaled(const TracedArray& array);
  bool verify(const TracedArray& array, const std::vector<Cells>& cells, std::uint32_t other,
              Holding& holding) const;
  bool covers(const std::vector<Cells>& cells, std::uint32_t other) const;
  std::optional<std::vector<std::int64_t>> box_start(const ArrayShape& shape,
                                                     const std::vector<Cell>& cells,
                                                     const ArrayShape& whole,
                                                     std::uint32_t block) const;
  std::size_t probe(const std::vector<Cell>& cells) const;
  std::pair<const Entry*, const Entry*> range(std::uint64_t value) const;

  const Trace& other_;
  bool is_global_;
  RandomInterpretation& interpretation_;
  std::vector<Groups> groups_;
  std::vector<Number> factors_;  ///< of multiples: sizes of groups, constants of the other module
  std::vector<Entry> entries_;   ///< sorted
  std::vector<const std::vector<Cell>*> blocks_;
  std::unordered_map<const void*, std::uint32_t> numbers_;  ///< of blocks
  std::vector<std::vector<std::uint32_t>> arrays_of_;  ///< by block: arrays of the first device
};

/// The index of the element with a row-major number.
std::vector<std::int64_t> index_of(std::int64_t element, const std::vector<std::int64_t>& sizes);
/// `{0,1} {2,3}`, shortened.
std::string groups_text(const Groups& groups);
/// Groups of equal size over which a module may reduce: of its own collectives, along the axes of
/// the mesh, and of devices that are equally far apart.
std::vector<Groups> likely_groups(const Module& module, const Devices& devices,
                                  const std::vector<MeshAxis>& mesh);
/// `axis model`, `axes data, model`; empty where the groups are not those along axes.
std::string axes_text(const Groups& groups, const std::vector<MeshAxis>& mesh);

}  // namespace p2::hlo
