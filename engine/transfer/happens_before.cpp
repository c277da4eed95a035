#include "engine/transfer/happens_before.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "engine/base/invariant.h"
#include "p2/error.h"

namespace p2::transfer {
namespace {

/// Breadth-first search against the edges of a graph of `nodes` nodes, from `start` back to it;
/// `for_each_predecessor(node, visit)` calls visit(Edge, node that precedes). The edges of a
/// shortest cycle, first the one that leaves `start`; empty if there is none.
template <typename ForEachPredecessor>
std::vector<Edge> shortest_cycle(std::uint32_t start, std::size_t nodes,
                                 ForEachPredecessor for_each_predecessor) {
  struct Step {
    Edge edge;
    std::uint32_t next;  // the node that this one precedes
  };
  std::vector<std::optional<Step>> reached(nodes);
  std::deque<std::uint32_t> queue = {start};
  while (!reached[start]) {
    if (queue.empty()) return {};
    const std::uint32_t node = queue.front();
    queue.pop_front();
    for_each_predecessor(node, [&](const Edge& edge, std::uint32_t before) {
      if (reached[before]) return;
      reached[before] = Step{edge, node};
      queue.push_back(before);
    });
  }
  std::vector<Edge> cycle;
  std::uint32_t node = start;
  do {
    cycle.push_back(reached[node]->edge);
    node = reached[node]->next;
  } while (node != start);
  return cycle;
}

}  // namespace

std::string_view to_string(EdgeKind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"order", "dependency", "message", "capacity",
                                                      "rendezvous"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Edge> HappensBefore::cycle() const {
  const std::vector<bool> occurs = occurring();
  return shortest_cycle(find_event_on_cycle(occurs), events(), [&](Event event, auto visit) {
    for (const Predecessor& before : predecessors(event)) {
      if (!occurs[before.event]) visit(Edge{before.event, event, before.kind}, before.event);
    }
  });
}

std::vector<Edge> HappensBefore::process_cycle() const {
  const std::vector<bool> occurs = occurring();
  std::vector<Event> blocked;  // by process: its first event that never occurs
  for (Event event = 0; event < events(); ++event) {
    if (process_[event] >= blocked.size()) blocked.resize(process_[event] + 1, kNoEvent);
    Event& first = blocked[process_[event]];
    if (!occurs[event] && first == kNoEvent) first = event;
  }
  const auto for_each_predecessor = [&](std::uint32_t process, auto visit) {
    for (const Predecessor& before : predecessors(blocked[process])) {
      if (occurs[before.event]) continue;
      visit(Edge{before.event, blocked[process], before.kind}, process_[before.event]);
    }
  };
  std::vector<Edge> shortest;
  for (std::uint32_t process = 0; process < blocked.size(); ++process) {
    if (blocked[process] == kNoEvent) continue;
    std::vector<Edge> found = shortest_cycle(process, blocked.size(), for_each_predecessor);
    if (!found.empty() && (shortest.empty() || found.size() < shortest.size())) {
      shortest = std::move(found);
    }
    if (shortest.size() == 1) break;
  }
  std::reverse(shortest.begin(), shortest.end());
  return shortest;
}

std::vector<Event> HappensBefore::before(std::span<const Event> events) const {
  std::vector<bool> needed(this->events());
  for (const Event event : events) needed[event] = true;
  for (auto event = order_.rbegin(); event != order_.rend(); ++event) {
    if (!needed[*event]) continue;
    for (const Predecessor& before : predecessors(*event)) needed[before.event] = true;
  }
  for (const Event event : events) needed[event] = false;
  std::vector<Event> found;
  for (const Event event : order_) {
    if (needed[event]) found.push_back(event);
  }
  return found;
}

/// A counting sort of the edges by the event they lead to.
void HappensBefore::index(const std::vector<Edge>& edges) {
  starts_.assign(events() + 1, 0);
  for (const Edge& edge : edges) ++starts_[edge.to + 1];
  for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
  predecessors_.resize(edges.size());
  for (const Edge& edge : edges) predecessors_[next[edge.to]++] = {edge.from, edge.kind};
}

void HappensBefore::sort() {
  const auto count = static_cast<Event>(events());
  std::vector<std::size_t> start(events() + 1);  // of each event's successors
  for (const Predecessor& before : predecessors_) ++start[before.event + 1];
  for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
  std::vector<Event> successors(predecessors_.size());
  std::vector<std::size_t> next(start.begin(), start.end() - 1);
  for (Event event = 0; event < count; ++event) {
    for (const Predecessor& before : predecessors(event)) successors[next[before.event]++] = event;
  }
  std::vector<std::uint32_t> missing(events());  // predecessors that have not occurred
  order_.reserve(events());
  for (Event event = 0; event < count; ++event) {
    missing[event] = static_cast<std::uint32_t>(predecessors(event).size());
    if (missing[event] == 0) order_.push_back(event);
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Event event = order_[i];
    for (std::size_t k = start[event]; k < start[event + 1]; ++k) {
      if (--missing[successors[k]] == 0) order_.push_back(successors[k]);
    }
  }
}

std::vector<bool> HappensBefore::occurring() const {
  std::vector<bool> occurs(events());
  for (const Event event : order_) occurs[event] = true;
  return occurs;
}

/// An event that never occurs has a predecessor that never occurs, so following these enters a
/// cycle.
Event HappensBefore::find_event_on_cycle(const std::vector<bool>& occurs) const {
  auto event = static_cast<Event>(std::find(occurs.begin(), occurs.end(), false) - occurs.begin());
  std::vector<bool> visited(events());
  while (!visited[event]) {
    visited[event] = true;
    const std::span<const Predecessor> all = predecessors(event);
    const auto found = std::find_if(
        all.begin(), all.end(), [&](const Predecessor& before) { return !occurs[before.event]; });
    invariant(found != all.end(), "an event without missing predecessors occurs");
    event = found->event;
  }
  return event;
}

void GraphBuilder::reserve(std::size_t events, std::size_t edges) {
  process_.reserve(events);
  edges_.reserve(edges);
}

Event GraphBuilder::add_event(std::uint32_t process) {
  if (process_.size() == kNoEvent) {
    throw LimitReached(LimitReached::Kind::Size, "more than 2^32 - 1 events");
  }
  const auto event = static_cast<Event>(process_.size());
  if (event > 0 && process_.back() == process) add_edge(event - 1, event, EdgeKind::Program);
  process_.push_back(process);
  return event;
}

void GraphBuilder::connect(std::span<const Event> sends, std::span<const Event> receives,
                           std::size_t capacity) {
  invariant(sends.size() == receives.size(), "every transfer of a connection has both halves");
  invariant(capacity > 0, "a connection without buffers is a rendezvous");
  for (std::size_t k = 0; k < sends.size(); ++k) {
    add_edge(sends[k], receives[k], EdgeKind::Message);
    if (capacity < sends.size() - k) add_edge(receives[k], sends[k + capacity], EdgeKind::Capacity);
  }
}

HappensBefore GraphBuilder::build() && {
  HappensBefore graph;
  graph.process_ = std::move(process_);
  {
    const std::vector<Edge> edges = std::move(edges_);
    graph.index(edges);
  }
  graph.sort();
  return graph;
}

}  // namespace p2::transfer
