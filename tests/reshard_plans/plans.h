#pragma once

#include <string>
#include <vector>

#include "engine/reshard/plans/plan.h"
#include "engine/reshard/plans/plan_check.h"

namespace p2::reshard {

/// A tensor and two meshes: a case of table 2 of the paper, or another one.
struct Case {
  std::string name;
  TensorShape shape;
  std::string from;
  std::string to;
  std::uint32_t first = UINT32_MAX;  ///< host of the second mesh; after the first mesh if not given

  Reshard problem() const;
};

/// The nine cases of table 2 on a tensor of this shape.
std::vector<Case> table2(const TensorShape& shape);
/// Uneven shards, empty ones, one and four dimensions, meshes that share hosts.
std::vector<Case> odd_cases();

constexpr TransferStrategy kStrategies[] = {
    TransferStrategy::SendRecv, TransferStrategy::LocalAllGather, TransferStrategy::GlobalAllGather,
    TransferStrategy::Broadcast};
constexpr Decomposition kDecompositions[] = {Decomposition::Intersection, Decomposition::Source};

/// With senders as load_balanced_schedule() chooses them.
Plan plan_for(const Case& of, TransferStrategy strategy, Decomposition decomposition,
              std::int64_t chunks = 3);

/// The elements of every device's destination buffer, found one element and one step at a time, in
/// some order that devices can take: whether each ends with the right value everywhere. False also
/// where devices wait for ever. Where a step's operations may be done in several orders, two are
/// tried.
bool ends_right_element_by_element(const Plan& plan);

}  // namespace p2::reshard
