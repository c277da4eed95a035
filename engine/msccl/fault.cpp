#include "engine/msccl/fault.h"

namespace p2::msccl {

std::string_view to_string(Fault::Kind kind) {
  constexpr std::array<std::string_view, 15> kNames = {
      "out-of-bounds",       "no-peer",           "shared-connection", "unmatched-send",
      "unmatched-receive",   "count-mismatch",    "never-published",   "order-deadlock",
      "dependency-deadlock", "capacity-deadlock", "data-race",         "missing-data",
      "wrong-chunk",         "double-count",      "lost-contribution"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace p2::msccl
