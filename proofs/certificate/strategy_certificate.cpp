#include "proofs/certificate/strategy_certificate.h"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2 {
namespace {

using strategy::Cost;

/// A table that several edges share is written once.
std::string problem_text(const strategy::Graph& graph) {
  std::string vertices;
  for (const auto& costs : graph.costs) {
    vertices += fmt::format("{}\n[{}]", vertices.empty() ? "" : ",", fmt::join(costs, ","));
  }
  using Shaped = std::pair<std::size_t, const std::vector<Cost>*>;  // columns, cells
  const auto less = [](const Shaped& a, const Shaped& b) {
    return std::tie(a.first, *a.second) < std::tie(b.first, *b.second);
  };
  std::map<Shaped, std::size_t, decltype(less)> numbers(less);
  std::string tables;
  std::string edges;
  for (const strategy::Edge& edge : graph.edges) {
    const std::size_t columns = graph.configurations(edge.second);
    const auto [known, is_new] = numbers.emplace(Shaped(columns, &edge.table), numbers.size());
    edges += fmt::format("{}\n[{},{},{}]", edges.empty() ? "" : ",", edge.first, edge.second,
                         known->second);
    if (!is_new) continue;
    tables += tables.empty() ? "\n[" : ",\n[";
    for (auto row = edge.table.begin(); row != edge.table.end();) {
      const auto end = row + static_cast<std::ptrdiff_t>(columns);
      tables +=
          fmt::format("{}[{}]", row == edge.table.begin() ? "" : ",\n ", fmt::join(row, end, ","));
      row = end;
    }
    tables += "]";
  }
  return fmt::format("{{\"vertices\":[{}],\n\"tables\":[{}],\n\"edges\":[{}]}}\n", vertices, tables,
                     edges);
}

std::string strategy_text(const strategy::Found& found) {
  return fmt::format("{{\"configurations\":[{}],\"cost\":{}}}\n", fmt::join(found.strategy, ","),
                     found.cost);
}

std::string bound_text(const strategy::Solution& answer) {
  std::string removals;
  for (const strategy::Removal& removal : answer.removals) {
    removals += fmt::format("{}\n[{},{},{}]", removals.empty() ? "" : ",", removal.vertex,
                            removal.configuration, removal.by);
  }
  return fmt::format("{{\"removals\":[{}],\n\"order\":[{}]}}\n", removals,
                     fmt::join(answer.order.vertices, ","));
}

/// `terms`: their number; sums are numbered after them.
std::string sums_text(const cnf::StrategyRefutation& refutation, std::size_t terms) {
  std::string additions;
  std::string sums;
  for (std::size_t n = 0; n < refutation.sums.size(); ++n) {
    const strategy::Addition& addition = refutation.additions[n];
    const auto sum = addition.sum ? fmt::format("{},", terms + *addition.sum) : "";
    const auto* const separator = n == 0 ? "" : ",";
    additions += fmt::format("{}[{}{}]", separator, sum, addition.part);
    sums += fmt::format("{}\n[{}]", separator, fmt::join(refutation.sums[n], ","));
  }
  return fmt::format("{{\"additions\":[{}],\n\"sums\":[{}]}}\n", additions, sums);
}

}  // namespace

CertificateFiles strategy_certificate(const strategy::Graph& graph,
                                      const strategy::Solution& answer,
                                      const Provenance& provenance) {
  constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 30U;
  if (answer.order.additions > kMaxWork) {
    throw LimitReached(LimitReached::Kind::Size,
                       "checking the certificate would take more work than p2-check allows");
  }
  CertificateFiles files;
  files["problem.json"] = problem_text(graph);
  files["strategy.json"] = strategy_text(answer.found);
  files["bound.json"] = bound_text(answer);
  add_manifest("strategy-optimal", provenance, files);
  return files;
}

CertificateFiles strategy_certificate(const strategy::Graph& graph, const strategy::Found& found,
                                      const cnf::StrategyRefutation& refutation,
                                      const Provenance& provenance) {
  CertificateFiles files;
  files["problem.json"] = problem_text(graph);
  files["strategy.json"] = strategy_text(found);
  files["sums.json"] = sums_text(refutation, graph.vertices() + graph.edges.size());
  files["problem.cnf"] = refutation.proof.cnf;
  files["proof.lrat"] = refutation.proof.lrat;
  add_manifest("strategy-optimal-clauses", provenance, files);
  return files;
}

}  // namespace p2
