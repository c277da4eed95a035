// What an instruction of XLA is as a node of the data-flow graph: its kind of operation, and the
// fingerprint under which an operation without a semantics of its own is an uninterpreted function.

#include "engine/hlo/operations.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/collective.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/element_operation.h"

namespace p2::hlo {
namespace {

/// Devices of all different collectives: a few words each.
constexpr std::size_t kMaxResolved = std::size_t{1} << 28U;

const std::unordered_map<std::string_view, Op>& interpreted_operations() {
  static const std::unordered_map<std::string_view, Op> kOps = {
      {"parameter", Op::Parameter},
      {"constant", Op::Constant},
      {"iota", Op::Iota},
      {"partition-id", Op::PartitionId},
      {"replica-id", Op::ReplicaId},
      {"slice", Op::Slice},
      {"dynamic-slice", Op::DynamicSlice},
      {"dynamic-update-slice", Op::DynamicUpdateSlice},
      {"reshape", Op::Reshape},
      {"bitcast", Op::Reshape},
      {"transpose", Op::Transpose},
      {"broadcast", Op::Broadcast},
      {"concatenate", Op::Concatenate},
      {"pad", Op::Pad},
      {"reverse", Op::Reverse},
      {"reduce", Op::Reduce},
      {"dot", Op::Dot},
      {"all-reduce", Op::AllReduce},
      {"reduce-scatter", Op::ReduceScatter},
      {"all-gather", Op::AllGather},
      {"all-to-all", Op::AllToAll},
      {"collective-broadcast", Op::CollectiveBroadcast},
      {"collective-permute", Op::CollectivePermute},
      {kMatchedReceive, Op::Receive},
      {kOfOwnProgram, Op::OfOwnProgram}};
  return kOps;
}

bool is_elementwise(std::string_view opcode) {
  return interpreter::element_of(opcode) || opcode == "real" || opcode == "imag" ||
         opcode == "complex";
}

constexpr auto kImpure =
    std::to_array<std::string_view>({"rng", "infeed", "outfeed", "send", "send-done", "recv",
                                     "recv-done", "after-all", "rng-get-and-update-state"});

/// Whether floating-point operands have another type than the result, as after XLA's propagation of
/// bf16: the operation then also converts.
bool mixes_float_types(const Instruction& instruction, const std::vector<ArrayShape>& operands) {
  static constexpr auto kConversions =
      std::to_array<std::string_view>({"convert", "compare", "is-finite", "bitcast-convert", "real",
                                       "imag", "complex", "reduce-precision"});
  if (std::find(kConversions.begin(), kConversions.end(), instruction.opcode) !=
      kConversions.end()) {
    return false;
  }
  const std::vector<ArrayShape> results = instruction.shape.arrays();
  const bool widens = instruction.opcode == "dot" && results.size() == 1 &&
                      std::all_of(operands.begin(), operands.end(), [&](const ArrayShape& each) {
                        return each.type.bits() <= results[0].type.bits();
                      });
  if (widens) return false;  // products of narrow numbers, summed in the wide type
  return std::any_of(operands.begin(), operands.end(), [&](const ArrayShape& operand) {
    return operand.type.is_float() &&
           std::none_of(results.begin(), results.end(), [&](const ArrayShape& result) {
             return !result.type.is_float() || result.type == operand.type;
           });
  });
}

/// Whether a dot is the sum of products that its numbers and shapes say.
bool is_sum_of_products(const Instruction& instruction, const std::vector<ArrayShape>& operands) {
  const ArrayShape& result = instruction.shape.array;
  if (operands.size() != 2 || instruction.shape.is_tuple) return false;
  for (const ArrayShape* each : {&operands[0], &operands[1], &result}) {
    if (!each->type.is_float() && !each->type.is_integer()) return false;
  }
  if (operands[0].type.is_float() != result.type.is_float() ||
      operands[1].type.is_float() != result.type.is_float()) {
    return false;
  }
  if (result.type.is_integer() &&
      (operands[0].type != result.type || operands[1].type != result.type)) {
    return false;
  }
  interpreter::DotDimensions numbers;
  try {
    numbers = interpreter::dot_dimensions(instruction);
  } catch (const InputError&) {
    return false;
  }
  return interpreter::dot_sizes(numbers, operands[0], operands[1]) == result.sizes;
}

/// Custom calls whose result is their first operand: a note to a compiler.
constexpr auto kIdentityCalls = std::to_array<std::string_view>(
    {"AssumeGatherIndicesInBound", "AwsNeuronTransferWithStaticRing", "LayoutConstraint",
     "MoveToDevice", "MoveToHost", "Sharding", "annotate_device_placement",
     "xla.sdy.FuncResultSharding"});
/// Custom calls that are functions of their operands, on every device the same.
constexpr auto kLocalCalls = std::to_array<std::string_view>(
    {"AwsNeuronGelu", "AwsNeuronGeluBackward", "AwsNeuronRmsNorm", "AwsNeuronSilu",
     "AwsNeuronSiluBackward", "AwsNeuronSoftmax", "AwsNeuronSoftmaxBackward"});

template <std::size_t N>
bool calls_one_of(const Instruction& instruction, const std::array<std::string_view, N>& targets) {
  return instruction.opcode == "custom-call" &&
         std::find(targets.begin(), targets.end(),
                   interpreter::text_attribute(instruction, "custom_call_target")) != targets.end();
}

/// Whether an interpreted operation has the form that is interpreted; other forms are opaque.
bool has_interpreted_form(const Instruction& instruction, const std::vector<ArrayShape>& operands,
                          Op op) {
  switch (op) {
    case Op::Iota: {  // positions that do not wrap around
      const ArrayShape& shape = instruction.shape.array;
      const unsigned bits =
          shape.type.bits() - (shape.type.kind() == ElementType::Kind::Signed ? 1 : 0);
      return !shape.type.is_integer() || bits > 52 ||
             std::all_of(shape.sizes.begin(), shape.sizes.end(),
                         [&](std::int64_t size) { return size <= std::int64_t{1} << bits; });
    }
    case Op::DynamicSlice:
      return operands.size() == 1 + operands[0].sizes.size();
    case Op::DynamicUpdateSlice:
      return operands.size() == 2 + operands[0].sizes.size();
    case Op::Pad:
      for (const std::int64_t interior : instruction.attributes.strides) {
        if (interior != 0) return false;
      }
      return true;
    case Op::Dot:
      return is_sum_of_products(instruction, operands);
    case Op::Reduce:
      return operands.size() == 2 && !instruction.shape.is_tuple;
    case Op::Reshape:  // tiles may pad what a bitcast looks at
      return operands.size() == 1 && !instruction.shape.is_tuple &&
             operands[0].type == instruction.shape.array.type &&
             (instruction.opcode != "bitcast" ||
              operands[0].elements() == instruction.shape.array.elements());
    case Op::CollectivePermute:
    case Op::CollectiveBroadcast:
      return operands.size() == instruction.shape.arrays().size();
    default:
      return true;
  }
}

/// The elements of a literal; `name`, which must be unique, if they are unknown.
std::string literal_text(const Literal& literal, const std::string& name) {
  if (literal.elided) return "elided in " + name;
  std::string text;
  for (const LiteralElement& element : literal.elements) {
    text += to_string(element) + ' ';
  }
  return text;
}

std::string groups_text(const ReplicaGroups& groups) {
  if (groups.all_in_one) return "all";
  std::string text;
  for (const auto& group : groups.lists) text += fmt::format("{{{}}}", fmt::join(group, ","));
  return text;
}

std::string pairs_text(const Attributes& attributes) {
  std::string text;
  for (const auto& [source, target] : attributes.pairs) {
    text += fmt::format("{}>{} ", source, target);
  }
  return text;
}

/// Everything that decides the groups or pairs of a collective.
std::string resolution_text(const Instruction& instruction) {
  const Attributes& attributes = instruction.attributes;
  return fmt::format("{} {} {} {}{}", base_opcode(instruction.opcode), attributes.has_channel,
                     attributes.global_ids.value_or(false), pairs_text(attributes),
                     groups_text(attributes.groups));
}

}  // namespace

bool is_barrier(const Instruction& instruction) {
  return instruction.opcode == "optimization-barrier" || instruction.opcode == "opt-barrier";
}

bool is_forwarding(const Instruction& instruction) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"add-dependency", "all-gather-done", "all-reduce-done", "async-done", "async-update",
       "collective-permute-done", "copy", "copy-done", "copy-start", "domain"});
  return is_barrier(instruction) || std::ranges::find(kNames, instruction.opcode) != kNames.end() ||
         (instruction.operands.size() == 1 && calls_one_of(instruction, kIdentityCalls));
}

