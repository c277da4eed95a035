#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/collective/kernels.h"
#include "engine/program/program.h"
#include "p2/limits.h"
#include "p2/result.h"

namespace p2 {

/// Why a program is invalid, with the devices, chunk and contributor as witness.
struct Refutation {
  enum class Rule : std::uint8_t {
    Premise,  ///< a premise of the collective fails: see `refusal`
    Defined,  ///< a premise of a user-defined collective fails: see `defined`
    Master,   ///< the dialect does not allow this collective with Master
    Empty,    ///< an instruction forms a group in which every device holds nothing
    Lacks,    ///< at the end `device` lacks `contributor` in `chunk`
    Excess,   ///< at the end `device` has `contributor` in `chunk` and should not
  };

  Rule rule = Rule::Premise;
  std::size_t step = 0;    ///< from 1; for Lacks and Excess the number of steps
  Group group;             ///< the group that breaks the rule; empty for Lacks, Excess and Master
  Refusal refusal;         ///< for Premise; its positions index `group`
  DefinedRefusal defined;  ///< for Defined, likewise
  std::uint32_t device = 0;
  std::uint32_t chunk = 0;
  std::uint32_t contributor = 0;
};

/// Runs one step on `state`; `dialect` applies to steps with a shape. If a rule is broken, returns
/// the refutation with `step` 0 and leaves `state` unspecified.
std::optional<Refutation> run_step(const Step& step, Dialect dialect, SystemState& state,
                                   StateTable& states, Kernels& kernels);

/// The outcome of running a program: established if every step is legal and the last state is the
/// goal, undecided if a limit was reached first.
struct ProgramDecision : Decision<Refutation> {
  std::size_t legal_steps = 0;  ///< before the refused step or the limit
};

/// Decides whether a program is valid by running it from its beginning: the Hoare derivation. Steps
/// after the goal was reached are checked like any other; so is a bare group of one device, which
/// Broadcast refuses and the other rules leave unchanged. `states` has the chunks of the program.
/// `observe` receives the state before the first step (0) and after every legal one.
using Observer = std::function<void(std::size_t step, const SystemState& state)>;
ProgramDecision check(const Program& program, Dialect dialect, StateTable& states,
                      const Limits& limits = {}, const Observer& observe = {});
/// The same with kernels over `states`, whose memoized results are shared between programs.
ProgramDecision check(const Program& program, Dialect dialect, StateTable& states, Kernels& kernels,
                      const Limits& limits, const Observer& observe);

/// The stable name of the broken rule: the premise's name in the definitions
/// (`disjoint`, …), or `master`, `empty-group`, `goal-lacks`, `goal-excess`.
std::string_view rule_name(const Refutation& refutation);

/// One paragraph of text: which step, which group, which rule, which devices, chunk and
/// contributor; or, when all steps are legal, which device lacks or has too much at the end.
std::string explain(const Refutation& refutation, const Program& program, const Instance* instance);

/// Draws the devices' states as figures 7 and 8 do: for systems of at most 8 devices one k × k
/// matrix per device, rows chunks, columns contributors; for larger ones a line per device and
/// content, for the devices of the first reduction class (every class of an instruction's step
/// looks the same).
std::string draw_state(const SystemState& state, const StateTable& states,
                       const std::vector<Group>& classes);

/// Draws a whole program: the start, the state after every step, and the explanation of a
/// refutation with the states of the devices in it.
std::string draw_derivation(const Program& program, Dialect dialect, const Instance* instance,
                            const Limits& limits = {});

}  // namespace p2
