#include "engine/program/symbolic/bracket.h"

#include <algorithm>

#include "engine/program/symbolic/chunk_tables.h"
#include "engine/program/symbolic/exploration.h"
#include "engine/program/symbolic/two_chunks.h"

namespace p2 {
namespace {

/// Whether ChunkTables accepts every program of the list; `values` grows to what it needs.
bool lower_accepts(const ProgramList& list, const Problem& problem, const Limits& limits) {
  std::uint32_t values = ChunkTables::kValues;
  while (true) {
    const std::uint32_t required = values_accepting(list, problem, values, limits);
    if (required == 0) return false;
    const bool enough = std::ranges::all_of(problem.factors, [&](const Factor& factor) {
      return values >= std::min(required, factor.size);
    });
    if (enough) return true;
    values = required;
  }
}

}  // namespace

std::uint32_t values_accepting(const ProgramList& list, const Problem& problem,
                               std::uint32_t values, const Limits& limits) {
  ChunkTables lower(problem, values);
  const bool accepted = list.every_program_runs(
      lower.initial(),
      [&](std::uint32_t state, std::uint32_t move) -> std::optional<std::uint32_t> {
        if (limits.exceeded(lower.bytes())) return std::nullopt;
        return lower.step(state, move);
      },
      [&](std::uint32_t state) { return lower.is_goal(state); });
  return accepted ? std::max(values, lower.required_values()) : 0;
}

bool bracket_covers(const Problem& problem, const Terms& terms) {
  return terms.of_paper() && problem.beginning == Beginning{};
}

bool bracket_is_smaller(const Problem& problem) {
  std::uint64_t points = 1;
  for (const Factor& factor : problem.factors)
    points *= std::min(factor.size, ChunkTables::kValues);
  return points < problem.devices;
}

std::optional<ProgramList> bracketed_programs(const Problem& problem, std::uint32_t size,
                                              const Limits& limits, SearchProgress* progress) {
  TwoChunks upper(problem);
  const TransitionGraph graph = explore(upper, problem.moves.size(), size, limits, progress);
  if (graph.settled < size) return std::nullopt;
  ProgramList list(graph, SearchEngine::Bracket);
  if (!lower_accepts(list, problem, limits)) return std::nullopt;
  return list;
}

}  // namespace p2
