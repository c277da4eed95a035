#include "proofs/claims/absent_programs.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "encodings/z3/synthesis.h"
#include "engine/base/invariant.h"
#include "engine/program/derivation.h"
#include "engine/program/program.h"
#include "proofs/claims/costs.h"
#include "proofs/claims/search.h"

namespace p2::claims {
namespace {

/// All partitions of the devices from `device` on, added to `classes`.
void append_partitions(std::uint32_t device, std::uint32_t devices, std::vector<Group>& classes,
                       std::vector<std::vector<Group>>& all) {
  if (device == devices) return all.push_back(classes);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    classes[i].push_back(device);
    append_partitions(device + 1, devices, classes, all);
    classes[i].pop_back();
  }
  classes.push_back({device});
  append_partitions(device + 1, devices, classes, all);
  classes.pop_back();
}

}  // namespace

std::vector<std::vector<Group>> all_partitions(std::uint32_t devices) {
  std::vector<std::vector<Group>> all;
  std::vector<Group> classes;
  append_partitions(0, devices, classes, all);
  return all;
}

std::vector<std::vector<Group>> all_disjoint_groups(std::uint32_t devices) {
  std::vector<std::vector<Group>> all = all_partitions(devices);
  for (std::vector<Group>& groups : all) {
    std::erase_if(groups, [](const Group& group) { return group.size() == 1; });
  }
  std::erase_if(all, [](const std::vector<Group>& groups) { return groups.empty(); });
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<BareMove> all_bare_moves(std::uint32_t devices) {
  std::vector<BareMove> moves;
  for (const std::vector<Group>& groups : all_disjoint_groups(devices)) {
    for (const Collective collective : kCollectives) moves.push_back({collective, groups});
  }
  return moves;
}

bool mixes(const std::vector<Group>& groups, const std::vector<Group>& classes) {
  return std::any_of(groups.begin(), groups.end(), [&](const Group& group) {
    return std::none_of(classes.begin(), classes.end(), [&](const Group& members) {
      return std::includes(members.begin(), members.end(), group.begin(), group.end());
    });
  });
}

std::string to_string(const std::vector<BareMove>& moves, const std::vector<std::uint32_t>& path) {
  std::vector<Step> steps;
  for (const std::uint32_t move : path) {
    steps.push_back({moves[move].collective, moves[move].groups, std::nullopt});
  }
  return p2::to_string(steps, nullptr);
}

namespace {

constexpr std::uint32_t kMinMixingSteps = 4;
constexpr const char* kMixes = "a group has devices of several reduction classes";

/// The counterexample that a solver found, checked by the interpreter.
Settlement checked(std::uint32_t devices, const std::vector<Group>& classes,
                   const std::vector<Step>& program, std::uint32_t settled, std::string note) {
  StateTable states(devices);
  const ProgramDecision verdict = check({devices, classes, program}, Dialect::Published, states);
  invariant(verdict.outcome == Outcome::Established,
            "a solver found a program over arbitrary groups that the interpreter refutes");
  return {Outcome::Refuted, settled, p2::to_string(program, nullptr), program.size(),
          std::move(note)};
}

/// Breadth-first search; a node is a state and, last, whether some step has mixed classes.
class MixingSearch {
 public:
  MixingSearch(std::uint32_t devices, const std::vector<Group>& classes)
      : simulator_(devices, classes),
        may_reach_goal_(simulator_.states(), classes),
        moves_(all_bare_moves(devices)),
        tree_(key(simulator_.initial(), false)) {
    for (const BareMove& move : moves_) mixes_.push_back(mixes(move.groups, classes));
  }

  Settlement operator()(const Bounds& bounds) {
    for (std::size_t node = 0; node < tree_.nodes(); ++node) {
      if (tree_.depth(node) == bounds.size) return established(bounds);
      if (bounds.limits.exceeded(tree_.bytes())) return undecided(tree_.depth(node));
      if (const auto program = expand(node)) {
        const auto steps = static_cast<std::uint32_t>(program->size());
        return {Outcome::Refuted, steps, to_string(moves_, *program), steps, kMixes};
      }
    }
    return established(bounds, "no program of any length");
  }

 private:
  static BreadthFirstTree::Key key(const SystemState& state, bool mixed) {
    BreadthFirstTree::Key key = state;
    key.push_back(mixed ? 1 : 0);
    return key;
  }

  /// Tries all moves; returns the program if one reaches the goal and some step has mixed classes.
  /// The goal is not expanded.
  std::optional<std::vector<std::uint32_t>> expand(std::size_t node) {
    const SystemState state(tree_.key(node).begin(), tree_.key(node).end() - 1);
    const bool mixed = tree_.key(node).back() != 0;
    for (std::uint32_t move = 0; move < moves_.size(); ++move) {
      SystemState after = state;
      if (!simulator_.run(moves_[move].collective, moves_[move].groups, after)) continue;
      if (after == simulator_.goal()) {
        if (!mixed && !mixes_[move]) continue;
        std::vector<std::uint32_t> program = tree_.path(node);
        program.push_back(move);
        return program;
      }
      if (may_reach_goal_(after)) tree_.reach(node, move, key(after, mixed || mixes_[move]));
    }
    return std::nullopt;
  }

  Simulator simulator_;
  GoalReachability may_reach_goal_;
  std::vector<BareMove> moves_;
  std::vector<bool> mixes_;  ///< by move
  BreadthFirstTree tree_;
};

Settlement up_to_six_devices(const Subject& subject, const Bounds& bounds) {
  const std::vector<Group> classes = subject.from.classes();
  const std::uint32_t devices = subject.from.grid.devices();
  if (classes.size() == 1) return established(bounds);
  if (devices > kMaxArbitraryGroupDevices) {
    return undecided(0, fmt::format("arbitrary groups are tried on at most {} devices",
                                    kMaxArbitraryGroupDevices));
  }
  return smallest_mixing_program(devices, classes, bounds);
}

}  // namespace

Settlement smallest_mixing_program(std::uint32_t devices, const std::vector<Group>& classes,
                                   const Bounds& bounds) {
  return MixingSearch(devices, classes)(bounds);
}

Settlement groups_stay_in_classes(const Subject& subject, const Bounds& bounds) {
  return up_to_six_devices(subject, bounds);
}

Settlement mixing_takes_four_steps(const Subject& subject, const Bounds& bounds) {
  Bounds shorter = bounds;
  shorter.size = std::min(bounds.size, kMinMixingSteps - 1);
  Settlement answer = up_to_six_devices(subject, shorter);
  if (answer.outcome == Outcome::Established) answer.settled = bounds.size;
  return answer;
}

std::string devices_and_classes(const Subject& subject) {
  return fmt::format("{} {}", subject.from.grid.devices(), p2::to_string(subject.from.classes()));
}

namespace {

constexpr std::uint32_t kMaxShallowSatDevices = 5;
constexpr std::uint32_t kMaxShallowSatSteps = 2;

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

CertifiedSettlement mixing_program_by_sat(std::uint32_t devices, const std::vector<Group>& classes,
                                          const Bounds& bounds) {
  const auto uses = [&](const Step& step) { return mixes(step.groups, classes); };
  cnf::Absence absence =
      cnf::refute(any_groups(devices, classes), bounds.size, uses, bounds.limits);
  using Kind = cnf::Absence::Kind;
  if (absence.kind == Kind::Unknown) return {};
  if (absence.kind == Kind::Absent) return {established(bounds), std::move(absence.proof)};
  return {checked(devices, classes, absence.found, bounds.size, kMixes), {}};
}

CertifiedSettlement no_mixing_program_by_sat(const Subject& subject, const Bounds& bounds) {
  const std::vector<Group> classes = subject.from.classes();
  const std::uint32_t devices = subject.from.grid.devices();
  if (devices > kMaxArbitraryGroupDevices) return {};
  Bounds none = bounds;
  if (classes.size() > 1) {
    const Settlement smallest = smallest_mixing_program(devices, classes, bounds);
    if (smallest.outcome == Outcome::Undecided) return {};
    none.size = smallest.settled - (smallest.outcome == Outcome::Refuted ? 1 : 0);
  }
  // With one class no group mixes, and with one device in each the initial state is the goal.
  const bool trivial = classes.size() == 1 || classes.size() == devices;
  if (!trivial && !bounds.deep && devices > kMaxShallowSatDevices &&
      none.size > kMaxShallowSatSteps)
    return {};
  return mixing_program_by_sat(devices, classes, none);
}

namespace {

using z3_encoding::FreeGroupsAnswer;
using z3_encoding::FreeGroupsQuery;
using z3_encoding::GroupPrice;
using z3_encoding::PriceLimit;

constexpr std::uint32_t kMaxShallowZ3Devices = 4;
constexpr std::uint32_t kMaxShallowZ3Steps = 3;

std::optional<Settlement> too_large(std::uint32_t devices, const Bounds& bounds) {
  const std::uint32_t most = bounds.deep ? kMaxArbitraryGroupDevices : kMaxShallowZ3Devices;
  if (devices <= most) return std::nullopt;
  const std::string deep =
      bounds.deep ? "" : fmt::format(", with --deep {}", kMaxArbitraryGroupDevices);
  return undecided(0, fmt::format("Z3 is asked on at most {} devices{}", most, deep));
}

Settlement answer_of(const FreeGroupsQuery& query, const FreeGroupsAnswer& found,
                     std::string note) {
  if (found.outcome != Outcome::Established) {
    const bool none = found.outcome == Outcome::Refuted;
    return {none ? Outcome::Established : Outcome::Undecided, found.settled, {}, 0, {}};
  }
  return checked(query.devices, query.classes, found.witness, found.settled, std::move(note));
}

/// Prices at α : β scaled to integers, and the cost below which a program has to be.
PriceLimit prices_at(const Cost::Ratio& ratio, const Rational& least, std::uint32_t devices) {
  const auto exact = [=](Collective collective, std::size_t size) {
    const Charge one = charge_of(collective, size, 1, devices);
    return std::pair(ratio.alpha * one.rounds, ratio.beta * one.bytes);
  };
  std::int64_t scale = least.denominator().to_int64();
  for (const Collective collective : kCollectives) {
    for (std::size_t size = 2; size <= devices; ++size) {
      const auto [base, per_chunk] = exact(collective, size);
      scale = std::lcm(scale,
                       std::lcm(base.denominator().to_int64(), per_chunk.denominator().to_int64()));
    }
  }
  const auto whole = [scale](const Rational& number) { return (number * scale).to_uint64(); };
  return {[=](Collective collective, std::size_t size) {
            const auto [base, per_chunk] = exact(collective, size);
            return GroupPrice{whole(base), whole(per_chunk)};
          },
          whole(least)};
}

}  // namespace

Settlement smallest_mixing_program_by_z3(std::uint32_t devices, const std::vector<Group>& classes,
                                         const Bounds& bounds) {
  const FreeGroupsQuery query{.devices = devices,
                              .classes = classes,
                              .size = bounds.size,
                              .mixing = true,
                              .limits = bounds.limits};
  return answer_of(query, find_one(query), kMixes);
}

Settlement mixing_takes_four_steps_by_z3(const Subject& subject, const Bounds& bounds) {
  const std::uint32_t devices = subject.from.grid.devices();
  if (const auto answer = too_large(devices, bounds)) return *answer;
  const std::vector<Group> classes = subject.from.classes();
  Bounds shorter = bounds;
  shorter.size = std::min(bounds.size, kMaxShallowZ3Steps);
  Settlement answer = classes.size() == 1
                          ? Settlement{Outcome::Established, 0, {}, 0, {}}
                          : smallest_mixing_program_by_z3(devices, classes, shorter);
  if (answer.outcome == Outcome::Established) answer.settled = bounds.size;
  return answer;
}

Settlement no_groups_are_cheaper_by_z3(const Subject& subject, const Bounds& bounds) {
  const std::uint32_t devices = subject.from.grid.devices();
  if (const auto answer = too_large(devices, bounds)) return *answer;
  FreeGroupsQuery query{
      .devices = devices,
      .classes = subject.from.classes(),
      .size = bounds.deep ? bounds.size : std::min(bounds.size, kMaxShallowZ3Steps),
      .limits = bounds.limits};
  const BestPrograms best =
      best_over_hierarchies(devices, query.classes, subject.dialect, LatencyBandwidth(), bounds);
  if (best.settled() < bounds.size) return {};
  const CostFront& known = best.front();
  std::uint32_t settled = query.size;
  for (const Cost::Ratio& ratio : known.ratios()) {
    query.limit = prices_at(ratio, *known.at(ratio), devices);
    const FreeGroupsAnswer found = find_one(query);
    settled = std::min(settled, found.settled);
    if (found.outcome == Outcome::Established) {
      return answer_of(query, found, fmt::format("cheaper at {}", p2::to_string(ratio)));
    }
  }
  return {settled == bounds.size ? Outcome::Established : Outcome::Undecided, settled, {}, 0, {}};
}

}  // namespace p2::claims
