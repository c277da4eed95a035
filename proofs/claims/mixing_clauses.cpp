#include "proofs/claims/mixing_clauses.h"

#include "engine/base/invariant.h"
#include "engine/program/derivation.h"
#include "engine/program/notation.h"
#include "proofs/claims/arbitrary_groups.h"
#include "proofs/claims/disjoint_groups.h"

namespace p2::claims {
namespace {

constexpr std::uint32_t kFewDevices = 5;
constexpr std::uint32_t kFewSteps = 2;

cnf::Stage any_groups(std::uint32_t devices, const std::vector<Group>& classes) {
  cnf::Stage stage{devices, std::vector<std::uint32_t>(devices), {}};
  for (std::uint32_t number = 0; number < classes.size(); ++number) {
    for (const std::uint32_t device : classes[number]) stage.class_of[device] = number;
  }
  for (std::vector<Group>& groups : all_disjoint_groups(devices)) {
    stage.shapes.push_back({std::nullopt, std::move(groups), false});
  }
  return stage;
}

}  // namespace

ByClauses mixing_program_by_clauses(std::uint32_t devices, const std::vector<Group>& classes,
                                    const Bounds& bounds) {
  const auto uses = [&](const Step& step) { return mixes(step.groups, classes); };
  cnf::Absence absence =
      cnf::refute(any_groups(devices, classes), bounds.size, uses, bounds.limits);
  using Kind = cnf::Absence::Kind;
  if (absence.kind == Kind::Unknown) return {};
  if (absence.kind == Kind::Absent) {
    return {{Outcome::Holds, bounds.size, {}, 0, {}}, std::move(absence.proof)};
  }
  StateTable states(devices);
  const Verdict verdict = check({devices, classes, absence.found}, Dialect::Published, states);
  invariant(verdict.kind == Verdict::Kind::Valid,
            "the clauses have a model that the interpreter refuses");
  return {{Outcome::Refuted, bounds.size, p2::to_string(absence.found, nullptr),
           absence.found.size(), "a group has devices of several reduction classes"},
          {}};
}

ByClauses no_mixing_program_by_clauses(const Subject& subject, const Bounds& bounds) {
  const std::vector<Group> classes = subject.from.classes();
  const std::uint32_t devices = subject.from.grid.devices();
  if (devices > kMostDevicesOfAnyGroups) return {};
  Bounds none = bounds;
  if (classes.size() > 1) {
    const Answer smallest = smallest_mixing_program(devices, classes, bounds);
    if (smallest.verdict == Outcome::Undecided) return {};
    none.size = smallest.settled - (smallest.verdict == Outcome::Refuted ? 1 : 0);
  }
  // With one class nothing mixes, and with one device in each the goal is there from the start.
  const bool trivial = classes.size() == 1 || classes.size() == devices;
  if (!trivial && !bounds.deep && devices > kFewDevices && none.size > kFewSteps) return {};
  return mixing_program_by_clauses(devices, classes, none);
}

}  // namespace p2::claims
