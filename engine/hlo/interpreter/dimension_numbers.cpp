// Dimension numbers in the text form of XLA (xla/hlo/parser/hlo_parser.cc).

#include "engine/hlo/interpreter/dimension_numbers.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/text/text_reader.h"

namespace p2::hlo::interpreter {
namespace {

constexpr std::int64_t kLargest = kMaxElements;

[[noreturn]] void refuse(const Instruction& instruction, std::string_view name) {
  throw InputError(instruction.position,
                   fmt::format("the attribute {} of a {} is missing or not understood", name,
                               instruction.opcode));
}

/// `3x1x2`, each part read by `read`.
template <typename Read>
void for_each_part(std::string_view text, const Read& read) {
  for (std::size_t i = 0;; ++i) {
    const std::size_t end = text.find('x');
    read(i, text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

std::int64_t integer(const Instruction& instruction, std::string_view name, std::string_view text) {
  TextReader reader(text, instruction.position);
  const std::int64_t value = reader.integer(name, -kLargest, kLargest);
  if (!reader.at_end()) refuse(instruction, name);
  return value;
}

void read_window_part(const Instruction& instruction, std::string_view name, std::string_view text,
                      std::vector<WindowDimension>& window) {
  for_each_part(text, [&](std::size_t i, std::string_view part) {
    if (i >= window.size()) refuse(instruction, "window");
    WindowDimension& dimension = window[i];
    if (name == "pad") {
      const std::size_t middle = part.find('_');
      if (middle == std::string_view::npos) refuse(instruction, "window");
      dimension.pad_low = integer(instruction, "window", part.substr(0, middle));
      dimension.pad_high = integer(instruction, "window", part.substr(middle + 1));
      return;
    }
    const std::int64_t value = integer(instruction, "window", part);
    if (name == "size") {
      dimension.size = value;
    } else if (name == "stride") {
      dimension.stride = value;
    } else if (name == "lhs_dilate") {
      dimension.base_dilation = value;
    } else if (name == "rhs_dilate") {
      dimension.window_dilation = value;
    } else if (name == "rhs_reversal") {
      dimension.reversed = value != 0;
    } else {
      refuse(instruction, "window");
    }
  });
}

}  // namespace

Dimensions list_attribute(const Instruction& instruction, std::string_view name) {
  const auto text = instruction.attributes.other(name);
  Dimensions list;
  if (!text) return list;
  TextReader reader(*text, instruction.position);
  if (!reader.accept("{")) refuse(instruction, name);
  while (!reader.accept("}")) {
    list.push_back(reader.integer(name, -kLargest, kLargest));
    if (!reader.accept(",") && !reader.next_is("}")) refuse(instruction, name);
  }
  return list;
}

std::optional<std::int64_t> integer_attribute(const Instruction& instruction,
                                              std::string_view name) {
  const auto text = instruction.attributes.other(name);
  if (!text) return std::nullopt;
  return integer(instruction, name, *text);
}

std::string text_attribute(const Instruction& instruction, std::string_view name) {
  const auto text = instruction.attributes.other(name);
  if (!text) return {};
  if (text->size() >= 2 && text->front() == '"') {
    return std::string(text->substr(1, text->size() - 2));
  }
  return std::string(*text);
}

DotDimensions dot_dimensions(const Instruction& instruction) {
  return {list_attribute(instruction, "lhs_batch_dims"),
          list_attribute(instruction, "rhs_batch_dims"),
          list_attribute(instruction, "lhs_contracting_dims"),
          list_attribute(instruction, "rhs_contracting_dims")};
}

std::optional<Dimensions> dot_sizes(const DotDimensions& numbers, const ArrayShape& lhs,
                                    const ArrayShape& rhs) {
  const auto sizes_of = [](const ArrayShape& shape,
                           const Dimensions& dimensions) -> std::optional<Dimensions> {
    Dimensions sizes;
    for (const std::int64_t each : dimensions) {
      if (each < 0 || each >= static_cast<std::int64_t>(shape.sizes.size())) return std::nullopt;
      if (std::count(dimensions.begin(), dimensions.end(), each) > 1) return std::nullopt;
      sizes.push_back(shape.sizes[static_cast<std::size_t>(each)]);
    }
    return sizes;
  };
  const auto batch = sizes_of(lhs, numbers.lhs_batch);
  const auto contracted = sizes_of(lhs, numbers.lhs_contracting);
  if (!batch || !contracted || batch != sizes_of(rhs, numbers.rhs_batch) ||
      contracted != sizes_of(rhs, numbers.rhs_contracting)) {
    return std::nullopt;
  }
  Dimensions sizes = *batch;
  const auto add_free = [&](const ArrayShape& shape, Dimensions used, const Dimensions& more) {
    used.insert(used.end(), more.begin(), more.end());
    if (!sizes_of(shape, used)) return false;
    for (std::size_t i = 0; i < shape.sizes.size(); ++i) {
      if (!contains(used, i)) sizes.push_back(shape.sizes[i]);
    }
    return true;
  };
  if (!add_free(lhs, numbers.lhs_batch, numbers.lhs_contracting) ||
      !add_free(rhs, numbers.rhs_batch, numbers.rhs_contracting)) {
    return std::nullopt;
  }
  return sizes;
}

GatherDimensions gather_dimensions(const Instruction& instruction) {
  const auto list = [&](std::string_view name) { return list_attribute(instruction, name); };
  const auto vector = integer_attribute(instruction, "index_vector_dim");
  if (!vector) refuse(instruction, "index_vector_dim");
  return {list("offset_dims"),
          list("collapsed_slice_dims"),
          list("start_index_map"),
          list("operand_batching_dims"),
          list("start_indices_batching_dims"),
          list("slice_sizes"),
          *vector};
}

ScatterDimensions scatter_dimensions(const Instruction& instruction) {
  const auto list = [&](std::string_view name) { return list_attribute(instruction, name); };
  const auto vector = integer_attribute(instruction, "index_vector_dim");
  if (!vector) refuse(instruction, "index_vector_dim");
  return {list("update_window_dims"),
          list("inserted_window_dims"),
          list("scatter_dims_to_operand_dims"),
          list("input_batching_dims"),
          list("scatter_indices_batching_dims"),
          *vector};
}

IndexedWindows::IndexedWindows(const Instruction& instruction, const GatherDimensions& numbers,
                               const ArrayShape& operand, const ArrayShape& indices,
                               const ArrayShape& result)
    : start_map_(numbers.start_index_map),
      window_dims_(numbers.offset_dims),
      dropped_(numbers.collapsed_slice_dims),
      operand_batching_(numbers.operand_batching_dims),
      indices_batching_(numbers.start_indices_batching_dims),
      vector_(numbers.index_vector_dim) {
  check(instruction, operand, indices, result);
  // A window has the sizes of a slice, and one index of what it drops.
  bool fits = numbers.slice_sizes.size() == rank_;
  for (std::size_t i = 0, next = 0; i < rank_ && fits; ++i) {
    const bool is_kept = next < kept_.size() && kept_[next] == static_cast<std::int64_t>(i);
    const std::int64_t size =
        is_kept ? result.sizes[static_cast<std::size_t>(window_dims_[next++])] : 1;
    fits = numbers.slice_sizes[i] == size && size <= operand.sizes[i];
  }
  if (!fits) refuse(instruction, "slice_sizes");
}

IndexedWindows::IndexedWindows(const Instruction& instruction, const ScatterDimensions& numbers,
                               const ArrayShape& operand, const ArrayShape& indices,
                               const ArrayShape& updates)
    : start_map_(numbers.scatter_dims_to_operand_dims),
      window_dims_(numbers.update_window_dims),
      dropped_(numbers.inserted_window_dims),
      operand_batching_(numbers.input_batching_dims),
      indices_batching_(numbers.scatter_indices_batching_dims),
      vector_(numbers.index_vector_dim) {
  check(instruction, operand, indices, updates);
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (updates.sizes[static_cast<std::size_t>(window_dims_[i])] >
        operand.sizes[static_cast<std::size_t>(kept_[i])]) {
      refuse(instruction, "update_window_dims");
    }
  }
}

void IndexedWindows::check(const Instruction& instruction, const ArrayShape& operand,
                           const ArrayShape& indices, const ArrayShape& result) {
  rank_ = operand.sizes.size();
  indices_strides_ = strides_of(indices.sizes);
  const std::size_t indices_rank = indices.sizes.size();
  for (std::size_t i = 0; i < rank_; ++i) {
    if (!contains(dropped_, i) && !contains(operand_batching_, i)) {
      kept_.push_back(static_cast<std::int64_t>(i));
    }
  }
  const auto within = [](const Dimensions& list, std::size_t end) {
    return std::all_of(list.begin(), list.end(), [&](std::int64_t each) {
      return each >= 0 && each < static_cast<std::int64_t>(end);
    });
  };
  const bool has_vector = vector_ < static_cast<std::int64_t>(indices_rank);
  const auto components =
      has_vector && vector_ >= 0 ? indices.sizes[static_cast<std::size_t>(vector_)] : 1;
  const bool fits = vector_ >= 0 && vector_ <= static_cast<std::int64_t>(indices_rank) &&
                    kept_.size() == window_dims_.size() && within(start_map_, rank_) &&
                    within(dropped_, rank_) && within(operand_batching_, rank_) &&
                    within(window_dims_, result.sizes.size()) &&
                    std::is_sorted(window_dims_.begin(), window_dims_.end()) &&
                    within(indices_batching_, indices_rank) &&
                    !contains(indices_batching_, static_cast<std::size_t>(vector_)) &&
                    operand_batching_.size() == indices_batching_.size() &&
                    components == static_cast<std::int64_t>(start_map_.size());
  if (!fits) refuse(instruction, "dimension numbers");
  std::size_t batch = 0;
  for (std::size_t i = 0; i < result.sizes.size(); ++i) {
    if (contains(window_dims_, i)) continue;
    if (has_vector && static_cast<std::int64_t>(batch) == vector_) ++batch;
    if (batch >= indices_rank || indices.sizes[batch++] != result.sizes[i]) {
      refuse(instruction, "dimension numbers");
    }
  }
  if (has_vector && static_cast<std::int64_t>(batch) == vector_) ++batch;
  if (batch != indices_rank) refuse(instruction, "dimension numbers");
}

std::vector<std::int64_t> IndexedWindows::batch_of(const std::vector<std::int64_t>& index) const {
  std::vector<std::int64_t> batch;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (!contains(window_dims_, i)) batch.push_back(index[i]);
  }
  return batch;
}

std::int64_t IndexedWindows::component(const std::vector<std::int64_t>& batch,
                                       std::size_t k) const {
  std::int64_t element = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < indices_strides_.size(); ++i) {
    const bool is_vector = static_cast<std::int64_t>(i) == vector_;
    element += (is_vector ? static_cast<std::int64_t>(k) : batch[next++]) * indices_strides_[i];
  }
  return element;
}

std::vector<std::int64_t> IndexedWindows::batch_start(
    const std::vector<std::int64_t>& batch) const {
  std::vector<std::int64_t> start(rank_, 0);
  for (std::size_t k = 0; k < operand_batching_.size(); ++k) {
    const std::int64_t of = indices_batching_[k];
    start[static_cast<std::size_t>(operand_batching_[k])] =
        batch[static_cast<std::size_t>(of - (of > vector_ ? 1 : 0))];
  }
  return start;
}

std::vector<std::int64_t> IndexedWindows::window_index(
    const std::vector<std::int64_t>& index) const {
  std::vector<std::int64_t> window(rank_, 0);
  for (std::size_t k = 0; k < kept_.size(); ++k) {
    window[static_cast<std::size_t>(kept_[k])] = index[static_cast<std::size_t>(window_dims_[k])];
  }
  return window;
}

std::vector<WindowDimension> window_of(const Instruction& instruction, std::size_t dimensions) {
  std::vector<WindowDimension> window(dimensions);
  auto text = instruction.attributes.other("window");
  if (!text) return window;
  if (text->size() < 2 || text->front() != '{') refuse(instruction, "window");
  std::string_view rest = text->substr(1, text->size() - 2);
  while (!rest.empty()) {
    const std::size_t end = rest.find(' ');
    const std::string_view part = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) refuse(instruction, "window");
    read_window_part(instruction, part.substr(0, equals), part.substr(equals + 1), window);
  }
  for (const WindowDimension& dimension : window) {
    if (dimension.size < 0 || dimension.stride < 1 || dimension.base_dilation < 1 ||
        dimension.window_dilation < 1) {
      refuse(instruction, "window");
    }
  }
  return window;
}

