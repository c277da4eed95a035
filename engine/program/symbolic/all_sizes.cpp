#include "engine/program/symbolic/all_sizes.h"

#include <algorithm>

#include "engine/program/symbolic/chunk_tables.h"
#include "engine/program/symbolic/exploration.h"
#include "engine/program/symbolic/machine.h"

namespace p2 {

std::optional<ProgramList> replay_on_tables(const ProgramList& list, const Problem& problem,
                                            Collective goal, std::uint32_t values,
                                            const Limits& limits, std::uint32_t& required) {
  ChunkTables tables(problem, values, goal);
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
  return !terms.collectives.extended() && is_built_in(terms.goal.collective) &&
         problem.beginning.chunks_per_device == 1;
}

bool bracket_is_smaller(const Problem& problem) {
  std::uint64_t points = 1;
  for (const Factor& factor : problem.factors)
    points *= std::min(factor.size, ChunkTables::kValues);
  return points < problem.devices;
}

std::optional<ProgramList> bracketed_programs(const Problem& problem, std::uint32_t size,
                                              const Limits& limits, SearchProgress* progress,
                                              Collective goal) {
  TwoChunks upper(problem, false, goal);
  const TransitionGraph graph = explore(upper, problem.moves.size(), size, limits, progress);
  if (graph.settled < size) return std::nullopt;
  const ProgramList above(graph, SearchEngine::Bracket);
  for (std::uint32_t values = ChunkTables::kValues;;) {
    std::uint32_t required = values;
    auto list = replay_on_tables(above, problem, goal, values, limits, required);
    const bool enough = std::ranges::all_of(problem.factors, [&](const Factor& factor) {
      return values >= std::min(required, factor.size);
    });
    if (enough || !list) return list;
    values = required;
  }
}

namespace {

/// The same problem with other sizes.
Problem resized(const Problem& problem, const std::vector<std::uint32_t>& sizes) {
  Problem other = problem;
  other.devices = 1;
  for (std::size_t f = sizes.size(); f-- > 0;) {
    other.factors[f].size = sizes[f];
    other.factors[f].stride = other.devices;
    other.devices *= sizes[f];
  }
  other.contributors = problem.contributors / problem.devices * other.devices;
  return other;
}

/// Calls `visit` with every combination of sizes: 2 to `largest` of the open digits, the problem's
/// of the others. Stops when it returns false; whether it never did.
template <typename Visit>
bool for_all_sizes(const Problem& problem, FactorSet open, std::uint32_t largest, Visit visit) {
  std::vector<std::uint32_t> sizes;
  for (std::size_t f = 0; f < problem.factors.size(); ++f) {
    sizes.push_back((open >> f & 1U) != 0 ? 2 : problem.factors[f].size);
  }
  while (true) {
    if (!visit(sizes)) return false;
    std::size_t f = sizes.size();
    while (f > 0 && ((open >> (f - 1) & 1U) == 0 || sizes[f - 1] == largest)) {
      --f;
      if ((open >> f & 1U) != 0) sizes[f] = 2;
    }
    if (f == 0) return true;
    ++sizes[f - 1];
  }
}

std::vector<std::vector<std::uint32_t>> programs_of(const ProgramList& list) {
  std::vector<std::vector<std::uint32_t>> all;
  list.for_each(
      [&](std::span<const std::uint32_t> moves) { all.emplace_back(moves.begin(), moves.end()); });
  return all;
}

/// Whether `accepts(problem, values)`, which returns the values that it needs or 0, holds for
/// all sizes: those below `values` one by one, and `values` + 1 for all from `values`.
template <typename Accepts>
bool accepted_for_all_sizes(const Problem& problem, FactorSet open, Accepts accepts) {
  std::uint32_t values = ChunkTables::kValues;
  while (true) {
    std::uint32_t required = values;
    const bool accepted =
        for_all_sizes(problem, open, values, [&](std::vector<std::uint32_t> sizes) {
          for (std::size_t f = 0; f < sizes.size(); ++f) {
            if ((open >> f & 1U) != 0 && sizes[f] == values) ++sizes[f];
          }
          const std::uint32_t needs = accepts(resized(problem, sizes), values);
          required = std::max(required, needs);
          return needs != 0;
        });
    if (!accepted) return false;
    if (required == values) return true;
    values = required;
  }
}

/// The problem whose moves are the steps of a program.
Problem with_moves(const Problem& problem, std::span<const std::uint32_t> moves) {
  Problem used = problem;
  used.moves.clear();
  for (const std::uint32_t move : moves) used.moves.push_back(problem.moves[move]);
  return used;
}

std::uint32_t largest_size(const Problem& problem) {
  std::uint32_t largest = ChunkTables::kValues;
  for (const Factor& factor : problem.factors) largest = std::max(largest, factor.size);
  return std::min(largest, 2 * ChunkTables::kValues);
}

/// Whether ChunkTables is certain that the moves of the problem are no valid program.
bool is_invalid_on_tables(const Problem& problem, std::uint32_t values, const Limits& limits) {
  ChunkTables tables(problem, values);
  std::uint32_t state = tables.initial();
  for (std::uint32_t move = 0; move < problem.moves.size(); ++move) {
    limits.require(tables.bytes(), "a verdict for all sizes");
    const Replayed next = tables.replay(state, move);
    if (next.kind != Replayed::Kind::Legal) return next.kind == Replayed::Kind::Illegal;
    state = next.state;
  }
  return !tables.is_goal(state) && tables.misses_goal(state);
}

/// Whether all moves of the problem, one after the other, lead to the goal.
template <typename Domain>
bool runs(Domain& domain, const Problem& problem, const Limits& limits) {
  std::optional<std::uint32_t> state = domain.initial();
  for (std::uint32_t move = 0; state && move < problem.moves.size(); ++move) {
    limits.require(domain.bytes(), "a verdict for all sizes");
    state = domain.step(*state, move);
  }
  return state && domain.distance_bound(*state) == 0;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> moves_of(const NamedProblem& named,
                                                   const std::vector<Step>& steps) {
  std::vector<std::uint32_t> moves;
  for (const Step& step : steps) {
    if (!step.shape) return std::nullopt;
    const auto is_step = [&](std::uint32_t move) {
      return named.problem.moves[move].collective == step.collective &&
             named.shapes[named.shape_of[move]].pattern == step.shape->pattern;
    };
    std::uint32_t move = 0;
    while (move < named.problem.moves.size() && !is_step(move)) ++move;
    if (move == named.problem.moves.size()) return std::nullopt;
    moves.push_back(move);
  }
  return moves;
}

std::optional<SearchEngine> accepting_engine(const Problem& problem, const Terms& terms,
                                             std::span<const std::uint32_t> moves,
                                             const Limits& limits) {
  const Problem used = with_moves(problem, moves);
  if (Machine::covers(used, terms)) {
    Machine machine(used);
    return runs(machine, used, limits) ? std::optional(SearchEngine::Machine) : std::nullopt;
  }
  if (!bracket_covers(used, terms) || !bracket_is_smaller(used)) return std::nullopt;
  for (std::uint32_t values = ChunkTables::kValues;;) {
    ChunkTables tables(used, values, terms.goal.collective);
    const bool accepted = runs(tables, used, limits);
    const std::uint32_t required = tables.required_values();
    const bool enough = std::ranges::all_of(used.factors, [&](const Factor& factor) {
      return values >= std::min(required, factor.size);
    });
    if (enough) return accepted ? std::optional(SearchEngine::Bracket) : std::nullopt;
    values = required;
  }
}

SizesAnswer valid_for_all_sizes(const Problem& problem, std::span<const std::uint32_t> moves,
                                FactorSet open, const Limits& limits) {
  const Problem used = with_moves(problem, moves);
  SizesAnswer answer;
  const auto refute = [&](const std::vector<std::uint32_t>& sizes) {
    answer.outcome = Outcome::Refuted;
    answer.sizes = sizes;
    return false;
  };
  if (Machine::covers(used, {})) {
    Machine machine(used);
    answer.outcome = Outcome::Established;
    if (!runs(machine, used, limits)) for_all_sizes(used, open, 2, refute);
    return answer;
  }
  answer.engine = SearchEngine::Bracket;
  const bool valid =
      accepted_for_all_sizes(used, open, [&](const Problem& sized, std::uint32_t values) {
        ChunkTables lower(sized, values);
        return runs(lower, sized, limits) ? std::max(values, lower.required_values()) : 0;
      });
  if (valid) {
    answer.outcome = Outcome::Established;
    return answer;
  }
  for_all_sizes(used, open, ChunkTables::kValues, [&](const std::vector<std::uint32_t>& sizes) {
    const Problem sized = resized(used, sizes);
    TwoChunks upper(sized);
    // All sizes here are small: the tables have all their values.
    return (runs(upper, sized, limits) &&
            !is_invalid_on_tables(sized, largest_size(sized), limits)) ||
           refute(sizes);
  });
  return answer;
}

SizesAnswer listed_for_all_sizes(const Problem& problem, const ProgramList& list,
                                 std::uint32_t size, FactorSet open, const Limits& limits) {
  SizesAnswer answer;
  const std::vector<std::vector<std::uint32_t>> listed = programs_of(list);
  const auto same = [&](const TransitionGraph& graph) {
    return graph.settled == size &&
           programs_of(ProgramList(graph, SearchEngine::Bracket)) == listed;
  };
  if (Machine::covers(problem, {})) {
    Machine machine(problem);
    const TransitionGraph graph = explore(machine, problem.moves.size(), size, limits, nullptr);
    if (same(graph)) {
      answer.outcome = Outcome::Established;
    } else if (graph.settled == size) {
      for_all_sizes(problem, open, 2, [&](const std::vector<std::uint32_t>& sizes) {
        answer.outcome = Outcome::Refuted;
        answer.sizes = sizes;
        return false;
      });
    }
    return answer;
  }
  answer.engine = SearchEngine::Bracket;
  const bool valid =
      accepted_for_all_sizes(problem, open, [&](const Problem& sized, std::uint32_t values) {
        TwoChunks upper(sized, true);
        const TransitionGraph graph = explore(upper, sized.moves.size(), size, limits, nullptr);
        // A program beyond the list may be refused at these sizes and not at others.
        const ProgramList candidates(graph, SearchEngine::Bracket);
        if (graph.settled < size || programs_of(candidates) != listed) return std::uint32_t{0};
        std::uint32_t required = values;
        const auto found =
            replay_on_tables(candidates, sized, Collective::AllReduce, values, limits, required);
        return found && programs_of(*found) == listed ? required : 0;
      });
  if (valid) {
    answer.outcome = Outcome::Established;
    return answer;
  }
  for_all_sizes(problem, open, ChunkTables::kValues, [&](const std::vector<std::uint32_t>& sizes) {
    const auto other = bracketed_programs(resized(problem, sizes), size, limits);
    if (!other || programs_of(*other) == listed) return true;
    answer.outcome = Outcome::Refuted;
    answer.sizes = sizes;
    return false;
  });
  return answer;
}

}  // namespace p2
