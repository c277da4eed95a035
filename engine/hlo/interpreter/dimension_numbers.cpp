// Dimension numbers in the text form of XLA (xla/hlo/parser/hlo_parser.cc).

#include "engine/hlo/interpreter/dimension_numbers.h"

#include <fmt/format.h>

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
