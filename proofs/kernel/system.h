#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proofs/kernel/problem.h"

namespace p2::kernel {

/// Sets of contributors, stored once: equal sets have equal numbers, and the empty set has 0.
class Sets {
 public:
  explicit Sets(Budget& budget) : budget_(&budget) { number({}); }

  std::uint32_t number(const Numbers& members);
  const Numbers& members(std::uint32_t number) const { return *members_[number]; }
  bool subset(std::uint32_t small, std::uint32_t large) const;
  /// The union of sets, or nothing where two of them meet.
  std::optional<std::uint32_t> unite(const Numbers& numbers);

 private:
  Budget* budget_;
  std::map<Numbers, std::uint32_t> numbers_;
  std::vector<const Numbers*> members_;
  std::map<Numbers, std::optional<std::uint32_t>> united_;
};

/// The states of all devices: for every device and chunk the set of contributors that it holds.
class System {
 public:
  /// The initial system: device d holds contribution d in all chunks.
  System(const Stage& stage, Budget& budget);

  Sets& sets() { return sets_; }
  /// By chunk, the number of the set that the device holds.
  const Numbers& rows(std::uint32_t device) const { return rows_[device]; }

  /// Runs the step's collective on one of its groups, by the rules of figure 8; or, leaving the
  /// group as it is, returns the rule that forbids it, the first in the order of the tables of
  /// docs/certificates.md.
  const char* run(const Step& step, const Numbers& group);
  /// All groups; rejects where one is forbidden.
  void take(const Step& step, const std::string& name);
  /// Whether every device holds exactly its class in all chunks.
  bool at_goal(const std::vector<Numbers>& classes) const;

 private:
  const char* add(const Numbers& group, Numbers& total);
  const char* gather(const Numbers& group, Numbers& total);
  const char* contain(const Numbers& group) const;

  Budget* budget_;
  Sets sets_;
  std::uint32_t chunks_;
  std::vector<Numbers> rows_;
};

}  // namespace p2::kernel
