#include "engine/reshard/explored_states.h"

#include <algorithm>

namespace p2 {
namespace {

constexpr std::size_t kMostPerKey = 256;  // more would take longer to compare with than to explore
constexpr std::size_t kOverhead = 96;     // of an entry, in bytes

std::string key_of(const std::vector<std::size_t>& left) {
  std::string key;
  for (const std::size_t count : left) {
    key += static_cast<char>(count & 0xff);
    key += static_cast<char>(count >> 8);
  }
  return key;
}

bool no_later(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), std::less_equal<>());
}

}  // namespace

/// The times of hosts that nothing left needs do not matter, nor do times before `now`. Those of
/// interchangeable senders are sorted.
ExploredStates::Times ExploredStates::times_of(const PartialSchedule& state) const {
  const std::size_t senders = state.send_free.size();
  Times times(1 + senders + state.receive_free.size());
  times[0] = std::max(state.end, harmless_);
  for (std::size_t i = 0; i < problem_.classes.size(); ++i) {
    if (state.left[i] == 0) continue;
    for (const std::size_t sender : problem_.classes[i].senders) {
      times[1 + sender] = std::max(state.now, state.send_free[sender]);
    }
    for (const std::size_t receiver : problem_.classes[i].receivers) {
      times[1 + senders + receiver] = std::max(state.now, state.receive_free[receiver]);
    }
  }
  for (std::size_t i = 0; i < senders; ++i) {
    for (std::size_t j = i + 1; j < senders; ++j) {
      if (problem_.like[i] == problem_.like[j] && times[1 + j] < times[1 + i]) {
        std::swap(times[1 + i], times[1 + j]);
      }
    }
  }
  return times;
}

bool ExploredStates::covers_or_add(const PartialSchedule& state) {
  Times times = times_of(state);
  const auto entry = seen_.find(key_of(state.left));
  if (entry != seen_.end()) {
    auto& known = entry->second;
    if (std::any_of(known.begin(), known.end(),
                    [&](const Times& other) { return no_later(other, times); })) {
      return true;
    }
    const auto worse = std::remove_if(known.begin(), known.end(),
                                      [&](const Times& other) { return no_later(times, other); });
    known.erase(worse, known.end());
    if (known.size() == kMostPerKey) return false;
  }
  if (bytes_ > most_bytes_) return false;
  bytes_ += kOverhead + times.size() * sizeof(std::int64_t) + 2 * state.left.size();
  seen_[key_of(state.left)].push_back(std::move(times));
  return false;
}

}  // namespace p2
