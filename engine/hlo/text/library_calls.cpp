// Calls of cuBLAS and cuDNN that XLA's backend for GPUs writes (xla/service/gpu/transforms:
// gemm_rewriter, conv_rewriter, cudnn_fused_conv_rewriter), as the operations that they stand for.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/base/json_reader.h"
#include "engine/hlo/text/hlo_text.h"

namespace p2::hlo {
namespace {

using nlohmann::json;
using Dimensions = std::vector<std::int64_t>;

constexpr std::string_view kMatmul = "__cublas$lt$matmul";
constexpr std::string_view kGemm = "__cublas$gemm";
constexpr std::string_view kConvolution = "__cudnn$convForward";
constexpr std::string_view kBiasedConvolution = "__cudnn$convBiasActivationForward";

/// What a call computes: alpha · (a product of the first two operands) + beta · c + bias, and the
/// maximum of it and 0.
struct Epilogue {
  double alpha = 1;
  double beta = 0;        ///< if not 0, c is the next operand
  bool has_bias = false;  ///< the next operand, of one dimension, is added along `bias_dimension`
  std::size_t bias_dimension = 0;
  bool has_relu = false;

  bool is_plain() const { return alpha == 1 && beta == 0 && !has_bias && !has_relu; }
  std::size_t operands() const { return 2U + (beta != 0 ? 1U : 0U) + (has_bias ? 1U : 0U); }
};

/// A call as an operation on its first two operands, with this text of attributes, and what
/// follows.
struct Meaning {
  std::string opcode;
  std::string attributes;
  Epilogue epilogue = {};
};

/// A floating-point type that libraries compute in.
bool is_computed(ElementType type) {
  const std::string_view name = type.name();
  return name == "f64" || name == "f32" || name == "f16" || name == "bf16";
}

/// Throws json::exception unless `object` has no other keys.
void only_keys(const json& object, const std::set<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key)) throw json::other_error::create(501, key, &object);
  }
}

/// Whole numbers, which are printed as strings or not.
Dimensions integers(const json& list) {
  Dimensions all;
  for (const json& each : list) {
    all.push_back(each.is_string() ? std::stoll(each.get<std::string>())
                                   : each.get<std::int64_t>());
  }
  return all;
}

/// The attributes of a call beside its target and configuration; nothing if one is not known.
std::optional<std::vector<std::string_view>> attributes_beside_config(
    const Instruction& call, const std::set<std::string_view>& known) {
  std::vector<std::string_view> all;
  for (const std::string_view part : attributes_in(call.attributes.others)) {
    const std::string_view key = part.substr(0, part.find('='));
    if (key == "custom_call_target" || key == "backend_config") continue;
    if (!known.contains(key)) return std::nullopt;
    all.push_back(part);
  }
  return all;
}

/// Whether a stride is one that XLA writes for an operand: of its first dimension, row by row, or
/// all of it; or where batches begin in memory. With another one, as 0, the library would read
/// something else.
bool has_stride(const json& config, const char* key, const ArrayShape& operand,
                const Dimensions& batch) {
  if (!config.contains(key)) return true;
  Dimensions order = operand.minor_to_major;
  if (order.empty()) {
    for (std::size_t i = operand.sizes.size(); i-- > 0;)
      order.push_back(static_cast<std::int64_t>(i));
  }
  std::int64_t in_memory = 1;
  for (const std::int64_t each : order) {
    if (std::ranges::find(batch, each) != batch.end()) break;
    in_memory *= operand.sizes.at(static_cast<std::size_t>(each));
  }
  const std::int64_t stated = integers(json::array({config[key]}))[0];
  const bool is_of_first = !operand.sizes.empty() && operand.sizes[0] > 0 &&
                           stated == operand.elements() / operand.sizes[0];
  return stated > 0 && (stated == in_memory || stated == operand.elements() || is_of_first);
}

/// The dimensions of an operand of a dot that are neither batch nor contracted; nothing where these
/// are none of it, or named twice.
std::optional<Dimensions> free_dimensions(const ArrayShape& operand, const Dimensions& batch,
                                          const Dimensions& contracted) {
  std::set<std::int64_t> named(batch.begin(), batch.end());
  named.insert(contracted.begin(), contracted.end());
  const auto rank = std::ssize(operand.sizes);
  const bool fits = named.size() == batch.size() + contracted.size() &&
                    (named.empty() || (*named.begin() >= 0 && *named.rbegin() < rank));
  if (!fits) return std::nullopt;
  Dimensions free;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (!named.contains(i)) free.push_back(i);
  }
  return free;
}

