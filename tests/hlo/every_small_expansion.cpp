// Small programs of gathers and scatters as a compiler expands them: of several dimensions, one or
// two by data, the others by iotas, or by zeros where windows have all; or with batches.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/every_small_program.h"

namespace p2::hlo::small {
namespace {

using kernel::xla::Segment;

/// One thing that is another.
enum class Change : std::uint8_t {
  Along,    ///< iotas count along each other's dimensions, or the one along data's
  Longer,   ///< the table has more batches than the iota counts
  Twice,    ///< two iotas along one dimension
  Data,     ///< of a batch, too
  Counted,  ///< all dimensions by iotas
  Added,    ///< iotas that begin at 1
  Wide,     ///< windows of two batches
  Narrow,   ///< iotas that are longer than eight bits count
  Order,    ///< of the vectors
  Vectors,  ///< along the first dimension of the indices, of as many
  One,      ///< in place of zeros
  First,    ///< windows that come first
  None
};

class Expansion {
 public:
  Expansion(SmallProgram& program, Choices& choices)
      : program_(program), choices_(choices), change_(static_cast<Change>(choices.below(13))) {}

  void make(bool is_scatter) {
    // Of the table: batches b and c, rows r that are looked up, with s by one array, and what is
    // taken whole, w.
    const auto form = choices_.of<std::string>(
        {"br", "rb", "brw", "wrb", "bcr", "rcb", "crb", "brs", "rsb", "brsw"});
    const bool has_zeros = change_ == Change::One || choices_.below(2) == 1;
    has_batches_ = choices_.below(4) == 0;
    if (has_batches_ &&
        (change_ == Change::Vectors || change_ == Change::Longer || change_ == Change::Wide))
      return;
    is_wide_ = form.find('s') != std::string::npos;
    const std::size_t devices = program_.devices();
    const bool is_long = change_ == Change::Narrow;
    if (is_long && form.size() > 2) return;
    const Axis held_batch =
        ways_to_hold(is_long ? 130 : 2, devices, true)[is_long ? 0 : choices_.below(3)];
    const auto axis_of = [&](char dimension) {
      if (dimension == 'b') return held_batch;
      if (dimension == 'r' && change_ == Change::Counted) return ways_to_hold(2, devices, true)[0];
      return ways_to_hold(dimension == 'r' || (dimension == 's' && !keeps_) ? 3
                          : dimension == 'c'                                ? 1 + size_of_c_
                                                                            : 2,
                          devices, true)[0];
    };
    size_of_c_ = static_cast<std::int64_t>(choices_.below(2));
    keeps_ = choices_.below(2) == 1;
    for (const char dimension : form) table_.push_back(axis_of(dimension));
    // Batches of the indices: b, c, or more of data.
    for (const char dimension : std::string("bc")) {
      if (form.find(dimension) != std::string::npos) batches_.push_back(axis_of(dimension));
    }
    if (change_ == Change::Vectors && batches_.size() != 1) return;
    const bool has_more = change_ != Change::Vectors && !is_long && choices_.below(2) == 1;
    if (has_more) batches_.push_back(axis_of('w'));
    const bool is_longer = change_ == Change::Longer;
    if (is_longer) table_[form.find('b')] = ways_to_hold(3, devices, true)[0];
    Index map, dropped, slices, batching, of_indices;
    std::vector<std::size_t> parts;
    std::vector<Axis> windows;
    for (std::size_t k = 0; k < form.size(); ++k) {
      const auto number = static_cast<std::int64_t>(k);
      const bool is_data = form[k] == 'r' || form[k] == 's';
      const bool is_wide = change_ == Change::Wide && form[k] == 'b';
      slices.push_back(form[k] == 'w' || is_wide ? 2 : 1);
      if (has_batches_ && (form[k] == 'b' || form[k] == 'c')) {
        batching.push_back(number);
        of_indices.push_back(form[k] == 'b' ? 0 : 1);
        continue;
      }
      if (form[k] == 'w' || is_wide || (keeps_ && is_data)) {
        windows.push_back(form[k] == 'w' ? table_[k] : Axis{slices[k], slices[k], {}});
      } else {
        dropped.push_back(number);
      }
      if (form[k] == 'w' && !has_zeros) continue;
      map.push_back(number);
      if (form[k] != 's') parts.push_back(part(form[k], form));
    }
    if (change_ == Change::Order) std::reverse(map.begin(), map.end());
    const std::size_t indices = vectors_of_parts(parts);
    if (change_ == Change::Vectors && program_.at(indices).sizes.back() != 2) return;
    std::vector<Axis> batches = program_.at(indices).axes;
    batches.pop_back();
    const std::int64_t vector = std::ssize(batches);
    const bool is_first = change_ == Change::First;
    Index offsets;
    for (std::size_t k = 0; k < windows.size(); ++k)
      offsets.push_back(static_cast<std::int64_t>(k) + (is_first ? 0 : vector));
    std::vector<Axis> result = batches;
    result.insert(is_first ? result.begin() : result.end(), windows.begin(), windows.end());
    const std::size_t x = held(program_, "f32", table_);
    Step step{"gather", "f32", {"gather", "", {}}, sizes_of(result), {x, indices}, "", result};
    const std::int64_t of_vectors = change_ == Change::Vectors ? 0 : vector;
    step.form.numbers = {offsets, dropped, map, batching, of_indices, {of_vectors}, slices};
    step.attributes = fmt::format(
        ", offset_dims={}, collapsed_slice_dims={}, start_index_map={}, operand_batching_dims={}, "
        "start_indices_batching_dims={}, index_vector_dim={}, slice_sizes={}",
        listed(offsets), listed(dropped), listed(map), listed(batching), listed(of_indices),
        of_vectors, listed(slices));
    if (is_scatter) {
      step = {"scatter",
              "f32",
              {"scatter", "add", {offsets, dropped, map, batching, of_indices, {of_vectors}}},
              sizes_of(table_),
              {x, indices, held(program_, "f32", result)},
              fmt::format(", update_window_dims={}, inserted_window_dims={}, "
                          "scatter_dims_to_operand_dims={}, input_batching_dims={}, "
                          "scatter_indices_batching_dims={}, index_vector_dim={}, to_apply=add_f32",
                          listed(offsets), listed(dropped), listed(map), listed(batching),
                          listed(of_indices), of_vectors),
              table_};
    }
    program_.add(std::move(step));
  }

