#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/cost/program_cost.h"
#include "engine/placement/placement.h"
#include "engine/strategy/graph.h"
#include "engine/strategy/operation.h"
#include "engine/strategy/pairwise.h"
#include "engine/topology/system.h"

namespace p2::operations {

/// The machine as a system: a switch at every level whose ports have the bandwidth of all devices
/// behind them. Throws InputError where the names of its levels are not those of a hierarchy.
System system_of(const Machine& machine, const std::string& source);

/// A configuration with a placement on the devices. The parallelism axes are the split dimensions
/// in order, and last the replicas where there are fewer parts than devices.
struct PlacedConfiguration {
  Configuration configuration;
  DeviceGrid grid;
  std::vector<std::optional<std::uint32_t>> axis_of;  ///< by dimension

  /// The index of a device's part along a dimension.
  std::uint32_t part(std::uint32_t device, std::size_t dimension) const {
    return axis_of[dimension] ? grid.coordinate(device, *axis_of[dimension]) : 0;
  }
  /// The reduction axes of an all-reduce over these dimensions.
  ReductionAxes axes_of(const std::vector<std::size_t>& dimensions) const;
};

/// All configurations whose number of parts divides the number of devices, each in all placements
/// on the hierarchy. Throws SketchError where there are more than 2^12.
std::vector<PlacedConfiguration> placed_configurations(const Operation& operation,
                                                       const Hierarchy& hierarchy);

/// `b/4 n/2 [[2 2] [1 2]]`: the placement is left out where there is one device or one part.
std::string to_string(const PlacedConfiguration& placed, const Operation& operation);

/// A collective that a strategy needs, and its number of occurrences.
struct NeededCollective {
  std::string operation;  ///< the first one that needs it
  std::string tensor;
  std::int64_t words = 0;  ///< of a device's buffer
  DeviceGrid grid;
  ReductionAxes axes;
  std::size_t times = 1;
};

/// An operation graph on the devices of a system: a choice is a configuration and a placement.
struct PlacedGraph {
  strategy::GraphFile file;
  std::vector<std::vector<PlacedConfiguration>> choices;  ///< by operation

  /// The all-reduces of a strategy; those of one size on one placement once.
  std::vector<NeededCollective> collectives(const OperationGraph& graph,
                                            const strategy::Strategy& strategy) const;
};

/// Prices are those of PlacedPrices. Throws SketchError as pairwise() does, and where the system
/// has a different number of devices.
PlacedGraph placed_graph(const OperationGraph& graph, const System& system);

/// The placement of the parts of an output.
struct SourceLayout {
  SourceLayout(const Operation& operation, const PlacedConfiguration& placed);

  Tensor axes;
  std::vector<std::int64_t> splits;               ///< by axis
  std::vector<std::vector<std::uint32_t>> parts;  ///< each a number per axis
  std::vector<Group> holders;                     ///< devices, by part

  /// For layouts of the same output.
  bool operator<(const SourceLayout& other) const {
    return std::tie(splits, parts, holders) < std::tie(other.splits, other.parts, other.holders);
  }
};

/// The part of an input that every device needs.
struct TargetLayout {
  TargetLayout(const Operation& operation, std::size_t input, const PlacedConfiguration& placed);

  std::vector<std::int64_t> splits;
  std::vector<std::vector<std::uint32_t>> wanted;  ///< by device, a number per axis
  /// The divisor of the words needed: where data is routed to any device.
  Wide shares = 1;

  bool operator<(const TargetLayout& other) const {
    return std::tie(splits, wanted, shares) < std::tie(other.splits, other.wanted, other.shares);
  }
};

/// The cost of communication between placed devices, in operations of a device, rounded as in the
/// model without placements.
class PlacedPrices {
 public:
  /// `network` must outlive this.
  PlacedPrices(const Machine& machine, const Network& network);

  /// The all-reduces of an operation in sequence, each as rings over all its groups concurrently.
  Wide all_reduces(const OperationCost& cost, const PlacedConfiguration& placed);

  /// Every device receives what it lacks of its part of the target from the nearest holder, ties to
  /// the lowest number. All transfers are concurrent; the most loaded link determines the time.
  /// Twice, for the gradient on the way back.
  Wide resharding(const SourceLayout& source, const TargetLayout& target);

 private:
  struct Route {
    std::vector<LinkId> links;
    std::size_t length = 0;  ///< the number of levels below the lowest common one
  };

  void send(std::uint32_t from, std::uint32_t to, Wide words);
  Wide busiest();

  const Machine& machine_;
  const Network& network_;
  StepPricer pricer_;
  std::vector<Route> routes_;  // from, to
  std::vector<Wide> loads_;    // words by link
  std::vector<Wide> rates_;    // bytes a second by link
};

}  // namespace p2::operations