Dimensions sizes_of(const ArrayShape& shape, const Dimensions& dimensions) {
  Dimensions sizes;
  for (const std::int64_t each : dimensions)
    sizes.push_back(shape.sizes[static_cast<std::size_t>(each)]);
  return sizes;
}

/// Whether a dot of two operands along these dimensions has the sizes of the result.
bool is_dot(const ArrayShape& a, const ArrayShape& b, const Dimensions (&batch)[2],
            const Dimensions (&contracted)[2], const ArrayShape& result) {
  const auto free_a = free_dimensions(a, batch[0], contracted[0]);
  const auto free_b = free_dimensions(b, batch[1], contracted[1]);
  if (!free_a || !free_b) return false;
  Dimensions sizes = sizes_of(a, batch[0]);
  if (sizes != sizes_of(b, batch[1])) return false;
  if (sizes_of(a, contracted[0]) != sizes_of(b, contracted[1])) return false;
  for (const Dimensions& more : {sizes_of(a, *free_a), sizes_of(b, *free_b)})
    sizes.insert(sizes.end(), more.begin(), more.end());
  return sizes == result.sizes;
}

/// The last dimension, if it is the one that changes fastest in memory.
bool is_row_major_vector(const ArrayShape& vector, const ArrayShape& result) {
  return vector.sizes.size() == 1 && !result.sizes.empty() && result.row_major() &&
         vector.sizes[0] == result.sizes.back();
}

/// Throws json::exception or std::exception where the configuration is not as expected; nothing for
/// what is not understood.
std::optional<Meaning> matmul(const json& config, const std::vector<const ArrayShape*>& operands,
                              const ArrayShape& result) {
  only_keys(config, {"alpha_imag", "alpha_real", "autotune_workspace_size", "beta", "damax_output",
                     "dot_dimension_numbers", "epilogue", "grad_x", "grad_y", "lhs_stride",
                     "precision_config", "rhs_stride", "scale_mode", "selected_algorithm"});
  if (config.value("alpha_imag", 0.0) != 0 || config.value("damax_output", false) ||
      config.value("scale_mode", 0) != 0) {
    return std::nullopt;
  }
  Meaning meaning{"dot", {}};
  Epilogue& epilogue = meaning.epilogue;
  epilogue.alpha = config.at("alpha_real");
  epilogue.beta = config.value("beta", 0.0);
  const std::string name = config.value("epilogue", "DEFAULT");
  if (name != "DEFAULT" && name != "BIAS" && name != "RELU" && name != "BIAS_RELU")
    return std::nullopt;
  epilogue.has_bias = name.starts_with("BIAS");
  epilogue.has_relu = name.ends_with("RELU");
  const json& numbers = config.at("dot_dimension_numbers");
  only_keys(numbers, {"lhs_batch_dimensions", "lhs_contracting_dimensions", "rhs_batch_dimensions",
                      "rhs_contracting_dimensions"});
  Dimensions batch[2];
  Dimensions contracted[2];
  for (std::size_t k = 0; k < 2; ++k) {
    const std::string side = k == 0 ? "lhs" : "rhs";
    batch[k] = integers(numbers.value(side + "_batch_dimensions", json::array()));
    contracted[k] = integers(numbers.value(side + "_contracting_dimensions", json::array()));
    if (!batch[k].empty())
      meaning.attributes += fmt::format("{}_batch_dims={{{}}};", side, fmt::join(batch[k], ","));
    meaning.attributes +=
        fmt::format("{}_contracting_dims={{{}}};", side, fmt::join(contracted[k], ","));
  }
  if (operands.size() < 2 || operands.size() != epilogue.operands() ||
      !is_dot(*operands[0], *operands[1], batch, contracted, result) ||
      !has_stride(config, "lhs_stride", *operands[0], batch[0]) ||
      !has_stride(config, "rhs_stride", *operands[1], batch[1])) {
    return std::nullopt;
  }
  if (epilogue.beta != 0 && operands[2]->sizes != result.sizes) return std::nullopt;
  // A bias has as many elements as all free dimensions of the second operand together.
  const auto free =
      std::ssize(operands[1]->sizes) - std::ssize(batch[1]) - std::ssize(contracted[1]);
  if (epilogue.has_bias && (free != 1 || !is_row_major_vector(*operands.back(), result)))
    return std::nullopt;
  epilogue.bias_dimension = result.sizes.size() - 1;
  return meaning;
}