bool is_local(const Instruction& instruction) {
  static constexpr auto kNames = std::to_array<std::string_view>({"after-all",
                                                                  "batch-norm-grad",
                                                                  "batch-norm-inference",
                                                                  "batch-norm-training",
                                                                  "bitcast",
                                                                  "bitcast-convert",
                                                                  "broadcast",
                                                                  "call",
                                                                  "cholesky",
                                                                  "complex",
                                                                  "concatenate",
                                                                  "conditional",
                                                                  "constant",
                                                                  "convolution",
                                                                  "create-token",
                                                                  "dot",
                                                                  "dynamic-reshape",
                                                                  "dynamic-slice",
                                                                  "dynamic-update-slice",
                                                                  "fft",
                                                                  "fusion",
                                                                  "gather",
                                                                  "get-dimension-size",
                                                                  "get-tuple-element",
                                                                  "imag",
                                                                  "iota",
                                                                  "map",
                                                                  "mulhi",
                                                                  "pad",
                                                                  "parameter",
                                                                  "ragged-dot",
                                                                  "real",
                                                                  "reduce",
                                                                  "reduce-window",
                                                                  "reshape",
                                                                  "reverse",
                                                                  "rng-bit-generator",
                                                                  "scatter",
                                                                  "select-and-scatter",
                                                                  "set-dimension-size",
                                                                  "slice",
                                                                  "sort",
                                                                  "stochastic-convert",
                                                                  "topk",
                                                                  "transpose",
                                                                  "triangular-solve",
                                                                  "tuple",
                                                                  "tuple-select",
                                                                  "while"});
  const std::string_view opcode = instruction.opcode;
  return is_elementwise(opcode) || is_forwarding(instruction) ||
         std::find(kNames.begin(), kNames.end(), opcode) != kNames.end() ||
         calls_one_of(instruction, kLocalCalls);
}

