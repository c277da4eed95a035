// From operations of StableHLO and CHLO to instructions of XLA: the operations on arrays.

#include "engine/hlo/text/stablehlo_reader.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/collective.h"
#include "engine/hlo/text/hlo_text.h"

namespace p2::hlo {
namespace {

/// The operations that differ from XLA's only in their names: `_` for `-`. Sorted.
// clang-format off
constexpr auto kDirect = std::to_array<std::string_view>({
    "abs", "add", "after_all", "all_gather", "all_reduce", "all_to_all", "and", "atan2",
    "batch_norm_grad", "batch_norm_inference", "batch_norm_training", "bitcast_convert", "cbrt",
    "ceil", "cholesky", "clamp", "collective_broadcast", "collective_permute", "complex",
    "concatenate", "copy", "cosine", "count_leading_zeros", "divide", "dynamic_slice",
    "dynamic_update_slice", "erf", "exponential", "exponential_minus_one", "floor",
    "get_tuple_element", "imag", "infeed", "iota", "is_finite", "log", "log_plus_one", "logistic",
    "map", "maximum", "minimum", "multiply", "negate", "not", "or", "outfeed", "pad",
    "partition_id", "popcnt", "power", "real", "recv", "reduce", "reduce_scatter", "remainder",
    "replica_id", "reshape", "reverse", "round_nearest_afz", "round_nearest_even", "rsqrt", "send",
    "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "sine", "sqrt",
    "subtract", "tan", "tanh", "transpose", "triangular_solve", "tuple", "xor"});
// clang-format on
static_assert(std::is_sorted(kDirect.begin(), kDirect.end()));

/// The operations of CHLO that XLA has, too.
constexpr auto kDirectChlo = std::to_array<std::string_view>(
    {"acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "sinh", "tan"});

/// The operations that move values, communicate or have effects: they keep their opcodes for types
/// that XLA does not have, and regions that use values of outside.
constexpr auto kAnyType = std::to_array<std::string_view>(
    {"stablehlo.after_all", "stablehlo.case", "stablehlo.composite", "stablehlo.custom_call",
     "stablehlo.get_tuple_element", "stablehlo.if", "stablehlo.infeed",
     "stablehlo.optimization_barrier", "stablehlo.outfeed", "stablehlo.recv", "stablehlo.rng",
     "stablehlo.send", "stablehlo.tuple", "stablehlo.while", "func.call", "sdy.manual_computation",
     "sdy.reshard", "sdy.sharding_constraint"});

template <typename Names>
bool is_among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The opcode of an operation that only has another name; empty for any other.
std::string direct_opcode(std::string_view name) {
  const bool stablehlo = name.starts_with("stablehlo.");
  const bool chlo = name.starts_with("chlo.");
  std::string opcode(name.substr(name.find('.') + 1));
  const bool known = (stablehlo && std::binary_search(kDirect.begin(), kDirect.end(), opcode)) ||
                     (chlo && is_among(kDirectChlo, opcode));
  if (!known) return {};
  std::replace(opcode.begin(), opcode.end(), '_', '-');
  return opcode;
}

const Shape& result_shape(const MlirOperation& operation) {
  if (operation.types.empty()) {
    throw InputError(operation.position,
                     fmt::format("missing result of {}, expected one", operation.name));
  }
  return operation.types.front();
}

void require_operands(const MlirOperation& operation, std::size_t count) {
  if (operation.operands.size() == count) return;
  throw InputError(operation.position,
                   fmt::format("{} with {} operands, expected {}", operation.name,
                               operation.operands.size(), count));
}

/// Appends a broadcast of a scalar to the sizes of `shape`; any other operand remains.
std::uint32_t broadcast_scalar(Scope& scope, const MlirOperation& operation, std::uint32_t operand,
                               const Shape& shape) {
  const Shape& scalar = scope.shape(operand);
  if (scalar.is_tuple || shape.is_tuple || !scalar.array.sizes.empty() ||
      shape.array.sizes.empty()) {
    return operand;
  }
  Instruction broadcast = instruction_for(operation, "broadcast");
  broadcast.operands = {operand};
  broadcast.shape = shape;
  broadcast.shape.array.type = scalar.array.type;
  return scope.append(std::move(broadcast));
}

}  // namespace

OperationLowering::Rule OperationLowering::rule_of(std::string_view name) {
  using Lowering = OperationLowering;
  static const std::unordered_map<std::string_view, Rule> kRules = {
      {"stablehlo.constant", &Lowering::lower_constant},
      {"stablehlo.broadcast_in_dim", &Lowering::lower_broadcast},
      {"stablehlo.convert", &Lowering::lower_convert},
      {"stablehlo.select", &Lowering::lower_select},
      {"stablehlo.clamp", &Lowering::lower_select},
      {"stablehlo.compare", &Lowering::lower_compare},
      {"stablehlo.slice", &Lowering::lower_slice},
      {"stablehlo.dot_general", &Lowering::lower_dot},
      {"stablehlo.dot", &Lowering::lower_dot},
      {"stablehlo.convolution", &Lowering::lower_convolution},
      {"stablehlo.reduce_window", &Lowering::lower_windowed},
      {"stablehlo.select_and_scatter", &Lowering::lower_windowed},
      {"stablehlo.gather", &Lowering::lower_gather},
      {"stablehlo.scatter", &Lowering::lower_scatter},
      {"stablehlo.sort", &Lowering::lower_sort},
      {"stablehlo.fft", &Lowering::lower_fft},
      {"stablehlo.reduce_precision", &Lowering::lower_reduce_precision},
      {"stablehlo.rng", &Lowering::lower_random},
      {"stablehlo.rng_bit_generator", &Lowering::lower_random},
      {"stablehlo.optimization_barrier", &Lowering::lower_barrier},
      {"stablehlo.composite", &Lowering::lower_call},
      {"func.call", &Lowering::lower_call},
      {"stablehlo.custom_call", &Lowering::lower_custom_call},
      {"stablehlo.while", &Lowering::lower_while},
      {"stablehlo.case", &Lowering::lower_conditional},
      {"stablehlo.if", &Lowering::lower_conditional},
      {"chlo.square", &Lowering::lower_square},
      {"chlo.atan", &Lowering::lower_arc_tangent},
      {"chlo.top_k", &Lowering::lower_top_k},
      {"sdy.sharding_constraint", &Lowering::lower_sharding},
      {"sdy.reshard", &Lowering::lower_sharding},
      {"sdy.manual_computation", &Lowering::lower_manual_computation},
  };
  const auto found = kRules.find(name);
  return found == kRules.end() ? nullptr : found->second;
}

void OperationLowering::lower(Scope& scope, MlirOperation& operation) {
  std::string opcode = direct_opcode(operation.name);
  const bool foreign = has_foreign_type(scope, operation) && !is_among(kAnyType, operation.name) &&
                       !is_collective(opcode);
  if (foreign) return lower_opaque(scope, operation);
  if (const Rule rule = rule_of(operation.name)) return (this->*rule)(scope, operation);
  if (!opcode.empty()) return lower_direct(scope, operation, std::move(opcode));
  lower_opaque(scope, operation);
}

void OperationLowering::call_regions(MlirOperation& operation, Instruction& instruction) {
  for (Scope& region : operation.regions) {
    instruction.operands.insert(instruction.operands.end(), region.captured.begin(),
                                region.captured.end());
    instruction.called.push_back(
        symbols_.add(computation_of(std::move(region)), operation.position));
  }
  operation.regions.clear();
}

void OperationLowering::complete(Scope& scope, MlirOperation& operation, Instruction instruction) {
  read_sharding(operation.attributes, instruction.attributes);
  read_attributes(operation, meshes_, instruction);
  const auto takes_dynamic = [&](std::uint32_t each) { return is_dynamic(scope.shape(each)); };
  set_apart_if_not_known(instruction, std::ranges::any_of(operation.types, is_dynamic) ||
                                          std::ranges::any_of(operation.operands, takes_dynamic));
  call_regions(operation, instruction);
  append_results(scope, operation, std::move(instruction));
}

void OperationLowering::lower_direct(Scope& scope, MlirOperation& operation, std::string opcode) {
  complete(scope, operation, instruction_for(operation, std::move(opcode)));
}

void OperationLowering::lower_opaque(Scope& scope, MlirOperation& operation) {
  Instruction instruction = instruction_for(operation, operation.name);
  read_sharding(operation.attributes, instruction.attributes);
  if (has_foreign_type(scope, operation)) {
    instruction.attributes.others = fmt::format("types={};", without_blanks(operation.signature));
  }
  if (operation.symbol) operation.words.push_back("@" + *operation.symbol);
  append_rest(operation, instruction.attributes);
  call_regions(operation, instruction);
  append_results(scope, operation, std::move(instruction));
}

void OperationLowering::lower_constant(Scope& scope, MlirOperation& operation) {
  Instruction instruction = instruction_for(operation, "constant");
  const auto value = operation.take("value");
  if (!operation.literal && value) {
    TextReader reader(value->text, value->where);
    operation.literal = std::make_shared<const Literal>(read_dense(reader));
  }
  instruction.literal = operation.literal;
  complete(scope, operation, std::move(instruction));
}

/// XLA's broadcast does not stretch: a dimension of size 1 that grows is removed before.
void OperationLowering::lower_broadcast(Scope& scope, MlirOperation& operation) {
  Instruction broadcast = instruction_for(operation, "broadcast");
  const auto dimensions = integers_of(operation.take("broadcast_dimensions", "dims"));
  broadcast.attributes.dimensions = dimensions;
  require_operands(operation, 1);
  const Shape operand = scope.shape(operation.operands[0]);
  const std::vector<std::int64_t>& from = operand.array.sizes;
  const std::vector<std::int64_t>& to = result_shape(operation).array.sizes;
  const auto in_range = [&](std::int64_t dimension) {
    return dimension >= 0 && dimension < static_cast<std::int64_t>(to.size());
  };
  if (from.size() == dimensions.size() &&
      std::all_of(dimensions.begin(), dimensions.end(), in_range)) {
    Shape kept = operand;
    kept.array.sizes.clear();
    broadcast.attributes.dimensions.clear();
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] == 1 && to[static_cast<std::size_t>(dimensions[i])] != 1) continue;
      kept.array.sizes.push_back(from[i]);
      broadcast.attributes.dimensions.push_back(dimensions[i]);
    }
    if (kept.array.sizes.size() != from.size()) {
      Instruction reshape = instruction_for(operation, "reshape");
      reshape.shape = kept;
      broadcast.operands = {scope.append(std::move(reshape))};
    }
  }
  complete(scope, operation, std::move(broadcast));
}

