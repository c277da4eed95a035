#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace p2::claims {

/// The nodes of a breadth-first search, each known by its key, with the way there. When moves are
/// tried in ascending order, the way to every node is the first of the shortest.
class Frontier {
 public:
  using Key = std::vector<std::uint32_t>;

  explicit Frontier(const Key& initial) { add(initial, {0, 0, 0}); }

  std::size_t nodes() const { return entries_.size(); }
  const Key& key(std::size_t node) const { return entries_[node].first->first; }
  std::uint32_t depth(std::size_t node) const { return entries_[node].second.depth; }
  /// Enters the node that `move` leads to from `node`, unless it is known.
  void reach(std::size_t node, std::uint32_t move, const Key& key) {
    add(key, {node, move, depth(node) + 1});
  }
  /// The moves from the initial node to this one.
  std::vector<std::uint32_t> way(std::size_t node) const {
    std::vector<std::uint32_t> moves(depth(node));
    for (std::size_t i = moves.size(); i-- > 0; node = entries_[node].second.parent) {
      moves[i] = entries_[node].second.move;
    }
    return moves;
  }
  std::size_t bytes() const {
    return entries_.size() *
           (2 * entries_.front().first->first.size() * sizeof(std::uint32_t) + 128);
  }

 private:
  struct Way {
    std::size_t parent;
    std::uint32_t move;
    std::uint32_t depth;
  };

  void add(const Key& key, Way way) {
    const auto [place, is_new] = known_.emplace(key, entries_.size());
    if (is_new) entries_.emplace_back(place, way);
  }

  std::map<Key, std::size_t> known_;
  std::vector<std::pair<std::map<Key, std::size_t>::const_iterator, Way>> entries_;
};

}  // namespace p2::claims
