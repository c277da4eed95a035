// Attributes of binary instructions, by what HloInstruction::PrintExtraAttributes of XLA prints.

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "engine/hlo/binary/binary_module.h"
#include "p2/error.h"

namespace p2::hlo::binary {
namespace {

/// Appends `, name=value` to a text.
class Attributes {
 public:
  void add(std::string_view name, std::string_view value) {
    text_ += fmt::format(", {}={}", name, value);
  }
  void add(std::string_view name, std::int64_t value) { add(name, std::to_string(value)); }
  void flag(std::string_view name, bool value) {
    if (value) add(name, "true");
  }
  template <typename Numbers>
  void list(std::string_view name, const Numbers& numbers) {
    add(name, list_text(numbers));
  }
  template <typename Numbers>
  void list_if_any(std::string_view name, const Numbers& numbers) {
    if (!numbers.empty()) list(name, numbers);
  }
  void unless(std::string_view name, std::int64_t value, std::int64_t usual) {
    if (value != usual) add(name, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The name with this number, or the number.
template <typename Names>
std::string name_of(const Names& names, std::int32_t number) {
  const auto index = static_cast<std::size_t>(number);
  return index < names.size() ? std::string(names[index]) : std::to_string(number);
}

/// `size=2x2 stride=2x2 pad=0_1x0_1 lhs_dilate=2x2 rhs_dilate=2x2 rhs_reversal=1x1`, without what
/// is usual.
std::string window_text(const Window& window) {
  std::string text;
  const auto part = [&](std::string_view name, bool always, const auto& is_usual,
                        const auto& print) {
    const auto& all = window.dimensions();
    if (!always && std::all_of(all.begin(), all.end(), is_usual)) return;
    if (!text.empty()) text += ' ';
    text += name;
    for (int i = 0; i < all.size(); ++i) text += (i > 0 ? "x" : "=") + print(all[i]);
  };
  using Dimension = WindowDimension;
  part(
      "size", true, [](const Dimension&) { return false; },
      [](const Dimension& d) { return std::to_string(d.size()); });
  part(
      "stride", false, [](const Dimension& d) { return d.stride() == 1; },
      [](const Dimension& d) { return std::to_string(d.stride()); });
  part(
      "pad", false,
      [](const Dimension& d) { return d.padding_low() == 0 && d.padding_high() == 0; },
      [](const Dimension& d) { return fmt::format("{}_{}", d.padding_low(), d.padding_high()); });
  part(
      "lhs_dilate", false, [](const Dimension& d) { return d.base_dilation() == 1; },
      [](const Dimension& d) { return std::to_string(d.base_dilation()); });
  part(
      "rhs_dilate", false, [](const Dimension& d) { return d.window_dilation() == 1; },
      [](const Dimension& d) { return std::to_string(d.window_dilation()); });
  part(
      "rhs_reversal", false, [](const Dimension& d) { return !d.window_reversal(); },
      [](const Dimension& d) { return std::string(d.window_reversal() ? "1" : "0"); });
  return "{" + text + "}";
}

/// `b01f_01io->b01f`
std::string convolution_text(const ConvolutionDimensions& numbers, const std::string& where) {
  const auto labels = [&](const auto& spatial, std::int64_t first, char first_name,
                          std::int64_t second, char second_name) {
    std::string text(static_cast<std::size_t>(spatial.size()) + 2, '\0');
    const auto put = [&](std::int64_t at, const std::string& name) {
      if (at < 0 || at >= static_cast<std::int64_t>(text.size()) || name.size() != 1 ||
          text[static_cast<std::size_t>(at)] != '\0') {
        throw InputError({where},
                         "dimension numbers of a convolution that are not a permutation of at "
                         "most 12, expected one");
      }
      text[static_cast<std::size_t>(at)] = name[0];
    };
    put(first, std::string(1, first_name));
    put(second, std::string(1, second_name));
    for (int i = 0; i < spatial.size(); ++i) put(spatial[i], std::to_string(i));
    return text;
  };
  return labels(numbers.input_spatial(), numbers.input_batch(), 'b', numbers.input_feature(), 'f') +
         "_" +
         labels(numbers.kernel_spatial(), numbers.kernel_input_feature(), 'i',
                numbers.kernel_output_feature(), 'o') +
         "->" +
         labels(numbers.output_spatial(), numbers.output_batch(), 'b', numbers.output_feature(),
                'f');
}

void add_dot(const DotDimensions& dot, Attributes& attributes) {
  attributes.list_if_any("lhs_batch_dims", dot.lhs_batch());
  attributes.list("lhs_contracting_dims", dot.lhs_contracting());
  attributes.list_if_any("rhs_batch_dims", dot.rhs_batch());
  attributes.list("rhs_contracting_dims", dot.rhs_contracting());
}

void add_precision(const Precision& precision, Attributes& attributes) {
  constexpr auto kPrecisions =
      std::to_array<std::string_view>({"default", "high", "highest", "packed_nibble"});
  constexpr auto kAlgorithms = std::to_array<std::string_view>(
      {"unset", "dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum", "dot_f16_f16_f16",
       "dot_f16_f16_f32", "dot_bf16_bf16_bf16", "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3",
       "dot_bf16_bf16_f32_x6", "dot_tf32_tf32_f32", "dot_tf32_tf32_f32_x3", "dot_f32_f32_f32",
       "dot_f64_f64_f64", "dot_bf16_bf16_f32_x9"});
  const auto& operands = precision.operand_precision();
  if (std::any_of(operands.begin(), operands.end(), [](auto each) { return each != 0; })) {
    std::string text;
    for (const std::int32_t each : operands) {
      text += (text.empty() ? "{" : ",") + name_of(kPrecisions, each);
    }
    attributes.add("operand_precision", text + "}");
  }
  if (precision.algorithm() != 0) {
    attributes.add("algorithm", name_of(kAlgorithms, precision.algorithm()));
  }
}

void add_gather(const Instruction& instruction, Attributes& attributes) {
  const GatherDimensions& numbers = instruction.gather();
  attributes.list("offset_dims", numbers.offset_dims());
  attributes.list("collapsed_slice_dims", numbers.collapsed_slice_dims());
  attributes.list("start_index_map", numbers.start_index_map());
  attributes.list_if_any("operand_batching_dims", numbers.operand_batching_dims());
  attributes.list_if_any("start_indices_batching_dims", numbers.start_indices_batching_dims());
  attributes.add("index_vector_dim", numbers.index_vector_dim());
  attributes.list("slice_sizes", instruction.gather_slice_sizes());
  attributes.flag("indices_are_sorted", instruction.indices_are_sorted());
}

void add_scatter(const Instruction& instruction, Attributes& attributes) {
  const ScatterDimensions& numbers = instruction.scatter();
  attributes.list("update_window_dims", numbers.update_window_dims());
  attributes.list("inserted_window_dims", numbers.inserted_window_dims());
  attributes.list("scatter_dims_to_operand_dims", numbers.scatter_dims_to_operand_dims());
  attributes.list_if_any("input_batching_dims", numbers.input_batching_dims());
  attributes.list_if_any("scatter_indices_batching_dims", numbers.scatter_indices_batching_dims());
  attributes.add("index_vector_dim", numbers.index_vector_dim());
  attributes.flag("indices_are_sorted", instruction.indices_are_sorted());
  attributes.flag("unique_indices", instruction.unique_indices());
}

std::string groups_text(const google::protobuf::RepeatedPtrField<ReplicaGroup>& groups) {
  std::string text = "{";
  for (const ReplicaGroup& group : groups) {
    if (text.size() > 1) text += ',';
    text += list_text(group.ids());
  }
  return text + "}";
}

/// `mesh['x'=2,'y'=4],device_ids=(0,2,1,3) {'x','y':(1)2}`
std::string mesh_text(const MeshGroups& groups, const std::string& where) {
  std::string text = "mesh[";
  for (int i = 0; i < groups.mesh().axes_size(); ++i) {
    const Mesh::Axis& axis = groups.mesh().axes(i);
    text += fmt::format("{}'{}'={}", i > 0 ? "," : "", axis.name(), axis.size());
  }
  text += "]";
  const Mesh& mesh = groups.mesh();
  if (mesh.has_iota_device_ids()) {
    const Mesh::IotaIds& ids = mesh.iota_device_ids();
    text += fmt::format(",device_ids=({})", iota_text(ids.reshape_dims(), ids.transpose()));
  } else if (mesh.device_ids_size() > 0) {
    text += fmt::format(",device_ids=({})", joined_text(mesh.device_ids()));
  }
  text += " {";
  for (int i = 0; i < groups.axes_size(); ++i) {
    const AxisReference& axis = groups.axes(i);
    if (axis.axis() < 0 || axis.axis() >= groups.mesh().axes_size()) {
      throw InputError({where}, "an axis that the mesh does not have, expected one that it has");
    }
    text += fmt::format("{}'{}'", i > 0 ? "," : "",
                        groups.mesh().axes(static_cast<int>(axis.axis())).name());
    if (axis.has_sub_axis()) {
      text += fmt::format(":({}){}", axis.sub_axis().before(), axis.sub_axis().size());
    }
  }
  return text + "}";
}

void add_groups(const Instruction& instruction, const std::string& where, Attributes& attributes) {
  const DeviceList& list = instruction.device_list();
  if (instruction.has_mesh_groups()) {
    attributes.add("replica_groups", mesh_text(instruction.mesh_groups(), where));
  } else if (instruction.has_iota_groups() || list.has_iota()) {
    const IotaGroups& iota =
        instruction.has_iota_groups() ? instruction.iota_groups() : list.iota();
    attributes.add("replica_groups",
                   fmt::format("[{},{}]<={}", iota.groups(), iota.devices_per_group(),
                               iota_text(iota.reshape_dims(), iota.transpose())));
  } else {
    attributes.add(
        "replica_groups",
        groups_text(list.groups_size() > 0 ? list.groups() : instruction.replica_groups()));
  }
}

bool has_groups(std::string_view opcode) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"all-reduce", "all-reduce-start", "all-gather", "all-gather-start", "reduce-scatter",
       "all-to-all", "ragged-all-to-all", "collective-broadcast"});
  return std::find(kNames.begin(), kNames.end(), opcode) != kNames.end();
}

bool has_dimensions(std::string_view opcode) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"all-gather", "all-gather-start", "reduce-scatter", "reverse", "concatenate", "reduce",
       "broadcast", "transpose", "map", "sort", "get-dimension-size", "set-dimension-size"});
  return std::find(kNames.begin(), kNames.end(), opcode) != kNames.end();
}

