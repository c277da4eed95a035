#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "p2/limits.h"
#include "engine/msccl/safe_sizes.h"
#include "engine/base/verdict_kind.h"

namespace p2::msccl {

/// What is asked of an algorithm, in the order in which it is looked at.
enum class Question : std::uint8_t { Bounds, Connections, Deadlocks, Races, Result };
/// Which of them a fault answers.
Question question_of(Fault::Kind kind);

/// What is known of an algorithm, over all interleavings of its steps, with one transmission per
/// step and connections that hold what the protocol lets them.
struct Verdict {
  using Kind = VerdictKind;
  Kind kind = Kind::Valid;
  std::optional<Fault> fault;           ///< when invalid
  std::string reason;                   ///< when unknown
  std::optional<SafeSizes> safe_sizes;  ///< when valid
  Question open = Question::Bounds;     ///< when unknown: the first that is not settled
};

/// Judges an algorithm in every way it may be called, out of place first. The faults are looked
/// for in the order of Fault::Kind. Residual adds and collectives that are not known leave the
/// result open: unknown, unless there is another fault.
Verdict judge(const Algorithm& algorithm, const Limits& limits);

}  // namespace p2::msccl
