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
  System(std::uint32_t devices, std::uint32_t chunks, Budget& budget);

  Sets& sets() { return sets_; }
  std::uint32_t devices() const { return static_cast<std::uint32_t>(rows_.size()); }
  /// By chunk, the number of the set that the device holds.
  const Numbers& rows(std::uint32_t device) const { return rows_[device]; }
  std::uint32_t held(std::uint32_t device) const;
  bool holds(std::uint32_t device, std::uint32_t chunk, std::uint32_t contributor) const;

  /// Takes the step, by the rules of figure 8; or, changing nothing that is looked at later,
  /// returns what forbids it.
  std::optional<std::string> take(const Step& step);
  /// Whether every device holds exactly its class in all chunks.
  bool at_goal(const std::vector<Numbers>& classes);

 private:
  std::optional<std::string> run(const std::string& collective, const Numbers& group);
  std::optional<std::string> add(const Numbers& group, Numbers& total);
  std::optional<std::string> gather(const Numbers& group, Numbers& total);
  std::optional<std::string> contain(const Numbers& group) const;

  Budget* budget_;
  Sets sets_;
  std::uint32_t chunks_;
  std::vector<Numbers> rows_;
};

}  // namespace p2::kernel
