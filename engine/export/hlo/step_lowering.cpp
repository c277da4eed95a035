#include "engine/export/hlo/step_lowering.h"

#include <algorithm>
#include <numeric>

namespace p2::hlo {
namespace {

using execution::Call;
using execution::RankStep;
using execution::Rows;

std::int64_t row_in(const std::optional<Rows>& arrangement, std::size_t at) {
  if (!arrangement) return static_cast<std::int64_t>(at);
  const std::uint32_t row = (*arrangement)[at];
  return row == execution::kZeros ? kAnyRow : static_cast<std::int64_t>(row);
}

}  // namespace

StepLowering::StepLowering(ModuleBuilder& builder, ModuleBuilder::Value buffer,
                           const execution::Plan& plan, std::size_t step)
    : builder_(builder), buffer_(buffer), plan_(plan), ranks_(plan.steps[step]) {
  collect_groups();
}

void StepLowering::collect_groups() {
  std::vector<std::int64_t> idle;
  bool equal = true;
  for (std::size_t device = 0; device < ranks_.size(); ++device) {
    if (!ranks_[device].call) {
      idle.push_back(static_cast<std::int64_t>(device));
      continue;
    }
    const Call& call = *ranks_[device].call;
    collective_ = call.collective;
    rows_ = std::max<std::int64_t>(rows_, call.rows);
    equal = equal && (size_ == 0 || size_ == call.size);
    size_ = std::max<std::int64_t>(size_, call.size);
    const Group& group = plan_.partitions[call.partition][call.group];
    if (call.position == 0) groups_.emplace_back(group.begin(), group.end());
  }
  equally_large_ = equal && size_ > 0 && static_cast<std::int64_t>(idle.size()) % size_ == 0;
  const std::size_t width =
      wants_equal_groups() && equally_large_ ? static_cast<std::size_t>(size_) : 1;
  for (std::size_t i = 0; i < idle.size(); i += width) {
    groups_.emplace_back(idle.begin() + static_cast<std::ptrdiff_t>(i),
                         idle.begin() + static_cast<std::ptrdiff_t>(i + width));
  }
}

std::int64_t StepLowering::spread(const Call& call, std::int64_t row) const {
  return row / call.rows * rows_ + row % call.rows;
}

RowTable StepLowering::packing() const {
  const std::int64_t rows = collective_ == Collective::ReduceScatter ? size_ * rows_ : rows_;
  RowTable table(ranks_.size(), std::vector<std::int64_t>(static_cast<std::size_t>(rows), kAnyRow));
  for (std::size_t device = 0; device < ranks_.size(); ++device) {
    const RankStep& rank = ranks_[device];
    if (!rank.call) continue;
    const Call& call = *rank.call;
    // What others than the root bring to a broadcast does not matter.
    if (collective_ == Collective::Broadcast && call.position > 0) continue;
    const bool scatters = collective_ == Collective::ReduceScatter;
    const std::size_t needed = std::size_t{call.rows} * (scatters ? call.size : 1);
    for (std::size_t i = 0; i < needed; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      table[device][static_cast<std::size_t>(scatters ? spread(call, at) : at)] =
          row_in(rank.pack, i);
    }
  }
  return table;
}

RowTable StepLowering::unpacking() const {
  std::size_t most = 1;
  for (const RankStep& rank : ranks_) most = std::max(most, rank.held.size());
  RowTable table(ranks_.size(), std::vector<std::int64_t>(most, kAnyRow));
  const std::int64_t old = builder_.rows(buffer_);
  for (std::size_t device = 0; device < ranks_.size(); ++device) {
    const RankStep& rank = ranks_[device];
    for (std::size_t i = 0; i < rank.held.size(); ++i) {
      std::int64_t row = row_in(rank.unpack, i);
      if (rank.call && row != kAnyRow) {
        const Call& call = *rank.call;
        if (collective_ == Collective::AllGather) row = spread(call, row);
        if (collective_ == Collective::ReduceScatter && !equally_large_)
          row += call.position * rows_;
        row += old;
      }
      table[device][i] = row;
    }
  }
  return table;
}

/// Everyone puts its rows among zeros, and all are added up.
ModuleBuilder::Value StepLowering::gathered_by_sum(ModuleBuilder::Value packed) {
  std::vector<std::int64_t> starts;
  for (const RankStep& rank : ranks_) starts.push_back(rank.call ? rank.call->position * rows_ : 0);
  const ModuleBuilder::Value zeros = builder_.zeros(size_ * rows_);
  return builder_.collective("all-reduce", builder_.updated(zeros, packed, starts), groups_,
                             size_ * rows_);
}

/// The root brings its rows, the others zeros, and all are added up.
ModuleBuilder::Value StepLowering::broadcast_by_sum() {
  RowTable table = packing();
  for (std::size_t device = 0; device < ranks_.size(); ++device) {
    if (!ranks_[device].call || ranks_[device].call->position == 0) continue;
    std::iota(table[device].begin(), table[device].end(), builder_.rows(buffer_));
  }
  const ModuleBuilder::Value beside_zeros = builder_.concatenated({buffer_, builder_.zeros(rows_)});
  return builder_.collective("all-reduce", chosen_rows(builder_, beside_zeros, table), groups_,
                             rows_);
}

ModuleBuilder::Value StepLowering::called() {
  if (collective_ == Collective::Broadcast && !equally_large_) return broadcast_by_sum();
  const ModuleBuilder::Value packed = chosen_rows(builder_, buffer_, packing());
  switch (collective_) {
    case Collective::ReduceScatter:
      if (equally_large_) return builder_.collective("reduce-scatter", packed, groups_, rows_);
      break;
    case Collective::AllGather:
      if (!equally_large_) return gathered_by_sum(packed);
      return builder_.collective("all-gather", packed, groups_, size_ * rows_);
    case Collective::Broadcast:
      return builder_.collective("collective-broadcast", packed, groups_, rows_);
    case Collective::AllReduce:
    case Collective::Reduce:
      break;
  }
  return builder_.collective("all-reduce", packed, groups_, builder_.rows(packed));
}

ModuleBuilder::Value StepLowering::lowered() {
  if (rows_ == 0) return buffer_;
  const ModuleBuilder::Value result = called();
  RowTable table = unpacking();
  const std::int64_t old = builder_.rows(buffer_);
  bool keeps = false;
  bool receives = false;
  for (const auto& rows : table) {
    for (const std::int64_t row : rows) {
      keeps = keeps || (row != kAnyRow && row < old);
      receives = receives || row >= old;
    }
  }
  if (!receives) return chosen_rows(builder_, buffer_, table);
  if (keeps) return chosen_rows(builder_, builder_.concatenated({buffer_, result}), table);
  for (auto& rows : table) {
    for (std::int64_t& row : rows) row = row == kAnyRow ? row : row - old;
  }
  return chosen_rows(builder_, result, table);
}

}  // namespace p2::hlo
