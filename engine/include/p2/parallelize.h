#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p2/answer.h"

namespace p2 {

/// How the paper's algorithms 1 to 3 break ties and read ambiguous lines (docs/strategy.md).
struct PaperAlgorithm {
  enum class Ties : std::uint8_t {
    First,
    Last,
    Any,   ///< at random, by Options::seed
    Every  ///< enumerated until one fails
  };
  Ties ties = Ties::First;
  bool doubles = false;      ///< adds costs up as doubles
  bool as_intended = false;  ///< algorithm 3, line 4: "not started" where "empty" is printed
};

/// A graph of operations or of configurations with costs, in which every vertex is to be given the
/// configuration that minimises the sum of all costs.
struct ParallelizeRequest {
  /// Path of a file in one of the formats `pairwise-strategy-graph/1` and `operation-graph/1`.
  std::string file;

  enum class Price : std::uint8_t {
    Overlap,  ///< parts are assigned to devices such that they overlap most
    Placed    ///< every part is placed on a device, and transfers share links
  };
  // For operation graphs only:
  Price price = Price::Overlap;
  std::optional<std::string> system;  ///< path of a system file that replaces the file's levels
  bool use_all_devices = false;       ///< only configurations that use as many devices as possible
  bool collectives = false;           ///< lists the all-reduces of the strategy; needs Placed

  std::optional<std::uint64_t> memory_limit;  ///< bytes on a device; excludes `certify`
  /// `explicit`, `z3`, `cnf` or `all`: engines that check the answer besides the search. With `cnf`
  /// the certificate is a refutation of clauses.
  std::string engine = "explicit";
  std::optional<std::string> certify;  ///< folder for a certificate that no strategy costs less
  /// A folder for the question whether a strategy costs less than the one found, as formulas for
  /// SAT solvers, one for each configuration of a vertex that has most of them: without `certify`
  /// they are written there, with it the certificate is made of the proofs that are there. Engine
  /// `cnf`.
  std::optional<std::string> cubes = {};
  bool dot = false;                     ///< draws the graph for Graphviz
  std::optional<PaperAlgorithm> paper;  ///< compares with the paper's algorithm instead
};

struct ParallelizeAnswer : Answer {
  std::optional<std::int64_t> cost;     ///< of the strategy; absent where nothing fits in memory
  std::int64_t bound = 0;               ///< a lower bound of all strategies
  bool optimal = false;                 ///< the cost equals the bound
  std::vector<std::uint32_t> strategy;  ///< configuration numbers, by vertex in the file's order
  std::vector<std::string> configurations;  ///< their names
  double search_seconds = 0;
  std::string dot;          ///< where asked for
  std::string collectives;  ///< where asked for: a `p2-verify synth` command per all-reduce
};

/// Finds a strategy of least cost. The outcome is Refuted where no strategy fits in memory, and
/// Undecided where a limit was reached. Throws InputError.
///
///     ParallelizeRequest request;
///     request.file = "examples/strategy/mlp.json";
///     const ParallelizeAnswer answer = parallelize(request);  // answer.cost,
///     answer.configurations
ParallelizeAnswer parallelize(const ParallelizeRequest& request, const Options& options = {});

struct PaperCampaignRequest {
  std::uint64_t graphs = 1;
  PaperAlgorithm paper;
};

struct PaperCampaignAnswer : Answer {
  std::uint64_t graphs = 0;       ///< examined before a limit
  bool search_optimal = true;     ///< this program's search found every optimum
  std::uint64_t not_optimal = 0;  ///< strategies of the paper's algorithm that cost too much
  std::uint64_t incomplete = 0;   ///< strategies without a configuration for some vertices
  std::uint64_t none = 0;         ///< runs without a strategy
};

/// Runs the paper's algorithm on random graphs with many equal costs and reduces the failures. The
/// outcome is Refuted where it fails.
PaperCampaignAnswer run_paper_campaign(const PaperCampaignRequest& request,
                                       const Options& options = {});

}  // namespace p2
