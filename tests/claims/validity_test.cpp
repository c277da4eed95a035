#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <doctest/doctest.h>

#include "proofs/claims/forms.h"
#include "proofs/claims/summary.h"
#include "tests/synthesis/brute_force.h"

using namespace p2;
using namespace p2::claims;

namespace {

/// What brute force knows of the steps of valid programs over one instance.
struct Used {
  Instance instance;
  std::vector<brute_force::Program> programs;

  /// The fewest steps of a program that has a step on one of these sets of groups; 0 for none.
  std::size_t shortest_on(const std::set<std::vector<Group>>& forbidden) const {
    std::size_t fewest = 0;
    for (const auto& program : programs) {
      const bool uses = std::any_of(program.begin(), program.end(), [&](const auto& step) {
        return forbidden.contains(step.groups);
      });
      if (uses && (fewest == 0 || program.size() < fewest)) fewest = program.size();
    }
    return fewest;
  }

  /// The groups of the instructions of one form that cover a level outside the reduction axes:
  /// those from below the ancestor (for InsideGroup the slice) down to the slice, or to the bottom.
  std::set<std::vector<Group>> covering_outside(Form form) const {
    const auto& levels = instance.hierarchy.levels();
    const FactorSet reduction = instance.grid.factors_of(instance.reduction);
    std::set<std::vector<Group>> groups;
    for (const GroupShape& shape : named_shapes(instance.hierarchy)) {
      if (shape.form != form) continue;
      const auto above = form == Form::InsideGroup ? shape.slice[0] : shape.ancestor[0];
      const auto last = form == Form::Parallel ? shape.slice[0] : levels.size() - 1;
      bool outside = false;
      for (std::size_t i = above + 1; i <= last; ++i) {
        outside = outside || (levels[i].factors & ~reduction) != 0;
      }
      if (outside) groups.insert(lower(instance.grid, shape, Collective::AllReduce).groups);
    }
    return groups;
  }
};

void compare(const std::vector<PlacedSystem>& systems, const std::vector<Dialect>& dialects) {
  constexpr std::uint32_t kSize = 3;
  Request request;
  request.claims = {claim_called("corollary-b4"), claim_called("lemma-b5"),
                    claim_called("lemma-b6")};
  request.dialects = dialects;
  request.systems = systems;
  request.size = kSize;
  std::map<std::tuple<const PlacedSystem*, HierarchyKind, Dialect>, Used> known;
  const std::map<std::string, Form> forms = {{"corollary-b4", Form::Parallel},
                                             {"lemma-b5", Form::InsideGroup},
                                             {"lemma-b6", Form::Master}};
  for (const Result& result : settle(request, {})) {
    const Question& question = result.question;
    const std::tuple key(question.system, question.from, question.dialect);
    if (!known.contains(key)) {
      const Instance instance = question.system->over(question.from);
      known.emplace(key, Used{instance, brute_force::programs(instance, question.dialect, kSize)});
    }
    const Used& used = known.at(key);
    const std::size_t steps =
        used.shortest_on(used.covering_outside(forms.at(question.claim->name)));
    CHECK(result.answer.steps == steps);
    CHECK((result.answer.verdict == Outcome::Refuted) == (steps > 0));
  }
}

}  // namespace

TEST_CASE("corollary B.4, lemmas B.5 and B.6 as by brute force: all systems of up to 6 devices") {
  compare(placed_systems(6), {Dialect::Printed, Dialect::Published});
}

TEST_CASE("corollary B.4, lemmas B.5 and B.6 as by brute force: all systems of 8 devices") {
  std::vector<PlacedSystem> systems;
  for (PlacedSystem& system : placed_systems(8)) {
    if (system.grid.devices() == 8) systems.push_back(std::move(system));
  }
  compare(systems, {Dialect::Printed});
}
