#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "engine/cost/nccl_system.h"
#include "engine/cost/network.h"
#include "engine/program/derivation.h"
#include "engine/program/program.h"

namespace p2 {

/// The load of a step on a link.
struct LinkLoad {
  LinkId link = 0;
  Rational seconds_per_byte;  ///< seconds that it is busy, per byte of a device's buffer
};

/// One way to run the groups of a step by the model of NCCL.
struct NcclTime {
  Rational latency;           ///< seconds
  Rational seconds_per_byte;  ///< per byte of a device's buffer
  NcclAlgorithm algorithm = NcclAlgorithm::Ring;
  NcclProtocol protocol = NcclProtocol::Simple;
  std::uint32_t interconnect = 0;  ///< the slowest that it uses

  Rational seconds(const Rational& bytes) const { return latency + seconds_per_byte * bytes; }
};

/// The time of one step on a system: `latency + seconds_per_byte · bytes`. Its groups run
/// concurrently, their loads on a link add up, and the slowest link determines seconds_per_byte;
/// the slowest chain of messages determines the latency.
///
/// On a system that names its GPU the model of NCCL says how long the groups take: for each shape
/// of group a list of lines of which the least counts at a size; the slowest shape determines the
/// step.
struct StepCost {
  Rational latency;               ///< seconds
  Rational seconds_per_byte;      ///< per byte of a device's buffer
  LinkId bottleneck = 0;          ///< the first of the busiest links, if seconds_per_byte is not 0
  std::vector<LinkLoad> busiest;  ///< the first of the busiest of each interconnect used
  std::vector<std::vector<NcclTime>> shapes = {};  ///< the model of NCCL; slopes fall in each

  Rational seconds(const Rational& bytes) const {
    return shapes.empty() ? latency + seconds_per_byte * bytes : decisive(bytes).seconds(bytes);
  }
  /// What the slowest shape takes at a size: of equal lines the one that is least beyond it. There
  /// must be shapes.
  const NcclTime& decisive(const Rational& bytes) const;
};

/// Prices steps on one system, with memoization: programs of one placement share most steps.
class StepPricer {
 public:
  /// `network` must outlive this.
  StepPricer(const Network& network, Algorithm algorithm)
      : network_(network), algorithm_(algorithm), amounts_(network.links()) {}
  /// By the model of NCCL, with the algorithm of `choice` or the fastest one.
  StepPricer(const Network& network, const NcclSystem& system, const NcclChoice& choice)
      : network_(network), nccl_(system), choice_(choice) {}

  /// `rows` says how many of the `chunks` chunks of a buffer the first device of every group holds
  /// before the step. Groups of one device cost nothing. The reference stays valid.
  const StepCost& price(const Step& step, const std::vector<std::uint32_t>& rows,
                        std::uint32_t chunks);
  /// The same for the groups of a pattern, in each of which the first device holds `rows`. Where
  /// the network is symmetric for them one group is priced: the others load links of their own as
  /// much, and share a link with as many groups.
  const StepCost& price(Collective collective, const PatternGroups& groups, std::uint32_t rows,
                        std::uint32_t chunks);

  /// A step of a user-defined collective: every group sends its rows directly (`exchange`). By the
  /// model of NCCL it is an all-to-all in which all devices send as much as the one that sends
  /// most.
  const StepCost& price_exchange(const std::vector<Group>& groups,
                                 const std::vector<Stage>& exchanges, std::uint32_t chunks);

  /// The loads of all links that the step uses, by link; the arguments are those of price, and
  /// those of price_exchange for a user-defined collective.
  std::vector<LinkLoad> loads(const Step& step, std::span<const std::uint32_t> rows,
                              const std::vector<Stage>& exchanges, std::uint32_t chunks);

  const Network& network() const { return network_; }

 private:
  using Key = std::tuple<Collective, std::uint32_t, std::vector<std::uint32_t>, std::vector<Group>>;
  /// Loads on links in chunks, and nothing for those without.
  using Loads = std::map<LinkId, Rational>;

  /// What a step asks of the links: a built-in collective says it by rows, another one by
  /// exchanges, one per group.
  struct Traffic {
    const Step& step;
    std::span<const std::uint32_t> rows;
    const std::vector<Stage>* exchanges = nullptr;
    std::uint32_t chunks = 1;
    const PatternGroups* alike = nullptr;  ///< the step has the first of these groups only
  };

  /// Adds what a group sends to `amounts_` and raises `latency` to how long its messages wait.
  void add_group(const Traffic& traffic, std::size_t group, Rational& latency);
  /// The busiest links of the amounts counted so far, which are in 1/`unit` of a chunk, one per
  /// interconnect; the amounts are forgotten.
  Loads take_busiest(std::uint64_t unit);
  /// All loads of the amounts counted so far are added to `loads`; the amounts are forgotten.
  void take_all(std::uint64_t unit, Loads& loads);
  /// The loads that decide what a step takes, or all of them.
  Loads loads_of(const Traffic& traffic, bool all, Rational& latency);
  /// The price of groups that are alike where the first device of each holds the only chunk.
  const StepCost& price_per_row(Collective collective, const PatternGroups& groups);
  StepCost compute(const Traffic& traffic);
  StepCost compute_nccl(const Traffic& traffic) const;

