#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "engine/cost/transfers.h"
#include "engine/program/program.h"

namespace p2 {

/// What a step does to a link.
struct LinkLoad {
  LinkId link = 0;
  Rational seconds_per_byte;  ///< how long it is busy, per byte of a device's buffer
};

/// The time of one step on a system. Its groups run at once, their loads on a link add up, and the
/// slowest link decides; every byte waits for the messages' latencies besides. So a step's time is
/// `latency + seconds_per_byte · bytes` whatever the size of the buffers.
struct StepCost {
  Rational latency;               ///< seconds
  Rational seconds_per_byte;      ///< per byte of a device's buffer
  LinkId bottleneck = 0;          ///< the first of the busiest links, if seconds_per_byte is not 0
  std::vector<LinkLoad> busiest;  ///< the first of the busiest of each interconnect used

  Rational seconds(const Rational& bytes) const { return latency + seconds_per_byte * bytes; }
};

/// Prices steps on one system, and remembers them: programs of one placement share most of theirs.
class StepPricer {
 public:
  /// `network` must outlive this.
  StepPricer(const Network& network, Algorithm algorithm)
      : network_(network), algorithm_(algorithm), amounts_(network.links()) {}

  /// `rows` says how many of the `chunks` chunks of a buffer the first device of every group holds
  /// before the step. Groups of one device cost nothing. The reference stays valid.
  const StepCost& price(const Step& step, const std::vector<std::uint32_t>& rows,
                        std::uint32_t chunks);

  /// The loads of all links that the step uses, by link; the arguments are those of price.
  std::vector<LinkLoad> loads(const Step& step, std::span<const std::uint32_t> rows,
                              std::uint32_t chunks);

  const Network& network() const { return network_; }

 private:
  using Key = std::tuple<Collective, std::uint32_t, std::vector<std::uint32_t>, std::vector<Group>>;
  /// Loads on links in chunks, and nothing for those without.
  using Loads = std::map<LinkId, Rational>;

  /// Adds what a group sends to `amounts_` and raises `latency` to how long its messages wait.
  void add_group(const Step& step, const Group& group, std::uint32_t rows, Integer& latency);
  /// The busiest links of the amounts counted so far, which are in 1/`unit` of a chunk, one per
  /// interconnect; the amounts are forgotten.
  Loads take_busiest(std::uint64_t unit);
  /// All loads of the amounts counted so far are added to `loads`; the amounts are forgotten.
  void take_all(std::uint64_t unit, Loads& loads);
  /// The loads that decide what a step takes, or all of them.
  Loads loads_of(const Step& step, std::span<const std::uint32_t> rows, bool all, Integer& latency);
  StepCost compute(const Step& step, std::span<const std::uint32_t> rows, std::uint32_t chunks);

  const Network& network_;
  Algorithm algorithm_;
  std::map<Key, StepCost, std::less<>> known_;
  // Link → load in 1/(2n) of a chunk. No sum exceeds 2^63: a transfer is at most 2^41 (2n · rows,
  // of at most 2^20 devices and chunks), a step has at most four per device.
  std::vector<std::uint64_t> amounts_;
  std::vector<LinkId> loaded_;
  std::vector<LinkId> route_;
};

}  // namespace p2
