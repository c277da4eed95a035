// Which dimensions an operation passes on index by index: independent_dimensions.cpp says what for.

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>

#include "engine/hlo/collective.h"
#include "engine/hlo/interpreter/array.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/element_operation.h"
#include "p2/error.h"

namespace p2::hlo::interpreter {
namespace {

/// One instruction. Arrays are numbered: operands, then results.
class Correspondence {
 public:
  Correspondence(const Instruction& instruction, const std::vector<const ArrayShape*>& operands,
                 const std::vector<const ArrayShape*>& results)
      : instruction_(instruction), arrays_(operands), operands_(operands.size()) {
    arrays_.insert(arrays_.end(), results.begin(), results.end());
  }

  std::optional<PassedDimensions> find(bool rounded) {
    try {
      if (!(rounded && mixes_types()) && has_rule()) return passed_;
    } catch (const InputError&) {  // its attributes
    }
    return std::nullopt;
  }

 private:
  const ArrayShape& shape(std::size_t a) const { return *arrays_.at(a); }
  std::size_t rank(std::size_t a) const { return shape(a).sizes.size(); }
  std::int64_t size(std::size_t a, std::size_t i) const { return shape(a).sizes.at(i); }
  std::size_t results() const { return arrays_.size() - operands_; }

  /// Dimension i of array a is passed on as, or is that of which array b has dimension j. Operands
  /// are before results.
  template <typename I, typename J>
  void tie(std::size_t a, I i, std::size_t b, J j) {
    const auto from = static_cast<std::size_t>(i);
    const auto to = static_cast<std::size_t>(j);
    if (a >= arrays_.size() || b >= arrays_.size() || from >= rank(a) || to >= rank(b)) {
      is_understood_ = false;
      return;
    }
    passed_.same.push_back({{a, from}, {b, to}});
  }
  /// The result has the same elements at every index of a dimension.
  void uniform(std::size_t i) { passed_.uniform.push_back({operands_, i}); }

  /// All dimensions but some of two arrays of one rank.
  void tie_all(std::size_t a, std::size_t b, const Dimensions& but = {}) {
    if (rank(a) != rank(b)) is_understood_ = false;
    for (std::size_t i = 0; i < rank(a); ++i) {
      if (!contains(but, i)) tie(a, i, b, i);
    }
  }
  /// Those of all operands and results.
  void tie_together(const Dimensions& but = {}) {
    for (std::size_t a = 0; a < arrays_.size(); ++a) tie_all(a, operands_, but);
  }
  /// Those of every operand and its result.
  void tie_pairwise(const Dimensions& but = {}) {
    is_understood_ = is_understood_ && operands_ == results();
    for (std::size_t a = 0; a < operands_ && is_understood_; ++a) tie_all(a, operands_ + a, but);
  }

  bool mixes_types() const;
  bool has_rule();
  bool collective(std::string_view opcode);
  bool elementwise(Element code);
  bool constant();
  bool iota();
  bool broadcast();
  bool moved(std::string_view opcode);
  bool reshape();
  bool contraction();
  bool convolution();
  bool reduce();
  bool windows();
  bool top_k();
  bool gather();
  bool scatter();
  void tie_batch(const Dimensions& window_dims, std::int64_t vector, std::size_t result,
                 const Dimensions* only);

