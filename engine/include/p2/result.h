#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "p2/error.h"
#include "p2/json.h"

namespace p2 {

/// How a question is answered, whatever it is about.
enum class Outcome : std::uint8_t {
  Established,   ///< it holds
  Refuted,       ///< it does not: there is a counterexample
  Undecided,     ///< a limit was reached first, or something is not supported
  Disagreement,  ///< two engines decided differently: neither is to be trusted
};

/// `valid`, `invalid`, `unknown`, `disagreement`: the words of `check`.
std::string_view to_string(Outcome outcome);

/// What an engine decides about a question whose refutation is described by a `Violation`: the
/// typed form inside the library, from which a Result is made.
template <typename Violation>
struct Decision {
  Outcome outcome = Outcome::Established;
  std::optional<Violation> violation = {};  ///< when refuted
  std::string reason = {};                  ///< when undecided: which limit, or what is unsupported
};

/// Evidence that something does not hold.
struct Counterexample {
  std::string rule;         ///< the rule that is broken, a stable name: `disjoint`, `data-race`
  SourcePosition where;     ///< in the user's file; line 0 if it is not in one place
  std::string explanation;  ///< one paragraph
  Json facts;  ///< devices, element, before, after, …: the keys depend on the subject
  std::string drawing = {};  ///< text with line breaks
};

/// Why a question was not decided.
struct Undecided {
  enum class Reason : std::uint8_t { Limit, Unsupported };
  Reason reason = Reason::Limit;
  std::string explanation;
};

/// What one engine decided.
struct EngineAnswer {
  std::string engine;  ///< `explicit`, `z3`, `cnf`, `reference`, …
  Outcome outcome = Outcome::Undecided;
  /// When refuted: the step at which, from 1; 0 where there are none. When undecided: how many
  /// steps are known to be legal.
  std::size_t step = 0;
  /// When refuted: the rule that is broken. When undecided: why, where no limit was reached.
  std::string rule = {};

  bool operator==(const EngineAnswer&) const = default;
};

/// Whether two of the engines that decided differ in outcome, step or rule.
bool disagree(const std::vector<EngineAnswer>& answers);

/// What supports a result for those who trust neither p2 nor a solver.
struct Evidence {
  enum class Kind : std::uint8_t {
    None,         ///< no certificate was asked for
    Certificate,  ///< `folder` holds one that p2-check accepts
    SolverOnly,   ///< there is none for this question: `trouble` says why, if more is known
    Unwritten,    ///< it could not be written: `trouble`
  };
  Kind kind = Kind::None;
  std::string folder = {};
  std::string trouble = {};
  std::string claim = {};  ///< digest of what the certificate claims, as p2-check prints it
};

/// The answer to one question about one subject: a program, a module, an algorithm, a plan, a
/// schedule, a strategy, a claim.
struct Result {
  std::string subject;  ///< what was checked: a file, a placement, a claim
  Outcome outcome = Outcome::Undecided;
  std::optional<Counterexample> counterexample = {};  ///< when refuted
  std::optional<Undecided> undecided = {};            ///< when undecided
  std::vector<EngineAnswer> engines = {};             ///< those asked, in order
  std::string model = {};  ///< over which model: dialect, devices, protocol, number semantics
  Evidence evidence = {};
  double seconds = 0;
};

}  // namespace p2