void add_slice(const Instruction& instruction, Attributes& attributes) {
  const auto& all = instruction.slice();
  const bool strided =
      std::any_of(all.begin(), all.end(), [](const auto& each) { return each.stride() != 1; });
  std::string text = "{";
  for (const SliceDimension& each : all) {
    if (text.size() > 1) text += ", ";
    text += fmt::format("[{}:{}", each.start(), each.limit());
    text += strided ? fmt::format(":{}]", each.stride()) : "]";
  }
  attributes.add("slice", text + "}");
}

void add_padding(const Padding& padding, Attributes& attributes) {
  const auto& all = padding.dimensions();
  const bool interior =
      std::any_of(all.begin(), all.end(), [](const auto& each) { return each.interior() != 0; });
  std::string text;
  for (const PaddingDimension& each : all) {
    if (!text.empty()) text += 'x';
    text += fmt::format("{}_{}", each.low(), each.high());
    if (interior) text += fmt::format("_{}", each.interior());
  }
  attributes.add("padding", text);
}

void add_aliasing(const Instruction& instruction, Attributes& attributes) {
  if (instruction.output_operand_aliasing_size() == 0) return;
  std::string text = "{";
  for (const OutputOperandAliasing& each : instruction.output_operand_aliasing()) {
    if (text.size() > 1) text += ", ";
    text += fmt::format("{}: ({}, {})", list_text(each.output_shape_index()), each.operand_index(),
                        list_text(each.operand_shape_index()));
  }
  attributes.add("output_to_operand_aliasing", text + "}");
}