std::optional<Meaning> convolution(const json& config, const Instruction& call, bool is_biased,
                                   const std::vector<const ArrayShape*>& operands,
                                   const ArrayShape& result) {
  only_keys(config, {"activation_mode", "algorithm", "conv_result_scale", "leakyrelu_alpha",
                     "reordered_int8_nchw_vect", "side_input_scale", "serialized_graph"});
  if (config.contains("serialized_graph") && config["serialized_graph"] != "") return std::nullopt;
  Meaning meaning{"convolution", {}};
  Epilogue& epilogue = meaning.epilogue;
  epilogue.alpha = config.at("conv_result_scale");
  const std::string activation = config.value("activation_mode", "kNone");
  epilogue.has_bias = is_biased;
  epilogue.has_relu = activation == "kRelu";
  // Without a bias the library neither scales nor rectifies.
  const bool has_more = epilogue.alpha != 1 || epilogue.has_relu;
  if ((activation != "kNone" && activation != "kRelu") || (!is_biased && has_more) ||
      config.value("side_input_scale", 0.0) != 0 || operands.size() != epilogue.operands()) {
    return std::nullopt;
  }
  const auto attributes = attributes_beside_config(
      call, {"window", "dim_labels", "feature_group_count", "batch_group_count"});
  if (!attributes) return std::nullopt;
  for (const std::string_view part : *attributes) meaning.attributes += std::string(part) + ";";
  // `b01f_01io->b01f`: a bias is along the output's `f`.
  const auto labels = call.attributes.other("dim_labels");
  const std::size_t arrow = labels ? labels->find("->") : std::string_view::npos;
  if (arrow == std::string_view::npos) return std::nullopt;
  const std::size_t feature = labels->substr(arrow + 2).find('f');
  if (feature >= result.sizes.size()) return std::nullopt;
  epilogue.bias_dimension = feature;
  const bool fits = !is_biased || operands.back()->sizes == Dimensions{result.sizes[feature]};
  return fits ? std::optional(std::move(meaning)) : std::nullopt;
}

/// What a custom call of a library computes; nothing where it is none, or not understood.
std::optional<Meaning> meaning_of(const Instruction& call, const Computation& computation,
                                  const ArrayShape& result) {
  if (call.opcode != "custom-call" || !is_computed(result.type)) return std::nullopt;
  const auto quoted = call.attributes.other("custom_call_target");
  const auto config = call.attributes.other("backend_config");
  if (!quoted || !config || quoted->size() < 2) return std::nullopt;
  const std::string_view target = quoted->substr(1, quoted->size() - 2);
  const bool is_matmul = target == kMatmul || target == kGemm;
  if (!is_matmul && target != kConvolution && target != kBiasedConvolution) return std::nullopt;
  std::vector<const ArrayShape*> operands;
  for (const std::uint32_t each : call.operands) {
    const Shape& shape = computation.instructions[each].shape;
    if (shape.is_tuple || !is_computed(shape.array.type)) return std::nullopt;
    operands.push_back(&shape.array);
  }
  try {
    const JsonDocument no_key_twice("", std::string(*config));
    const json all = json::parse(*config);
    if (!is_matmul) {
      return convolution(all.at("cudnn_conv_backend_config"), call, target == kBiasedConvolution,
                         operands, result);
    }
    if (!attributes_beside_config(call, {"output_to_operand_aliasing", "api_version"}))
      return std::nullopt;
    auto meaning = matmul(all.at("gemm_backend_config"), operands, result);
    // The older call has no epilogue.
    const bool has_epilogue = meaning && (meaning->epilogue.has_bias || meaning->epilogue.has_relu);
    return target == kGemm && has_epilogue ? std::nullopt : meaning;
  } catch (const InputError&) {
    return std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  } catch (const std::logic_error&) {  // a number that is none
    return std::nullopt;
  }
}

/// One computation with operations in place of calls.
class Expansion {
 public:
  explicit Expansion(const Computation& from) : from_(from), places_(from.instructions.size()) {}

  Computation take() {
    for (std::uint32_t i = 0; i < from_.instructions.size(); ++i) {
      const Instruction& old = from_.instructions[i];
      const bool is_element = old.opcode == "get-tuple-element" && calls_.contains(old.operands[0]);
      if (is_element) {
        places_[i] = places_[old.operands[0]];
        continue;
      }
      const ArrayShape* const result = result_of(i);
      const auto meaning = result == nullptr ? std::nullopt : meaning_of(old, from_, *result);
      if (meaning) {
        places_[i] = expanded(old, *meaning, *result);
        calls_.insert(i);
        continue;
      }
      Instruction own = old;
      for (std::uint32_t& operand : own.operands) operand = places_[operand];
      places_[i] = add(std::move(own));
    }
    made_.name = from_.name;
    made_.root = places_[from_.root];
    for (const std::uint32_t each : from_.parameters) made_.parameters.push_back(places_[each]);
    return std::move(made_);
  }

