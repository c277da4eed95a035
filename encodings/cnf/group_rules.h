#pragma once

#include <vector>

#include "encodings/cnf/states.h"

namespace p2::cnf {

/// The five rules of figure 8 on one group between two moments, in pieces that rules share. Every
/// clause is guarded by a literal that says the piece applies; premises and postconditions are
/// stated, not computed.
class GroupRules {
 public:
  /// `group` ascends and, like the moments, outlives the rules. Whatever speaks of numbers of
  /// chunks needs them counted in `before`.
  GroupRules(Clauses& clauses, const States& before, const States& after, const Group& group);

  /// Premise of all instructions: some device of the group holds something.
  void not_empty(Literal guard);
  /// Premises of AllReduce, ReduceScatter and Reduce: same-chunks and disjoint.
  void addable(Literal guard);
  /// Premises of AllGather: disjoint-chunks and equal-count.
  void gatherable(Literal guard);
  /// Premises of Broadcast: contained and informative.
  void contained(Literal guard);

  /// All devices get the union of what the group holds (AllReduce, AllGather).
  void all_get_union(Literal guard);
  /// The root gets it, the others nothing (Reduce).
  void root_gets_union(Literal guard);
  /// The i-th device gets its part of the i-th of equal runs of the chunks held, whose number the
  /// group's size divides (ReduceScatter).
  void each_gets_run(Literal guard);
  /// All devices get what the root holds (Broadcast).
  void all_get_root(Literal guard);
  /// The devices keep their states.
  void keep(Literal guard);

 private:
  template <typename Do>
  void for_each_cell(Do&& visit) const;
  Literal united(std::uint32_t r, std::uint32_t c);

  Clauses& clauses_;
  const States& before_;
  const States& after_;
  const Group& group_;
  std::vector<Literal> united_;
};

}  // namespace p2::cnf
