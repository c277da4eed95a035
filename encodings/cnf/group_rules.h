#pragma once

#include <vector>

#include "encodings/cnf/states.h"

namespace p2::cnf {

/// The five rules of figure 8 on one group between two moments. Every clause is guarded by a
/// literal that says the rule is applied; premises and postconditions are stated, not computed.
/// What several rules of one group have in common (the union of its rows, chunk counters) is
/// defined once, when it is first needed.
class GroupRules {
 public:
  /// `group` ascends; the moments must outlive the rules.
  GroupRules(Clauses& clauses, const States& before, const States& after, const Group& group);

  /// Some device of the group holds something.
  void not_empty(Literal guard);
  void all_reduce(Literal guard);
  void reduce(Literal guard);
  void reduce_scatter(Literal guard);
  void all_gather(Literal guard);
  void broadcast(Literal guard);
  /// The group's devices keep their states.
  void keep(Literal guard);

 private:
  /// Premises same-chunks and disjoint.
  void addable(Literal guard);
  void becomes_union(Literal guard, std::uint32_t device);
  void becomes_empty(Literal guard, std::uint32_t device);
  void owners(Literal guard, const std::vector<std::vector<Literal>>& counter,
              std::vector<std::vector<Literal>>& owner);
  Literal united(std::uint32_t r, std::uint32_t c);

  Clauses& clauses_;
  const States& before_;
  const States& after_;
  const Group& group_;
  std::vector<Literal> united_;
};

}  // namespace p2::cnf