void OperationLowering::lower_convert(Scope& scope, MlirOperation& operation) {
  require_operands(operation, 1);
  const Shape& from = scope.shape(operation.operands[0]);
  const Shape& to = result_shape(operation);
  const bool same = !from.is_tuple && !to.is_tuple && from.array.type == to.array.type &&
                    from.array.same_sizes(to.array);
  if (same && operation.results.size() == 1) {
    scope.names[operation.results[0]] = operation.operands[0];
    return;
  }
  lower_direct(scope, operation, "convert");
}

/// Also of a clamp: scalars among the operands become arrays.
void OperationLowering::lower_select(Scope& scope, MlirOperation& operation) {
  require_operands(operation, 3);
  const bool is_clamp = operation.name == "stablehlo.clamp";
  const Shape shape = result_shape(operation);
  std::vector<std::uint32_t>& operands = operation.operands;
  operands[0] = broadcast_scalar(scope, operation, operands[0], shape);
  if (is_clamp) operands[2] = broadcast_scalar(scope, operation, operands[2], shape);
  lower_direct(scope, operation, is_clamp ? "clamp" : "select");
}

void OperationLowering::lower_compare(Scope& scope, MlirOperation& operation) {
  Instruction compare = instruction_for(operation, "compare");
  std::string type;
  if (!operation.words.empty()) compare.attributes.direction = operation.words[0];
  if (operation.words.size() > 1) type = operation.words[1];
  if (const auto direction = operation.take("comparison_direction")) {
    compare.attributes.direction = enum_word(*direction);
  }
  if (const auto given = operation.take("compare_type")) type = enum_word(*given);
  if (type == "TOTALORDER") compare.attributes.others = "type=TOTALORDER;";
  operation.words.clear();
  complete(scope, operation, std::move(compare));
}

