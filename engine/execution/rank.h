#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>

#include "engine/execution/job.h"

namespace p2::execution {

/// A rank that a limit of time, or the end of another rank, kept from going on. What it says names
/// the rank at fault where that is known.
struct Interrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One rank of a backend: a compact buffer, wherever it may lie, and the calls on it.
class Rank {
 public:
  virtual ~Rank() = default;

  /// Has `write` fill the first `bytes` bytes of the buffer.
  virtual void fill(std::size_t bytes, const std::function<void(std::span<std::byte>)>& write) = 0;
  /// Shows the first `bytes` bytes of the buffer to `read`.
  virtual void show(std::size_t bytes,
                    const std::function<void(std::span<const std::byte>)>& read) = 0;
  /// Row i of the new buffer is row from[i] of the old one, or zeros.
  virtual void rearrange(const Rows& from) = 0;
  /// Takes part in a collective: the buffer is what is sent, and then what was received. Returns
  /// the count that the call was made with.
  virtual std::uint64_t take_part(const Call& call) = 0;
  /// Returns when all of the above is done, where it may go on after they returned.
  virtual void finish() {}
  /// Returns when all ranks have come here.
  virtual void meet() = 0;
  /// Dies or hangs, as a rank of this backend would.
  virtual void misbehave(Fault::Kind kind) = 0;
};

}  // namespace p2::execution
