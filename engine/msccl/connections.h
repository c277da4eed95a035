#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/msccl/fault.h"

namespace p2::msccl {

/// A FIFO from one GPU to another: its k-th send meets its k-th receive.
struct Connection {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t channel = 0;
  std::vector<StepPlace> sends;
  std::vector<StepPlace> receives;
};

/// All connections, by source, destination and channel.
std::vector<Connection> connections(const Algorithm& algorithm);

/// The first step that cannot meet its other end: without a peer, on a connection that two thread
/// blocks share at one end, one too many, or with another number of chunks.
std::optional<Fault> mismatch(const Algorithm& algorithm, const std::vector<Connection>& all);

/// The step that ends a wait: the first at or after the one waited for that publishes, since the
/// number of a thread block's last published step is what is compared. Empty where none does.
std::optional<StepPlace> awaited(const Algorithm& algorithm, StepPlace waiting);

}  // namespace p2::msccl
