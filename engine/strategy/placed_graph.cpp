#include "engine/strategy/placed_graph.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "engine/strategy/pairwise.h"
#include "engine/strategy/strategy.h"

namespace p2::operations {

System system_of(const Machine& machine, const std::string& source) {
  std::vector<p2::Level> levels;
  std::vector<Interconnect> interconnects;
  std::int64_t devices_below = 1;
  for (const Level& level : machine.levels) {
    const auto size = static_cast<std::uint32_t>(level.size);
    levels.insert(levels.begin(), {level.name, size});
    Interconnect& made = interconnects.emplace_back();
    made.name = level.name;
    made.level = level.name;
    made.span = size;
    made.bytes_per_second = level.bandwidth * devices_below;
    devices_below *= level.size;
  }
  return {"machine", Hierarchy(std::move(levels), {source}), std::move(interconnects)};
}

ReductionAxes PlacedConfiguration::axes_of(const std::vector<std::size_t>& dimensions) const {
  ReductionAxes axes;
  for (const std::size_t dimension : dimensions) {
    if (axis_of[dimension]) axes.push_back(*axis_of[dimension]);
  }
  return axes;
}

std::vector<PlacedConfiguration> placed_configurations(const Operation& operation,
                                                       const Hierarchy& hierarchy) {
  constexpr std::size_t kMaxChoices = std::size_t{1} << 12U;
  const std::int64_t devices = hierarchy.devices();
  std::vector<PlacedConfiguration> found;
  for (const Configuration& configuration :
       configurations(operation, devices, DeviceUse::Dividing)) {
    std::vector<p2::Axis> axes;
    std::vector<std::optional<std::uint32_t>> axis_of(configuration.size());
    for (std::size_t d = 0; d < configuration.size(); ++d) {
      if (configuration[d] == 1) continue;
      axis_of[d] = static_cast<std::uint32_t>(axes.size());
      axes.push_back(
          {fmt::format("a{}", axes.size()), static_cast<std::uint32_t>(configuration[d])});
    }
    const auto copies = static_cast<std::uint32_t>(devices / product(configuration));
    if (copies > 1 || axes.empty()) axes.push_back({"copies", copies});
    const Axes named(std::move(axes), {operation.name});
    for (const Placement& placement :
         first_placements(hierarchy, named, {operation.name}, kMaxChoices + 1)) {
      if (found.size() == kMaxChoices) {
        throw SketchError(fmt::format("operation {} has more than {} placed configurations",
                                      operation.name, kMaxChoices));
      }
      found.push_back({configuration, DeviceGrid(hierarchy, named, placement), axis_of});
    }
  }
  return found;
}

std::string to_string(const PlacedConfiguration& placed, const Operation& operation) {
  const std::string splits = configuration_text(operation, placed.configuration);
  const bool one_way =
      product(placed.configuration) == 1 || placed.grid.hierarchy().levels().size() == 1;
  return one_way ? splits : splits + " " + to_string(placed.grid.placement());
}

namespace {

/// The overlap of two parts of lengths a and b of an axis.
std::int64_t shared(std::int64_t a, std::int64_t part_a, std::int64_t b, std::int64_t part_b) {
  return std::max<std::int64_t>(
      0, std::min((part_a + 1) * a, (part_b + 1) * b) - std::max(part_a * a, part_b * b));
}

/// The part of the output that a device has.
std::vector<std::uint32_t> part_of(const Tensor& tensor, const PlacedConfiguration& placed,
                                   std::uint32_t device) {
  std::vector<std::uint32_t> part;
  for (const Axis& axis : tensor) {
    part.push_back(axis.dimension ? placed.part(device, *axis.dimension) : 0);
  }
  return part;
}

}  // namespace

PlacedPrices::PlacedPrices(const Machine& machine, const Network& network)
    : machine_(machine),
      network_(network),
      pricer_(network, Algorithm::Ring),
      loads_(network.links(), 0) {
  const std::uint32_t devices = network.system().hierarchy.devices();
  for (std::uint32_t from = 0; from < devices; ++from) {
    for (std::uint32_t to = 0; to < devices; ++to) {
      Route& route = routes_.emplace_back();
      if (from == to) continue;
      network.route(from, to, route.links);
      std::uint32_t below = devices;
      const auto& levels = network.system().hierarchy.levels();
      route.length = levels.size();
      for (const p2::Level& level : levels) {
        below /= level.size;
        if (from / below != to / below) break;
        --route.length;
      }
    }
  }
  for (LinkId link = 0; link < network.links(); ++link) {
    rates_.push_back(
        network.system().interconnects[network.interconnect_of(link)].bytes_per_second);
  }
}

Wide PlacedPrices::all_reduces(const OperationCost& cost, const PlacedConfiguration& placed) {
  Wide sum = 0;
  for (const AllReduce& each : cost.all_reduces(placed.configuration)) {
    const Step step{Collective::AllReduce,
                    placed.grid.groups(placed.grid.factors_of(placed.axes_of(each.over)), 0),
                    std::nullopt};
    const std::vector<std::uint32_t> rows(step.groups.size(), 1);
    const Rational bytes = ratio(each.words, 1) * ratio(machine_.word_bytes, 1);
    sum += nearest(pricer_.price(step, rows, 1).seconds(bytes) * ratio(machine_.flops, 1));
  }
  return sum;
}

void PlacedPrices::send(std::uint32_t from, std::uint32_t to, Wide words) {
  const std::uint32_t devices = network_.system().hierarchy.devices();
  for (const LinkId link : routes_[from * devices + to].links) loads_[link] += words;
}

Wide PlacedPrices::busiest() {
  Wide most = 0;
  for (LinkId link = 0; link < loads_.size(); ++link) {
    const Wide work = 2 * loads_[link] * machine_.word_bytes * machine_.flops;
    most = std::max(most, rounded(work, rates_[link]));
    loads_[link] = 0;
  }
  return most;
}

SourceLayout::SourceLayout(const Operation& operation, const PlacedConfiguration& placed)
    : axes(operation.output) {
  for (const Axis& axis : axes) splits.push_back(operations::parts(axis, placed.configuration));
  std::map<std::vector<std::uint32_t>, Group> found;
  for (std::uint32_t device = 0; device < placed.grid.devices(); ++device) {
    found[part_of(axes, placed, device)].push_back(device);
  }
  for (auto& [part, who] : found) {
    parts.push_back(part);
    holders.push_back(std::move(who));
  }
}

TargetLayout::TargetLayout(const Operation& operation, std::size_t input,
                           const PlacedConfiguration& placed) {
  const Tensor& axes = operation.inputs[input];
  for (const Axis& axis : axes) splits.push_back(parts(axis, placed.configuration));
  for (std::uint32_t device = 0; device < placed.grid.devices(); ++device) {
    wanted.push_back(part_of(axes, placed, device));
  }
  if (!operation.scattered || input != 0) return;
  for (std::size_t d = 0; d < placed.configuration.size(); ++d) {
    if (std::ranges::count(axes, d, &Axis::dimension) == 0) shares *= placed.configuration[d];
  }
}

Wide PlacedPrices::resharding(const SourceLayout& source, const TargetLayout& target) {
  const auto devices = static_cast<std::uint32_t>(target.wanted.size());
  std::vector<std::int64_t> own, wanted;  // lengths of parts, by axis
  for (std::size_t a = 0; a < source.axes.size(); ++a) {
    own.push_back(source.axes[a].length / source.splits[a]);
    wanted.push_back(source.axes[a].length / target.splits[a]);
  }
  for (std::uint32_t d = 0; d < devices; ++d) {
    for (std::size_t p = 0; p < source.parts.size(); ++p) {
      Wide words = 1;
      for (std::size_t a = 0; a < source.axes.size() && words > 0; ++a) {
        words *= shared(own[a], source.parts[p][a], wanted[a], target.wanted[d][a]);
      }
      if (words == 0) continue;
      const std::uint32_t nearest = *std::ranges::min_element(
          source.holders[p], {}, [&](std::uint32_t e) { return routes_[e * devices + d].length; });
      if (nearest != d) send(nearest, d, (words + target.shares - 1) / target.shares);
    }
  }
  return busiest();
}

namespace {

using strategy::Cost;

constexpr std::size_t kMaxTableCells = std::size_t{1} << 24U;

std::string text_of(const Tensor& tensor) {
  std::string text;
  for (const Axis& axis : tensor) {
    text +=
        fmt::format("{}:{} ", axis.dimension ? std::to_string(*axis.dimension) : "-", axis.length);
  }
  return text;
}

/// Operations with equal keys have the same choices.
std::string text_of(const Operation& operation) {
  std::string text;
  for (const Dimension& dimension : operation.dimensions) {
    text += fmt::format("{}{} ", dimension.length, dimension.splits ? "" : "!");
  }
  return text;
}

class TableBuilder {
 public:
  TableBuilder(const OperationGraph& graph, const System& system)
      : graph_(graph), network_(system, {system.name}), prices_(graph.machine, network_) {
    made_.file.memory.emplace();
    for (std::uint32_t v = 0; v < graph.operations.size(); ++v) add_vertex(v);
    for (const TensorEdge& edge : graph.tensors) add_edge(edge);
    for (auto& [ends, table] : tables_) {
      made_.file.graph.edges.push_back({ends.first, ends.second, std::move(table)});
    }
    if (!sums_fit(made_.file.graph)) {
      throw SketchError("the costs add up to 2^62 or more");
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
    if (cells_ > kMaxTableCells) {
      throw SketchError("the tables of placed configurations have more than 2^24 cells");
    }
    // Many choices have the same layout: a cell is computed once per pair of layouts.
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
    throw SketchError(fmt::format("the system has {} devices and the machine {}",
                                  system.hierarchy.devices(), graph.machine.devices()));
  }
  return TableBuilder(graph, system).finish();
}

}  // namespace p2::operations