  const Network& network_;
  Algorithm algorithm_ = Algorithm::Ring;
  std::optional<NcclSystem> nccl_;
  NcclChoice choice_;
  std::map<Key, StepCost, std::less<>> known_;
  std::map<std::pair<Collective, PatternGroups>, StepCost> per_row_;  ///< rows and chunks 1
  std::map<std::tuple<Collective, PatternGroups, std::uint32_t, std::uint32_t>, StepCost> patterns_;
  std::deque<StepCost> exchanges_;
  // Link → load in 1/(2n) of a chunk. No sum exceeds 2^63: a transfer is at most 2^41 (2n · rows,
  // of at most 2^20 devices and chunks), a step has at most four per device.
  std::vector<std::uint64_t> amounts_;
  std::vector<LinkId> loaded_;
  std::vector<LinkId> route_;
};

/// The time of a program: its steps follow each other, so it is `latency + seconds_per_byte ·
/// bytes` too, or with the model of NCCL the sum of what the steps take at a size.
struct ProgramCost {
  std::vector<const StepCost*> steps;  ///< owned by the StepPricer
  Rational latency;
  Rational seconds_per_byte;
  bool piecewise = false;  ///< by the model of NCCL

  Rational seconds(const Rational& bytes) const;
};

/// The cost of a program whose steps cost this.
ProgramCost sum_of(std::vector<const StepCost*> steps);

/// The decision on a program and, if it is valid, its price.
struct PricedProgram {
  ProgramDecision decision;
  ProgramCost cost;
};

/// Decides programs and prices them step by step: the derivation says how many chunks a device
/// holds before a step, and so how much it sends. States and steps are memoized across programs.
class ProgramPricer {
 public:
  /// `steps` must outlive this and the prices it gives.
  explicit ProgramPricer(StepPricer& steps)
      : steps_(steps), states_(steps.network().system().hierarchy.devices()), kernels_(states_) {}
  ProgramPricer(const ProgramPricer&) = delete;
  ProgramPricer& operator=(const ProgramPricer&) = delete;

  /// The program must have the devices of the pricer's system. Throws InputError for a user-defined
  /// collective that is not sound where it is used.
  PricedProgram price(const Program& program, Dialect dialect, const Limits& limits = {});
  /// The loads of all links in every step of a valid program.
  std::vector<std::vector<LinkLoad>> loads(const Program& program, Dialect dialect);

 private:
  /// Receives a step, how many of how many chunks the first device of every group holds before it,
  /// and for a user-defined collective what every group exchanges. A step whose definition states
  /// its traffic is seen as the collective that it costs as much as.
  using SeeStep = std::function<void(const Step& step, const std::vector<std::uint32_t>& rows,
                                     const std::vector<Stage>& exchanges, std::uint32_t chunks)>;
  ProgramDecision derive(const Program& program, Dialect dialect, const Limits& limits,
                         const SeeStep& see);

  StepPricer& steps_;
  StateTable states_;
  Kernels kernels_;
};

/// The price of one built-in collective on all classes, at the beginning of a program of `chunks`
/// chunks.
ProgramCost price_single(Collective collective, Start start, const std::vector<Group>& classes,
                         std::uint32_t chunks, StepPricer& pricer);
/// The same on the classes of an instance, which are alike.
ProgramCost price_single(Collective collective, Start start, const Instance& instance,
                         std::uint32_t chunks, StepPricer& pricer);
/// The price of the single AllReduce, the paper's baseline.
inline ProgramCost price_allreduce(const std::vector<Group>& classes, std::uint32_t devices,
                                   StepPricer& pricer) {
  return price_single(Collective::AllReduce, Start::Contributions, classes, devices, pricer);
}

/// The price of a valid program of built-in collectives, whose steps have shapes, without its
/// states: how many chunks a device holds follows from the steps alone. Nothing if the groups of a
/// step send unequal amounts, or the steps tell too many sets of devices apart.
std::optional<ProgramCost> price_by_counts(const std::vector<Step>& steps, const Instance& instance,
                                           Start start, StepPricer& pricer);

/// A range of buffer sizes in which one program is the fastest.
struct FastestRange {
  Rational from;  ///< bytes
  Rational to;    ///< the last size in bytes
  std::size_t program = 0;
};

/// Indices into `costs`, fastest first at this size; a stable sort.
std::vector<std::size_t> ranking(const std::vector<const ProgramCost*>& costs,
                                 const Rational& bytes);
/// The first program of the ranking at every whole size from `low` to `high`. Exact: the lower
/// envelope of lines, between two sizes at which some step changes its way if costs are piecewise.
/// There must be at least one program.
std::vector<FastestRange> fastest_ranges(const std::vector<const ProgramCost*>& costs,
                                         const Rational& low, const Rational& high);

}  // namespace p2
