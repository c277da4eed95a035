#include "cli/strategy/strategy_cross_check.h"

#include <fmt/format.h>

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

std::string CrossCheck::json() const {
  if (agreement == Agreement::Agrees) return "true";
  return agreement == Agreement::Differs ? "false" : "null";
}

std::string CrossChecks::words() const {
  std::string lines;
  for (const CrossCheck* check : {&z3, &cnf}) {
    if (!check->words.empty()) lines += check->words + "\n";
  }
  return lines;
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
  query.budget = z3_encoding::budget_of(limits);
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

CrossCheck ask_clauses(const strategy::Graph& graph, const strategy::Found& found,
                       const Limits& limits, cnf::CheaperStrategy& refutation) {
  using CnfKind = cnf::CheaperStrategy::Kind;
  refutation = cnf::cheaper_strategy(graph, found.cost, limits);
  switch (refutation.kind) {
    case CnfKind::None:
      return {Agreement::Agrees, "cnf: none costs less"};
    case CnfKind::Exists:
      return {Agreement::Differs, fmt::format("cnf: there is a strategy of cost {}",
                                              cost_of(graph, refutation.strategy))};
    case CnfKind::TooLarge:
      return {Agreement::Undecided,
              fmt::format("cnf: not asked, the graph takes more than {} clauses, or {} cells of "
                          "tables to find them",
                          cnf::kMostStrategyClauses, cnf::kMostOpenChoices)};
    case CnfKind::Unknown:
      break;
  }
  return {Agreement::Undecided, "cnf: undecided"};
}

CrossChecks ask(const Engines& engines, const strategy::GraphFile& file,
                std::optional<strategy::Cost> memory_limit, const strategy::Found* found,
                const Limits& limits) {
  CrossChecks checks;
  if (engines.z3) checks.z3 = ask_z3(file, memory_limit, found, limits);
  if (!engines.cnf) return checks;
  checks.cnf = memory_limit
                   ? CrossCheck{Agreement::NotAsked, "cnf: not asked, it knows no memory limit"}
                   : ask_clauses(file.graph, *found, limits, checks.refutation);
  return checks;
}

}  // namespace p2
