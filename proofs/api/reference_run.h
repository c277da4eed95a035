#pragma once

#include <optional>
#include <span>
#include <vector>

#include "proofs/api/finding.h"
#include "proofs/api/reference_states.h"

namespace p2 {

/// A program run by the reference interpreter of the definitions (language/interpreter.h), from
/// where its goal begins and with memory of its own: what another engine says is believed if this
/// run comes to the same end. Groups are those of the steps, whatever their shapes say.
class ReferenceRun {
 public:
  /// A program is not run, and its finding is unknown, if the squares of its groups' sizes (and,
  /// for another goal than AllReduce, of its classes'), times devices and chunks, add up to more:
  /// about ten seconds.
  static constexpr std::uint64_t kMostWork = std::uint64_t{1} << 27U;

  /// `definitions` must hold all collectives of the program.
  ReferenceRun(const Program& program, Dialect dialect,
               std::span<const language::Definition> definitions, const Limits& limits);

  const Finding& finding() const { return finding_; }
  /// Whether the run ended at the step, group and rule of `refutation`, and the devices, chunk and
  /// contributor that it names show there what it says they do.
  bool shows(const Refutation& refutation) const;

 private:
  bool take(const Step& step, Dialect dialect, std::span<const language::Definition> definitions,
            const Limits& limits);
  void judge_end();
  bool refuse(const char* rule, const Group& group = {});
  bool shows(const Refusal& refusal) const;

  const Program& program_;
  ReferenceStates goal_;
  ReferenceStates states_;  ///< where the run ended
  Group group_;             ///< that was refused
  Finding finding_;
};

/// What the reference run says of a program on which the explicit engine gave `verdict`. Where both
/// refuse for the same reason and the run does not show the counterexample, the rule says so, and
/// so differs.
Finding reference_finding(const Program& program, Dialect dialect, const Verdict& verdict,
                          const Limits& limits);

}  // namespace p2
