#pragma once

#include "proofs/kernel/stage.h"
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
  void read_sets(const Json& list);
  void read_states(const Json& list);
  void compare(const Json& recorded, const std::string& when);

  Budget& budget_;
  Stage stage_;
  std::uint32_t chunks_;
  std::vector<Numbers> sets_;    ///< ascending indexes
  std::vector<Numbers> states_;  ///< by chunk the number of the set, as System numbers it
  std::optional<System> system_;
};

/// Objects unless refutation.json shows that the program is not valid, given the derivation of the
/// steps before the one that breaks a rule (of all steps, when it is the goal that is missed).
/// Returns the refutation in words.
std::string check_refutation(const Files& files, const Problem& problem, Derivation& derivation);

}  // namespace p2::kernel
