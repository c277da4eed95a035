#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/collective/kernels.h"
#include "engine/collective/refusal.h"
#include "p2/limits.h"
#include "engine/program/program.h"
#include "engine/base/verdict_kind.h"

namespace p2 {

/// Why a program is not valid, with the devices, chunk and contributor that show it.
struct Refutation {
  enum class Rule : std::uint8_t {
    Premise,  ///< a premise of the collective fails: see `refusal`
    Defined,  ///< a premise of a collective that a user defines fails: see `defined`
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

/// Runs one step on `state`. Returns the refutation (with `step` left 0) and leaves `state`
/// unspecified when a group refuses; steps with a shape are held to `dialect`.
std::optional<Refutation> run_step(const Step& step, Dialect dialect, SystemState& state,
                                   StateTable& states, Kernels& kernels);

/// What is known of a program after its steps were run.
struct Verdict {
  using Kind = VerdictKind;

  Kind kind = Kind::Valid;               ///< every step is legal and the last state is the goal
  std::size_t legal_steps = 0;           ///< when unknown: a limit was met after so many
  std::optional<Refutation> refutation;  ///< when invalid: why
};

/// Judges a program by running it from where its goal begins, in a table of its chunks. Steps after
/// the goal was reached are judged like any other; a bare group of one device is judged by the
/// rules, which leave it as it is or, for Broadcast, refuse it. `observe` sees the state before the
/// first step (0) and after every legal one: the Hoare derivation.
using Observer = std::function<void(std::size_t step, const SystemState& state)>;
Verdict check(const Program& program, Dialect dialect, StateTable& states,
              const Limits& limits = {}, const Observer& observe = {});
/// The same with kernels over `states` that remember what they met in other programs.
Verdict check(const Program& program, Dialect dialect, StateTable& states, Kernels& kernels,
              const Limits& limits, const Observer& observe);

}  // namespace p2
