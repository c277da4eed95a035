#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "proofs/api/engines.h"
#include "encodings/cnf/cheaper_strategy.h"
#include "p2/limits.h"
#include "engine/strategy/graph_file.h"
#include "engine/strategy/memory_limit.h"

namespace p2 {

enum class Agreement : std::uint8_t { NotAsked, Agrees, Differs, Undecided };

/// What a solver says of an answer: nothing costs less, under the limit if there is one; or, where
/// nothing was found, nothing fits.
struct CrossCheck {
  Agreement agreement = Agreement::NotAsked;
  std::string words = {};

  /// `true`, `false`, or `null` where it was not asked or did not settle it: whether it agrees.
  std::string json() const;
};

struct CrossChecks {
  CrossCheck z3;
  CrossCheck cnf;
  cnf::CheaperStrategy refutation = {};  ///< where the clauses agree

  bool some(Agreement agreement) const {
    return z3.agreement == agreement || cnf.agreement == agreement;
  }
  /// A line each.
  std::string words() const;
};

CrossCheck ask_z3(const strategy::GraphFile& file, std::optional<strategy::Cost> memory_limit,
                  const strategy::Found* found, const Limits& limits);

/// Asks clauses whether a strategy costs less than `found`, and keeps what they say in
/// `refutation`.
CrossCheck ask_clauses(const strategy::Graph& graph, const strategy::Found& found,
                       const Limits& limits, cnf::CheaperStrategy& refutation);

/// All solvers that are asked for. Clauses know no memory limit and are left out under one.
CrossChecks ask(const Engines& engines, const strategy::GraphFile& file,
                std::optional<strategy::Cost> memory_limit, const strategy::Found* found,
                const Limits& limits);

}  // namespace p2
