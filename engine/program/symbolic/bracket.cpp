#include "engine/program/symbolic/bracket.h"

#include <algorithm>

#include "engine/program/symbolic/chunk_tables.h"
#include "engine/program/symbolic/exploration.h"
#include "engine/program/symbolic/two_chunks.h"

namespace p2 {
std::optional<ProgramList> replay_on_tables(const ProgramList& list, const Problem& problem,
                                            std::uint32_t values, const Limits& limits,
                                            std::uint32_t& required) {
  ChunkTables tables(problem, values);
  auto found = list.replayed(
      tables.initial(),
      [&](std::uint32_t state, std::uint32_t move) {
        return limits.exceeded(tables.bytes()) ? Replayed{} : tables.replay(state, move);
      },
      [&](std::uint32_t state) {
        if (tables.is_goal(state)) return Replayed{Replayed::Kind::Legal};
        const bool missed = tables.misses_goal(state);
        return Replayed{missed ? Replayed::Kind::Illegal : Replayed::Kind::Undecided};
      });
  required = std::max(required, tables.required_values());
  return found;
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
  const ProgramList above(graph, SearchEngine::Bracket);
  for (std::uint32_t values = ChunkTables::kValues;;) {
    std::uint32_t required = values;
    auto list = replay_on_tables(above, problem, values, limits, required);
    const bool enough = std::ranges::all_of(problem.factors, [&](const Factor& factor) {
      return values >= std::min(required, factor.size);
    });
    if (enough || !list) return list;
    values = required;
  }
}

}  // namespace p2
