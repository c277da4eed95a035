#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "proofs/kernel/derivation.h"

namespace p2::kernel {

/// What is wrong with a triple, and at which position of its group.
struct Fault {
  std::size_t position = 0;
  std::string what;
};

/// The five rules of figure 8, read as relations between recorded states: nothing is computed that
/// is not in the derivation already.
class Rules {
 public:
  Rules(const Derivation& derivation, Budget& budget) : derivation_(derivation), budget_(budget) {}

  /// Whether { before } collective { after } is an instance of the rule, for the states of one
  /// group in device order. Returns what is wrong, or nothing.
  std::optional<Fault> check(Collective collective, const Numbers& before, const Numbers& after);

 private:
  /// Chunks that have one and the same content, and the number of that set of contributors; none
  /// when no recorded state could hold it.
  struct Cell {
    Runs chunks;
    std::optional<std::uint32_t> contributors;
  };

  /// ⊎ s_i, or the premise that fails: same-chunks, disjoint.
  std::optional<Fault> sum(const Numbers& group, std::vector<Cell>& total);
  void refine(std::vector<Cell>& cells, const State& state);
  bool same_chunk_sets(const State& a, const State& b) const;
  std::optional<Fault> check_sum(Collective collective, const Numbers& before,
                                 const Numbers& after);
  std::optional<Fault> check_gather(const Numbers& before, const Numbers& after);
  std::optional<Fault> check_broadcast(const Numbers& before, const Numbers& after);
  bool contained(std::uint32_t small, std::uint32_t large);
  /// The state holds exactly the part of `total` inside `chunks`.
  bool is_part(std::uint32_t state, const std::vector<Cell>& total, const Runs& chunks);
  bool meets(const Runs& a, const Runs& b);
  const Runs& chunks(const Piece& piece) const { return derivation_.set(piece.chunks); }
  const Runs& contributors(const Piece& piece) const { return derivation_.set(piece.contributors); }

  const Derivation& derivation_;
  Budget& budget_;
};

}  // namespace p2::kernel
