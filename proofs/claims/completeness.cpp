#include "proofs/claims/completeness.h"

#include <fmt/format.h>

#include "engine/program/notation.h"
#include "engine/program/synthesis.h"

namespace p2::claims {

ListedAll list_and_refute_others(const Subject& subject, const Bounds& bounds) {
  SynthesisOptions options;
  options.dialect = subject.dialect;
  options.size = bounds.size;
  options.jobs = 1;
  options.limits = bounds.limits;
  const PlacementPrograms found = std::move(synthesise({subject.from}, options)[0]);
  const std::uint32_t settled = found.list().settled();
  if (settled < bounds.size) return {{Outcome::Undecided, settled, {}, 0, {}}, {}};
  cnf::Absence others = cnf::refute(subject.from, subject.dialect, bounds.size,
                                    {.known = found.programs()}, bounds.limits);
  switch (others.kind) {
    case cnf::Absence::Kind::Absent:
      return {
          {Outcome::Holds, bounds.size, {}, 0, fmt::format("{} programs", found.list().count())},
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

Answer synthesis_complete(const Subject& subject, const Bounds& bounds) {
  return list_and_refute_others(subject, bounds).answer;
}

}  // namespace p2::claims
