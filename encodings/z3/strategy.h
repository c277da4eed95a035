#pragma once

#include "encodings/z3/query.h"
#include "engine/strategy/graph.h"
#include "p2/result.h"

namespace p2::z3_encoding {

/// The query `strategy`: does a strategy cost less than `below`? A Boolean per configuration,
/// exactly one per vertex true; costs are unbounded integers. For small graphs.
struct StrategyQuery {
  const strategy::Graph* graph = nullptr;
  /// Where given, only strategies whose memory adds up to at most `limit`.
  const strategy::Memory* memory = nullptr;
  strategy::Cost limit = 0;
  strategy::Cost below = 0;
  Limits limits = {};
};

/// Z3's answer to: no strategy costs less.
struct StrategyBound {
  Outcome outcome = Outcome::Undecided;
  strategy::Strategy strategy;  ///< where refuted, one that costs less
};

StrategyBound check_bound(const StrategyQuery& query);

}  // namespace p2::z3_encoding
