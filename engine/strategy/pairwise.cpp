#include "engine/strategy/pairwise.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::operations {
namespace {

/// The input's axes with the lengths of the producer's output.
Tensor shaped(const Tensor& input, const Tensor& source) {
  Tensor tensor = input;
  for (std::size_t a = 0; a < tensor.size(); ++a) tensor[a].length = source[a].length;
  return tensor;
}

}  // namespace

OperationCost::OperationCost(const OperationGraph& graph, std::uint32_t operation)
    : operation_(graph.operations[operation]), machine_(graph.machine) {
  summed_.push_back({"output", operation_.partial});
  for (const TensorEdge& edge : graph.tensors) {
    if (edge.to != operation || (operation_.scattered && edge.input == 0)) continue;
    const Tensor& input = operation_.inputs[edge.input];
    summed_.push_back({fmt::format("gradient of input {}", edge.input),
                       shaped(input, graph.operations[edge.from].output)});
  }
  for (std::size_t w = 0; w < operation_.weights.size(); ++w) {
    summed_.push_back({fmt::format("gradient of weights {}", w), operation_.weights[w]});
  }
}

Wide OperationCost::computation(const Configuration& configuration) const {
  Wide points = 1;
  for (std::size_t d = 0; d < configuration.size(); ++d) {
    points *= operation_.dimensions[d].length / configuration[d];
  }
  return points * operation_.multiply +
         Wide{elements_of_part(operation_.work, configuration)} * operation_.pointwise;
}

std::vector<AllReduce> OperationCost::all_reduces(const Configuration& configuration) const {
  std::vector<AllReduce> found;
  for (const Summed& summed : summed_) {
    AllReduce sum{summed.name, elements_of_part(summed.tensor, configuration), {}, 1};
    for (std::size_t d = 0; d < configuration.size(); ++d) {
      const bool has = std::ranges::count(summed.tensor, d, &Axis::dimension) > 0;
      if (has || configuration[d] == 1) continue;
      sum.over.push_back(d);
      sum.group *= configuration[d];
    }
    if (sum.group > 1) found.push_back(std::move(sum));
  }
  return found;
}

Wide OperationCost::communication(const Configuration& configuration) const {
  Wide cost = 0;
  for (const AllReduce& sum : all_reduces(configuration)) {
    cost += machine_.cost_of_words(Wide{2} * (sum.group - 1) * sum.words, sum.group, sum.group);
  }
  return cost;
}

Wide OperationCost::memory(const Configuration& configuration) const {
  Wide words = elements_of_part(operation_.output, configuration);
  for (const Tensor& weights : operation_.weights) {
    words += Wide{4} * elements_of_part(weights, configuration);
  }
  return words * machine_.word_bytes;
}

TensorCost::TensorCost(const OperationGraph& graph, const TensorEdge& edge)
    : machine_(graph.machine),
      target_(graph.operations[edge.to]),
      scattered_(target_.scattered && edge.input == 0),
      source_axes_(graph.operations[edge.from].output),
      target_axes_(shaped(target_.inputs[edge.input], source_axes_)) {}

Wide TensorCost::cost(const Configuration& from, const Configuration& to) const {
  Wide needed = 1;
  Wide held = 1;
  Wide shares = 1;  // both are divided by it
  std::int64_t source_parts = 1;
  std::int64_t target_parts = 1;
  for (std::size_t a = 0; a < target_axes_.size(); ++a) {
    const Axis& axis = target_axes_[a];
    const std::int64_t own = parts(axis, to);
    const std::int64_t theirs = parts(source_axes_[a], from);
    source_parts *= theirs;
    target_parts *= own;
    needed *= axis.length / own;
    held *= axis.length / std::max(own, theirs);
  }
  if (scattered_) {
    for (std::size_t d = 0; d < to.size(); ++d) {
      if (std::ranges::count(target_axes_, d, &Axis::dimension) == 0) shares *= to[d];
    }
    target_parts *= static_cast<std::int64_t>(shares);
  }
  if (source_parts < target_parts) held = 0;
  return machine_.cost_of_words(2 * (needed - held), shares, std::max(product(from), product(to)));
}

