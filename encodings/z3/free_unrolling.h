#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encodings/z3/clauses.h"
#include "encodings/z3/rulebook.h"
#include "encodings/z3/system_rows.h"

namespace p2::z3_encoding {

/// Steps of symbolic choice on any disjoint groups. In every step the collective is a symbol, and
/// so is, for every set of at least two devices, whether it forms a group; sets that overlap
/// exclude each other. The rows after a step are symbols that follow from both. Grown step by step;
/// all arguments must outlive it; `choose` throws OutOfBudget where `meter` says so.
class FreeUnrolling {
 public:
  struct Chosen {
    SystemRows before;
    std::vector<z3::expr> rules;   ///< as in the rulebook
    std::vector<z3::expr> groups;  ///< as in groups()
    /// By rule, then group: implied where both are chosen.
    std::vector<std::vector<z3::expr>> acts = {};
  };

  FreeUnrolling(z3::context& context, std::uint32_t devices, const std::vector<Group>& classes,
                const Rulebook& rulebook, const Meter& meter);

  /// All sets of at least two devices.
  const std::vector<Group>& groups() const { return groups_; }
  const std::vector<Chosen>& steps() const { return steps_; }
  Clauses& clauses() { return clauses_; }

  /// One more step, from a state that is not the goal: a program ends where it is first reached.
  void choose();
  /// A symbol under which the last step leads to the goal.
  z3::expr end();

 private:
  z3::expr symbol(const std::string& name);
  SystemRows fresh_rows();
  std::vector<z3::expr> choose_groups();
  std::vector<z3::expr> choose_rule();
  void apply(std::uint32_t rule, std::size_t group, Chosen& step, const SystemRows& after);
  void keep(std::uint32_t device, const Chosen& step, const SystemRows& after);

  z3::context* context_;
  std::uint32_t devices_;
  const Rulebook& rulebook_;
  const Meter& meter_;
  std::vector<Group> groups_;
  Clauses clauses_;
  SystemRows rows_;
  SystemRows goal_;
  std::vector<Chosen> steps_;
};

}  // namespace p2::z3_encoding
