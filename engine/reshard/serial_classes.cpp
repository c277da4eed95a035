#include "engine/reshard/serial_classes.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace p2 {
namespace {

constexpr std::size_t kMostCliques = 64;
constexpr std::size_t kMostExchanges = 20'000;
constexpr std::size_t kExchangesPerClass = 100;
constexpr std::size_t kAway = 7;  // exchanges for which a class that left stays away, at least

using Indices = std::vector<std::size_t>;

bool meet(const Indices& a, const Indices& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](std::size_t i) { return std::binary_search(b.begin(), b.end(), i); });
}

bool never_at_once(const TaskClass& a, const TaskClass& b) {
  return meet(a.receivers, b.receivers) || (a.senders.size() == 1 && a.senders == b.senders);
}

/// Classes with the time that each takes, joined where they are never at once.
struct Graph {
  std::vector<std::int64_t> length;
  std::vector<std::vector<bool>> joined;

  explicit Graph(const std::vector<TaskClass>& classes) {
    for (const TaskClass& a : classes) {
      length.push_back(a.size * static_cast<std::int64_t>(a.tasks.size()));
      std::vector<bool>& row = joined.emplace_back();
      for (const TaskClass& b : classes) row.push_back(&a != &b && never_at_once(a, b));
    }
  }

  std::size_t size() const { return length.size(); }
};

/// From a class, the clique that grows by the longest class that fits.
Indices grown_from(std::size_t seed, const Graph& graph, const Indices& longest_first) {
  Indices clique{seed};
  for (const std::size_t next : longest_first) {
    const auto joined = [&](std::size_t member) { return graph.joined[member][next]; };
    if (std::all_of(clique.begin(), clique.end(), joined)) clique.push_back(next);
  }
  std::sort(clique.begin(), clique.end());
  return clique;
}

/// Local search: in every exchange the class joins for which the least leaves, but none that left
/// a short while ago.
class Exchange {
 public:
  Exchange(const Graph& graph, const Indices& clique)
      : graph_(graph), in_(graph.size()), away_until_(graph.size()), against_(graph.size()) {
    for (const std::size_t i : clique) join(i);
    best_ = clique;
    best_length_ = length_;
  }

  Indices run() {
    const std::size_t exchanges = std::min(kMostExchanges, kExchangesPerClass * graph_.size());
    for (now_ = 1; now_ <= exchanges; ++now_) {
      const std::size_t next = most_gained();
      if (next == graph_.size()) continue;
      for (std::size_t i = 0; i < graph_.size(); ++i) {
        if (in_[i] && !graph_.joined[i][next]) leave(i);
      }
      join(next);
      if (length_ <= best_length_) continue;
      best_length_ = length_;
      best_.clear();
      for (std::size_t i = 0; i < graph_.size(); ++i) {
        if (in_[i]) best_.push_back(i);
      }
    }
    return best_;
  }

 private:
  std::size_t most_gained() const {
    std::size_t best = graph_.size();
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (in_[i] || away_until_[i] > now_) continue;
      if (best == graph_.size() || gain(i) > gain(best)) best = i;
    }
    return best;
  }

  std::int64_t gain(std::size_t i) const { return graph_.length[i] - against_[i]; }

  void join(std::size_t i) {
    in_[i] = true;
    count_against(i, graph_.length[i]);
  }

  void leave(std::size_t i) {
    in_[i] = false;
    away_until_[i] = now_ + kAway + now_ % kAway;
    count_against(i, -graph_.length[i]);
  }

  void count_against(std::size_t i, std::int64_t length) {
    length_ += length;
    for (std::size_t j = 0; j < graph_.size(); ++j) {
      if (!graph_.joined[i][j]) against_[j] += length;
    }
  }

  const Graph& graph_;
  std::vector<bool> in_;
  std::vector<std::size_t> away_until_;
  std::vector<std::int64_t> against_;  // by class: the length of members that it is not joined to
  std::int64_t length_ = 0;
  std::size_t now_ = 0;
  Indices best_;
  std::int64_t best_length_ = 0;
};

}  // namespace

std::vector<std::vector<std::size_t>> serial_classes(const std::vector<TaskClass>& classes) {
  const Graph graph(classes);
  Indices longest_first(classes.size());
  std::iota(longest_first.begin(), longest_first.end(), std::size_t{0});
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [&](std::size_t a, std::size_t b) { return graph.length[a] > graph.length[b]; });
  const auto length = [&](const Indices& clique) {
    std::int64_t sum = 0;
    for (const std::size_t i : clique) sum += graph.length[i];
    return sum;
  };
  std::set<Indices> cliques;
  Indices longest;
  for (const std::size_t seed : longest_first) {
    Indices clique = grown_from(seed, graph, longest_first);
    if (length(clique) > length(longest)) longest = clique;
    if (cliques.size() < kMostCliques) cliques.insert(std::move(clique));
  }
  cliques.insert(Exchange(graph, longest).run());
  return {cliques.begin(), cliques.end()};
}

}  // namespace p2
