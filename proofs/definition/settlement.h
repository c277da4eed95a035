#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "proofs/definition/shape.h"
#include "proofs/definition/solver_query.h"

namespace p2::definition {

enum class Verdict : std::uint8_t { Holds, Refuted, Unknown };

/// `holds`, `refuted`, `unknown`
std::string_view to_string(Verdict verdict);

/// Where the two engines contradict each other: a mistake of this program, never of the definition.
struct Difference {
  std::string check;
  Shape shape;
  std::string z3;                             ///< what Z3 says
  std::string by_states;                      ///< what the interpreter says
  std::optional<language::GroupState> state;  ///< the state on which they differ, if it is one
};

/// What the explicit engine has to say of one shape: whether it looked at all states, and the
/// smallest state that it found to break the claim.
struct Seen {
  bool complete = false;
  std::optional<language::GroupState> breaks;
};

/// What both engines say of one claim, gathered shape after shape until it is refuted.
class Settlement {
 public:
  /// `confirmed` tells whether the interpreter, too, finds the claim broken in a state.
  void note(const Shape& shape, const Answer& z3, const Seen& seen,
            const std::function<bool(const language::GroupState&)>& confirmed);

  /// Whether further shapes have anything to add.
  bool open() const { return !counterexample_ && !difference_; }

  Verdict verdict() const;
  Verdict z3() const { return z3_; }
  Verdict by_states() const { return by_states_; }
  /// The greatest group up to which the explicit engine has looked at all states of all shapes;
  /// less than kLeastGroup where there is none.
  std::uint32_t exhausted_to() const { return incomplete_from_ ? *incomplete_from_ - 1 : last_; }
  /// The smallest state that breaks the claim.
  const std::optional<language::GroupState>& counterexample() const { return counterexample_; }
  const std::optional<Difference>& difference() const { return difference_; }

 private:
  Verdict z3_ = Verdict::Holds;
  Verdict by_states_ = Verdict::Holds;
  bool undecided_ = false;
  std::uint32_t last_ = 0;
  std::optional<std::uint32_t> incomplete_from_;
  std::optional<language::GroupState> counterexample_;
  std::optional<Difference> difference_;
};

}  // namespace p2::definition
