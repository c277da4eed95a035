#pragma once

#include "encodings/cnf/clause_proof.h"
#include "engine/strategy/additions.h"

namespace p2::cnf {

// Larger graphs are not asked about.
constexpr std::size_t kMostStrategyClauses = std::size_t{1} << 22;
/// Of configurations of the vertices that a sum and its part depend on, over all additions.
constexpr std::size_t kMostOpenChoices = std::size_t{1} << 27;

/// Whether a strategy costs less than some number, asked of a SAT solver.
struct CheaperStrategy {
  enum class Kind : std::uint8_t {
    None,
    Exists,
    Unknown,  ///< a limit was met
    TooLarge  ///< the graph is no small one
  };
  Kind kind = Kind::Unknown;
  strategy::Strategy strategy;  ///< one that costs less, if there is some

  // If there is none:
  std::vector<strategy::Addition> additions;      ///< how costs are added up
  std::vector<std::vector<strategy::Cost>> sums;  ///< that are told apart, by addition
  ClauseProof proof;                              ///< in the clauses of docs/certificates.md
};

/// All configurations of the graph are symbols. Costs are added up term by term, and of the sum
/// only some values are told apart: what is refuted so is refuted; a strategy found is added up,
/// and where rounding made it look cheaper, its sums are told apart, too, and the question is asked
/// again.
CheaperStrategy cheaper_strategy(const strategy::Graph& graph, strategy::Cost below,
                                 const Limits& limits);

}  // namespace p2::cnf
