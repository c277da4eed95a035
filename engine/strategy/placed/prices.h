#pragma once

#include <tuple>

#include "engine/cost/step_cost.h"
#include "engine/strategy/costs.h"
#include "engine/strategy/placed/choice.h"

namespace p2::operations {

/// Where the parts of an output lie.
struct SourceLayout {
  SourceLayout(const Operation& operation, const PlacedConfiguration& placed);

  Tensor axes;
  std::vector<std::int64_t> splits;               ///< by axis
  std::vector<std::vector<std::uint32_t>> parts;  ///< each a number per axis
  std::vector<Group> holders;                     ///< of each part

  /// Of one and the same output.
  bool operator<(const SourceLayout& other) const {
    return std::tie(splits, parts, holders) < std::tie(other.splits, other.parts, other.holders);
  }
};

/// Which parts of an input every device needs.
struct TargetLayout {
  TargetLayout(const Operation& operation, std::size_t input, const PlacedConfiguration& placed);

  std::vector<std::int64_t> splits;
  std::vector<std::vector<std::uint32_t>> wanted;  ///< by device, a number per axis
  /// Of everything wanted, one in so many: where data goes anywhere.
  Wide shares = 1;

  bool operator<(const TargetLayout& other) const {
    return std::tie(splits, wanted, shares) < std::tie(other.splits, other.wanted, other.shares);
  }
};

/// What communication costs between devices that have a place, in operations of a device, rounded
/// as those of the model without places are.
class PlacedPrices {
 public:
  /// `network` must outlive this.
  PlacedPrices(const Machine& machine, const Network& network);

  /// The all-reduces of an operation, one after the other, each in rings over all its groups at
  /// once.
  Wide all_reduces(const OperationCost& cost, const PlacedConfiguration& placed);

  /// What every device lacks of its part of the target comes from the nearest device that has it,
  /// of equally near ones the lowest; all transfers are under way at once, and the busiest link
  /// decides. Twice: the gradient goes back the same way.
  Wide resharding(const SourceLayout& source, const TargetLayout& target);

 private:
  struct Route {
    std::vector<LinkId> links;
    std::size_t length = 0;  ///< how far: the innermost level that both are in
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
