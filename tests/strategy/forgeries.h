#pragma once

#include <functional>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/strategy/strategy.h"
#include "proofs/certificate/certificate_folder.h"
#include "proofs/kernel/certificate.h"
#include "tests/strategy/graphs.h"

namespace p2::strategy {

/// A triangle of three configurations each and a fourth vertex aside.
inline const Graph kGraph{{{4, 0, 9}, {1, 3, 2}, {0, 5, 5}, {7, 7}},
                          {{0, 1, {0, 6, 2, 5, 0, 4, 1, 1, 1}},
                           {0, 2, {3, 0, 8, 6, 1, 0, 2, 2, 2}},
                           {1, 2, {0, 4, 4, 2, 0, 5, 9, 1, 0}}}};

using JsonChange = std::function<void(nlohmann::json&)>;

/// The verdict after `change` was done to one file and the manifest, of this claim, made to fit.
inline kernel::Verdict verdict_after(const std::string& claim, CertificateFiles files,
                                     const std::string& name, const JsonChange& change) {
  nlohmann::json json = nlohmann::json::parse(files[name]);
  change(json);
  files[name] = json.dump();
  add_manifest(claim, {}, files);
  return check_certificate(files).verdict;
}

/// Raises and lowers every cost of kGraph in its certificate and checks that what is not true any
/// more is rejected. Returns how many were.
inline std::size_t refused_changes_of_cells(const std::string& claim,
                                            const CertificateFiles& files) {
  const auto said = nlohmann::json::parse(files.at("strategy.json"));
  std::size_t refused = 0;
  const auto changed = [&](const Graph& graph, const JsonChange& change) {
    const kernel::Verdict verdict = verdict_after(claim, files, "problem.json", change);
    const bool still = cost_of(graph, said["configurations"]) == said["cost"].get<Cost>() &&
                       least_by_enumeration(graph) == said["cost"].get<Cost>();
    if (!still) CHECK(verdict == kernel::Verdict::Rejected);
    refused += verdict == kernel::Verdict::Rejected;
  };
  for (const int change : {-1, 1}) {
    for (std::size_t e = 0; e < kGraph.edges.size(); ++e) {
      for (std::size_t i = 0; i < 9; ++i) {
        Graph graph = kGraph;
        Cost& cell = graph.edges[e].table[i];
        cell += change;
        if (cell < 0) continue;
        changed(graph, [&](auto& json) { json["tables"][e][i / 3][i % 3] = cell; });
      }
    }
    for (std::size_t v = 0; v < kGraph.vertices(); ++v) {
      for (std::size_t c = 0; c < kGraph.costs[v].size(); ++c) {
        Graph graph = kGraph;
        graph.costs[v][c] += change;
        if (graph.costs[v][c] < 0) continue;
        changed(graph, [&](auto& json) { json["vertices"][v][c] = graph.costs[v][c]; });
      }
    }
  }
  return refused;
}

}  // namespace p2::strategy
