#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/strategy/operation_graph_file.h"

namespace p2::operations {
namespace {

/// Names in a sketch hold nothing that JSON escapes.
std::string text_of(const OperationSketch& sketch) {
  std::string dimensions;
  for (const auto& [name, length] : sketch.dimensions) {
    dimensions += fmt::format("{}\"{}\": {}", dimensions.empty() ? "" : ", ", name, length);
  }
  std::string text = fmt::format(R"({{"name": "{}", "kind": "{}", "dims": {{{}}})", sketch.name,
                                 sketch.kind, dimensions);
  if (sketch.pointwise) text += fmt::format(", \"pointwise\": {}", *sketch.pointwise);
  if (!sketch.data.empty()) text += fmt::format(", \"data\": \"{}\"", sketch.data);
  if (!sketch.model.empty()) text += fmt::format(", \"model\": \"{}\"", sketch.model);
  if (sketch.kind == "einsum") {
    text += fmt::format(R"(, "inputs": ["{}"], "weights": ["{}"], "output": "{}")",
                        fmt::join(sketch.inputs, "\", \""), fmt::join(sketch.weights, "\", \""),
                        sketch.output);
  }
  return text + "}";
}

std::string text_of(const TensorSketch& tensor) {
  return fmt::format(R"({{"from": "{}", "to": "{}", "input": {}}})", tensor.from, tensor.to,
                     tensor.input);
}

std::string text_of(const Level& level) {
  return fmt::format(R"({{"name": "{}", "size": {}, "bandwidth": {}}})", level.name, level.size,
                     level.bandwidth);
}

template <typename Items>
std::string lines(const Items& items) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "\n  " : ",\n  ") + text_of(item);
  return text;
}

}  // namespace

std::string write_operations(const GraphSketch& sketch, const Machine& machine) {
  return fmt::format(
      "{{\"format\": \"operation-graph/1\", \"model\": \"{}\", \"batch\": {},\n"
      "\"machine\": {{\"flops\": {}, \"word_bytes\": {}, \"levels\": [{}]}},\n"
      "\"operations\": [{}],\n\"tensors\": [{}]}}\n",
      sketch.model, sketch.batch, machine.flops, machine.word_bytes, lines(machine.levels),
      lines(sketch.operations), lines(sketch.tensors));
}

}  // namespace p2::operations
