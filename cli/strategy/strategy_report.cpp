#include "cli/strategy/strategy_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/output.h"
#include "cli/table.h"

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

/// Of the edges of every vertex, under the strategy.
std::vector<Cost> edge_costs(const GraphFile& file, const Strategy& strategy) {
  std::vector<Cost> costs(file.graph.vertices(), 0);
  for (const strategy::Edge& edge : file.graph.edges) {
    const Cost cost = cost_of(file.graph, edge, strategy);
    costs[edge.first] += cost;
    costs[edge.second] += cost;
  }
  return costs;
}

/// Numbers first: print_table sets them flush right.
void print_vertices(const GraphFile& file, const Strategy& strategy, std::ostream& out) {
  const std::vector<Cost> edges = edge_costs(file, strategy);
  TableRows rows(1);
  const auto add = [&](const std::string& title, const auto& entry) {
    rows[0].push_back(title);
    for (std::size_t v = 0; v < file.labels.size(); ++v) {
      if (rows.size() <= v + 1) rows.emplace_back();
      rows[v + 1].push_back(entry(v));
    }
  };
  const auto number = [&](const auto& table) {
    return [&](std::size_t v) { return std::to_string(table[v][strategy[v]]); };
  };
  add("cost", number(file.graph.costs));
  if (!file.communication.empty()) add("of it sums", number(file.communication));
  add("its edges", [&](std::size_t v) { return std::to_string(edges[v]); });
  if (file.memory) add("bytes", number(*file.memory));
  const std::size_t numbers = rows[0].size();
  add("vertex", [&](std::size_t v) { return file.labels[v].name; });
  add("configuration", [&](std::size_t v) { return file.labels[v].configurations[strategy[v]]; });
  print_table(rows, numbers, out);
}

void print_known(const GraphFile& file, Cost cost, std::optional<Cost> memory_limit,
                 std::ostream& out) {
  for (const strategy::KnownStrategy& known : file.known) {
    fmt::print(out, "{}: {}", known.name, known.cost);
    if (cost > 0) {
      fmt::print(out, ", {:.2f} times as much",
                 static_cast<double>(known.cost) / static_cast<double>(cost));
    }
    if (memory_limit && known.memory.value_or(0) > *memory_limit) {
      fmt::print(out, ", and needs {} bytes on a device", *known.memory);
    }
    fmt::print(out, "\n");
  }
}

std::string data_parallel_cost(const GraphFile& file) {
  for (const strategy::KnownStrategy& known : file.known) {
    if (known.name != "data parallelism") continue;
    return std::to_string(known.cost);
  }
  return "null";
}

}  // namespace

void print_text(const GraphFile& file, const StrategyAnswer& answer, std::ostream& out) {
  const strategy::Found& found = answer.answer.found;
  const std::size_t all = configurations(file);
  fmt::print(out, "{} vertices, {} edges, {} configurations{}\n\n", file.graph.vertices(),
             file.graph.edges.size(), all,
             answer.memory_limit
                 ? ""
                 : fmt::format(", {} of them not dominated", all - answer.answer.removals.size()));
  print_vertices(file, found.strategy, out);
  fmt::print(
      out, "\ntotal: {}, {}\n", found.cost,
      answer.answer.optimal()
          ? std::string("optimal")
          : fmt::format("the best found; a limit was met, and no strategy costs less than {}",
                        found.bound));
  if (file.memory) {
    fmt::print(out, "bytes on a device: {}{}\n", strategy::memory_of(*file.memory, found.strategy),
               answer.memory_limit ? fmt::format(", at most {}", *answer.memory_limit) : "");
  }
  print_known(file, found.cost, answer.memory_limit, out);
  fmt::print(out, "search: {:.3f} s\n", answer.search_seconds);
  out << answer.checks.words();
  if (!answer.certificate.empty()) fmt::print(out, "certificate: {}\n", answer.certificate);
}

void print_json(const GraphFile& file, const StrategyAnswer& answer, std::ostream& out) {
  const strategy::Found& found = answer.answer.found;
  const std::vector<Cost> edges = edge_costs(file, found.strategy);
  fmt::print(out, "{{\"cost\":{},\"optimal\":{},\"bound\":{},\"search_seconds\":{:.6f},\n",
             found.cost, answer.answer.optimal(), found.bound, answer.search_seconds);
  fmt::print(out, "\"certificate\":{},\n\"data_parallel_cost\":{},\n\"known\":[",
             answer.certificate.empty() ? "null" : json_string(answer.certificate),
             data_parallel_cost(file));
  for (std::size_t k = 0; k < file.known.size(); ++k) {
    fmt::print(out, "{}{{\"name\":{},\"cost\":{}}}", k == 0 ? "" : ",",
               json_string(file.known[k].name), file.known[k].cost);
  }
  fmt::print(
      out, "],\n\"z3\":{},\n\"cnf\":{},\n\"memory\":{},\n\"strategy\":[{}],\n",
      answer.checks.z3.json(), answer.checks.cnf.json(),
      file.memory ? std::to_string(strategy::memory_of(*file.memory, found.strategy)) : "null",
      fmt::join(found.strategy, ","));
  fmt::print(out, "\"vertices\":[");
  for (std::size_t v = 0; v < file.labels.size(); ++v) {
    fmt::print(out, "{}\n{{\"name\":{},\"configuration\":{},\"cost\":{},\"edges\":{}}}",
               v == 0 ? "" : ",", json_string(file.labels[v].name),
               json_string(file.labels[v].configurations[found.strategy[v]]),
               file.graph.costs[v][found.strategy[v]], edges[v]);
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
