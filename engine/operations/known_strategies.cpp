#include "engine/operations/known_strategies.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/operations/costs.h"

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

/// What the strategy of a shape costs; nothing where an operation cannot be split so.
std::optional<Wide> cost_of_shape(const OperationGraph& graph, std::int64_t data,
                                  std::int64_t model) {
  std::vector<Configuration> chosen;
  Wide cost = 0;
  for (std::uint32_t v = 0; v < graph.operations.size(); ++v) {
    const Operation& operation = graph.operations[v];
    Configuration& own = chosen.emplace_back(operation.dimensions.size(), 1);
    if (!split(operation, operation.data, data, own)) return std::nullopt;
    if (model > 1 && !split(operation, operation.model, model, own)) return std::nullopt;
    const OperationCost costs(graph, v);
    cost += costs.computation(own) + costs.communication(own);
  }
  for (const TensorEdge& edge : graph.tensors) {
    cost += TensorCost(graph, edge).cost(chosen[edge.from], chosen[edge.to]);
  }
  return cost;
}

void add(std::string name, Wide cost, std::vector<strategy::KnownStrategy>& known) {
  if (cost < strategy::kCostEnd) {
    known.push_back({std::move(name), static_cast<strategy::Cost>(cost)});
  }
}

}  // namespace

std::vector<strategy::KnownStrategy> known_strategies(const OperationGraph& graph) {
  const std::int64_t devices = graph.machine.devices();
  std::vector<strategy::KnownStrategy> known;
  if (const auto cost = cost_of_shape(graph, devices, 1)) add("data parallelism", *cost, known);
  const bool has_model = std::ranges::any_of(
      graph.operations, [](const Operation& operation) { return operation.model.has_value(); });
  std::optional<Wide> least;
  std::int64_t best = 0;
  for (std::int64_t model = 2; has_model && model <= devices; ++model) {
    if (devices % model != 0) continue;
    const auto cost = cost_of_shape(graph, devices / model, model);
    if (!cost || (least && *least <= *cost)) continue;
    least = cost;
    best = model;
  }
  if (least) add(fmt::format("expert, {} x {}", devices / best, best), *least, known);
  return known;
}

}  // namespace p2::operations
