#pragma once

#include <cstdint>
#include <optional>

#include "encodings/z3/budget.h"
#include "engine/strategy/graph.h"

namespace p2::z3_encoding {

/// The query `strategy`: does a strategy cost less than this? Every configuration of every vertex
/// is a symbol of which one per vertex holds; costs are integers of any size, so nothing is rounded
/// or overflows. For small graphs.
struct StrategyQuery {
  const strategy::Graph* graph = nullptr;
  /// Of those whose memory adds up to at most `limit`, where given: by vertex and configuration.
  const std::vector<std::vector<strategy::Cost>>* memory = nullptr;
  strategy::Cost limit = 0;
  strategy::Cost below = 0;
  Budget budget = {};
};

/// What Z3 says.
struct StrategyJudgement {
  enum class Kind : std::uint8_t { None, Some, Unknown };

  Kind kind = Kind::Unknown;
  strategy::Strategy strategy;  ///< one that costs less, if there is some
};

StrategyJudgement cheaper_strategy(const StrategyQuery& query);

}  // namespace p2::z3_encoding
