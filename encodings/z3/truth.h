#pragma once

#include <vector>

#include "encodings/z3/value.h"

namespace p2::z3_encoding {

/// Connectives on Booleans and lanes. A Boolean among lanes counts for every contributor alike.
/// Known operands are folded away; nothing else is simplified.
class Truth {
 public:
  /// `lanes` is the number of contributors, at least 1.
  Truth(z3::context& context, unsigned lanes);

  Value negation(const Value& a) const;
  Value conjunction(const std::vector<Value>& all) const;
  Value disjunction(const std::vector<Value>& all) const;
  Value equivalence(const Value& a, const Value& b) const;

  /// Whether lanes are all set; a Boolean stays as it is.
  Value all_lanes(const Value& a) const;
  /// Whether any lane is set.
  Value any_lane(const Value& a) const;

  /// As a Boolean term; not for lanes.
  z3::expr boolean(const Value& a) const;
  /// As a bit-vector of all lanes.
  z3::expr lanes(const Value& a) const;

 private:
  Value join(const std::vector<Value>& all, bool conjunction) const;

  z3::context* context_;
  z3::expr none_;
  z3::expr every_;
};

}  // namespace p2::z3_encoding
