#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
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
/// The sizes of a dot's result: batch dimensions, free ones of the left operand, free ones of the
/// right one. Nothing where the numbers do not fit the operands.
std::optional<Dimensions> dot_sizes(const DotDimensions& numbers, const ArrayShape& lhs,
                                    const ArrayShape& rhs);

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

/// The windows of a tensor that a gather reads or a scatter writes, at places given by index
/// vectors. An index of the result of a gather, or of the updates of a scatter, is a batch index
/// and an index into a window.
class IndexedWindows {
 public:
  /// `result`: the shape of the result or of the updates. Throws InputError where numbers and
  /// shapes do not fit.
  IndexedWindows(const Instruction& instruction, const GatherDimensions& numbers,
                 const ArrayShape& operand, const ArrayShape& indices, const ArrayShape& result);
  IndexedWindows(const Instruction& instruction, const ScatterDimensions& numbers,
                 const ArrayShape& operand, const ArrayShape& indices, const ArrayShape& updates);

  std::vector<std::int64_t> batch_of(const std::vector<std::int64_t>& index) const;
  /// The row-major number of component `k` of the index vector of a batch index.
  std::int64_t component(const std::vector<std::int64_t>& batch, std::size_t k) const;
  /// The dimension of the operand that component `k` is an index of.
  std::size_t dimension(std::size_t k) const { return static_cast<std::size_t>(start_map_[k]); }
  std::size_t components() const { return start_map_.size(); }
  /// The start of the window in the batching dimensions, 0 in the others.
  std::vector<std::int64_t> batch_start(const std::vector<std::int64_t>& batch) const;
  /// The index into the window, of the operand's rank.
  std::vector<std::int64_t> window_index(const std::vector<std::int64_t>& index) const;

 private:
  void check(const Instruction& instruction, const ArrayShape& operand, const ArrayShape& indices,
             const ArrayShape& result);

  Dimensions start_map_, window_dims_, dropped_, operand_batching_, indices_batching_;
  std::int64_t vector_ = 0;
  std::size_t rank_ = 0;
  Dimensions kept_ = {};  ///< of the operand: those of the window, ascending
  Dimensions indices_strides_ = {};
};

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

/// A dimension of an array of an instruction: its operands have the first numbers, its results
/// those after them.
struct ArrayDimension {
  std::size_t array = 0;
  std::size_t dimension = 0;
};
/// What an operation does index by index: element i along one dimension of its results is computed
/// from elements i along the dimensions of operands that are the same, and from all elements of
/// operands without such a dimension, and is the same function of them for all i.
struct PassedDimensions {
  std::vector<std::pair<ArrayDimension, ArrayDimension>> same = {};
  std::vector<ArrayDimension> uniform = {};  ///< all elements of a result are alike along it
};
/// Nothing is passed on along dimensions that are not named. Nothing for an operation of which it
/// is not known. `rounded`: numbers are, so that operations on several types are functions of their
/// own.
std::optional<PassedDimensions> passed_dimensions(const Instruction& instruction,
                                                  const std::vector<const ArrayShape*>& operands,
                                                  const std::vector<const ArrayShape*>& results,
                                                  bool rounded);

/// An attribute that is a list, `{0,2}`; empty if it is absent.
Dimensions list_attribute(const Instruction& instruction, std::string_view name);
/// An attribute that is a number.
std::optional<std::int64_t> integer_attribute(const Instruction& instruction,
                                              std::string_view name);
/// An attribute without its quotes; empty if it is absent.
std::string text_attribute(const Instruction& instruction, std::string_view name);

}  // namespace p2::hlo::interpreter
