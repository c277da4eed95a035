#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "cli/command_line.h"
#include "engine/strategy/placed/placed_graph.h"
#include "engine/strategy/graph_file.h"

namespace p2 {

/// What parallelize is asked about: a graph of either format, with prices.
struct StrategyProblem {
  strategy::GraphFile pairwise;  ///< where nothing is placed
  std::optional<operations::OperationGraph> operations;
  std::optional<operations::PlacedGraph> placed;

  const strategy::GraphFile& file() const { return placed ? placed->file : pairwise; }
};

/// --use-all-devices, --price, --system and --collectives-out.
boost::program_options::options_description problem_flags();

/// Reads the file, whose format its content says, and prices it. Throws InputError.
StrategyProblem strategy_problem(const CommandLine& line, const std::string& path);

/// For every all-reduce that the strategy needs, the command that lists the programs for it.
void write_collectives(const StrategyProblem& problem, const strategy::Strategy& strategy,
                       const std::string& path, std::ostream& out);

}  // namespace p2
