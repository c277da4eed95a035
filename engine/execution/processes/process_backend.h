#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/execution/runtime.h"

namespace p2::execution {

/// What the processes of a run exchange apart from the operations that are run. All ranks
/// call the same functions in the same order.
class ControlChannel {
 public:
  virtual ~ControlChannel() = default;

  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t ranks() const = 0;
  /// This rank's, visible to the supervisor.
  virtual RankProgress& progress() = 0;
  /// The deadline of the run, for a channel without a supervisor.
  virtual void set_deadline(Deadline /*deadline*/) {}

  virtual void barrier() = 0;
  /// The bytes of rank 0 become those of all ranks.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  /// The bytes of all ranks in order; equally many each.
  virtual std::vector<std::byte> all_gather(std::span<const std::byte> own) = 0;
};

/// A backend of which this process runs one rank.
class ProcessBackend : public Backend {
 public:
  explicit ProcessBackend(std::unique_ptr<ControlChannel> channel) : channel_(std::move(channel)) {}

  std::vector<RankResult> run(const Job& job) final;
  bool reports() const final { return channel_->rank() == 0; }
  bool runs(std::uint32_t rank) const final { return channel_->rank() == rank; }

 protected:
  virtual std::unique_ptr<Rank> make_rank(const Job& job) = 0;
  ControlChannel& channel() { return *channel_; }

 private:
  std::unique_ptr<ControlChannel> channel_;
};

/// The most bytes that a rank gathers for a job of `phases` phases.
std::size_t max_gathered_bytes(std::size_t phases, unsigned iterations);

/// Kills this process or suspends it for good.
[[noreturn]] void inject_into_process(InjectedFault::Kind kind);

/// The position of a rank in groups: colour and key of the split of a communicator.
struct GroupPosition {
  std::uint32_t group = 0;
  std::uint32_t position = 0;
};
/// Nothing for a rank that is in none of them.
std::optional<GroupPosition> find_position(const std::vector<Group>& groups, std::uint32_t rank);

}  // namespace p2::execution
