#include "engine/hlo/operations.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "engine/hlo/devices.h"

namespace p2::hlo {
namespace {

const std::unordered_map<std::string_view, Op>& understood() {
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
      {"all-reduce", Op::AllReduce},
      {"reduce-scatter", Op::ReduceScatter},
      {"all-gather", Op::AllGather},
      {"all-to-all", Op::AllToAll},
      {"collective-broadcast", Op::CollectiveBroadcast},
      {"collective-permute", Op::CollectivePermute}};
  return kOps;
}

bool elementwise(std::string_view opcode) {
  static const std::unordered_set<std::string_view> kOpcodes = {"abs",
                                                                "add",
                                                                "and",
                                                                "atan2",
                                                                "bitcast-convert",
                                                                "cbrt",
                                                                "ceil",
                                                                "clamp",
                                                                "compare",
                                                                "complex",
                                                                "convert",
                                                                "cosine",
                                                                "count-leading-zeros",
                                                                "divide",
                                                                "erf",
                                                                "exponential",
                                                                "exponential-minus-one",
                                                                "floor",
                                                                "imag",
                                                                "is-finite",
                                                                "log",
                                                                "log-plus-one",
                                                                "logistic",
                                                                "maximum",
                                                                "minimum",
                                                                "multiply",
                                                                "negate",
                                                                "not",
                                                                "or",
                                                                "popcnt",
                                                                "power",
                                                                "real",
                                                                "reduce-precision",
                                                                "remainder",
                                                                "round-nearest-afz",
                                                                "round-nearest-even",
                                                                "rsqrt",
                                                                "select",
                                                                "shift-left",
                                                                "shift-right-arithmetic",
                                                                "shift-right-logical",
                                                                "sign",
                                                                "sine",
                                                                "sqrt",
                                                                "subtract",
                                                                "tan",
                                                                "tanh",
                                                                "xor"};
  return kOpcodes.count(opcode) != 0;
}

/// Forms that exist but are not understood are opaque.
bool usual_form(const Instruction& instruction, const std::vector<ArrayShape>& operands, Op op) {
  switch (op) {
    case Op::DynamicSlice:
      return operands.size() == 1 + operands[0].sizes.size();
    case Op::DynamicUpdateSlice:
      return operands.size() == 2 + operands[0].sizes.size();
    case Op::Pad:
      for (const std::int64_t interior : instruction.attributes.strides) {
        if (interior != 0) return false;
      }
      return true;
    case Op::Reduce:
      return operands.size() == 2 && !instruction.shape.is_tuple;
    case Op::Reshape:
      return operands.size() == 1 && !instruction.shape.is_tuple &&
             operands[0].type.bits() == instruction.shape.array.type.bits() &&
             (instruction.opcode == "bitcast" || operands[0].type == instruction.shape.array.type);
    case Op::CollectivePermute:
    case Op::CollectiveBroadcast:
      return operands.size() == instruction.shape.arrays().size();
    default:
      return true;
  }
}

bool ends_in(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

bool passes_on(const std::string& opcode) {
  return opcode == "copy" || opcode == "copy-start" || opcode == "optimization-barrier" ||
         opcode == "domain" || opcode == "async-update" ||
         (ends_in(opcode, "-done") && opcode != "send-done" && opcode != "recv-done");
}

Op operation_of(const Instruction& instruction, const std::vector<ArrayShape>& operands) {
  const std::string_view opcode = base_opcode(instruction.opcode);
  if (elementwise(opcode)) {
    const bool same_width = opcode != "bitcast-convert" || operands.size() != 1 ||
                            operands[0].type.bits() == instruction.shape.array.type.bits();
    return same_width ? Op::Elementwise : Op::Opaque;
  }
  const auto found = understood().find(opcode);
  if (found == understood().end()) return Op::Opaque;
  const Op op = found->second;
  const bool takes_operands = op > Op::ReplicaId;
  if (takes_operands && operands.empty()) return op;  // refused by its shapes
  return usual_form(instruction, operands, op) ? op : Op::Opaque;
}

}  // namespace p2::hlo
