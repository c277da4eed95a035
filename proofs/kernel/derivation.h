#pragma once

#include "proofs/kernel/system.h"

namespace p2::kernel {

/// derivation.json: the states of all devices before the first step and after every one, recorded
/// as numbered sets and states, replayed. Objects where a step is not legal or does not lead to
/// the states that are recorded.
class Derivation {
 public:
  Derivation(const Files& files, const Problem& problem, Budget& budget);

  const Stage& stage() const { return stage_; }
  std::size_t steps() const { return stage_.steps.size(); }
  /// The system after the last recorded step, on the stage.
  System& system() { return *system_; }

 private:
  void read_sets(const Json& value);
  void read_states(const Json& value);
  void compare(const Json& recorded, const std::string& when);

  Budget& budget_;
  Stage stage_;
  std::vector<Numbers> sets_;
  std::vector<Numbers> states_;  ///< by chunk the number of the set, as System numbers it
  std::optional<System> system_;
};

/// Objects unless refutation.json names a step that is forbidden, the one after the derivation's
/// last, with the rule that it breaks; or the goal, and the system after all steps misses
/// it. Returns the refutation in words.
std::string check_refutation(const Files& files, const Problem& problem, Derivation& derivation,
                             Budget& budget);

}  // namespace p2::kernel
