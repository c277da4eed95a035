#include "proofs/kernel/rules.h"

#include <algorithm>

namespace p2::kernel {

std::optional<Fault> Rules::check(Collective collective, const Numbers& before,
                                  const Numbers& after) {
  switch (collective) {
    case Collective::AllReduce:
    case Collective::Reduce:
    case Collective::ReduceScatter:
      return check_sum(collective, before, after);
    case Collective::AllGather:
      return check_gather(before, after);
    case Collective::Broadcast:
      return check_broadcast(before, after);
  }
  return Fault{0, "an unknown collective"};
}

bool Rules::same_chunk_sets(const State& a, const State& b) const {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Piece& x, const Piece& y) { return x.chunks == y.chunks; });
}

/// Cuts every cell at the borders of the state's pieces; both cover the same chunks.
void Rules::refine(std::vector<Cell>& cells, const State& state) {
  std::vector<Cell> finer;
  for (const Cell& cell : cells) {
    for (const Piece& piece : state) {
      budget_.spend(cell.chunks.size() + chunks(piece).size());
      Runs common = intersect(cell.chunks, chunks(piece));
      if (!common.empty()) finer.push_back({std::move(common), {}});
    }
  }
  cells = std::move(finer);
}

std::optional<Fault> Rules::sum(const Numbers& group, std::vector<Cell>& total) {
  const State& first = derivation_.state(group[0]);
  total.clear();
  for (const Piece& piece : first) total.push_back({chunks(piece), {}});
  for (std::size_t i = 1; i < group.size(); ++i) {
    const State& state = derivation_.state(group[i]);
    if (same_chunk_sets(state, first)) continue;
    budget_.spend(derivation_.held(group[i]).size());
    if (derivation_.held(group[i]) != derivation_.held(group[0])) {
      return Fault{i, "premise same-chunks fails"};
    }
    refine(total, state);
  }
  for (Cell& cell : total) {
    std::vector<const Runs*> rows;
    for (const std::uint32_t state : group) {
      budget_.spend(derivation_.state(state).size());
      rows.push_back(derivation_.row(state, cell.chunks.front()));
      budget_.spend(4 * rows.back()->size());
    }
    const Union all = unite(rows);
    if (all.clash) return Fault{*all.clash, "premise disjoint fails"};
    cell.contributors = derivation_.number_of(all.runs);
  }
  return std::nullopt;
}

std::optional<Fault> Rules::check_sum(Collective collective, const Numbers& before,
                                      const Numbers& after) {
  std::vector<Cell> total;
  if (auto fault = sum(before, total)) return fault;
  const Runs& held = derivation_.held(before[0]);
  const auto n = static_cast<std::uint32_t>(before.size());
  std::vector<Runs> blocks;
  if (collective == Collective::ReduceScatter) {
    if (size_of(held) % n != 0) return Fault{0, "premise divisible fails"};
    budget_.spend(held.size() + n);
    blocks = cut(held, n);
  }
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool nothing = collective == Collective::Reduce && i > 0;
    if (blocks.empty() && i > 0 && !nothing && after[i] == after[i - 1]) continue;
    const Runs expected = nothing ? Runs{} : blocks.empty() ? held : blocks[i];
    if (!is_part(after[i], total, expected)) return Fault{i, "the state after the step is wrong"};
  }
  return std::nullopt;
}

bool Rules::is_part(std::uint32_t state, const std::vector<Cell>& total, const Runs& expected) {
  budget_.spend(expected.size() + 1);
  if (derivation_.held(state) != expected) return false;
  for (const Piece& piece : derivation_.state(state)) {
    for (const Cell& cell : total) {
      if (cell.contributors != piece.contributors && meets(cell.chunks, chunks(piece))) {
        return false;
      }
    }
  }
  return true;
}

bool Rules::meets(const Runs& a, const Runs& b) {
  budget_.spend(a.size() + b.size());
  return !intersect(a, b).empty();
}

std::optional<Fault> Rules::check_gather(const Numbers& before, const Numbers& after) {
  std::vector<const Runs*> helds;
  std::vector<Cell> all;
  for (const std::uint32_t state : before) {
    helds.push_back(&derivation_.held(state));
    budget_.spend(4 * helds.back()->size() + 1);
    for (const Piece& piece : derivation_.state(state)) {
      all.push_back({chunks(piece), piece.contributors});
    }
  }
  const Union gathered = unite(helds);
  if (gathered.clash) return Fault{*gathered.clash, "premise disjoint-chunks fails"};
  for (std::size_t i = 1; i < before.size(); ++i) {
    if (size_of(*helds[i]) != size_of(*helds[0])) return Fault{i, "premise equal-count fails"};
  }
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (i > 0 && after[i] == after[i - 1]) continue;
    if (!is_part(after[i], all, gathered.runs)) {
      return Fault{i, "the state after the step is wrong"};
    }
  }
  return std::nullopt;
}

std::optional<Fault> Rules::check_broadcast(const Numbers& before, const Numbers& after) {
  bool informative = false;
  for (std::size_t i = 1; i < before.size(); ++i) {
    informative = informative || before[i] != before[0];
    if (before[i] != before[0] && before[i] != before[i - 1] && !contained(before[i], before[0])) {
      return Fault{i, "premise contained fails"};
    }
  }
  if (!informative) return Fault{0, "premise informative fails"};
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i] != before[0]) return Fault{i, "the state after the step is wrong"};
  }
  return std::nullopt;
}

/// s ≤ t: every contribution of the one is in the other.
bool Rules::contained(std::uint32_t small, std::uint32_t large) {
  budget_.spend(derivation_.held(small).size() + derivation_.held(large).size());
  if (!subset(derivation_.held(small), derivation_.held(large))) return false;
  for (const Piece& s : derivation_.state(small)) {
    for (const Piece& t : derivation_.state(large)) {
      budget_.spend(contributors(s).size() + contributors(t).size());
      if (!subset(contributors(s), contributors(t)) && meets(chunks(s), chunks(t))) return false;
    }
  }
  return true;
}

}  // namespace p2::kernel