/// The comparison of element types that needs no `type`.
std::string_view usual_comparison(std::int32_t type) {
  constexpr auto kSigned = std::to_array<std::int32_t>({2, 3, 4, 5, 21, 26, 30});
  constexpr auto kUnsigned = std::to_array<std::int32_t>({1, 6, 7, 8, 9, 22, 27, 31});
  const auto among = [&](const auto& types) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  return among(kSigned) ? "SIGNED" : among(kUnsigned) ? "UNSIGNED" : "FLOAT";
}

void add_collective(const Instruction& instruction, const std::string& where,
                    Attributes& attributes) {
  if (instruction.channel_id() > 0) attributes.add("channel_id", instruction.channel_id());
  if (instruction.channel_id() <= 0 && instruction.all_reduce_id() > 0) {
    attributes.add("channel_id", instruction.all_reduce_id());
  }
  if (has_groups(instruction.opcode())) add_groups(instruction, where, attributes);
  if (instruction.source_target_pairs_size() > 0 ||
      instruction.opcode().starts_with("collective-permute")) {
    std::string text = "{";
    for (const SourceTarget& pair : instruction.source_target_pairs()) {
      if (text.size() > 1) text += ',';
      text += fmt::format("{{{},{}}}", pair.source(), pair.target());
    }
    if (!instruction.opcode().ends_with("-done")) {
      attributes.add("source_target_pairs", text + "}");
    }
  }
  attributes.flag("use_global_device_ids", instruction.use_global_device_ids());
  attributes.flag("is_host_transfer", instruction.is_host_transfer());
}

