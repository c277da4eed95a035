#include "engine/msccl/happens_before.h"

#include <algorithm>
#include <deque>

#include "engine/base/invariant.h"

namespace p2::msccl {

HappensBefore::HappensBefore(const Algorithm& algorithm, const std::vector<Connection>& connections,
                             bool bounded, std::uint32_t chunks_per_transmission)
    : algorithm_(algorithm), chunks_per_transmission_(chunks_per_transmission) {
  first_.resize(algorithm.gpus.size());
  for (std::size_t gpu = 0; gpu < first_.size(); ++gpu) {
    first_[gpu].resize(algorithm.gpus[gpu].blocks.size());
  }
  for (const StepPlace place : algorithm.steps()) {
    first_[place.gpu][place.block].push_back(static_cast<std::uint32_t>(events_.size()));
    for (std::uint32_t part = 0; part < parts_of(place); ++part) events_.push_back({place, part});
  }
  std::vector<Arrow> arrows;
  add_blocks(arrows);
  for (const Connection& connection : connections) add_messages(arrows, connection, bounded);
  index(arrows);
  sort();
}

std::uint32_t HappensBefore::first_of(StepPlace place) const {
  return first_[place.gpu][place.block][place.step];
}

std::uint32_t HappensBefore::parts_of(StepPlace place) const {
  const std::uint32_t count = std::max(1U, algorithm_.step(place).count);
  return (count - 1) / chunks_per_transmission_ + 1;
}

void HappensBefore::add_blocks(std::vector<Arrow>& arrows) const {
  for (std::uint32_t event = 0; event < events_.size(); ++event) {
    const StepPlace place = events_[event].step;
    const bool starts_step = events_[event].part == 0;
    if (place.step > 0 || !starts_step) arrows.push_back({event - 1, event, Before::Order});
    if (!starts_step || !algorithm_.step(place).waits_for) continue;
    const auto ends = awaited(algorithm_, place);
    invariant(ends.has_value(), "every wait of a graph has an end");
    arrows.push_back({first_of(*ends) + parts_of(*ends) - 1, event, Before::Dependency});
  }
}

void HappensBefore::add_messages(std::vector<Arrow>& arrows, const Connection& connection,
                                 bool bounded) const {
  const auto transmissions = [&](const std::vector<StepPlace>& steps) {
    std::vector<std::uint32_t> events;
    for (const StepPlace place : steps) {
      for (std::uint32_t part = 0; part < parts_of(place); ++part) {
        events.push_back(first_of(place) + part);
      }
    }
    return events;
  };
  const std::vector<std::uint32_t> sent = transmissions(connection.sends);
  const std::vector<std::uint32_t> received = transmissions(connection.receives);
  invariant(sent.size() == received.size(), "the ends of a connection match");
  const std::size_t capacity = fifo_capacity(algorithm_.protocol);
  for (std::size_t k = 0; k < sent.size(); ++k) {
    arrows.push_back({sent[k], received[k], Before::Message});
    if (bounded && k + capacity < sent.size()) {
      arrows.push_back({received[k], sent[k + capacity], Before::Capacity});
    }
  }
}

void HappensBefore::index(const std::vector<Arrow>& arrows) {
  starts_.assign(events_.size() + 1, 0);
  for (const Arrow& arrow : arrows) ++starts_[arrow.to + 1];
  for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
  arrows_.resize(arrows.size());
  for (const Arrow& arrow : arrows) arrows_[next[arrow.to]++] = arrow;
}

std::span<const HappensBefore::Arrow> HappensBefore::into(std::uint32_t event) const {
  return std::span(arrows_).subspan(starts_[event], starts_[event + 1] - starts_[event]);
}

void HappensBefore::sort() {
  // The events after each, one list behind the other.
  std::vector<std::size_t> start(events_.size() + 1);
  for (const Arrow& arrow : arrows_) ++start[arrow.from + 1];
  for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
  std::vector<std::uint32_t> after(arrows_.size());
  std::vector<std::size_t> filled(start.begin(), start.end() - 1);
  for (const Arrow& arrow : arrows_) after[filled[arrow.from]++] = arrow.to;
  std::vector<std::uint32_t> open(events_.size());
  for (const Arrow& arrow : arrows_) ++open[arrow.to];
  order_.reserve(events_.size());
  for (std::uint32_t event = 0; event < events_.size(); ++event) {
    if (open[event] == 0) order_.push_back(event);
  }
  for (std::size_t next = 0; next < order_.size(); ++next) {
    const std::uint32_t before = order_[next];
    for (std::size_t i = start[before]; i < start[before + 1]; ++i) {
      if (--open[after[i]] == 0) order_.push_back(after[i]);
    }
  }
}

std::uint32_t HappensBefore::on_a_cycle(const std::vector<bool>& sorted) const {
  auto event =
      static_cast<std::uint32_t>(std::find(sorted.begin(), sorted.end(), false) - sorted.begin());
  // Every unsorted event has an unsorted one before it: going back comes round.
  std::vector<bool> visited(events_.size());
  while (!visited[event]) {
    visited[event] = true;
    const std::span<const Arrow> arrows = into(event);
    event = std::find_if(arrows.begin(), arrows.end(), [&](const Arrow& arrow) {
              return !sorted[arrow.from];
            })->from;
  }
  return event;
}

std::vector<Wait> HappensBefore::cycle() const {
  std::vector<bool> sorted(events_.size());
  for (const std::uint32_t event : order_) sorted[event] = true;
  const std::uint32_t start = on_a_cycle(sorted);
  // Breadth first against the arrows, until the start is met again.
  std::vector<std::optional<Arrow>> taken(events_.size());
  std::deque<std::uint32_t> queue = {start};
  while (!taken[start]) {
    for (const Arrow& arrow : into(queue.front())) {
      if (sorted[arrow.from] || taken[arrow.from]) continue;
      taken[arrow.from] = arrow;
      queue.push_back(arrow.from);
    }
    queue.pop_front();
  }
  std::vector<Wait> waits;
  std::uint32_t at = start;
  do {
    waits.push_back({events_[at].step, taken[at]->why});
    at = taken[at]->to;
  } while (at != start);
  return waits;
}

std::vector<StepPlace> HappensBefore::before(const std::vector<std::uint32_t>& events) const {
  std::vector<bool> needed(events_.size());
  for (const std::uint32_t event : events) needed[event] = true;
  for (auto event = order_.rbegin(); event != order_.rend(); ++event) {
    if (!needed[*event]) continue;
    for (const Arrow& arrow : into(*event)) needed[arrow.from] = true;
  }
  for (const std::uint32_t event : events) needed[event] = false;
  std::vector<StepPlace> steps;
  for (const std::uint32_t event : order_) {
    if (!needed[event]) continue;
    if (steps.empty() || steps.back() != events_[event].step) steps.push_back(events_[event].step);
  }
  return steps;
}

}  // namespace p2::msccl
