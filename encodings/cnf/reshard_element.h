#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "encodings/cnf/clauses.h"
#include "engine/reshard/plans/plan.h"

namespace p2::cnf {

/// One element of the tensor of a plan, its coordinates as bits, and which boxes it is in.
class SymbolicElement {
 public:
  /// Both must outlive this. Coordinates may be as large as those of any box of the plan.
  SymbolicElement(Clauses& clauses, const reshard::Plan& plan);

  Literal in(const reshard::Box& box);

 private:
  /// Whether coordinate i is no smaller than the number.
  Literal at_least(std::size_t i, std::int64_t number);

  Clauses& clauses_;
  std::vector<std::vector<Literal>> bits_;  // by dimension, the lowest first
  std::vector<std::map<std::int64_t, Literal>> known_;
};

}  // namespace p2::cnf
