#pragma once

#include <cstdint>
#include <optional>

#include "encodings/z3/reading.h"
#include "engine/collective/language/interpreter.h"
#include "p2/limits.h"
#include "proofs/definition/claim.h"
#include "proofs/definition/step.h"

namespace p2::definition {

/// One step of a collective on a group in a symbolic state, as Z3 is told of it: the definition
/// compiled to bit-vectors by encodings/z3.
class SymbolicStep {
 public:
  /// The context and the rule must outlive the step.
  SymbolicStep(z3::context& context, const z3_encoding::Rule& rule, z3_encoding::GroupRows before);

  const z3_encoding::GroupRows& before() const { return before_; }
  const z3_encoding::GroupRows& after() const { return *after_; }
  const z3_encoding::Rule& rule() const { return rule_; }

  z3::expr premise(std::size_t index) { return reading_.premise(index); }
  /// All premises hold and somebody holds something.
  z3::expr legal();
  z3::expr measure_rises();

 private:
  z3::context& context_;
  const z3_encoding::Rule& rule_;
  z3_encoding::GroupRows before_;
  z3_encoding::Reading reading_;
  std::optional<z3_encoding::GroupRows> after_;
};

/// A state of symbols, one for each row.
z3_encoding::GroupRows symbolic_rows(z3::context& context, const Shape& shape);

/// The state that a model gives to the symbols.
language::GroupState state_in(const z3::model& model, const z3_encoding::GroupRows& rows);

z3::expr holds_something(const z3_encoding::GroupRows& rows);
z3::expr same_rows(const z3_encoding::GroupRows& a, const z3_encoding::GroupRows& b);

/// What Z3 says of the question whether a state satisfies a condition.
struct StateAnswer {
  bool decided = false;  ///< false where a limit was met
  std::optional<language::GroupState> state;
};

/// A state, as values of the symbols `rows`, in which `condition` holds. With `smallest` one that
/// holds the fewest contributions, or the fewest found before a limit was met.
StateAnswer find_state(z3::context& context, const z3_encoding::GroupRows& rows,
                       const z3::expr& condition, const Limits& limits, bool smallest);

/// Whether Z3 proves the claim; false where it cannot, or a limit was met.
bool prove(z3::context& context, const z3::expr& claim, const Limits& limits);

/// That the step breaks the claim, if it is legal: the words of claim.h once more, for Z3. Of
/// groups larger than kMaxGroup NoDoubleCount and Realisable may be broken although this does not
/// hold: the ways to add rows up are too many to write out.
z3::expr broken(z3::context& context, Claim claim, SymbolicStep& step);

/// The definition with its measure cut down to what `chunk` adds to it. Nothing where the measure
/// is not a sum or a count over the chunks.
std::optional<language::Definition> measuring_chunk(const language::Definition& definition,
                                                    std::uint32_t chunk);

/// That in some chunk the measure falls or in every chunk it does not rise. A step that satisfies
/// this in no state raises the measure in every state: what every chunk adds does not fall, and
/// what one of them adds rises. It is far easier on Z3 than the measure of all chunks at once,
/// because no long sums have to be compared. Nothing where the measure is no sum over the chunks,
/// or one that may pass 2^64.
std::optional<z3::expr> measure_stuck_by_chunk(z3::context& context, SymbolicStep& step);

}  // namespace p2::definition
