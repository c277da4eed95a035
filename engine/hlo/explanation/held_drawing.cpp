// Drawings of modules that are too large to be executed, by their data flow and a proof.

#include <memory>
#include <utility>

#include "engine/hlo/explanation/drawing.h"

namespace p2::hlo {
Trace trace_of(const Flow& flow) {
  Trace trace;
  std::vector<std::uint32_t> first;  // array by node
  const auto number_of = [&](Ref ref) { return first[ref.node] + ref.output; };
  for (const Node& node : flow.nodes) {
    first.push_back(static_cast<std::uint32_t>(trace.arrays.size()));
    TracedArray array{node.instruction};
    array.depends_on_inputs = node.op == Op::Parameter;
    for (const Ref each : node.operands) {
      array.operands.push_back(number_of(each));
      array.depends_on_inputs |= trace.arrays[number_of(each)].depends_on_inputs;
    }
    for (const ArrayShape& shape : node.outputs) {
      array.shape = shape;
      trace.arrays.push_back(array);
      ++array.part;
    }
  }
  for (const Ref each : flow.outputs) trace.outputs.push_back(number_of(each));
  return trace;
}

namespace {

class ModuleOfProof : public DrawnModule {
 public:
  ModuleOfProof(const Flow& flow, const Trace& trace, const char* other_word,
                const HeldArrays& held)
      : DrawnModule(*flow.module, flow.devices, trace, other_word), held_(held) {}

  std::optional<HeldElement> element(std::uint32_t array, std::uint32_t device,
                                     const Index& index) override {
    return held_.element(on(array, device), index);
  }
  std::optional<HeldRange> range(std::uint32_t array, std::uint32_t device,
                                 std::size_t dimension) override {
    return held_.range(on(array, device), dimension);
  }
  std::optional<std::int64_t> number(std::uint32_t array, std::uint32_t device) override {
    return held_.number(on(array, device));
  }

 private:
  HeldArrays::Array on(std::uint32_t number, std::uint32_t device) const {
    const TracedArray& array = this->array(number);
    return {*array.instruction, array.part, array.shape, device};
  }

  const HeldArrays& held_;
};

}  // namespace

std::string draw_output(const std::shared_ptr<const Module>& before,
                        const std::shared_ptr<const Module>& after, const ModuleDecision& decision,
                        const HeldArrays& held, const Limits& limits) {
  const ModuleRelation& relation = *decision.relation;
  const bool is_of_before = relation.is_mixed() && relation.before == Form::Partitioned;
  Fingerprints fingerprints;
  const Flow flow = flow_of(is_of_before ? before : after, decision.devices, fingerprints, limits);
  const Trace trace = trace_of(flow);
  const OutputElement element = drawn_element(decision);
  ModuleOfProof module(flow, trace, is_of_before ? "after" : "before", held);
  return draw(module, output_on(trace, relation, element.output, element.device), element);
}

}  // namespace p2::hlo