bool allocates_memory(const Instruction& instruction) {
  return calls_one_of(instruction, std::to_array<std::string_view>({"AllocateBuffer"}));
}

bool allocates_memory(const Module& module) {
  return std::ranges::any_of(module.computations, [](const Computation& computation) {
    return std::ranges::any_of(computation.instructions,
                               [](const Instruction& each) { return allocates_memory(each); });
  });
}

bool says_side_effect(const Instruction& instruction) {
  return instruction.opcode == "custom-call" &&
         instruction.attributes.others.find("custom_call_has_side_effect=true") !=
             std::string::npos;
}

bool is_impure(const Instruction& instruction) {
  return std::find(kImpure.begin(), kImpure.end(), instruction.opcode) != kImpure.end() ||
         allocates_memory(instruction) || says_side_effect(instruction);
}

bool is_free_of_order(const Computation& reducer) {
  const auto& all = reducer.instructions;
  const auto is_rounded = [&](std::uint32_t at) {
    const auto is_float = [&](std::uint32_t number) {
      return !all[number].shape.is_tuple && all[number].shape.array.type.is_float();
    };
    return all[at].opcode == "convert" && all[at].operands.size() == 1 && is_float(at) &&
           is_float(all[at].operands[0]);
  };
  const auto unrounded = [&](std::uint32_t at) {
    while (is_rounded(at)) at = all[at].operands[0];
    return at;
  };
  const std::size_t count = reducer.parameters.size() / 2;
  std::vector<std::uint32_t> roots = {reducer.root};
  if (all[reducer.root].opcode == "tuple") roots = all[reducer.root].operands;
  if (roots.size() != count || reducer.parameters.size() != 2 * count) return false;
  for (std::size_t k = 0; k < count; ++k) {
    const Instruction& each = all[unrounded(roots[k])];
    const std::uint32_t sides[] = {reducer.parameters[k], reducer.parameters[count + k]};
    std::vector<std::uint32_t> operands;
    for (const std::uint32_t operand : each.operands) operands.push_back(unrounded(operand));
    const bool is_commutative =
        !each.shape.is_tuple &&
        (each.opcode == "xor" ||
         reducer_of(each.opcode, each.shape.array.type) != Reducer::Unknown);
    if (!is_commutative || !std::ranges::is_permutation(operands, sides)) return false;
  }
  return true;
}