namespace {

/// Splits a dimension further; false where its length is not divisible.
bool split(const Operation& operation, std::optional<std::size_t> dimension, std::int64_t parts,
           Configuration& configuration) {
  if (!dimension) return true;
  configuration[*dimension] *= parts;
  const Dimension& along = operation.dimensions[*dimension];
  return along.splits && along.length % configuration[*dimension] == 0;
}

/// Empty if an operation cannot be split so.
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

strategy::Cost checked(Wide cost) {
  if (cost >= strategy::kCostEnd) throw SketchError("a cost is 2^62 or more");
  return static_cast<strategy::Cost>(cost);
}

namespace {

using strategy::Cost;

constexpr std::size_t kMaxConfigurations = std::size_t{1} << 16U;
constexpr std::size_t kMaxCells = std::size_t{1} << 27U;

void append_splits(const Operation& operation, std::int64_t devices, Configuration& begun,
                   std::vector<Configuration>& found) {
  if (begun.size() == operation.dimensions.size()) {
    if (found.size() == kMaxConfigurations) {
      throw SketchError(fmt::format("operation {} has more than {} configurations", operation.name,
                                    kMaxConfigurations));
    }
    found.push_back(begun);
    return;
  }
  const Dimension& dimension = operation.dimensions[begun.size()];
  for (std::int64_t split = 1; split <= (dimension.splits ? devices : 1); ++split) {
    if (dimension.length % split != 0) continue;
    begun.push_back(split);
    append_splits(operation, devices / split, begun, found);
    begun.pop_back();
  }
}

class Builder {
 public:
  Builder(const OperationGraph& graph, DeviceUse use) : graph_(graph) {
    strategy::GraphFile& file = made_.file;
    file.memory.emplace();
    for (std::uint32_t v = 0; v < graph.operations.size(); ++v) {
      made_.configurations.push_back(
          configurations(graph.operations[v], graph.machine.devices(), use));
      add_vertex(v);
    }
    for (const TensorEdge& edge : graph.tensors) add_edge(edge);
    for (auto& [ends, table] : tables_) {
      file.graph.edges.push_back({ends.first, ends.second, std::move(table)});
    }
    if (!sums_fit(file.graph)) throw SketchError("the costs add up to 2^62 or more");
    file.known = known_strategies(
        graph, [&](const KnownShape& shape) { return cost_of_shape(graph, shape); });
  }

  PairwiseGraph finish() { return std::move(made_); }

 private:
  void add_vertex(std::uint32_t v) {
    strategy::GraphFile& file = made_.file;
    const OperationCost cost(graph_, v);
    auto& costs = file.graph.costs.emplace_back();
    auto& communication = file.communication.emplace_back();
    auto& memory = file.memory->emplace_back();
    strategy::VertexLabel& label = file.labels.emplace_back();
    label.name = graph_.operations[v].name;
    for (const Configuration& configuration : made_.configurations[v]) {
      communication.push_back(checked(cost.communication(configuration)));
      costs.push_back(checked(cost.computation(configuration) + communication.back()));
      memory.push_back(checked(cost.memory(configuration)));
      label.configurations.push_back(configuration_text(graph_.operations[v], configuration));
    }
  }

  void add_edge(const TensorEdge& edge) {
    const auto& from = made_.configurations[edge.from];
    const auto& to = made_.configurations[edge.to];
    auto& table = tables_[std::minmax(edge.from, edge.to)];
    if (table.empty()) cells_ += from.size() * to.size();
    if (cells_ > kMaxCells) throw SketchError("the tables have more than 2^27 cells");
    table.resize(from.size() * to.size());
    const TensorCost cost(graph_, edge);
    for (std::size_t i = 0; i < from.size(); ++i) {
      for (std::size_t j = 0; j < to.size(); ++j) {
        Cost& cell = table[edge.from < edge.to ? i * to.size() + j : j * from.size() + i];
        cell = checked(Wide{cell} + cost.cost(from[i], to[j]));
      }
    }
  }

  const OperationGraph& graph_;
  PairwiseGraph made_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Cost>> tables_;
  std::size_t cells_ = 0;
};

}  // namespace

std::vector<Configuration> configurations(const Operation& operation, std::int64_t devices,
                                          DeviceUse use) {
  std::vector<Configuration> found;
  Configuration begun;
  append_splits(operation, devices, begun, found);
  if (use == DeviceUse::Dividing) {
    std::erase_if(found, [&](const Configuration& c) { return devices % product(c) != 0; });
  } else if (use == DeviceUse::All) {
    std::int64_t most = 1;
    for (const Configuration& c : found) most = std::max(most, product(c));
    std::erase_if(found, [&](const Configuration& c) { return product(c) < most; });
  }
  return found;
}

std::string configuration_text(const Operation& operation, const Configuration& configuration) {
  std::string splits;
  for (std::size_t d = 0; d < configuration.size(); ++d) {
    if (configuration[d] == 1) continue;
    splits += fmt::format("{}{}/{}", splits.empty() ? "" : " ", operation.dimensions[d].name,
                          configuration[d]);
  }
  return splits.empty() ? "whole" : splits;
}

PairwiseGraph pairwise(const OperationGraph& graph, DeviceUse use) {
  return Builder(graph, use).finish();
}

}  // namespace p2::operations
