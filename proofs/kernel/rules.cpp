#include <algorithm>

#include "proofs/kernel/derivation.h"

namespace p2::kernel {
namespace {

const std::string kWrongState = "its state after the step is wrong";

/// Chunks that have one and the same content, and the number of that set of contributors; none when
/// no recorded state holds it.
struct Cell {
  Runs chunks;
  std::optional<std::uint32_t> contributors;
};

/// The triple of one group.
class Triple {
 public:
  Triple(const Numbers& before, const Numbers& after, const Derivation& derivation, Budget& budget)
      : before_(before), after_(after), derivation_(derivation), budget_(budget) {}

  std::optional<Fault> add(bool scatter, bool everywhere);
  std::optional<Fault> gather();
  std::optional<Fault> broadcast();

 private:
  std::optional<Fault> sum(std::vector<Cell>& total);
  void refine(std::vector<Cell>& cells, const State& state);
  bool is_part(std::uint32_t state, const std::vector<Cell>& total, const Runs& chunks);
  bool contained(std::uint32_t small, std::uint32_t large);
  bool meet(const Runs& a, const Runs& b) {
    budget_.spend(a.size() + b.size());
    return !intersect(a, b).empty();
  }
  const Runs& set(std::uint32_t number) const { return derivation_.set(number); }
  const Runs& held(std::uint32_t state) const { return derivation_.held(state); }

  const Numbers& before_;
  const Numbers& after_;
  const Derivation& derivation_;
  Budget& budget_;
};

/// Cuts every cell at the borders of the state's pieces; both cover the same chunks.
void Triple::refine(std::vector<Cell>& cells, const State& state) {
  std::vector<Cell> finer;
  for (const Cell& cell : cells) {
    for (const Piece& piece : state) {
      budget_.spend(cell.chunks.size() + set(piece.chunks).size());
      Runs common = intersect(cell.chunks, set(piece.chunks));
      if (!common.empty()) finer.push_back({std::move(common), {}});
    }
  }
  cells = std::move(finer);
}

/// ⊎ s_i, or the premise that fails.
std::optional<Fault> Triple::sum(std::vector<Cell>& total) {
  const State& first = derivation_.state(before_[0]);
  for (const Piece& piece : first) total.push_back({set(piece.chunks), {}});
  for (std::size_t i = 1; i < before_.size(); ++i) {
    const State& state = derivation_.state(before_[i]);
    const auto same_chunks = [](const Piece& a, const Piece& b) { return a.chunks == b.chunks; };
    if (std::equal(first.begin(), first.end(), state.begin(), state.end(), same_chunks)) continue;
    budget_.spend(held(before_[i]).size());
    if (held(before_[i]) != held(before_[0])) return Fault{i, "premise same-chunks fails"};
    refine(total, state);
  }
  for (Cell& cell : total) {
    std::vector<const Runs*> rows;
    for (const std::uint32_t state : before_) {
      rows.push_back(derivation_.row(state, cell.chunks.front()));
      budget_.spend(derivation_.state(state).size() + 16 * rows.back()->size());
    }
    const Union all = unite(rows);
    if (all.clash) return Fault{*all.clash, "premise disjoint fails"};
    cell.contributors = derivation_.number_of(all.runs);
  }
  return std::nullopt;
}

/// AllReduce, ReduceScatter (`scatter`) and Reduce (not `everywhere`).
std::optional<Fault> Triple::add(bool scatter, bool everywhere) {
  std::vector<Cell> total;
  if (auto fault = sum(total)) return fault;
  const auto n = static_cast<std::uint32_t>(before_.size());
  std::vector<Runs> blocks;
  if (scatter) {
    if (size_of(held(before_[0])) % n != 0) return Fault{0, "premise divisible fails"};
    budget_.spend(held(before_[0]).size() + n);
    blocks = cut(held(before_[0]), n);
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (everywhere && i > 0 && after_[i] == after_[i - 1]) continue;
    const bool right = scatter                ? is_part(after_[i], total, blocks[i])
                       : everywhere || i == 0 ? is_part(after_[i], total, held(before_[0]))
                                              : derivation_.state(after_[i]).empty();
    if (!right) return Fault{i, kWrongState};
  }
  return std::nullopt;
}

/// Whether the state is exactly the part of `total` inside `chunks`.
bool Triple::is_part(std::uint32_t state, const std::vector<Cell>& total, const Runs& chunks) {
  budget_.spend(chunks.size() + 1);
  if (held(state) != chunks) return false;
  for (const Piece& piece : derivation_.state(state)) {
    budget_.spend(total.size());
    for (const Cell& cell : total) {
      if (cell.contributors != piece.contributors && meet(cell.chunks, set(piece.chunks))) {
        return false;
      }
    }
  }
  return true;
}

std::optional<Fault> Triple::gather() {
  std::vector<const Runs*> parts;
  std::vector<Cell> all;
  for (const std::uint32_t state : before_) {
    parts.push_back(&held(state));
    budget_.spend(16 * parts.back()->size() + 1);
    for (const Piece& piece : derivation_.state(state)) {
      budget_.spend(16 * set(piece.chunks).size() + 64);
      all.push_back({set(piece.chunks), piece.contributors});
    }
  }
  const Union gathered = unite(parts);
  if (gathered.clash) return Fault{*gathered.clash, "premise disjoint-chunks fails"};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (size_of(*parts[i]) != size_of(*parts[0])) return Fault{i, "premise equal-count fails"};
  }
  for (std::size_t i = 0; i < after_.size(); ++i) {
    if (i > 0 && after_[i] == after_[i - 1]) continue;
    if (!is_part(after_[i], all, gathered.runs)) return Fault{i, kWrongState};
  }
  return std::nullopt;
}

std::optional<Fault> Triple::broadcast() {
  const std::uint32_t root = before_[0];
  bool informative = false;
  for (std::size_t i = 1; i < before_.size(); ++i) {
    informative = informative || before_[i] != root;
    if (!contained(before_[i], root)) return Fault{i, "premise contained fails"};
  }
  if (!informative) return Fault{0, "premise informative fails"};
  for (std::size_t i = 0; i < after_.size(); ++i) {
    if (after_[i] != root) return Fault{i, kWrongState};
  }
  return std::nullopt;
}

/// s ≤ t: every contribution of the one is in the other.
bool Triple::contained(std::uint32_t small, std::uint32_t large) {
  if (small == large) return true;
  budget_.spend(held(small).size() + held(large).size());
  if (!subset(held(small), held(large))) return false;
  for (const Piece& s : derivation_.state(small)) {
    for (const Piece& t : derivation_.state(large)) {
      budget_.spend(set(s.contributors).size() + set(t.contributors).size());
      if (subset(set(s.contributors), set(t.contributors))) continue;
      if (meet(set(s.chunks), set(t.chunks))) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Fault> find_fault(const std::string& collective, const Numbers& before,
                                const Numbers& after, const Derivation& derivation,
                                Budget& budget) {
  Triple triple(before, after, derivation, budget);
  if (collective == "AllReduce") return triple.add(false, true);
  if (collective == "ReduceScatter") return triple.add(true, false);
  if (collective == "Reduce") return triple.add(false, false);
  if (collective == "AllGather") return triple.gather();
  return triple.broadcast();
}

}  // namespace p2::kernel