void add_custom_call(const Instruction& instruction, const std::string& where,
                     Attributes& attributes) {
  constexpr auto kSchedules =
      std::to_array<std::string_view>({"SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"});
  constexpr auto kVersions = std::to_array<std::string_view>(
      {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
       "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"});
  attributes.add("custom_call_target", in_quotes(instruction.custom_call_target()));
  if (instruction.constrain_layout()) {
    std::string shapes;
    for (const Shape& shape : instruction.operand_shapes_with_layout()) {
      shapes += (shapes.empty() ? "" : ", ") + shape_text(shape, where);
    }
    attributes.add("operand_layout_constraints", "{" + shapes + "}");
  }
  attributes.flag("custom_call_has_side_effect", instruction.custom_call_has_side_effect());
  if (instruction.has_literal()) {
    attributes.add("literal", fmt::format("{} {}", shape_text(instruction.literal().shape(), where),
                                          literal_text(instruction.literal(), where)));
  }
  add_aliasing(instruction, attributes);
  if (instruction.custom_call_schedule() != 0) {
    attributes.add("schedule", name_of(kSchedules, instruction.custom_call_schedule()));
  }
  if (instruction.custom_call_api_version() > 1) {
    attributes.add("api_version", name_of(kVersions, instruction.custom_call_api_version()));
  }
}

void add_convolution(const Instruction& instruction, const std::string& where,
                     Attributes& attributes) {
  if (instruction.has_window() && instruction.window().dimensions_size() > 0) {
    attributes.add("window", window_text(instruction.window()));
  }
  if (instruction.has_convolution()) {
    attributes.add("dim_labels", convolution_text(instruction.convolution(), where));
  }
  if (instruction.feature_group_count() > 1) {
    attributes.add("feature_group_count", instruction.feature_group_count());
  }
  if (instruction.batch_group_count() > 1) {
    attributes.add("batch_group_count", instruction.batch_group_count());
  }
}