ConvolutionDimensions convolution_dimensions(const Instruction& instruction) {
  const auto text = instruction.attributes.other("dim_labels");
  const std::size_t first = text ? text->find('_') : std::string_view::npos;
  const std::size_t second = text ? text->find("->") : std::string_view::npos;
  if (first == std::string_view::npos || second == std::string_view::npos || second < first) {
    refuse(instruction, "dim_labels");
  }
  ConvolutionDimensions all;
  const auto read = [&](std::string_view labels, char one, char other, std::int64_t& one_at,
                        std::int64_t& other_at, Dimensions& spatial) {
    if (labels.size() < 2) refuse(instruction, "dim_labels");
    spatial.assign(labels.size() - 2, -1);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const auto digit = static_cast<std::size_t>(labels[i] - '0');
      if (labels[i] == one) {
        one_at = at;
      } else if (labels[i] == other) {
        other_at = at;
      } else if (labels[i] >= '0' && digit < spatial.size() && spatial[digit] == -1) {
        spatial[digit] = at;
      } else {
        refuse(instruction, "dim_labels");
      }
    }
  };
  read(text->substr(0, first), 'b', 'f', all.input_batch, all.input_feature, all.input_spatial);
  read(text->substr(first + 1, second - first - 1), 'i', 'o', all.kernel_input, all.kernel_output,
       all.kernel_spatial);
  read(text->substr(second + 2), 'b', 'f', all.output_batch, all.output_feature,
       all.output_spatial);
  all.feature_groups = integer_attribute(instruction, "feature_group_count").value_or(1);
  all.batch_groups = integer_attribute(instruction, "batch_group_count").value_or(1);
  return all;
}

}  // namespace p2::hlo::interpreter