 private:
  /// The array that a custom call computes: its result, or the first one beside the workspace, of
  /// which nothing else is used.
  const ArrayShape* result_of(std::uint32_t number) const {
    const Instruction& call = from_.instructions[number];
    if (call.opcode != "custom-call" || !call.called.empty()) return nullptr;
    if (!call.shape.is_tuple) return &call.shape.array;
    const bool fits = call.shape.parts.size() == 2 && !call.shape.parts[0].is_tuple;
    if (!fits || number == from_.root) return nullptr;
    for (const Instruction& each : from_.instructions) {
      if (std::ranges::find(each.operands, number) == each.operands.end()) continue;
      const bool is_result = each.opcode == "get-tuple-element" && each.attributes.index == 0 &&
                             are_same(each.shape, call.shape.parts[0]);
      if (!is_result) return nullptr;
    }
    return &call.shape.parts[0].array;
  }

  std::uint32_t expanded(const Instruction& call, const Meaning& meaning,
                         const ArrayShape& result) {
    const Epilogue& epilogue = meaning.epilogue;
    ArrayShape computed = result;
    const bool is_narrow = result.type.bits() < 32 && !epilogue.is_plain();
    if (is_narrow) computed.type = *ElementType::from_xla("f32");
    const auto instruction = [&](std::string_view opcode, std::vector<std::uint32_t> operands,
                                 const ArrayShape& shape) {
      Instruction made{call.name, std::string(opcode)};
      made.shape.array = shape;
      made.operands = std::move(operands);
      made.position = call.position;
      return made;
    };
    const auto scalar = [&](double value) {
      ArrayShape shape{computed.type, {}};
      Instruction made = instruction("constant", {}, shape);
      const auto number = Number::read(fmt::format("{:.17g}", value));
      LiteralElement element;
      if (number) element.number = *number;
      if (!number) element.text = fmt::format("{:.17g}", value);
      made.literal = std::make_shared<const Literal>(Literal{shape, {element}});
      Instruction spread = instruction("broadcast", {add(std::move(made))}, computed);
      return add(std::move(spread));
    };
    const auto in_computed_type = [&](std::uint32_t operand) {
      ArrayShape shape = made_.instructions[operand].shape.array;
      if (shape.type == computed.type) return operand;
      shape.type = computed.type;
      return add(instruction("convert", {operand}, shape));
    };
    std::vector<std::uint32_t> operands;
    for (const std::uint32_t each : call.operands) operands.push_back(places_[each]);
    Instruction product = instruction(meaning.opcode, {operands[0], operands[1]}, computed);
    product.attributes.others = meaning.attributes;
    std::uint32_t value = add(std::move(product));
    const auto combine = [&](std::string_view opcode, std::uint32_t other) {
      value = add(instruction(opcode, {value, other}, computed));
    };
    std::size_t next = 2;
    if (epilogue.alpha != 1) combine("multiply", scalar(epilogue.alpha));
    if (epilogue.beta != 0) {
      std::uint32_t added = in_computed_type(operands[next++]);
      if (epilogue.beta != 1) {
        const std::uint32_t factor = scalar(epilogue.beta);
        added = add(instruction("multiply", {added, factor}, computed));
      }
      combine("add", added);
    }
    if (epilogue.has_bias) {
      const std::uint32_t bias = in_computed_type(operands[next]);
      Instruction spread = instruction("broadcast", {bias}, computed);
      spread.attributes.dimensions = {static_cast<std::int64_t>(epilogue.bias_dimension)};
      combine("add", add(std::move(spread)));
    }
    if (epilogue.has_relu) combine("maximum", scalar(0));
    if (is_narrow) value = add(instruction("convert", {value}, result));
    return value;
  }

  std::uint32_t add(Instruction instruction) {
    made_.instructions.push_back(std::move(instruction));
    return static_cast<std::uint32_t>(made_.instructions.size() - 1);
  }

  const Computation& from_;
  Computation made_;
  std::vector<std::uint32_t> places_;  ///< in what is made, by instruction
  std::set<std::uint32_t> calls_;      ///< that are expanded
};

}  // namespace

bool calls_library(std::string_view text) {
  return text.find("\"__cublas$") != std::string_view::npos ||
         text.find("\"__cudnn$conv") != std::string_view::npos;
}

Module with_operations_of_libraries(Module module) {
  for (Computation& computation : module.computations) {
    const bool calls = std::ranges::any_of(computation.instructions, [](const Instruction& each) {
      return each.opcode == "custom-call" && calls_library(each.attributes.others);
    });
    if (calls) computation = Expansion(computation).take();
  }
  return module;
}

}  // namespace p2::hlo
