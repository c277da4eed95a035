#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/collective/language/definition.h"
#include "engine/collective/language/interpreter.h"
#include "engine/program/derivation.h"
#include "engine/program/program.h"
#include "p2/limits.h"
#include "p2/result.h"

namespace p2 {

/// The states of all devices, cell by cell, on which ReferenceRun works.
class ReferenceStates {
 public:
  /// The state before the first step of the program.
  static ReferenceStates begin(const Program& program);
  /// The goal of the program, from there.
  ReferenceStates goal(const Program& program) const;
  /// Of no device.
  ReferenceStates() : states_(1, 0, 0) {}

  std::uint32_t chunks() const { return states_.chunks(); }
  std::uint32_t contributors() const { return states_.contributors(); }
  bool holds(std::uint32_t device, std::uint32_t chunk, std::uint32_t contributor) const {
    return states_.holds(device, chunk, contributor);
  }
  bool holds_chunk(std::uint32_t device, std::uint32_t chunk) const;
  std::uint32_t chunks_held(std::uint32_t device) const;

  language::GroupState of(const Group& group) const;
  void put(const Group& group, const language::GroupState& state);

 private:
  /// Applies a definition once to every class of more than one device.
  void run_on_classes(const language::Definition& definition, const Program& program);
  /// Gives every device the sum over its class.
  void put_sums(const Program& program);

  language::GroupState states_;
};

/// A program run by the reference interpreter of the definitions, which shares no evaluator with
/// the other engines: their answers are replayed on it. The groups are those of the steps, not
/// those of their shapes.
class ReferenceRun {
 public:
  /// A program is not run, and the answer is undecided, if the squares of the sizes of its groups
  /// (and of its classes, unless the goal is AllReduce), times devices and chunks, add up to more:
  /// about ten seconds.
  static constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 27U;

  /// `definitions` must contain all collectives of the program.
  ReferenceRun(const Program& program, Dialect dialect,
               std::span<const language::Definition> definitions, const Limits& limits);

  const EngineAnswer& answer() const { return answer_; }
  /// Whether the run ended at the step, group and rule of `refutation`, and its devices, chunk and
  /// contributor violate the rule in the state reached there.
  bool shows(const Refutation& refutation) const;

 private:
  bool run_step(const Step& step, Dialect dialect,
                std::span<const language::Definition> definitions, const Limits& limits);
  void check_goal();
  bool refuse(const char* rule, const Group& group = {});
  bool shows(const Refusal& refusal) const;

  const Program& program_;
  ReferenceStates goal_;
  ReferenceStates states_;  ///< where the run ended
  Group group_;             ///< the group that was refused
  EngineAnswer answer_{"reference"};
};

/// The answer of the reference run about a program that the explicit engine decided. If both refuse
/// it by the same rule and the counterexample of `decision` cannot be replayed, the rule of the
/// answer says so: the answers then differ.
EngineAnswer reference_answer(const Program& program, Dialect dialect,
                              const ProgramDecision& decision, const Limits& limits);

/// Whether the steps of a program that use the user's own definitions are sound. A definition is
/// examined for groups of few devices before it is used; for larger groups each step is examined in
/// the state in which it is taken: additions can realise it, and its measure rises.
class SoundSteps {
 public:
  /// The limits must outlive it.
  explicit SoundSteps(const Limits& limits) : limits_(limits) {}

  /// For the first steps of a program, which the rules accept; by default for all. Throws
  /// InputError at `where` for a step that is not sound, and LimitReached for programs that exceed
  /// ReferenceRun::kMaxWork and where a limit is reached.
  void require(const std::string& where, const Program& program,
               std::size_t legal_steps = SIZE_MAX);

 private:
  void require(const std::string& where, const language::Definition& definition,
               const language::GroupState& before);

  const Limits& limits_;
  std::map<std::string, std::vector<language::GroupState>> sound_;  ///< states known, by definition
};

}  // namespace p2
