#include "engine/strategy/known_strategies.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/strategy/costs.h"

namespace p2::operations {
namespace {

/// Splits a dimension further; false where that does not part it evenly.
bool split(const Operation& operation, std::optional<std::size_t> dimension, std::int64_t parts,
           Configuration& configuration) {
  if (!dimension) return true;
  configuration[*dimension] *= parts;
  const Dimension& along = operation.dimensions[*dimension];
  return along.splits && along.length % configuration[*dimension] == 0;
}

/// Nothing where an operation cannot be split so.
std::optional<std::vector<Configuration>> shaped(const OperationGraph& graph, std::int64_t data,
                                                 std::int64_t model) {
  std::vector<Configuration> chosen;
  for (const Operation& operation : graph.operations) {
    Configuration& own = chosen.emplace_back(operation.dimensions.size(), 1);
    if (!split(operation, operation.data, data, own)) return std::nullopt;
    if (model > 1 && !split(operation, operation.model, model, own)) return std::nullopt;
  }
  return chosen;
}

}  // namespace

std::vector<KnownShape> known_shapes(const OperationGraph& graph) {
  const std::int64_t devices = graph.machine.devices();
  std::vector<KnownShape> shapes;
  if (auto chosen = shaped(graph, devices, 1)) {
    shapes.push_back({"data parallelism", std::move(*chosen)});
  }
  const bool has_model = std::ranges::any_of(
      graph.operations, [](const Operation& operation) { return operation.model.has_value(); });
  for (std::int64_t model = 2; has_model && model <= devices; ++model) {
    if (devices % model != 0) continue;
    auto chosen = shaped(graph, devices / model, model);
    if (!chosen) continue;
    shapes.push_back({fmt::format("expert, {} x {}", devices / model, model), std::move(*chosen)});
  }
  return shapes;
}

strategy::Cost cost_of_shape(const OperationGraph& graph, const KnownShape& shape) {
  Wide cost = 0;
  for (std::uint32_t v = 0; v < graph.operations.size(); ++v) {
    const OperationCost costs(graph, v);
    const Configuration& own = shape.configurations[v];
    cost += costs.computation(own) + costs.communication(own);
  }
  for (const TensorEdge& edge : graph.tensors) {
    cost += TensorCost(graph, edge)
                .cost(shape.configurations[edge.from], shape.configurations[edge.to]);
  }
  return static_cast<strategy::Cost>(std::min<Wide>(cost, strategy::kCostEnd));
}

strategy::Cost memory_of_shape(const OperationGraph& graph, const KnownShape& shape) {
  Wide bytes = 0;
  for (std::uint32_t v = 0; v < graph.operations.size(); ++v) {
    bytes += OperationCost(graph, v).memory(shape.configurations[v]);
  }
  return static_cast<strategy::Cost>(std::min<Wide>(bytes, strategy::kCostEnd));
}

}  // namespace p2::operations
