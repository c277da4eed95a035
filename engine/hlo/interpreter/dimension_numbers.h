#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/module.h"

namespace p2::hlo::interpreter {

/// The dimension numbers of instructions, from their attributes as XLA prints them. All readers
/// throw InputError at the instruction for an attribute that is missing or of another form.

using Dimensions = std::vector<std::int64_t>;

struct DotDimensions {
  Dimensions lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
};
DotDimensions dot_dimensions(const Instruction& instruction);

struct GatherDimensions {
  Dimensions offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims,
      start_indices_batching_dims, slice_sizes;
  std::int64_t index_vector_dim = 0;
};
GatherDimensions gather_dimensions(const Instruction& instruction);

struct ScatterDimensions {
  Dimensions update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims,
      input_batching_dims, scatter_indices_batching_dims;
  std::int64_t index_vector_dim = 0;
};
ScatterDimensions scatter_dimensions(const Instruction& instruction);

/// One dimension of a window that slides over a tensor.
struct WindowDimension {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t pad_low = 0;
  std::int64_t pad_high = 0;
  std::int64_t base_dilation = 1;
  std::int64_t window_dilation = 1;
  bool reversed = false;
};
/// `dimensions` of them; where the attribute is absent, all of size 1.
std::vector<WindowDimension> window_of(const Instruction& instruction, std::size_t dimensions);

/// `b01f_01io->b01f`: the positions of the dimensions in the input, the kernel and the output.
struct ConvolutionDimensions {
  std::int64_t input_batch = 0, input_feature = 0;
  std::int64_t kernel_input = 0, kernel_output = 0;
  std::int64_t output_batch = 0, output_feature = 0;
  Dimensions input_spatial, kernel_spatial, output_spatial;
  std::int64_t feature_groups = 1, batch_groups = 1;
};
ConvolutionDimensions convolution_dimensions(const Instruction& instruction);

/// An attribute that is a list, `{0,2}`; empty if it is absent.
Dimensions list_attribute(const Instruction& instruction, std::string_view name);
/// An attribute that is a number.
std::optional<std::int64_t> integer_attribute(const Instruction& instruction,
                                              std::string_view name);
/// An attribute without its quotes; empty if it is absent.
std::string text_attribute(const Instruction& instruction, std::string_view name);

}  // namespace p2::hlo::interpreter
