#include "cli/strategy/strategy_cross_check.h"

#include <fmt/format.h>

#include "cli/engines.h"
#include "encodings/z3/strategy.h"

namespace p2 {
namespace {

using Kind = z3_encoding::StrategyJudgement::Kind;

/// Whether what Z3 found is what it says: a cheaper strategy that fits.
bool is_cheaper(const strategy::GraphFile& file, const z3_encoding::StrategyQuery& query,
                const strategy::Strategy& strategy) {
  return cost_of(file.graph, strategy) < query.below &&
         (query.memory == nullptr || strategy::memory_of(*query.memory, strategy) <= query.limit);
}

}  // namespace

std::string z3_json(const CrossCheck& check) {
  if (check.agreement == Agreement::Agrees) return "true";
  return check.agreement == Agreement::Differs ? "false" : "null";
}

CrossCheck ask_z3(const strategy::GraphFile& file, std::optional<strategy::Cost> memory_limit,
                  const strategy::Found* found, const Limits& limits) {
  z3_encoding::StrategyQuery query;
  query.graph = &file.graph;
  if (memory_limit) {
    query.memory = &*file.memory;
    query.limit = *memory_limit;
  }
  query.below = found == nullptr ? strategy::kCostEnd : found->cost;
  query.budget = budget_of(limits);
  const z3_encoding::StrategyJudgement judgement = cheaper_strategy(query);
  if (judgement.kind == Kind::Unknown) return {Agreement::Undecided, "z3: undecided"};
  if (judgement.kind == Kind::None) {
    return {Agreement::Agrees, found == nullptr ? "z3: none fits" : "z3: none costs less"};
  }
  const bool shown = is_cheaper(file, query, judgement.strategy);
  return {Agreement::Differs, fmt::format("z3: there is a strategy of cost {}{}",
                                          cost_of(file.graph, judgement.strategy),
                                          shown ? "" : ", which is not as it says")};
}

}  // namespace p2
