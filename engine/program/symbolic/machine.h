#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/program/state_graph.h"
#include "engine/program/symbolic/exploration.h"

namespace p2 {

/// The finite machine of theorem T7 (docs/theorem.md), which knows no sizes: programs over shapes
/// of which only AllReduce pins digits are valid exactly if the machine accepts them, on every
/// system whose digits have at least 2 values (`machine_equivalence` in proofs/theory).
///
/// A state: the digits that are scattered and not gathered (S); those of a Reduce that no Broadcast
/// has undone (R); those over which every device that holds something has the sum (B); the
/// AllReduce steps on pinned groups (W, Y): devices that hold something and whose digits Y are 0
/// have the sum over W as well. T is B with all W.
///
///     step over V                       premises                      effect
///     AllReduce where Z = 0             V ∩ T = ∅, R ⊆ Z ⊆ T \ S      R = Z: B gets V; else (V, Z)
///     ReduceScatter, Reduce             V ∩ T = ∅, R = ∅              B gets V; S gets V; R = V
///     AllGather                         R = ∅, V ⊆ S                  S loses V
///     Broadcast                         R ⊆ V, V ∩ S = ∅, V \ R ⊆ B   R = ∅; every Y loses V;
///     where
///                                       and the W with Y ⊆ V; R ≠ ∅   Y is empty then, B gets W
///                                       or some Y ⊆ V
class Machine {
 public:
  explicit Machine(const Problem& problem) : problem_(problem) {}

  /// Whether the theorem covers the problem: the paper's goal, and only AllReduce pins digits.
  static bool covers(const Problem& problem, const Terms& terms);

  std::uint32_t initial();
  std::optional<std::uint32_t> step(std::uint32_t state, std::uint32_t move);
  std::uint32_t distance_bound(std::uint32_t state) const;
  std::uint32_t states() const { return states_.size(); }
  std::size_t bytes() const { return states_.bytes(); }

 private:
  struct Pending {
    FactorSet summed;  // W
    FactorSet pinned;  // Y
    auto operator<=>(const Pending&) const = default;
  };
  struct State {
    FactorSet scattered = 0;
    FactorSet reduced = 0;
    FactorSet summed = 0;
    std::vector<Pending> pending = {};

    FactorSet merged() const;
  };

  State state(std::uint32_t id) const;
  std::uint32_t intern(State& state);
  static bool broadcast(FactorSet varied, State& state);

  const Problem& problem_;
  WordTable states_;
};

}  // namespace p2
