#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/execution/runtime.h"

namespace p2::execution {

/// A lowered program on inputs of one size, in lockstep: a step rearranges rows, calls a
/// collective, and rearranges what it received. Every step can be audited.
class ProgramRun final : public Workload {
 public:
  /// Chunks are of `chunk_elements` elements; `inputs.ranks` is set to the devices of the plan. A
  /// rank begins with the sums that `expectation` has at the beginning.
  /// `plan` and `expectation` must outlive this.
  ProgramRun(const Plan& plan, const Expectation& expectation, Inputs inputs,
             std::size_t chunk_elements);

  const Plan& plan() const { return plan_; }
  const Expectation& expectation() const { return expectation_; }
  const Inputs& inputs() const { return inputs_; }
  std::size_t chunk_elements() const { return chunk_elements_; }
  std::size_t row_bytes() const { return chunk_elements_ * size_of(inputs_.type); }

  WorkloadKind kind() const override { return WorkloadKind::Program; }
  std::uint32_t ranks() const override { return plan_.devices; }
  std::size_t steps(std::uint32_t /*rank*/) const override { return plan_.steps.size(); }
  std::size_t max_steps() const override { return plan_.steps.size(); }
  bool lockstep() const override { return true; }
  const std::vector<std::vector<Group>>& partitions() const override { return plan_.partitions; }
  std::array<std::size_t, 2> buffer_bytes(std::uint32_t rank) const override;
  std::int64_t max_message() const override { return 0; }
  std::size_t message_bytes(std::uint32_t /*rank*/) const override { return 0; }
  void fill(Rank& rank) const override;
  void run_step(Rank& rank, std::size_t step, std::vector<Issued>* issued) const override;
  bool matches(std::uint32_t rank, const std::vector<Issued>& issued) const override;
  Audit audit_step(Rank& rank, std::size_t step) const override;
  Audit audit_result(Rank& rank) const override;

 private:
  const Rows& held_after(Rank& rank, std::size_t steps) const;

  const Plan& plan_;
  const Expectation& expectation_;
  Inputs inputs_;
  std::size_t chunk_elements_;
};

/// A step, or a whole program, in the terms of nccl-tests.
struct Measurement {
  Collective collective = Collective::AllReduce;
  std::uint64_t bytes = 0;  ///< S: of the buffer; for ReduceScatter and AllGather per rank × ranks
  std::uint64_t count = 0;  ///< elements per rank, as in the call
  std::uint32_t ranks = 0;  ///< in the largest group
  double seconds = 0;       ///< mean over the timed runs of the slowest rank's time
  std::optional<std::uint64_t> wrong;  ///< nothing: not checked, or the reference is not known

  /// S / time, in 10^9 bytes per second; 0 where nothing was moved.
  double algbw() const;
  /// algbw times what each link carries in the best algorithm: 2(n−1)/n for AllReduce, (n−1)/n for
  /// ReduceScatter and AllGather, 1 for Reduce and Broadcast, and for those of the user.
  double busbw() const;
};

/// Step `index`, from 0, of the program that the job ran.
Measurement measure_step(const ProgramRun& run, const Job& job, std::span<const RankResult> results,
                         std::size_t index);

/// The whole program: S is the buffer of a device, the time that of all steps, `ranks` those of the
/// largest class, and the bandwidths are those of the goal's collective, which it stands for.
Measurement measure_program(const ProgramRun& run, const Job& job,
                            std::span<const RankResult> results);

/// A resharding plan on real data: a step is a set of sends and receives that are pending at once.
/// Devices start together and then proceed at their own pace. Any plan can be run: what is wrong
/// with it shows in the data, as a deadlock, or both.
class PlanRun final : public Workload {
 public:
  /// `plan` must outlive this.
  explicit PlanRun(const reshard::Plan& plan);

  WorkloadKind kind() const override { return WorkloadKind::Plan; }
  std::uint32_t ranks() const override { return plan_.problem.devices(); }
  std::size_t steps(std::uint32_t rank) const override { return plan_.programs[rank].size(); }
  std::size_t max_steps() const override { return max_steps_; }
  bool lockstep() const override { return false; }
  const std::vector<std::vector<Group>>& partitions() const override { return no_partitions_; }
  std::array<std::size_t, 2> buffer_bytes(std::uint32_t rank) const override;
  std::int64_t max_message() const override { return max_message_; }
  std::size_t message_bytes(std::uint32_t rank) const override;
  void fill(Rank& rank) const override;
  void run_step(Rank& rank, std::size_t step, std::vector<Issued>* issued) const override;
  bool matches(std::uint32_t /*rank*/, const std::vector<Issued>& issued) const override {
    return issued.empty();
  }
  Audit audit_step(Rank& /*rank*/, std::size_t /*step*/) const override { return {}; }
  /// An element that is missing is one that the device never received.
  Audit audit_result(Rank& rank) const override;

 private:
  const reshard::Plan& plan_;
  std::vector<Regions> regions_;  // by device
  std::size_t max_steps_ = 0;
  std::int64_t max_message_ = 0;
  std::vector<std::vector<Group>> no_partitions_;
};

}  // namespace p2::execution
