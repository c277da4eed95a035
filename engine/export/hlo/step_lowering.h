#pragma once

#include <vector>

#include "engine/execution/plan.h"
#include "engine/export/hlo/row_choice.h"

namespace p2::hlo {

/// One step of a plan as instructions.
class StepLowering {
 public:
  /// `buffer` has the rows that every device holds before the step.
  StepLowering(ModuleBuilder& builder, ModuleBuilder::Value buffer, const execution::Plan& plan,
               std::size_t step);

  /// The rows that every device holds after the step.
  ModuleBuilder::Value lowered();

 private:
  void collect_groups();
  ModuleBuilder::Value called();
  ModuleBuilder::Value gathered_by_sum(ModuleBuilder::Value packed);
  ModuleBuilder::Value broadcast_by_sum();
  RowTable packing() const;
  /// The rows after the step, of the buffer and then of the result of the call.
  RowTable unpacking() const;
  /// Row `row` of blocks that are as long as this rank's call says, in blocks of rows_.
  std::int64_t spread(const execution::Call& call, std::int64_t row) const;
  /// Whether XLA or StableHLO want the groups of what this is to be equally large.
  bool wants_equal_groups() const {
    return collective_ != Collective::AllReduce && collective_ != Collective::Reduce;
  }

  ModuleBuilder& builder_;
  ModuleBuilder::Value buffer_;
  const execution::Plan& plan_;
  const std::vector<execution::RankStep>& ranks_;
  Collective collective_ = Collective::AllReduce;
  IdGroups groups_;            ///< of all devices
  std::int64_t rows_ = 0;      ///< of the call, on the device with most; 0 where nobody calls
  std::int64_t size_ = 0;      ///< of the largest group
  bool equally_large_ = true;  ///< groups_
};

}  // namespace p2::hlo