std::string layouts_text(const Shape& shape) {
  std::string text;
  for (const ArrayShape& array : shape.arrays()) {
    if (!array.row_major()) text += fmt::format(" {{{}}}", fmt::join(array.minor_to_major, ","));
  }
  return text;
}

std::string attributes_text(const Instruction& instruction) {
  const Attributes& attributes = instruction.attributes;
  std::string text = fmt::format(
      "d{} s{} l{} t{} z{} g{} c{} u{} p{} c{} i{} {} {} {}", fmt::join(attributes.dimensions, ","),
      fmt::join(attributes.starts, ","), fmt::join(attributes.limits, ","),
      fmt::join(attributes.strides, ","), fmt::join(attributes.slice_sizes, ","),
      groups_text(attributes.groups), attributes.has_channel, attributes.global_ids.value_or(false),
      pairs_text(attributes), attributes.concat_dimension.value_or(-1), attributes.index,
      attributes.direction, attributes.others, attributes.accuracy);
  // Where an operation may look at its sharding; XLA's own do not.
  const bool may_look = !is_local(instruction) && !is_collective(base_opcode(instruction.opcode));
  if (may_look) text += " sharding " + attributes.sharding;
  return text;
}

Op operation_of(const Instruction& instruction, const std::vector<ArrayShape>& operands) {
  const std::string_view opcode = base_opcode(instruction.opcode);
  if (mixes_float_types(instruction, operands)) return Op::Opaque;
  if (is_elementwise(opcode)) {
    const bool same_width = opcode != "bitcast-convert" || operands.size() != 1 ||
                            operands[0].type.bits() == instruction.shape.array.type.bits();
    return same_width ? Op::Elementwise : Op::Opaque;
  }
  const auto found = interpreted_operations().find(opcode);
  if (found == interpreted_operations().end()) return Op::Opaque;
  const Op op = found->second;
  const bool takes_operands = op > Op::ReplicaId;
  if (takes_operands && operands.empty()) return op;  // check_shapes refuses it
  return has_interpreted_form(instruction, operands, op) ? op : Op::Opaque;
}

std::uint32_t Fingerprints::intern(const std::string& text) {
  const auto [found, added] = numbers_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
  if (added) texts_.push_back(&found->first);
  return found->second;
}

