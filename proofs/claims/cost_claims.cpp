#include "proofs/claims/costs.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "engine/program/program.h"
#include "proofs/claims/absent_programs.h"

namespace p2::claims {
namespace {

constexpr std::uint32_t kSlowdown = 10;

constexpr std::array<std::string_view, 3> kNames = {"homogeneous", "two-level", "tiered"};

}  // namespace

std::string_view to_string(CostModel model) { return kNames[static_cast<std::size_t>(model)]; }

LatencyBandwidth network_of(const Hierarchy& hierarchy, CostModel model) {
  std::vector<Uplink> uplinks;
  std::uint32_t span = 1;
  std::uint32_t slowdown = 1;
  const std::vector<Level>& levels = hierarchy.levels();
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    if (level->size == 1) continue;
    if (span > 1) uplinks.push_back({span, slowdown *= kSlowdown});
    span *= level->size;
  }
  if (model == CostModel::Homogeneous) uplinks.clear();
  if (model == CostModel::TwoLevel && !uplinks.empty())
    uplinks = {{uplinks.back().span, kSlowdown}};
  return LatencyBandwidth(std::move(uplinks));
}

namespace {

/// The program with the greatest relative gain over what is known, and the ratio at which it has
/// it.
struct Gain {
  const PricedProgram* program = nullptr;
  Cost::Ratio ratio;
};

Gain greatest_gain(const CheaperPrograms& programs, const CostFront& known) {
  Gain best;
  Rational smallest = 1;
  for (const PricedProgram& program : programs.found) {
    const Cost::Ratio ratio = *known.undercut_by(program.cost);
    const Rational part = program.cost.at(ratio) / *known.at(ratio);
    if (part >= smallest) continue;
    smallest = part;
    best = {&program, ratio};
  }
  return best;
}

/// `two-level: costs 8α + 13β; over (d) and collapsed the least are 8α + 16β; at α = 0 it is …`.
std::string describe(const Gain& gain, const CostFront& known, const std::string& model,
                     const char* others) {
  std::vector<std::string> costs;
  for (const Cost& cost : known.costs()) costs.push_back(p2::to_string(cost));
  return fmt::format("{}costs {}; over {} the least are {}; at {} it is {} against {}", model,
                     p2::to_string(gain.program->cost), others, fmt::join(costs, ", "),
                     p2::to_string(gain.ratio), p2::to_string(gain.program->cost.at(gain.ratio)),
                     p2::to_string(*known.at(gain.ratio)));
}

std::string words(CostModel model) { return std::string(to_string(model)) + ": "; }

CostSettlement not_settled(std::string why) {
  CostSettlement answer;
  answer.answer.note = std::move(why);
  return answer;
}

/// Compares the programs over the moves of `problem` with the best of the others; `notation` writes
/// one of them, `files` all that are found.
template <typename Notation, typename Files>
CostSettlement compare(const CostProblem& problem, BestPrograms known, const Bounds& bounds,
                       const std::string& model, const char* others, Notation notation,
                       Files files) {
  if (known.settled() < bounds.size) {
    return not_settled(fmt::format("the best over {} is not settled", others));
  }
  const CheaperPrograms programs = cheaper_programs(problem, known.front(), bounds);
  Settlement answer{programs.settled == bounds.size ? Outcome::Established : Outcome::Undecided,
                    programs.settled,
                    {},
                    0,
                    programs.any_length ? "no program of any length" : ""};
  if (!programs.found.empty()) {
    const Gain gain = greatest_gain(programs, known.front());
    const std::vector<std::uint32_t>& path = gain.program->path;
    answer = {Outcome::Refuted, programs.settled, notation(path), path.size(),
              describe(gain, known.front(), model, others)};
  }
  std::vector<ProgramFile> over_hierarchies = known.programs();
  known.add(files(programs), programs.settled);
  return {std::move(answer),   problem.network,     known.programs(),
          programs.any_length, known.hierarchies(), std::move(over_hierarchies)};
}

}  // namespace

CostSettlement no_groups_are_cheaper(const Subject& subject, const Bounds& bounds,
                                     CostModel model) {
  const std::uint32_t devices = subject.from.grid.devices();
  if (devices > kMaxArbitraryGroupDevices) {
    return not_settled(
        fmt::format("arbitrary groups are tried on at most {} devices", kMaxArbitraryGroupDevices));
  }
  const CostProblem problem{devices, subject.from.classes(), all_bare_moves(devices),
                            network_of(subject.from.grid.hierarchy(), model)};
  return compare(
      problem,
      best_over_hierarchies(devices, problem.classes, subject.dialect, problem.network, bounds),
      bounds, words(model), "hierarchies",
      [&](const auto& path) { return to_string(problem.moves, path); },
      [&](const auto& found) { return files_of(found, problem, subject.dialect); });
}

CostSettlement no_mixing_is_cheaper(std::uint32_t devices, const std::vector<Group>& classes,
                                    const LatencyBandwidth& network, const Bounds& bounds) {
  const CostProblem any{devices, classes, all_bare_moves(devices), network};
  CostProblem unmixed{devices, classes, {}, network};
  std::copy_if(any.moves.begin(), any.moves.end(), std::back_inserter(unmixed.moves),
               [&](const BareMove& move) { return !mixes(move.groups, classes); });
  const CheaperPrograms best = cheaper_programs(unmixed, {}, bounds);
  BestPrograms known(bounds.size);
  known.add(files_of(best, unmixed, Dialect::Published), best.settled);
  return compare(
      any, std::move(known), bounds, "", "groups inside classes",
      [&](const auto& path) { return to_string(any.moves, path); },
      [&](const auto& found) { return files_of(found, any, Dialect::Published); });
}

CostSettlement lattice_gains_nothing(const Subject& subject, const Bounds& bounds,
                                     CostModel model) {
  const PlacedSystem system{subject.from.grid, subject.from.reduction};
  const CostProblem problem{subject.from.grid.devices(), subject.from.classes(),
                            bare_moves(system.grid, subject.moves),
                            network_of(subject.from.grid.hierarchy(), model)};
  BestPrograms known(bounds.size);
  for (const HierarchyKind kind : {HierarchyKind::Reduction, HierarchyKind::Collapsed}) {
    known.add(Subject(system, kind, std::nullopt, subject.dialect), problem.network, bounds);
  }
  return compare(
      problem, std::move(known), bounds, words(model), "(d) and collapsed",
      [&](const auto& path) { return p2::to_string(subject.steps(path), &subject.from); },
      [&](const auto& found) { return files_of(found, subject); });
}

}  // namespace p2::claims