/// The pretty form has ranges: `[0:2, 1:3:2]`.
void OperationLowering::lower_slice(Scope& scope, MlirOperation& operation) {
  Instruction slice = instruction_for(operation, "slice");
  if (const auto ranges = operation.take("ranges")) {
    Attributes& attributes = slice.attributes;
    TextReader reader(ranges->text, ranges->where);
    reader.expect("[", "before ranges");
    while (!reader.accept("]")) {
      attributes.starts.push_back(reader.integer("where a range starts", 0, kMaxElements));
      reader.expect(":", "inside a range");
      attributes.limits.push_back(reader.integer("where a range ends", 0, kMaxElements));
      const bool strided = reader.accept(":");
      attributes.strides.push_back(strided ? reader.integer("a stride", 1, kMaxElements) : 1);
      if (!reader.accept(",") && !reader.next_is("]")) reader.unexpected("',' or ']'");
    }
  }
  complete(scope, operation, std::move(slice));
}

void OperationLowering::lower_dot(Scope& scope, MlirOperation& operation) {
  Instruction dot = instruction_for(operation, "dot");
  require_operands(operation, 2);
  if (operation.name == "stablehlo.dot") {
    const std::size_t rank = scope.shape(operation.operands[0]).array.sizes.size();
    dot.attributes.others = fmt::format("lhs_contracting_dims={{{}}};rhs_contracting_dims={{0}};",
                                        rank == 0 ? 0 : rank - 1);
  } else {
    dot.attributes.others = dot_dimensions(operation);
  }
  dot.attributes.others += operand_precision(operation) + dot_algorithm(operation);
  complete(scope, operation, std::move(dot));
}

