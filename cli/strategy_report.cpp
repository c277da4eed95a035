#include "cli/strategy_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/output.h"

namespace p2 {
namespace {

using strategy::Cost;
using strategy::GraphFile;
using strategy::Strategy;

std::size_t configurations(const GraphFile& file) {
  std::size_t sum = 0;
  for (const auto& costs : file.graph.costs) sum += costs.size();
  return sum;
}

Cost cost_of(const strategy::Graph& graph, const strategy::Edge& edge, const Strategy& strategy) {
  return edge
      .table[strategy[edge.first] * graph.configurations(edge.second) + strategy[edge.second]];
}

/// A column of a table, as wide as its widest entry.
class Column {
 public:
  explicit Column(std::string title) : entries_{std::move(title)} {}

  void add(std::string entry) { entries_.push_back(std::move(entry)); }
  const std::string& entry(std::size_t row) const { return entries_[row]; }
  std::size_t rows() const { return entries_.size(); }
  std::size_t width() const { return std::ranges::max(entries_, {}, &std::string::size).size(); }

 private:
  std::vector<std::string> entries_;
};

void print_table(const GraphFile& file, const Strategy& strategy, std::ostream& out) {
  std::vector<Cost> edges(file.graph.vertices(), 0);
  for (const strategy::Edge& edge : file.graph.edges) {
    const Cost cost = cost_of(file.graph, edge, strategy);
    edges[edge.first] += cost;
    edges[edge.second] += cost;
  }
  Column name("vertex");
  Column chosen("configuration");
  Column own("cost");
  Column moved("its edges");
  for (std::size_t v = 0; v < file.labels.size(); ++v) {
    name.add(file.labels[v].name);
    chosen.add(file.labels[v].configurations[strategy[v]]);
    own.add(std::to_string(file.graph.costs[v][strategy[v]]));
    moved.add(std::to_string(edges[v]));
  }
  for (std::size_t row = 0; row < name.rows(); ++row) {
    fmt::print(out, "{:<{}}  {:<{}}  {:>{}}  {:>{}}\n", name.entry(row), name.width(),
               chosen.entry(row), chosen.width(), own.entry(row), own.width(), moved.entry(row),
               moved.width());
  }
}

}  // namespace

void print_text(const GraphFile& file, const StrategyAnswer& answer, std::ostream& out) {
  const strategy::Found& found = answer.answer.found;
  const std::size_t all = configurations(file);
  fmt::print(out, "{} vertices, {} edges, {} configurations, {} of them not dominated\n\n",
             file.graph.vertices(), file.graph.edges.size(), all,
             all - answer.answer.removals.size());
  print_table(file, found.strategy, out);
  fmt::print(
      out, "\ntotal: {}, {}\n", found.cost,
      answer.answer.optimal()
          ? std::string("optimal")
          : fmt::format("the best found; a limit was met, and no strategy costs less than {}",
                        found.bound));
  if (file.data_parallel) {
    const Cost cost = strategy::cost_of(file.graph, *file.data_parallel);
    fmt::print(out, "data parallelism: {}", cost);
    if (found.cost > 0) {
      fmt::print(out, ", {:.2f} times as much",
                 static_cast<double>(cost) / static_cast<double>(found.cost));
    }
    fmt::print(out, "\n");
  }
  fmt::print(out, "search: {:.3f} s\n", answer.search_seconds);
  if (!answer.certificate.empty()) fmt::print(out, "certificate: {}\n", answer.certificate);
}

void print_json(const GraphFile& file, const StrategyAnswer& answer, std::ostream& out) {
  const strategy::Found& found = answer.answer.found;
  fmt::print(out, "{{\"cost\":{},\"optimal\":{},\"bound\":{},\"search_seconds\":{:.6f},\n",
             found.cost, answer.answer.optimal(), found.bound, answer.search_seconds);
  fmt::print(out, "\"certificate\":{},\n\"data_parallel_cost\":{},\n\"strategy\":[{}],\n",
             answer.certificate.empty() ? "null" : json_string(answer.certificate),
             file.data_parallel ? std::to_string(strategy::cost_of(file.graph, *file.data_parallel))
                                : "null",
             fmt::join(found.strategy, ","));
  fmt::print(out, "\"vertices\":[");
  for (std::size_t v = 0; v < file.labels.size(); ++v) {
    fmt::print(out, "{}\n{{\"name\":{},\"configuration\":{},\"cost\":{}}}", v == 0 ? "" : ",",
               json_string(file.labels[v].name),
               json_string(file.labels[v].configurations[found.strategy[v]]),
               file.graph.costs[v][found.strategy[v]]);
  }
  fmt::print(out, "\n]}}\n");
}

void print_dot(const GraphFile& file, const Strategy& strategy, std::ostream& out) {
  fmt::print(out, "graph strategy {{\n  node [shape=box];\n");
  for (std::size_t v = 0; v < file.labels.size(); ++v) {
    const std::string label =
        fmt::format("{}\n{}\n{}", file.labels[v].name, file.labels[v].configurations[strategy[v]],
                    file.graph.costs[v][strategy[v]]);
    fmt::print(out, "  v{} [label={}];\n", v, json_string(label));
  }
  for (const strategy::Edge& edge : file.graph.edges) {
    fmt::print(out, "  v{} -- v{} [label=\"{}\"];\n", edge.first, edge.second,
               cost_of(file.graph, edge, strategy));
  }
  fmt::print(out, "}}\n");
}

}  // namespace p2
