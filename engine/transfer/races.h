#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/base/limits.h"
#include "engine/transfer/happens_before.h"

namespace p2::transfer {

/// Two events that access one location, at least one of them writing, and that nothing orders.
template <typename Location>
struct Race {
  Event first = 0;  ///< in the order of HappensBefore::order()
  Event second = 0;
  Location location = {};
};

/// Processes with consecutive numbers.
struct ProcessRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  bool contains(std::uint32_t process) const { return process - first < count; }
};

/// The first data race, in the order of `graph`, among the accesses of the given processes: those
/// that access one memory. `for_each_access(event, visit)` calls visit(location, writes) for what
/// an event of theirs accesses; locations are equal or disjoint.
///
/// Every event, of whatever process, has a vector clock (Mattern, "Virtual time and global states
/// of distributed systems", 1989): how many events of each of these processes are over when it is.
/// For every location and process only the last read and the last write are kept, as in Djit+
/// (Pozniansky and Schuster, "MultiRace: efficient on-the-fly data race detection in multithreaded
/// C++ programs", 2007): the events of a process are ordered, so if the last one precedes an
/// access, all do.
///
/// Takes 4 bytes per event of the graph and process of the range. Precondition: no cycle. Throws
/// LimitReached.
template <typename Location, typename ForEachAccess>
std::optional<Race<Location>> find_race(const HappensBefore& graph, ProcessRange processes,
                                        ForEachAccess&& for_each_access, LimitWatch& watch) {
  struct LastAccesses {
    explicit LastAccesses(std::size_t count) : writes(count, kNoEvent), reads(count, kNoEvent) {}
    std::vector<Event> writes;  // by process
    std::vector<Event> reads;
  };
  /// Returns memory to the watch however the search ends.
  struct Reservation {
    Reservation(LimitWatch& from, std::size_t size) : watch(from), bytes(size) {
      watch.take(bytes);
    }
    ~Reservation() { watch.give_back(bytes); }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    LimitWatch& watch;
    std::size_t bytes;
  };

  const std::size_t width = processes.count;
  const Reservation reservation(watch, graph.events() * width * sizeof(std::uint32_t));
  std::vector<std::uint32_t> clocks(graph.events() * width);
  const auto clock = [&](Event event) { return clocks.data() + event * width; };
  std::map<Location, LastAccesses> last_accesses;
  std::optional<Race<Location>> race;

  for (const Event event : graph.order()) {
    watch.step();
    std::uint32_t* const now = clock(event);
    for (const Predecessor& before : graph.predecessors(event)) {
      const std::uint32_t* const then = clock(before.event);
      for (std::size_t i = 0; i < width; ++i) now[i] = std::max(now[i], then[i]);
    }
    if (!processes.contains(graph.process(event))) continue;
    const std::uint32_t own = graph.process(event) - processes.first;
    ++now[own];
    for_each_access(event, [&](const Location& location, bool writes) {
      if (race) return;
      LastAccesses& last = last_accesses.try_emplace(location, width).first->second;
      // An event of the process i is number clock(itself)[i] of it.
      const auto unordered = [&](Event other, std::size_t i) {
        return other != kNoEvent && now[i] < clock(other)[i];
      };
      for (std::size_t i = 0; i < width && !race; ++i) {
        if (unordered(last.writes[i], i)) {
          race = Race<Location>{last.writes[i], event, location};
        } else if (writes && unordered(last.reads[i], i)) {
          race = Race<Location>{last.reads[i], event, location};
        }
      }
      (writes ? last.writes : last.reads)[own] = event;
    });
    if (race) return race;
  }
  return std::nullopt;
}

}  // namespace p2::transfer
