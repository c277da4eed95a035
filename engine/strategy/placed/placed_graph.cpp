#include "engine/strategy/placed/placed_graph.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "engine/strategy/costs.h"
#include "engine/strategy/known_strategies.h"
#include "engine/strategy/placed/prices.h"
#include "engine/strategy/strategy.h"

namespace p2::operations {
namespace {

using strategy::Cost;

constexpr std::size_t kMostCells = std::size_t{1} << 24U;

Cost checked(Wide cost) {
  if (cost >= strategy::kCostEnd) throw std::invalid_argument("a cost is 2^62 or more");
  return static_cast<Cost>(cost);
}

std::string text_of(const Tensor& tensor) {
  std::string text;
  for (const Axis& axis : tensor) {
    text +=
        fmt::format("{}:{} ", axis.dimension ? std::to_string(*axis.dimension) : "-", axis.length);
  }
  return text;
}

/// Operations of one text have the same choices.
std::string text_of(const Operation& operation) {
  std::string text;
  for (const Dimension& dimension : operation.dimensions) {
    text += fmt::format("{}{} ", dimension.length, dimension.splits ? "" : "!");
  }
  return text;
}

class Builder {
 public:
  Builder(const OperationGraph& graph, const System& system)
      : graph_(graph), network_(system, {system.name}), prices_(graph.machine, network_) {
    made_.file.memory.emplace();
    for (std::uint32_t v = 0; v < graph.operations.size(); ++v) add_vertex(v);
    for (const TensorEdge& edge : graph.tensors) add_edge(edge);
    for (auto& [ends, table] : tables_) {
      made_.file.graph.edges.push_back({ends.first, ends.second, std::move(table)});
    }
    if (!sums_fit(made_.file.graph)) {
      throw std::invalid_argument("the costs add up to 2^62 or more");
    }
    made_.file.known = known_strategies(
        graph, [&](const KnownShape& shape) { return cost_of_best_placed(shape); });
  }

  PlacedGraph finish() { return std::move(made_); }

 private:
  /// The cheapest placement of a shape.
  Cost cost_of_best_placed(const KnownShape& shape) const {
    strategy::Kept kept(made_.choices.size());
    for (std::size_t v = 0; v < kept.size(); ++v) {
      for (std::uint32_t c = 0; c < made_.choices[v].size(); ++c) {
        if (made_.choices[v][c].configuration == shape.configurations[v]) kept[v].push_back(c);
      }
    }
    return strategy::find_strategy(restricted(made_.file.graph, kept), {}).found.cost;
  }

  void add_vertex(std::uint32_t v) {
    const Operation& operation = graph_.operations[v];
    const OperationCost cost(graph_, v);
    const auto& choices =
        made_.choices.emplace_back(placed_configurations(operation, network_.system().hierarchy));
    strategy::GraphFile& file = made_.file;
    auto& costs = file.graph.costs.emplace_back();
    auto& communication = file.communication.emplace_back();
    auto& memory = file.memory->emplace_back();
    auto& label = file.labels.emplace_back();
    label.name = operation.name;
    for (const PlacedConfiguration& choice : choices) {
      communication.push_back(checked(prices_.all_reduces(cost, choice)));
      costs.push_back(checked(cost.computation(choice.configuration) + communication.back()));
      memory.push_back(checked(cost.memory(choice.configuration)));
      label.configurations.push_back(to_string(choice, operation));
    }
  }

  /// By source and target; layers of a model repeat.
  const std::vector<Cost>& table_of(const TensorEdge& edge) {
    const Operation& source = graph_.operations[edge.from];
    const Operation& target = graph_.operations[edge.to];
    const std::string key =
        fmt::format("{}| {}| {}| {}| {}", text_of(source), text_of(source.output), text_of(target),
                    text_of(target.inputs[edge.input]), target.scattered && edge.input == 0);
    const auto [known, is_new] = known_tables_.try_emplace(key);
    if (!is_new) return known->second;
    const auto& from = made_.choices[edge.from];
    const auto& to = made_.choices[edge.to];
    cells_ += from.size() * to.size();
    if (cells_ > kMostCells) {
      throw std::invalid_argument("the tables of placed configurations have more than 2^24 cells");
    }
    // Many choices leave or want the same parts on the same devices.
    std::map<SourceLayout, std::size_t> rows;
    std::map<TargetLayout, std::size_t> columns;
    std::vector<std::size_t> row_of, column_of;
    for (const PlacedConfiguration& each : from) {
      row_of.push_back(rows.try_emplace({source, each}, rows.size()).first->second);
    }
    for (const PlacedConfiguration& each : to) {
      column_of.push_back(
          columns.try_emplace({target, edge.input, each}, columns.size()).first->second);
    }
    std::vector<Cost> cells(rows.size() * columns.size());
    for (const auto& [row, r] : rows) {
      for (const auto& [column, c] : columns) {
        cells[r * columns.size() + c] = checked(prices_.resharding(row, column));
      }
    }
    for (const std::size_t r : row_of) {
      for (const std::size_t c : column_of) known->second.push_back(cells[r * columns.size() + c]);
    }
    return known->second;
  }

  void add_edge(const TensorEdge& edge) {
    const std::vector<Cost>& added = table_of(edge);
    const std::size_t rows = made_.choices[edge.from].size();
    const std::size_t columns = made_.choices[edge.to].size();
    auto& table = tables_[std::minmax(edge.from, edge.to)];
    table.resize(rows * columns);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        Cost& cell = table[edge.from < edge.to ? i * columns + j : j * rows + i];
        cell = checked(Wide{cell} + added[i * columns + j]);
      }
    }
  }

  const OperationGraph& graph_;
  Network network_;
  PlacedPrices prices_;
  PlacedGraph made_;
  std::map<std::string, std::vector<Cost>> known_tables_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Cost>> tables_;
  std::size_t cells_ = 0;
};

}  // namespace

std::vector<NeededCollective> PlacedGraph::collectives(const OperationGraph& graph,
                                                       const strategy::Strategy& strategy) const {
  std::vector<NeededCollective> needed;
  for (std::uint32_t v = 0; v < strategy.size(); ++v) {
    const PlacedConfiguration& choice = choices[v][strategy[v]];
    const OperationCost cost(graph, v);
    for (const AllReduce& sum : cost.all_reduces(choice.configuration)) {
      const ReductionAxes axes = choice.axes_of(sum.over);
      const auto same = std::ranges::find_if(needed, [&](const NeededCollective& other) {
        return other.words == sum.words && other.axes == axes &&
               other.grid.axes() == choice.grid.axes() &&
               other.grid.placement() == choice.grid.placement();
      });
      if (same != needed.end()) {
        ++same->times;
      } else {
        needed.push_back({graph.operations[v].name, sum.tensor, sum.words, choice.grid, axes, 1});
      }
    }
  }
  return needed;
}

PlacedGraph placed_graph(const OperationGraph& graph, const System& system) {
  if (system.hierarchy.devices() != graph.machine.devices()) {
    throw std::invalid_argument(fmt::format("the system has {} devices and the machine {}",
                                            system.hierarchy.devices(), graph.machine.devices()));
  }
  return Builder(graph, system).finish();
}

}  // namespace p2::operations