ComputationSummaries::ComputationSummaries(const Module& module, Fingerprints& fingerprints)
    : file_(module.file) {
  std::vector<bool> is_called(module.computations.size());
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      for (const std::uint32_t called : instruction.called) is_called[called] = true;
    }
  }
  for (const Computation& computation : module.computations) {
    if (!is_called[fingerprints_.size()]) {  // asked for by nobody
      fingerprints_.push_back(0);
      depends_.push_back(true);
      impure_.push_back(true);
      continue;
    }
    std::vector<std::uint32_t> values;  // interned, of instructions
    bool depends = false;
    bool impure = false;
    for (const Instruction& instruction : computation.instructions) {
      std::string text = describe(instruction) + layouts_text(instruction.shape) + "(";
      for (const std::uint32_t operand : instruction.operands) {
        text += fmt::format("{},", values[operand]);
      }
      values.push_back(fingerprints.intern(text + ")"));
      depends = depends || instruction.opcode == "partition-id" ||
                instruction.opcode == "replica-id" || !is_local(instruction);
      impure = impure || hlo::is_impure(instruction);
      for (const std::uint32_t called : instruction.called) {
        depends = depends || depends_[called];
        impure = impure || impure_[called];
      }
    }
    fingerprints_.push_back(fingerprints.intern(fmt::format("root {}", values[computation.root])));
    depends_.push_back(depends);
    impure_.push_back(impure);
  }
}

std::string ComputationSummaries::describe(const Instruction& instruction) const {
  std::string text = fmt::format("{} {} {}", instruction.opcode, to_string(instruction.shape),
                                 attributes_text(instruction));
  if (instruction.literal) {
    text += " = " + literal_text(*instruction.literal, file_ + instruction.name);
  }
  for (const std::uint32_t called : instruction.called) {
    text += fmt::format(" #{}", fingerprints_[called]);
  }
  return text;
}

void NodeCompletion::complete(Node& node, const Instruction& instruction) {
  identify(node, instruction);
  if (is_collective(base_opcode(instruction.opcode)) || node.op == Op::Receive) {
    add_collective(node, instruction);
  }
  add_effects(node, instruction);
}

void NodeCompletion::identify(Node& node, const Instruction& instruction) {
  if (node.op == Op::Elementwise) {
    // A function of elements: independent of the sizes.
    const Attributes& attributes = instruction.attributes;
    std::string text =
        fmt::format("{} {} {} of", instruction.opcode, attributes.direction, attributes.others);
    for (const Ref ref : node.operands) text += fmt::format(" {}", flow_.shape(ref).type.name());
    node.fingerprint =
        fingerprints_.intern(text + fmt::format(" to {}", node.outputs[0].type.name()));
    if (node.operands.size() == 2) {
      node.reducer = reducer_of(instruction.opcode, node.outputs[0].type);
    }
    return;
  }
  node.fingerprint = fingerprints_.intern(summaries_.describe(instruction));
  if (instruction.called.empty()) return;
  node.called = summaries_.fingerprint(instruction.called[0]);
  node.reducer = reducer_of(flow_.module->computations[instruction.called[0]]);
}

void NodeCompletion::add_collective(Node& node, const Instruction& instruction) {
  if (node.op == Op::Opaque) {
    node.depends_on_devices = true;
    return;
  }
  const auto [known, added] = collectives_.emplace(
      resolution_text(instruction), static_cast<std::uint32_t>(flow_.collectives.size()));
  if (added) {
    if (flow_.collectives.size() * flow_.devices.count() > kMaxResolved) {
      throw LimitReached(LimitReached::Kind::Size,
                         fmt::format("more than {} devices in different groups", kMaxResolved));
    }
    flow_.collectives.push_back(resolve(instruction, flow_.module->language, flow_.devices));
  }
  node.collective = known->second;
}

void NodeCompletion::add_effects(Node& node, const Instruction& instruction) const {
  if (node.op != Op::Opaque) return;
  node.impure = is_impure(instruction);
  node.depends_on_devices = !is_local(instruction);
  for (const std::uint32_t called : instruction.called) {
    node.depends_on_devices = node.depends_on_devices || summaries_.depends_on_devices(called);
    node.impure = node.impure || summaries_.is_impure(called);
  }
}

}  // namespace p2::hlo