void OperationLowering::lower_convolution(Scope& scope, MlirOperation& operation) {
  require_operands(operation, 2);
  const auto window = convolution_window(operation, scope.shape(operation.operands[1]));
  if (!window) return lower_opaque(scope, operation);
  Instruction convolution = instruction_for(operation, "convolution");
  convolution.attributes.others = *window + operand_precision(operation);
  complete(scope, operation, std::move(convolution));
}

void OperationLowering::lower_windowed(Scope& scope, MlirOperation& operation) {
  const bool reduces = operation.name == "stablehlo.reduce_window";
  Instruction instruction =
      instruction_for(operation, reduces ? "reduce-window" : "select-and-scatter");
  instruction.attributes.others = reduction_window(operation);
  complete(scope, operation, std::move(instruction));
}

void OperationLowering::lower_gather(Scope& scope, MlirOperation& operation) {
  Instruction gather = instruction_for(operation, "gather");
  gather.attributes.others = gather_dimensions(operation);
  complete(scope, operation, std::move(gather));
}

void OperationLowering::lower_scatter(Scope& scope, MlirOperation& operation) {
  Instruction scatter = instruction_for(operation, "scatter");
  scatter.attributes.others = scatter_dimensions(operation);
  complete(scope, operation, std::move(scatter));
}

void OperationLowering::lower_sort(Scope& scope, MlirOperation& operation) {
  Instruction sort = instruction_for(operation, "sort");
  std::vector<std::int64_t> dimension = integers_of(operation.take("dimension"), {-1});
  for (std::int64_t& each : dimension) {
    const bool from_the_end = each < 0 && !operation.operands.empty();
    if (!from_the_end) continue;
    each += static_cast<std::int64_t>(scope.shape(operation.operands[0]).array.sizes.size());
  }
  sort.attributes.dimensions = std::move(dimension);
  const auto stable = operation.take("is_stable");
  if (stable && stable->text != "false") sort.attributes.others = "is_stable=true;";
  complete(scope, operation, std::move(sort));
}

