#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/devices.h"
#include "engine/hlo/fault.h"
#include "engine/hlo/flow.h"
#include "p2/limits.h"
#include "engine/base/verdict_kind.h"

namespace p2::hlo {

/// The element that shows a difference.
struct Counterexample {
  std::uint32_t device = 0;
  std::int64_t replica = 0;
  std::int64_t partition = 0;
  std::size_t output = 0;
  std::vector<std::int64_t> index;
  std::string before;  ///< what it holds, for people
  std::string after;
};

/// One collective of a module, for people.
struct CollectiveLine {
  std::string name;
  std::string opcode;
  std::string shape;
  std::string groups;  ///< as devices, shortened
};

struct Verdict {
  using Kind = VerdictKind;
  Kind kind = Kind::Valid;
  /// When invalid: `contributions`, `order`, `signature`, or the rule of a Fault.
  std::string rule = {};
  std::string reason = {};  ///< one paragraph; empty when valid
  std::optional<Counterexample> counterexample = {};
  std::optional<SourcePosition> position = {};  ///< of what is ill-formed
  std::vector<std::string> uninterpreted = {};  ///< operations that were not looked into
  Devices devices = {};
  std::vector<CollectiveLine> collectives = {};  ///< of a single module
};

struct Question {
  GivenDevices devices = {};
  bool ordered = false;  ///< floating-point sums have to be added in the same order
};

/// Whether all outputs of two modules are equal on every device, for all inputs. Throws InputError
/// where the number of devices is needed and nobody says it.
Verdict compare(std::shared_ptr<const Module> before, std::shared_ptr<const Module> after,
                const Question& question, const Limits& limits);

/// Whether a module is put together well: its shapes fit, its groups and pairs are legal.
Verdict examine(std::shared_ptr<const Module> module, const Question& question);

}  // namespace p2::hlo
