#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encodings/z3/lowering.h"
#include "encodings/z3/synthesis.h"
#include "encodings/z3/system_rows.h"
#include "encodings/z3/terms.h"

namespace p2::z3_encoding {

/// Breaks conditions down to clauses over single bits. A solver that is handed `guard implies
/// condition` as one formula introduces a variable for every part of the condition; nearly all
/// parts of ours stand under a guard in one polarity only, where clauses need no variables.
class Clauses {
 public:
  /// There may be millions: LimitReached is thrown where the meter, which must outlive this, says
  /// so.
  explicit Clauses(const Meter& meter) : meter_(meter) {}

  void add(const z3::expr& clause) { clauses_.push_back(clause); }
  /// Demands that the Boolean `condition` has this value wherever all of `guards` hold.
  void demand(const std::vector<z3::expr>& guards, const z3::expr& condition, bool value);
  /// Demands that `row` is that constant wherever all of `guards` hold.
  void demand_equal(const std::vector<z3::expr>& guards, const z3::expr& row,
                    const z3::expr& constant);
  /// Demands that `symbol` is `row` wherever `guard` holds.
  void demand_same(const z3::expr& guard, const z3::expr& symbol, const z3::expr& row);
  /// Demands the condition wherever `guard` holds. If it is that some bit of a compound row is set,
  /// the bits are named by symbols of `fresh`, each of which implies its bit.
  void demand_witnessed(const z3::expr& guard, const z3::expr& condition,
                        const std::function<z3::expr()>& fresh);

  /// The clauses since the last call.
  std::vector<z3::expr> take() { return std::exchange(clauses_, {}); }

 private:
  void demand_bit(std::vector<z3::expr> guards, const z3::expr& row, unsigned bit, bool value);
  /// As `demand`, of a part that is not broken down further unless it decides between others.
  void demand_leaf(const std::vector<z3::expr>& guards, const z3::expr& condition, bool value);
  void imply(const std::vector<z3::expr>& guards, const z3::expr* consequence);
  z3::expr literal(const z3::expr& row, unsigned bit, bool value);
  /// A symbol for a condition that decides between rows: it occurs once for every bit of them.
  z3::expr named(const z3::expr& condition);

  const Meter& meter_;
  std::size_t made_ = 0;
  std::vector<z3::expr> clauses_;
  /// Symbols by the number of their condition, which is kept so that no other gets its number.
  std::map<unsigned, std::pair<z3::expr, z3::expr>> names_;
};

/// All instructions over the instance's hierarchy: every slice, form and level, its groups formed
/// by the solver's formulas, with every rule that the dialect allows. Two that form the same groups
/// are one. Throws LimitReached where the meter says so. InsideGroup comes before Parallel and
/// Parallel before Master, each by slice and level.
std::vector<Instruction> all_instructions(const Lowering& lowering, const Instance& instance,
                                          Dialect dialect, const Rulebook& rulebook,
                                          const Meter& meter);

/// The devices whose states are unrolled. Where no instruction leaves a reduction class ((d),
/// collapsed, lattice) one class with the chunks of the whole system stands for all: the argument
/// is that of engine/program/synthesis.h.
struct Arena {
  std::uint32_t devices = 0;
  std::vector<Group> classes;
  /// The groups of every instruction among these devices, numbered anew.
  std::vector<std::vector<Group>> groups;
};

Arena arena_of(const Instance& instance, const Lowering& lowering,
               const std::vector<Instruction>& instructions);

/// Programs of symbolic choice: in every step exactly one instruction is chosen, and the chosen one
/// is legal. Rows between steps are symbols. Grown step by step: `choose`, then `end` if programs
/// of this length are asked for, then `go_on` if longer ones are. All arguments must outlive it;
/// every function throws LimitReached where `meter` says so.
class Unrolling {
 public:
  /// `names` are the instructions', for the names of the symbols; `ends` are on the arena's
  /// devices.
  Unrolling(z3::context& context, const Arena& arena, const std::vector<Instruction>& instructions,
            std::vector<std::string> names, const Rulebook& rulebook, EndRows ends,
            const Meter& meter);

  /// Whether no step is needed.
  bool starts_at_goal() const { return equal(rows_, goal_).simplify().is_true(); }

  /// One more step.
  void choose();
  /// A symbol under which the last step leads to the goal.
  z3::expr end();
  /// The rows after the last step become symbols, and are not the goal: a program ends where the
  /// goal is first reached.
  void go_on();

  /// What was demanded since the last call.
  std::vector<z3::expr> take() { return clauses_.take(); }

  std::uint32_t steps() const { return static_cast<std::uint32_t>(choices_.size()); }
  /// Whether step `step`, from 0, is this instruction.
  const z3::expr& chosen(std::uint32_t step, std::size_t instruction) const {
    return choices_[step][instruction];
  }

 private:
  /// What a rule makes of one group: the conditions under which it may run, and the rows after it
  /// by position and chunk.
  struct RuleResult {
    std::vector<z3::expr> conditions;
    std::vector<z3::expr> rows;
  };
  using RuleResults = std::map<std::pair<std::uint32_t, Group>, RuleResult>;

  /// A condition that must hold where any of some instructions is chosen.
  struct Demand {
    z3::expr condition;
    std::vector<std::size_t> instructions;
  };

  RuleResult outcome(std::uint32_t rule, const Group& group) const;
  RuleResults outcomes() const;
  std::vector<Demand> demands() const;
  void demand_legal();
  SystemRows rows_after(std::size_t instruction) const;
  /// A symbol that holds where one of these instructions is chosen in the last step.
  z3::expr any_of(const std::vector<std::size_t>& alike);

  z3::context* context_;
  const Arena& arena_;
  const std::vector<Instruction>& instructions_;
  std::vector<std::string> names_;
  const Rulebook& rulebook_;
  const Meter& meter_;
  SystemRows rows_;
  SystemRows goal_;
  RuleResults outcomes_;  ///< of the last step
  std::vector<std::vector<z3::expr>> choices_;
  Clauses clauses_;
  std::map<std::vector<std::size_t>, z3::expr> guards_;  ///< of the last step
};

}  // namespace p2::z3_encoding
