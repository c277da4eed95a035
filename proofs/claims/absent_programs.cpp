#include "proofs/claims/absent_programs.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/invariant.h"
#include "engine/program/program.h"
#include "engine/program/synthesis.h"

namespace p2::claims {
namespace {

using Moves = std::vector<std::uint32_t>;

/// The first forbidden step: `step 2, Broadcast{0,4}`.
std::string first_forbidden(const Subject& subject, const Moves& program,
                            const std::vector<bool>& forbidden) {
  const auto step = std::find_if(program.begin(), program.end(),
                                 [&](std::uint32_t move) { return forbidden[move]; });
  Step bare = lower(subject.from.grid, subject.shape(*step), subject.moves[*step].collective);
  bare.shape.reset();
  return fmt::format("step {}, {}", step - program.begin() + 1, to_string(bare, nullptr));
}

Settlement refuted(const Subject& subject, const Moves& program, const std::vector<bool>& forbidden,
                   std::uint32_t settled) {
  return {Outcome::Refuted, settled, to_string(subject.steps(program), &subject.from),
          program.size(), first_forbidden(subject, program, forbidden)};
}

/// The index of a step that the solver found; its shape has no pattern.
std::uint32_t move_of(const Subject& subject, const Step& step) {
  const Move wanted{with_pattern(subject.from.hierarchy, *step.shape).pattern, step.collective};
  const auto found = std::find(subject.moves.begin(), subject.moves.end(), wanted);
  invariant(found != subject.moves.end(), "the SAT solver found a step that is not an instruction");
  return static_cast<std::uint32_t>(found - subject.moves.begin());
}

}  // namespace

Settlement settle_by_enumeration(const Subject& subject, const std::vector<bool>& forbidden,
                                 const Bounds& bounds, std::unique_ptr<ProgramList>& programs) {
  if (!programs) {
    programs = std::make_unique<ProgramList>(subject.named.problem, bounds.size, bounds.limits);
  }
  const std::uint32_t settled = programs->settled();
  if (const auto first = programs->first_with(forbidden)) {
    return refuted(subject, *first, forbidden, settled);
  }
  return {settled == bounds.size ? Outcome::Established : Outcome::Undecided, settled, {}, 0, {}};
}

CertifiedSettlement settle_by_sat(const Subject& subject, const std::vector<bool>& forbidden,
                                  const Bounds& bounds) {
  const auto search = [&](std::uint32_t size) {
    const auto uses = [&](const Step& step) { return forbidden[move_of(subject, step)]; };
    return cnf::refute(subject.from, subject.dialect, size, {.uses = uses, .parts = bounds.parts},
                       bounds.limits);
  };
  using Kind = cnf::Absence::Kind;
  cnf::Absence absence = search(bounds.size);
  if (absence.kind == Kind::Unknown) return {};
  if (absence.kind == Kind::Absent) {
    return {established(bounds), std::move(absence.proof)};
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

CertifiedSettlement list_and_refute_others(const Subject& subject, const Bounds& bounds) {
  SynthesisOptions options;
  options.dialect = subject.dialect;
  options.size = bounds.size;
  options.jobs = 1;
  options.limits = bounds.limits;
  const PlacementPrograms found = std::move(find_programs({subject.from}, options)[0]);
  const std::uint32_t settled = found.list().settled();
  if (settled < bounds.size) return {{Outcome::Undecided, settled, {}, 0, {}}, {}};
  cnf::Absence others =
      cnf::refute(subject.from, subject.dialect, bounds.size,
                  {.known = found.programs(), .parts = bounds.parts}, bounds.limits);
  switch (others.kind) {
    case cnf::Absence::Kind::Absent:
      return {{Outcome::Established,
               bounds.size,
               {},
               0,
               fmt::format("{} programs", found.list().count())},
              std::move(others.proof)};
    case cnf::Absence::Kind::Found:
      return {{Outcome::Refuted, bounds.size, to_string(others.found, &subject.from),
               others.found.size(), "valid, and not in the list"},
              {}};
    case cnf::Absence::Kind::Unknown:
      break;
  }
  return {};
}

Settlement synthesis_complete(const Subject& subject, const Bounds& bounds) {
  return list_and_refute_others(subject, bounds).answer;
}

}  // namespace p2::claims