  const Instruction& instruction_;
  std::vector<const ArrayShape*> arrays_;
  std::size_t operands_;
  PassedDimensions passed_;
  bool is_understood_ = true;
};

/// Whether floating-point types differ in an operation that is no conversion: it is a function of
/// its own where numbers are rounded.
bool Correspondence::mixes_types() const {
  static constexpr auto kOthers = std::to_array<std::string_view>(
      {"convert", "bitcast-convert", "bitcast", "dot", "convolution"});
  std::set<std::uint8_t> types;
  for (const ArrayShape* each : arrays_) {
    if (each->type.is_float()) types.insert(each->type.index());
  }
  return types.size() > 1 && std::ranges::find(kOthers, instruction_.opcode) == kOthers.end();
}

bool Correspondence::has_rule() {
  const std::string_view opcode = instruction_.opcode;
  if (results() == 0) return false;
  if (is_collective(base_opcode(opcode))) return collective(base_opcode(opcode));
  if (const auto code = element_of(opcode)) return elementwise(*code);
  if (opcode == "constant") return constant();
  if (opcode == "iota") return iota();
  if (opcode == "broadcast") return broadcast();
  if (opcode == "reshape" || opcode == "bitcast") return reshape();
  if (opcode == "dot") return contraction();
  if (opcode == "convolution") return convolution();
  if (opcode == "reduce") return reduce();
  if (opcode == "reduce-window") return windows();
  if (opcode == "gather") return gather();
  if (opcode == "scatter") return scatter();
  if (opcode == "map") tie_together();
  if (opcode == "sort" && instruction_.attributes.dimensions.size() != 1) return false;
  if (opcode == "sort") tie_together(instruction_.attributes.dimensions);
  if (opcode == "map" || opcode == "sort") return is_understood_;
  const bool is_top_k =
      opcode == "topk" ||
      (opcode == "custom-call" && text_attribute(instruction_, "custom_call_target") == "TopK");
  return is_top_k ? top_k() : moved(opcode);
}

/// A dimension that is split or joined is not one of which all indices are alike.
bool Correspondence::collective(std::string_view opcode) {
  Dimensions along = instruction_.attributes.dimensions;
  if (opcode == "collective-permute" || opcode == "collective-broadcast" ||
      opcode == "all-reduce") {
    if (instruction_.attributes.other("slice_sizes")) return false;
    tie_pairwise();
  } else if (opcode == "all-gather" || opcode == "reduce-scatter") {
    tie_pairwise(along);
  } else if (opcode == "all-to-all") {
    if (!along.empty() && operands_ != 1) return false;
    if (instruction_.attributes.concat_dimension) {
      along.push_back(*instruction_.attributes.concat_dimension);
    }
    tie_together(along);
  } else {
    return false;
  }
  return is_understood_;
}

bool Correspondence::elementwise(Element code) {
  using Kind = ElementType::Kind;
  if (results() != 1) return false;
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    const Kind kind = shape(a).type.kind();
    if (kind == Kind::Complex || kind == Kind::Other) return false;
    const bool of_bits = code == Element::BitcastConvert;
    if (of_bits && shape(a).type.bits() != shape(operands_).type.bits()) return false;
    if (rank(a) > 0) tie_all(a, operands_);
  }
  return is_understood_;
}

bool Correspondence::constant() {
  const Literal* const literal = instruction_.literal.get();
  if (literal == nullptr || literal->elided) return false;
  const std::vector<std::int64_t> strides = strides_of(shape(0).sizes);
  const auto count = static_cast<std::int64_t>(literal->elements.size());
  if (count != 1 && count != shape(0).elements()) return false;
  for (std::size_t i = 0; i < rank(0); ++i) {
    bool is_uniform = true;
    for (std::int64_t at = 0; at < count && is_uniform && count > 1; ++at) {
      const std::int64_t index = at / strides[i] % size(0, i);
      is_uniform = literal->at(at) == literal->at(at - index * strides[i]);
    }
    if (is_uniform) uniform(i);
  }
  return true;
}

bool Correspondence::iota() {
  const Dimensions& along = instruction_.attributes.dimensions;
  for (std::size_t i = 0; i < rank(0); ++i) {
    if (!contains(along, i)) uniform(i);
  }
  return along.size() == 1;
}

bool Correspondence::broadcast() {
  const Dimensions& to = instruction_.attributes.dimensions;
  if (operands_ != 1 || to.size() != rank(0)) return false;
  for (std::size_t i = 0; i < rank(1); ++i) {
    if (!contains(to, i)) uniform(i);
  }
  for (std::size_t i = 0; i < to.size(); ++i) tie(0, i, 1, to[i]);
  return is_understood_;
}

bool Correspondence::moved(std::string_view opcode) {
  const Attributes& attributes = instruction_.attributes;
  const Dimensions& along = attributes.dimensions;
  if (operands_ == 0 || results() != 1) return false;
  const std::size_t to = operands_;
  if (opcode == "concatenate") {
    if (along.size() != 1) return false;
    tie_together(along);
    return is_understood_;
  }
  if (opcode == "dynamic-update-slice" && operands_ < 2) return false;
  if (rank(0) != rank(to)) return false;
  if (opcode == "reverse") tie_all(0, to, along);
  const bool slices = opcode == "slice" || opcode == "pad";
  for (const Dimensions* each : {&attributes.starts, &attributes.limits, &attributes.strides}) {
    if (slices && each->size() != rank(0)) return false;
  }
  if (opcode == "transpose" && along.size() != rank(0)) return false;
  for (std::size_t i = 0; i < rank(0); ++i) {
    const bool is_whole = size(0, i) == size(to, i);
    if (opcode == "transpose") {
      tie(0, along[i], to, i);
    } else if (opcode == "slice") {
      if (is_whole && attributes.starts[i] == 0 && attributes.strides[i] == 1) tie(0, i, to, i);
    } else if (opcode == "pad") {
      const bool none = attributes.starts[i] == 0 && attributes.limits[i] == 0;
      if (is_whole && none && attributes.strides[i] == 0) tie(0, i, to, i);
    } else if (opcode == "dynamic-slice") {
      if (is_whole) tie(0, i, to, i);  // any start is moved to 0
    } else if (opcode == "dynamic-update-slice") {
      if (rank(1) != rank(0)) return false;
      if (!is_whole || size(1, i) != size(0, i)) continue;
      tie(0, i, to, i);
      tie(1, i, to, i);
    } else if (opcode != "reverse") {
      return false;
    }
  }
  return is_understood_;
}

/// A dimension is kept where as many elements are before it, in the order of memory for a bitcast.
bool Correspondence::reshape() {
  if (operands_ != 1 || results() != 1 || shape(0).type != shape(1).type) return false;
  if (shape(0).elements() != shape(1).elements() || shape(0).elements() == 0) return false;
  std::array<Dimensions, 2> order;  // from the outermost dimension to the innermost
  for (std::size_t a = 0; a < 2; ++a) {
    const Dimensions& layout = shape(a).minor_to_major;
    order[a].resize(rank(a));
    std::iota(order[a].begin(), order[a].end(), 0);
    if (instruction_.opcode != "bitcast" || layout.empty()) continue;
    if (!std::is_permutation(layout.begin(), layout.end(), order[a].begin(), order[a].end())) {
      return false;
    }
    order[a].assign(layout.rbegin(), layout.rend());
  }
  std::array<std::int64_t, 2> before = {1, 1};
  std::array<std::size_t, 2> at = {0, 0};
  while (at[0] < rank(0) && at[1] < rank(1)) {
    std::array<std::int64_t, 2> sizes;
    for (std::size_t a = 0; a < 2; ++a) {
      sizes[a] = size(a, static_cast<std::size_t>(order[a][at[a]]));
    }
    if (before[0] == before[1] && sizes[0] == sizes[1]) {
      tie(0, order[0][at[0]], 1, order[1][at[1]]);
    }
    const std::array<std::int64_t, 2> ends = {before[0] * sizes[0], before[1] * sizes[1]};
    for (std::size_t a = 0; a < 2; ++a) {
      if (ends[a] > ends[1 - a]) continue;
      before[a] = ends[a];
      ++at[a];
    }
  }
  return is_understood_;
}

bool Correspondence::contraction() {
  if (operands_ != 2 || results() != 1) return false;
  const ElementType type = shape(2).type;
  if (!type.is_float() && !type.is_integer()) return false;
  const DotDimensions numbers = dot_dimensions(instruction_);
  if (numbers.lhs_batch.size() != numbers.rhs_batch.size()) return false;
  std::size_t next = 0;
  for (std::size_t k = 0; k < numbers.lhs_batch.size(); ++k, ++next) {
    tie(0, numbers.lhs_batch[k], 2, next);
    tie(1, numbers.rhs_batch[k], 2, next);
  }
  for (std::size_t i = 0; i < rank(0); ++i) {
    const bool is_used = contains(numbers.lhs_batch, i) || contains(numbers.lhs_contracting, i);
    if (!is_used) tie(0, i, 2, next++);
  }
  for (std::size_t i = 0; i < rank(1); ++i) {
    const bool is_used = contains(numbers.rhs_batch, i) || contains(numbers.rhs_contracting, i);
    if (!is_used) tie(1, i, 2, next++);
  }
  return is_understood_ && next == rank(2);
}

bool Correspondence::convolution() {
  if (operands_ != 2 || results() != 1) return false;
  const ConvolutionDimensions numbers = convolution_dimensions(instruction_);
  if (numbers.batch_groups != 1) return is_understood_;
  tie(0, numbers.input_batch, 2, numbers.output_batch);
  if (numbers.feature_groups == 1) tie(1, numbers.kernel_output, 2, numbers.output_feature);
  return is_understood_;
}

bool Correspondence::reduce() {
  if (operands_ != 2 * results()) return false;
  for (std::size_t k = 0; k < results(); ++k) {
    for (std::size_t r = operands_; r < arrays_.size(); ++r) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < rank(k); ++i) {
        if (!contains(instruction_.attributes.dimensions, i)) tie(k, i, r, kept++);
      }
      if (kept != rank(r)) return false;
    }
  }
  return is_understood_;
}

