#include "engine/collective/collective.h"

#include "engine/base/invariant.h"

namespace p2 {

std::string_view to_string(Collective collective) {
  constexpr std::array<std::string_view, 5> names = {"AllReduce", "ReduceScatter", "AllGather",
                                                     "Reduce", "Broadcast"};
  invariant(is_built_in(collective), "the name of a collective that is not built in");
  return names[static_cast<std::size_t>(collective)];
}

}  // namespace p2
