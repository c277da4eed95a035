#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/text/stablehlo_operation.h"

namespace p2::hlo {

/// The attributes of StableHLO operations as XLA has them. All remove from the operation what they
/// read.

/// Slices, paddings, dimensions, groups and channels go into the members of `Attributes`; the rest
/// as `append_rest` says. Throws InputError for groups that cannot be read.
void read_attributes(MlirOperation& operation, const Meshes& meshes, Instruction& instruction);

/// Appends all remaining attributes to `others`, as `name=value;`.
void append_rest(MlirOperation& operation, Attributes& attributes);

/// `sdy.sharding`, `mhlo.sharding`, and those of the frontend attributes that are Shardy's.
void read_sharding(MlirAttributes& from, Attributes& attributes);

/// The text of a string attribute without quotes and escapes.
std::string unquoted(std::string_view text);

/// The integers of an attribute; without one, `fallback`.
std::vector<std::int64_t> integers_of(const std::optional<MlirAttribute>& attribute,
                                      std::vector<std::int64_t> fallback = {});

/// `lhs_contracting_dims={1};rhs_contracting_dims={0};`
std::string dot_dimensions(MlirOperation& operation);
/// `operand_precision={highest,highest};`; nothing for the default.
std::string operand_precision(MlirOperation& operation);
/// `algorithm=dot_bf16_bf16_f32_x3;`
std::string dot_algorithm(MlirOperation& operation);
/// `offset_dims={1};collapsed_slice_dims={0};start_index_map={0};index_vector_dim=1;…`
std::string gather_dimensions(MlirOperation& operation);
std::string scatter_dimensions(MlirOperation& operation);
/// `window={size=3x3 pad=1_1x1_1};dim_labels=b01f_01io->b01f;`; nothing if the operation has
/// another form, and then it keeps its attributes.
std::optional<std::string> convolution_window(MlirOperation& operation, const Shape& kernel);
/// `window={size=2x2 stride=2x2};` of a reduce_window or select_and_scatter.
std::string reduction_window(MlirOperation& operation);

}  // namespace p2::hlo
