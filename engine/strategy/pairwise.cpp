#include "engine/strategy/pairwise.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/strategy/costs.h"
#include "engine/strategy/known_strategies.h"

namespace p2::operations {
namespace {

using strategy::Cost;

constexpr std::size_t kMostConfigurations = std::size_t{1} << 16U;
constexpr std::size_t kMostCells = std::size_t{1} << 27U;

void append_splits(const Operation& operation, std::int64_t devices, Configuration& begun,
                   std::vector<Configuration>& found) {
  if (begun.size() == operation.dimensions.size()) {
    if (found.size() == kMostConfigurations) {
      throw std::invalid_argument(fmt::format("operation {} has more than {} configurations",
                                              operation.name, kMostConfigurations));
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

Cost checked(Wide cost) {
  if (cost >= strategy::kCostEnd) throw std::invalid_argument("a cost is 2^62 or more");
  return static_cast<Cost>(cost);
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
    if (!sums_fit(file.graph)) throw std::invalid_argument("the costs add up to 2^62 or more");
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
    if (cells_ > kMostCells) throw std::invalid_argument("the tables have more than 2^27 cells");
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
