#include "proofs/claims/forbidden_moves.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/invariant.h"
#include "engine/program/notation.h"

namespace p2::claims {
namespace {

using Moves = std::vector<std::uint32_t>;

/// `step 2, Broadcast{0,4}`: the first step that the claim forbids.
std::string culprit(const Subject& subject, const Moves& program,
                    const std::vector<bool>& forbidden) {
  const auto step = std::find_if(program.begin(), program.end(),
                                 [&](std::uint32_t move) { return forbidden[move]; });
  Step bare = lower(subject.from.grid, subject.shape(*step), subject.moves[*step].collective);
  bare.shape.reset();
  return fmt::format("step {}, {}", step - program.begin() + 1, to_string(bare, nullptr));
}

Answer refuted(const Subject& subject, const Moves& program, const std::vector<bool>& forbidden,
               std::uint32_t settled) {
  return {Outcome::Refuted, settled, to_string(subject.steps(program), &subject.from),
          program.size(), culprit(subject, program, forbidden)};
}

/// The move that a step of a solver's program is; its shape has no pattern.
std::uint32_t move_of(const Subject& subject, const Step& step) {
  const Move wanted{with_pattern(subject.from.hierarchy, *step.shape).pattern, step.collective};
  const auto found = std::find(subject.moves.begin(), subject.moves.end(), wanted);
  invariant(found != subject.moves.end(), "the clauses speak of a move that there is not");
  return static_cast<std::uint32_t>(found - subject.moves.begin());
}

}  // namespace

Answer settle_by_enumeration(const Subject& subject, const std::vector<bool>& forbidden,
                             const Bounds& bounds, std::unique_ptr<ProgramList>& programs) {
  if (!programs) {
    programs = std::make_unique<ProgramList>(subject.named.problem, bounds.size, bounds.limits);
  }
  const std::uint32_t settled = programs->settled();
  if (const auto first = programs->first_with(forbidden)) {
    return refuted(subject, *first, forbidden, settled);
  }
  return {settled == bounds.size ? Outcome::Holds : Outcome::Undecided, settled, {}, 0, {}};
}

ByClauses settle_by_clauses(const Subject& subject, const std::vector<bool>& forbidden,
                            const Bounds& bounds) {
  const auto search = [&](std::uint32_t size) {
    const auto uses = [&](const Step& step) { return forbidden[move_of(subject, step)]; };
    return cnf::refute(subject.from, subject.dialect, size, {.uses = uses}, bounds.limits);
  };
  using Kind = cnf::Absence::Kind;
  cnf::Absence absence = search(bounds.size);
  if (absence.kind == Kind::Unknown) return {};
  if (absence.kind == Kind::Absent) {
    return {{Outcome::Holds, bounds.size, {}, 0, {}}, std::move(absence.proof)};
  }
  for (std::uint32_t size = 1; size < absence.found.size(); ++size) {
    cnf::Absence shorter = search(size);
    if (shorter.kind != Kind::Absent) {
      if (shorter.kind == Kind::Found) absence = std::move(shorter);
      break;
    }
  }
  Moves program;
  for (const Step& step : absence.found) program.push_back(move_of(subject, step));
  return {refuted(subject, program, forbidden, bounds.size), {}};
}

}  // namespace p2::claims