void add_random(const Instruction& instruction, Attributes& attributes) {
  constexpr auto kDistributions =
      std::to_array<std::string_view>({"rng_invalid", "rng_uniform", "rng_normal"});
  constexpr auto kAlgorithms =
      std::to_array<std::string_view>({"rng_default", "rng_three_fry", "rng_philox"});
  const std::string& opcode = instruction.opcode();
  if (opcode == "rng") {
    attributes.add("distribution", name_of(kDistributions, instruction.distribution()));
  } else if (opcode == "rng-bit-generator") {
    attributes.add("algorithm", name_of(kAlgorithms, instruction.rng_algorithm()));
  } else if (opcode == "rng-get-and-update-state") {
    attributes.add("delta", instruction.delta());
  }
}

void add_factorization(const Instruction& instruction, Attributes& attributes) {
  constexpr auto kTransposes = std::to_array<std::string_view>(
      {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"});
  constexpr auto kTransforms = std::to_array<std::string_view>({"FFT", "IFFT", "RFFT", "IRFFT"});
  if (instruction.opcode() == "fft") {
    attributes.add("fft_type", name_of(kTransforms, instruction.fft_type()));
    attributes.list("fft_length", instruction.fft_length());
  } else if (instruction.opcode() == "cholesky") {
    attributes.flag("lower", instruction.cholesky().lower());
  } else if (instruction.opcode() == "triangular-solve") {
    const TriangularSolve& options = instruction.triangular_solve();
    attributes.flag("left_side", options.left_side());
    attributes.flag("lower", options.lower());
    attributes.flag("unit_diagonal", options.unit_diagonal());
    if (options.transpose_a() != 0) {
      attributes.add("transpose_a", name_of(kTransposes, options.transpose_a()));
    }
  }
}

/// Throws LimitReached for fields of a later version of XLA, in any message of the instruction.
void require_known_attributes(const Instruction& instruction, const std::string& where) {
  const auto require = [&](const auto& message) { require_known(message, where); };
  const auto require_each = [&](const auto& messages) {
    for (const auto& message : messages) require(message);
  };
  require(instruction);
  require_each(instruction.window().dimensions());
  require(instruction.convolution());
  require_each(instruction.slice());
  require_each(instruction.padding().dimensions());
  require(instruction.dot());
  require(instruction.ragged_dot());
  require(instruction.ragged_dot().dot());
  require(instruction.gather());
  require(instruction.scatter());
  require(instruction.precision());
  require(instruction.triangular_solve());
  require(instruction.cholesky());
  require(instruction.device_list());
  require(instruction.device_list().iota());
  require_each(instruction.device_list().groups());
  require_each(instruction.replica_groups());
  require(instruction.iota_groups());
  require(instruction.mesh_groups());
  require_each(instruction.mesh_groups().axes());
  for (const AxisReference& axis : instruction.mesh_groups().axes()) require(axis.sub_axis());
  require(instruction.mesh_groups().mesh());
  require_each(instruction.mesh_groups().mesh().axes());
  require(instruction.mesh_groups().mesh().iota_device_ids());
  require_each(instruction.source_target_pairs());
  require_each(instruction.output_operand_aliasing());
}

}  // namespace

std::string attributes_text(const Instruction& instruction, std::int32_t operand_type,
                            const std::string& where) {
  require_known_attributes(instruction, where);
  const std::string& opcode = instruction.opcode();
  Attributes attributes;
  if (opcode.starts_with("batch-norm")) {
    attributes.add("epsilon", fmt::format("{}", instruction.epsilon()));
    attributes.add("feature_index", instruction.feature_index());
  }
  add_factorization(instruction, attributes);
  add_collective(instruction, where, attributes);
  if (has_dimensions(opcode) || (opcode == "all-to-all" && instruction.dimensions_size() > 0)) {
    attributes.list("dimensions", instruction.dimensions());
  }
  if (opcode == "reshape") {
    if (instruction.dimensions_size() > 0 && instruction.dimensions(0) >= 0) {
      attributes.add("inferred_dimension", instruction.dimensions(0));
    }
  } else if (opcode == "iota") {
    if (instruction.dimensions_size() != 1) {
      throw InputError({where}, fmt::format("an iota along {} dimensions, expected one",
                                            instruction.dimensions_size()));
    }
    attributes.add("iota_dimension", instruction.dimensions(0));
  } else if (opcode == "slice") {
    add_slice(instruction, attributes);
  } else if (opcode == "pad") {
    add_padding(instruction.padding(), attributes);
  } else if (opcode == "gather") {
    add_gather(instruction, attributes);
  } else if (opcode == "scatter") {
    add_scatter(instruction, attributes);
  } else if (opcode == "dot") {
    add_dot(instruction.dot(), attributes);
  } else if (opcode == "ragged-dot") {
    add_dot(instruction.ragged_dot().dot(), attributes);
    attributes.list("lhs_ragged_dims", instruction.ragged_dot().lhs_ragged());
    attributes.list_if_any("rhs_group_dims", instruction.ragged_dot().rhs_group());
  } else if (opcode == "compare") {
    attributes.add("direction", instruction.comparison_direction());
    if (!instruction.comparison_type().empty() &&
        instruction.comparison_type() != usual_comparison(operand_type)) {
      attributes.add("type", instruction.comparison_type());
    }
  } else if (opcode == "get-tuple-element") {
    attributes.add("index", instruction.tuple_index());
  } else if (opcode == "reduce-precision") {
    attributes.add("exponent_bits", instruction.exponent_bits());
    attributes.add("mantissa_bits", instruction.mantissa_bits());
  } else if (opcode == "infeed") {
    attributes.add("infeed_config", in_quotes(instruction.infeed_config()));
  } else if (opcode == "outfeed") {
    attributes.add("outfeed_shape", shape_text(instruction.outfeed_shape(), where));
    attributes.add("outfeed_config", in_quotes(instruction.outfeed_config()));
  } else if (opcode == "domain") {
    attributes.add("domain", fmt::format("{{entry={},exit={}}}",
                                         in_quotes(instruction.domain_entry_sharding()),
                                         in_quotes(instruction.domain_exit_sharding())));
  } else if (opcode == "topk") {
    attributes.add("k", instruction.k());
    attributes.add("largest", instruction.largest() ? "true" : "false");
  } else if (opcode == "fusion") {
    attributes.add("kind", instruction.fusion_kind());
    add_aliasing(instruction, attributes);
  } else if (opcode == "sort") {
    attributes.flag("is_stable", instruction.is_stable());
  }
  if (!instruction.dynamic_slice_sizes().empty()) {
    attributes.list("dynamic_slice_sizes", instruction.dynamic_slice_sizes());
  }
  add_convolution(instruction, where, attributes);
  add_random(instruction, attributes);
  if (instruction.has_precision()) add_precision(instruction.precision(), attributes);
  if (!instruction.dot_sparsity().empty()) {
    attributes.add("sparsity", in_quotes(instruction.dot_sparsity()));
  }
  if (!instruction.convolution_options().empty()) {
    attributes.add("convolution_options", in_quotes(instruction.convolution_options()));
  }
  if (instruction.padding_type() != 0) attributes.add("padding_type", instruction.padding_type());
  if (opcode == "custom-call") add_custom_call(instruction, where, attributes);
  if (instruction.is_composite()) attributes.flag("is_composite", true);
  return attributes.text();
}

}  // namespace p2::hlo::binary
