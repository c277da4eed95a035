#include "proofs/claims/subject.h"

#include <algorithm>

namespace p2::claims {

Subject::Subject(const PlacedSystem& system, HierarchyKind from_kind,
                 std::optional<HierarchyKind> to_kind, Dialect rules)
    : from(system.over(from_kind)), dialect(rules), named(state_problem(from, rules)) {
  if (to_kind) to.emplace(system.over(*to_kind));
  for (std::size_t move = 0; move < named.problem.moves.size(); ++move) {
    moves.push_back({shape(move).pattern, named.problem.moves[move].collective});
  }
}

std::vector<Step> Subject::steps(const std::vector<std::uint32_t>& program) const {
  std::vector<Step> steps;
  for (const std::uint32_t move : program) {
    steps.push_back({moves[move].collective, {}, shape(move)});
  }
  return steps;
}

std::vector<Move> instructions(const Instance& instance, Dialect dialect) {
  std::vector<Move> moves;
  for (const GroupShape& shape : all_shapes(instance.hierarchy)) {
    for (const Collective collective : kCollectives) {
      if (allows(dialect, shape.pattern, collective)) moves.push_back({shape.pattern, collective});
    }
  }
  std::sort(moves.begin(), moves.end());
  return moves;
}

}  // namespace p2::claims