bool Correspondence::windows() {
  if (operands_ != 2 || results() != 1 || rank(0) != rank(2)) return false;
  const std::vector<WindowDimension> window = window_of(instruction_, rank(0));
  for (std::size_t i = 0; i < rank(0); ++i) {
    const WindowDimension& each = window[i];
    const bool is_single = each.size == 1 && each.stride == 1 && each.pad_low == 0 &&
                           each.pad_high == 0 && each.base_dilation == 1;
    if (is_single) tie(0, i, 2, i);
  }
  return is_understood_;
}

bool Correspondence::top_k() {
  if (operands_ != 1 || rank(0) == 0) return false;
  for (std::size_t r = 1; r < arrays_.size(); ++r) {
    tie_all(0, r, {static_cast<std::int64_t>(rank(0)) - 1});
  }
  return is_understood_;
}

/// The batch dimensions of the result of a gather, or of the updates of a scatter, are those of the
/// indices in their order, or `only` some of them.
void Correspondence::tie_batch(const Dimensions& window_dims, std::int64_t vector,
                               std::size_t result, const Dimensions* only) {
  std::size_t batch = 0;
  for (std::size_t i = 0; i < rank(result); ++i) {
    if (contains(window_dims, i)) continue;
    if (static_cast<std::int64_t>(batch) == vector) ++batch;
    if (only == nullptr || contains(*only, batch)) tie(1, batch, result, i);
    ++batch;
  }
}

