#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/program/instance.h"
#include "engine/program/instruction.h"
#include "engine/program/program.h"
#include "engine/program/state_graph.h"
#include "p2/limits.h"
#include "p2/result.h"

/// The statements that `prove` settles: those of the papers, those about the rules of the
/// collectives, and those about costs. A statement about placed systems is a Claim, settled one
/// system at a time; one about the schedules of resharding and pipelines is a ScheduleClaim,
/// settled on a range of cases.
namespace p2::claims {

/// A system with its axes placed and the axes to reduce over chosen: an instance without a
/// synthesis hierarchy.
struct PlacedSystem {
  DeviceGrid grid;
  ReductionAxes reduction;

  Instance over(HierarchyKind kind) const { return {grid, reduction, kind}; }
  /// Whether more than one axis greater than 1 is reduced over.
  bool several_axes() const;
};

/// The position of the rows of the axes reduced over among those of all axes, which (c) keeps in
/// axis order; axes of size 1 do not count. `All`: there are no others.
enum class RowOrder : std::uint8_t { First, Between, Last, All };
RowOrder row_order(const PlacedSystem& system);
/// `first`, `between`, `last`, `all`.
std::string_view to_string(RowOrder order);

/// Every placed system of 2 to `max_devices` devices: all hierarchies, axes, placements and
/// non-empty reductions; fewest devices first, then fewest levels and axes, then in lexicographic
/// order.
///
/// Levels and axes of size 1 are left out. They carry no factor greater than 1, so no device id,
/// class or pattern changes when one is removed: a form that names such a level gives the groups
/// that the level above it gives. What is settled without them is settled with them. Throws
/// LimitReached.
std::vector<PlacedSystem> placed_systems(std::uint32_t max_devices, const Limits& limits = {});

/// `l0=2,l1=4  axes a0=4,a1=2  reduce a0  [[2 2] [1 2]]`.
std::string to_string(const PlacedSystem& system);

/// One placed system, with the hierarchy that a claim is about and, if it compares two,
/// the one in which they are to be expressed.
struct Subject {
  Subject(const PlacedSystem& system, HierarchyKind from_kind, std::optional<HierarchyKind> to_kind,
          Dialect rules);

  Instance from;
  std::optional<Instance> to;
  Dialect dialect;
  NamedProblem named;       ///< of `from`: its instructions are named.problem.moves
  std::vector<Move> moves;  ///< the same, their patterns in the factors of the whole grid

  const GroupShape& shape(std::size_t move) const { return named.shapes[named.shape_of[move]]; }
  FactorSet reduction() const { return from.grid.factors_of(from.reduction); }
  /// The steps of a program given by its moves, without groups.
  std::vector<Step> steps(const std::vector<std::uint32_t>& program) const;
};

/// The instructions of an instance as moves over the factors of the whole grid, ascending. Two
/// instructions form the same groups exactly if their patterns are equal: every factor is greater
/// than 1, so a group shows which factors it varies over and the set of groups which are pinned.
std::vector<Move> instructions(const Instance& instance, Dialect dialect);

/// Every slice and form of a linear hierarchy (not the lattice) that forms groups of at least two
/// devices, under each of its names: InsideGroup, Parallel, Master, each by slice and ancestor.
std::vector<GroupShape> named_shapes(const SynthesisHierarchy& hierarchy);

/// The answer to a claim on one subject. Undecided: a limit was reached first, or the subject is
/// beyond what the engine enumerates.
struct Settlement {
  Outcome outcome = Outcome::Undecided;
  std::uint32_t settled = 0;  ///< decided for all programs of at most this many steps
  /// The counterexample in the notation of programs over `from` (or of bare groups): the first of
  /// the shortest. Empty unless refuted.
  std::string program;
  std::size_t steps = 0;  ///< of the counterexample
  std::string note;       ///< what is wrong with it, or how the claim was decided; may be empty

  bool operator==(const Settlement&) const = default;
};

/// What bounds an answer.
struct Bounds {
  std::uint32_t size = 5;  ///< programs of at most this many steps
  Limits limits = {};
  /// Searches over arbitrary groups and for cheaper programs have no bounds of their own.
  bool deep = false;
  /// A question for the SAT solver about programs is split into so many parts by its first step.
  unsigned parts = 1;
};

/// The claim holds for all programs of at most bounds.size steps.
inline Settlement established(const Bounds& bounds, std::string note = {}) {
  return {Outcome::Established, bounds.size, {}, 0, std::move(note)};
}
inline Settlement undecided(std::uint32_t settled, std::string note = {}) {
  return {Outcome::Undecided, settled, {}, 0, std::move(note)};
}

struct CostSettlement;

/// A statement about every placed system.
struct Claim {
  /// Marks the moves that no valid program may use; the claim holds exactly if none does. Such
  /// claims about one search space share one search.
  using FindForbidden = std::vector<bool> (*)(const Subject& subject);
  /// Settles the claim on its own.
  using Settle = Settlement (*)(const Subject& subject, const Bounds& bounds);
  /// The same for a claim about costs, with the programs that the answer rests on (cost_claims.h).
  using SettleCosts = CostSettlement (*)(const Subject& subject, const Bounds& bounds);
  /// All that the answer of `settle` depends on: subjects with equal keys have equal answers.
  using Key = std::string (*)(const Subject& subject);

  std::string name = {};
  std::string statement = {};  ///< in words
  std::string formula = {};
  std::string section = {};                ///< of the paper; empty for a claim that is not in it
  std::string repair = {};                 ///< the claim that corrects it; empty if there is none
  std::string engine = {};                 ///< what settles it
  std::vector<HierarchyKind> from = {};    ///< over which it is asked
  std::vector<HierarchyKind> to = {};      ///< with which each is compared; empty: none
  FindForbidden find_forbidden = nullptr;  ///< this one or `settle` is set
  Settle settle = nullptr;
  SettleCosts settle_costs = nullptr;  ///< of a claim about costs
  Key key = nullptr;                   ///< of `settle`; null: every subject is different
};

/// All claims, in the order in which --list prints them.
const std::vector<Claim>& registry();
/// Null if there is none of that name.
const Claim* find_claim(std::string_view name);

/// The answer to a statement about schedules on all small cases, the smallest first.
struct ScheduleSettlement {
  Outcome outcome = Outcome::Undecided;
  std::uint64_t cases = 0;  ///< tried; with a counterexample, up to it
  /// The first counterexample in words, and as an input to p2-verify: the flags, and for `reshard`
  /// the file of tasks. Empty unless refuted.
  std::string counterexample;
  std::string command;
  std::string tasks;
};

/// A statement about the schedules of "On Optimizing the Communication of Model Parallelism" (MLSys
/// 2023): of unit tasks between meshes, or of pipelines across them.
struct ScheduleClaim {
  using Settle = ScheduleSettlement (*)(const Limits& limits);

  std::string name;
  std::string statement;
  std::string formula;
  std::string section;  ///< of that paper
  std::string cases;    ///< the range of cases, and their order
  std::string engine;   ///< what settles it
  Settle settle = nullptr;
};

/// All of them, in the order in which --list prints them.
const std::vector<ScheduleClaim>& schedule_registry();
/// Null if there is none of that name.
const ScheduleClaim* find_schedule_claim(std::string_view name);
/// Its two parts.
void append_claims_about_resharding(std::vector<ScheduleClaim>& claims);
void append_claims_about_pipelines(std::vector<ScheduleClaim>& claims);

/// `holds`, `refuted`, `unknown`: the words of prove.
std::string_view verdict_word(Outcome outcome);

}  // namespace p2::claims
