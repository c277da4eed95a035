#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encodings/cnf/solver.h"
#include "engine/collective/collective.h"
#include "engine/placement/placement.h"

namespace p2::cnf {

/// The state of all simulated devices at one moment: one variable per matrix cell (device d holds,
/// in chunk r, the contribution of c), and one per row (chunk r of d is not empty).
class States {
 public:
  States(Clauses& clauses, std::uint32_t devices, std::uint32_t chunks);

  std::uint32_t devices() const { return devices_; }
  std::uint32_t chunks() const { return chunks_; }
  Literal cell(std::uint32_t d, std::uint32_t r, std::uint32_t c) const {
    return cells_[(std::size_t{d} * chunks_ + r) * devices_ + c];
  }
  Literal row(std::uint32_t d, std::uint32_t r) const {
    return rows_[std::size_t{d} * chunks_ + r];
  }

  /// Defines how many chunks every device holds; called once, before the three below.
  void count_chunks(Clauses& clauses);
  /// At least j of the first r chunks of d are not empty, 0 ≤ j ≤ r ≤ chunks.
  Literal at_least(std::uint32_t d, std::uint32_t r, std::uint32_t j) const {
    return counters_[d][r][j];
  }
  /// Exactly j chunks of d are not empty, 1 ≤ j ≤ chunks.
  Literal exactly(std::uint32_t d, std::uint32_t j) const { return exactly_[d][j - 1]; }

 private:
  std::uint32_t devices_;
  std::uint32_t chunks_;
  std::vector<Literal> cells_;
  std::vector<Literal> rows_;
  std::vector<std::vector<std::vector<Literal>>> counters_;
  std::vector<std::vector<Literal>> exactly_;
};

/// The five rules of figure 8 on one group between two moments, in pieces that rules share. Every
/// clause is guarded by a literal that says the piece applies; premises and postconditions are
/// stated, not computed.
class GroupRules {
 public:
  /// `group` ascends and, like the moments, outlives the rules. Whatever constrains numbers of
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

/// A premise of figure 8 on one group, named as in the definitions, and a literal that is true
/// exactly if it holds.
struct NamedPremise {
  std::string name;
  Literal holds = 0;
};

/// The premises of a collective in the order in which they are checked. GroupRules states them all
/// at once; this tells them apart where a group is refused.
std::vector<NamedPremise> premises(Clauses& clauses, const States& before, const Group& group,
                                   Collective collective);

/// Some device of the group holds something.
Literal holds_something(Clauses& clauses, const States& before, const Group& group);

}  // namespace p2::cnf