bool Correspondence::gather() {
  if (operands_ != 2 || results() != 1) return false;
  const GatherDimensions numbers = gather_dimensions(instruction_);
  if (numbers.slice_sizes.size() != rank(0)) return false;
  std::size_t window = 0;
  for (std::size_t i = 0; i < rank(0); ++i) {
    if (contains(numbers.collapsed_slice_dims, i) || contains(numbers.operand_batching_dims, i)) {
      continue;
    }
    if (window == numbers.offset_dims.size()) return false;
    const std::int64_t to = numbers.offset_dims[window++];
    const bool is_whole = numbers.slice_sizes[i] == size(0, i);
    if (is_whole && !contains(numbers.start_index_map, i)) tie(0, i, 2, to);
  }
  tie_batch(numbers.offset_dims, numbers.index_vector_dim, 2, nullptr);
  const Dimensions& batching = numbers.start_indices_batching_dims;
  if (batching.size() != numbers.operand_batching_dims.size()) return false;
  for (std::size_t k = 0; k < batching.size(); ++k) {
    tie(0, numbers.operand_batching_dims[k], 1, batching[k]);
  }
  return is_understood_;
}

/// Updates at several indices may go to one element.
bool Correspondence::scatter() {
  if (operands_ != 3 || results() != 1 || rank(0) != rank(3)) return false;
  const ScatterDimensions numbers = scatter_dimensions(instruction_);
  std::size_t window = 0;
  for (std::size_t i = 0; i < rank(0); ++i) {
    if (contains(numbers.inserted_window_dims, i) || contains(numbers.input_batching_dims, i)) {
      continue;
    }
    if (window == numbers.update_window_dims.size()) return false;
    const auto from = static_cast<std::size_t>(numbers.update_window_dims[window++]);
    if (from >= rank(2) || contains(numbers.scatter_dims_to_operand_dims, i)) continue;
    if (size(2, from) != size(0, i)) continue;
    tie(0, i, 3, i);
    tie(2, from, 3, i);
  }
  const Dimensions& batching = numbers.scatter_indices_batching_dims;
  if (batching.size() != numbers.input_batching_dims.size()) return false;
  tie_batch(numbers.update_window_dims, numbers.index_vector_dim, 2, &batching);
  for (std::size_t k = 0; k < batching.size(); ++k) {
    tie(0, numbers.input_batching_dims[k], 1, batching[k]);
    tie(0, numbers.input_batching_dims[k], 3, numbers.input_batching_dims[k]);
  }
  return is_understood_;
}

}  // namespace

std::optional<PassedDimensions> passed_dimensions(const Instruction& instruction,
                                                  const std::vector<const ArrayShape*>& operands,
                                                  const std::vector<const ArrayShape*>& results,
                                                  bool rounded) {
  return Correspondence(instruction, operands, results).find(rounded);
}

}  // namespace p2::hlo::interpreter