 private:
  /// Indices along a dimension of the table, as vectors of one.
  std::size_t part(char dimension, const std::string& form) {
    const bool has_c = form.find('c') != std::string::npos;
    const std::string type = change_ == Change::Narrow ? "s8" : "s32";
    std::vector<Axis> axes = batches_;
    axes.push_back({1, 1, {}});
    if (dimension == 'w') return program_.splat(type, change_ == Change::One ? "1" : "0", axes);
    const bool is_data = dimension == 'r' ? change_ != Change::Counted || is_wide_
                                          : dimension == 'b' && change_ == Change::Data;
    if (is_data && is_wide_ && dimension == 'r')
      axes.back() = ways_to_hold(2, program_.devices(), true)[0];
    if (is_data) return held(program_, type, axes);
    std::int64_t along = dimension == 'c' ? 1 : 0;
    if (change_ == Change::Along) along = has_c ? 1 - along : 1;
    if (change_ == Change::Twice) along = 0;
    const Index sizes = sizes_of(axes);
    Step step{"iota", type, {"iota", "", {{along}, sizes}}, sizes, {}, "", axes};
    step.attributes = fmt::format(", iota_dimension={}", along);
    // Devices know the numbers.
    step.hints = {{1, along}};
    step.hints[0].insert(step.hints[0].end(), sizes.begin(), sizes.end());
    const std::size_t iota = program_.add(std::move(step));
    if (change_ != Change::Added) return iota;
    return program_.apply("add", {program_.splat(type, "1", axes), iota});
  }

  /// Put together, and as a list of vectors or not.
  std::size_t vectors_of_parts(const std::vector<std::size_t>& parts) {
    Step joined = step_of("concatenate", program_.at(parts[0]), 0);
    const auto last = std::ssize(joined.sizes) - 1;
    joined.operands = parts;
    joined.sizes.back() = std::ssize(parts) + (is_wide_ ? 1 : 0);
    joined.form.numbers = {{last}};
    joined.axes = batches_;
    joined.axes.push_back(ways_to_hold(joined.sizes.back(), program_.devices(), true)[0]);
    joined.attributes = fmt::format(", dimensions={{{}}}", last);
    const std::size_t all = program_.add(std::move(joined));
    if (batches_.size() < 2 || has_batches_ || choices_.below(2) == 0) return all;
    const Step& from = program_.at(all);
    Step step = step_of("reshape", from, all);
    // The first batches may be cut: as long as the others follow in tiles, so is the list.
    Axis list = batches_[0];
    for (std::size_t k = 1; k < batches_.size(); ++k) {
      list.size *= batches_[k].size;
      list.whole *= batches_[k].size;
      for (auto& segments : list.devices) {
        for (Segment& each : segments) {
          for (std::int64_t* value : {&each.at, &each.of, &each.size}) *value *= batches_[k].size;
        }
      }
    }
    step.axes = {list, from.axes.back()};
    step.sizes = sizes_of(step.axes);
    step.form.numbers = {step.sizes};
    step.hints = {{list.whole, step.sizes[1]}};
    return program_.add(std::move(step));
  }

  SmallProgram& program_;
  Choices& choices_;
  Change change_;
  std::int64_t size_of_c_ = 0;
  bool is_wide_ = false;  ///< whether data are vectors of two
  bool has_batches_ = false;
  bool keeps_ = false;  ///< the windows of what data index
  std::vector<Axis> table_, batches_;
};

}  // namespace

std::vector<Operations> expanded_operations() {
  return {{"expanded gather",
           {"gather"},
           [](SmallProgram& program, Choices& choices) { Expansion(program, choices).make(false); },
           1000},
          {"expanded scatter",
           {"scatter"},
           [](SmallProgram& program, Choices& choices) { Expansion(program, choices).make(true); },
           1000}};
}

}  // namespace p2::hlo::small
