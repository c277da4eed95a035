#include "engine/collective/collective.h"

namespace p2 {

std::string_view to_string(Collective collective) {
  constexpr std::array<std::string_view, 5> names = {"AllReduce", "ReduceScatter", "AllGather",
                                                     "Reduce", "Broadcast"};
  return names[static_cast<std::size_t>(collective)];
}

std::optional<Collective> collective_called(std::string_view name) {
  for (const Collective collective : kCollectives) {
    if (to_string(collective) == name) return collective;
  }
  return std::nullopt;
}

}  // namespace p2
