#include "proofs/definition/settlement.h"

#include <algorithm>

namespace p2::definition {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::Holds:
      return "holds";
    case Verdict::Refuted:
      return "refuted";
    case Verdict::Unknown:
      return "unknown";
  }
  invariant(false, "not a verdict");
  return {};
}

void Settlement::note(const Shape& shape, const Answer& z3, const Seen& seen,
                      const std::function<bool(const language::GroupState&)>& confirmed) {
  last_ = std::max(last_, shape.devices);
  if (!seen.complete && !incomplete_from_) incomplete_from_ = shape.devices;
  if (!seen.complete && by_states_ == Verdict::Holds) by_states_ = Verdict::Unknown;
  if (!z3.decided) z3_ = Verdict::Unknown;
  if (!z3.decided && !seen.complete) undecided_ = true;
  if (z3.state && !confirmed(*z3.state)) {
    difference_ = Difference{{}, shape, "refuted", "holds", z3.state};
    return;
  }
  if (z3.decided && !z3.state && seen.breaks) {
    difference_ = Difference{{}, shape, "holds", "refuted", seen.breaks};
    return;
  }
  if (z3.state) z3_ = Verdict::Refuted;
  if (z3.state || seen.breaks) by_states_ = Verdict::Refuted;
  counterexample_ = z3.state;
  if (seen.breaks && (!z3.state || amount(*seen.breaks) <= amount(*z3.state))) {
    counterexample_ = seen.breaks;
  }
}

Verdict Settlement::verdict() const {
  if (counterexample_) return Verdict::Refuted;
  return undecided_ || difference_ ? Verdict::Unknown : Verdict::Holds;
}

}  // namespace p2::definition
