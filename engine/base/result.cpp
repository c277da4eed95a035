#include "p2/result.h"

#include <algorithm>

#include "p2/answer.h"
#include "p2/error.h"
#include "p2/float_equality.h"

namespace p2 {

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::Established:
      return "valid";
    case Outcome::Refuted:
      return "invalid";
    case Outcome::Undecided:
      return "unknown";
    case Outcome::Disagreement:
      return "disagreement";
  }
  return {};
}

std::string_view to_string(FloatEquality equality) {
  switch (equality) {
    case FloatEquality::Real:
      return "real";
    case FloatEquality::Reassociated:
      return "reassociated";
    case FloatEquality::Bitwise:
      return "bitwise";
  }
  return {};
}

std::string_view words_of(FloatEquality equality) {
  switch (equality) {
    case FloatEquality::Real:
      return "as real numbers";
    case FloatEquality::Reassociated:
      return "up to the order of sums";
    case FloatEquality::Bitwise:
      return "bit for bit";
  }
  return {};
}

FloatEquality float_equality_called(std::string_view name) {
  for (const FloatEquality each :
       {FloatEquality::Real, FloatEquality::Reassociated, FloatEquality::Bitwise}) {
    if (to_string(each) == name) return each;
  }
  throw InputError({"--numbers"}, unknown_name(name, "real, reassociated or bitwise"));
}

bool disagree(const std::vector<EngineAnswer>& answers) {
  const EngineAnswer* first = nullptr;
  for (const EngineAnswer& answer : answers) {
    if (answer.outcome == Outcome::Undecided) continue;
    if (first != nullptr && (first->outcome != answer.outcome || first->step != answer.step ||
                             first->rule != answer.rule)) {
      return true;
    }
    first = &answer;
  }
  return false;
}

ExitCode exit_code_of(const Answer& answer) {
  using Kind = Diagnostic::Kind;
  const auto has = [&](Kind kind) {
    return std::ranges::find(answer.diagnostics, kind, &Diagnostic::kind) !=
           answer.diagnostics.end();
  };
  if (answer.outcome == Outcome::Disagreement) return kDisagreement;
  if (has(Kind::ToolFailure)) return kToolFailure;
  if (has(Kind::BadInput)) return kBadInput;
  if (answer.outcome == Outcome::Refuted) return kRefuted;
  return answer.outcome == Outcome::Undecided || has(Kind::Undecided) ? kUndecided : kEstablished;
}

Outcome worst(Outcome a, Outcome b) {
  for (const Outcome each : {Outcome::Disagreement, Outcome::Refuted, Outcome::Undecided}) {
    if (a == each || b == each) return each;
  }
  return Outcome::Established;
}

}  // namespace p2