void OperationLowering::lower_fft(Scope& scope, MlirOperation& operation) {
  Instruction fft = instruction_for(operation, "fft");
  if (const auto type = operation.take("fft_type", "type")) {
    fft.attributes.others = fmt::format("fft_type={};", enum_word(*type));
  }
  const auto length = integers_of(operation.take("fft_length", "length"));
  fft.attributes.others += fmt::format("fft_length={{{}}};", fmt::join(length, ","));
  complete(scope, operation, std::move(fft));
}

/// The pretty form has `format = e8m7`.
void OperationLowering::lower_reduce_precision(Scope& scope, MlirOperation& operation) {
  Instruction instruction = instruction_for(operation, "reduce-precision");
  if (const auto format = operation.take("format")) {
    const std::size_t mantissa = format->text.find('m');
    if (!format->text.starts_with('e') || mantissa == std::string_view::npos) {
      throw InputError(format->where,
                       fmt::format("format '{}', expected one like 'e8m7'", format->text));
    }
    instruction.attributes.others =
        fmt::format("exponent_bits={};mantissa_bits={};", format->text.substr(1, mantissa - 1),
                    format->text.substr(mantissa + 1));
  }
  complete(scope, operation, std::move(instruction));
}

void OperationLowering::lower_random(Scope& scope, MlirOperation& operation) {
  const bool bits = operation.name == "stablehlo.rng_bit_generator";
  if (!bits && operation.operands.size() == 3) operation.operands.pop_back();  // the shape
  Instruction instruction = instruction_for(operation, bits ? "rng-bit-generator" : "rng");
  if (const auto algorithm = operation.take("rng_algorithm", "algorithm")) {
    instruction.attributes.others =
        fmt::format("algorithm=rng_{};", lower_case(enum_word(*algorithm)));
  }
  if (const auto distribution = operation.take("rng_distribution", "distribution")) {
    instruction.attributes.others =
        fmt::format("distribution=rng_{};", lower_case(enum_word(*distribution)));
  }
  complete(scope, operation, std::move(instruction));
}

void OperationLowering::lower_barrier(Scope& scope, MlirOperation& operation) {
  Instruction barrier = instruction_for(operation, "optimization-barrier");
  if (operation.operands.size() > 1) {
    barrier.operands = {append_tuple(scope, operation, operation.operands)};
  }
  complete(scope, operation, std::move(barrier));
}

void OperationLowering::lower_square(Scope& scope, MlirOperation& operation) {
  require_operands(operation, 1);
  operation.operands.push_back(operation.operands[0]);
  lower_direct(scope, operation, "multiply");
}

/// The arc tangent is that of a fraction with denominator 1.
void OperationLowering::lower_arc_tangent(Scope& scope, MlirOperation& operation) {
  require_operands(operation, 1);
  const Shape shape = result_shape(operation);
  Instruction one = instruction_for(operation, "constant");
  one.operands.clear();
  one.shape.array.type = shape.array.type;
  one.literal = std::make_shared<const Literal>(Literal{one.shape.array, {{{1, 1}, {}}}});
  const std::uint32_t scalar = scope.append(std::move(one));
  operation.operands.push_back(broadcast_scalar(scope, operation, scalar, shape));
  lower_direct(scope, operation, "atan2");
}

void OperationLowering::lower_top_k(Scope& scope, MlirOperation& operation) {
  Instruction instruction = instruction_for(operation, "topk");
  for (const std::int64_t k : integers_of(operation.take("k"))) {
    instruction.attributes.others = fmt::format("k={};", k);
  }
  instruction.attributes.others += "largest=true;";
  complete(scope, operation, std::move(instruction));
}

}  // namespace p2::hlo
