#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "cli/strategy/strategy_cross_check.h"
#include "engine/strategy/graph_file.h"
#include "engine/strategy/memory_limit.h"
#include "engine/strategy/strategy.h"

namespace p2 {

/// What parallelize found.
struct StrategyAnswer {
  strategy::Answer answer;
  double search_seconds = 0;
  std::string certificate;  ///< its folder; empty: none
  std::optional<strategy::Cost> memory_limit = {};
  CrossChecks checks = {};
};

void print_json(const strategy::GraphFile& file, const StrategyAnswer& answer, std::ostream& out);
void print_text(const strategy::GraphFile& file, const StrategyAnswer& answer, std::ostream& out);
/// The graph in the language of Graphviz: vertices with their configurations and costs, edges with
/// theirs.
void print_dot(const strategy::GraphFile& file, const strategy::Strategy& strategy,
               std::ostream& out);

}  // namespace p2
