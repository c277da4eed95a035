#include "proofs/kernel/system.h"

#include <algorithm>

namespace p2::kernel {
namespace {

/// In how many chunks there is something.
std::size_t held(const Numbers& row) {
  return row.size() - static_cast<std::size_t>(std::ranges::count(row, 0U));
}

}  // namespace

std::uint32_t Sets::number(const Numbers& members) {
  const auto fresh = static_cast<std::uint32_t>(members_.size());
  const auto [entry, inserted] = numbers_.try_emplace(members, fresh);
  budget_->spend(members.size() + 1);
  if (inserted) members_.push_back(&entry->first);
  return entry->second;
}

bool Sets::subset(std::uint32_t small, std::uint32_t large) const {
  if (small == large || small == 0) return true;
  budget_->spend(members(small).size() + members(large).size());
  return std::ranges::includes(members(large), members(small));
}

std::optional<std::uint32_t> Sets::unite(const Numbers& numbers) {
  const auto known = united_.find(numbers);
  if (known != united_.end()) return known->second;
  Numbers all;
  for (const std::uint32_t number : numbers) {
    all.insert(all.end(), members(number).begin(), members(number).end());
  }
  budget_->spend(16 * (numbers.size() + all.size()));
  std::ranges::sort(all);
  std::optional<std::uint32_t>& result = united_[numbers];
  if (std::ranges::adjacent_find(all) == all.end()) result = number(all);
  return result;
}

System::System(const Stage& stage, Budget& budget)
    : budget_(&budget), sets_(budget), chunks_(stage.chunks) {
  budget.spend(4 * std::uint64_t{stage.devices} * chunks_);  // bounds the memory
  for (std::uint32_t d = 0; d < stage.devices; ++d) rows_.emplace_back(chunks_, sets_.number({d}));
}

/// The sum over the group, chunk by chunk.
const char* System::add(const Numbers& group, Numbers& total) {
  for (const std::uint32_t device : group) {
    for (std::uint32_t r = 0; r < chunks_; ++r) {
      if ((rows_[device][r] == 0) != (rows_[group[0]][r] == 0)) return "same-chunks";
    }
  }
  Numbers column;
  Numbers last;
  for (std::uint32_t r = 0; r < chunks_; ++r) {
    column.clear();
    for (const std::uint32_t device : group) column.push_back(rows_[device][r]);
    const auto all = r > 0 && column == last ? std::optional(total[r - 1]) : sets_.unite(column);
    if (!all) return "disjoint";
    total[r] = *all;
    last.swap(column);
  }
  return nullptr;
}

const char* System::gather(const Numbers& group, Numbers& total) {
  for (const std::uint32_t device : group) {
    for (std::uint32_t r = 0; r < chunks_; ++r) {
      if (rows_[device][r] == 0) continue;
      if (total[r] != 0) return "disjoint-chunks";
      total[r] = rows_[device][r];
    }
  }
  for (const std::uint32_t device : group) {
    if (held(rows_[device]) != held(rows_[group[0]])) return "equal-count";
  }
  return nullptr;
}

const char* System::contain(const Numbers& group) const {
  const Numbers& root = rows_[group[0]];
  bool informative = false;
  for (const std::uint32_t device : group) {
    for (std::uint32_t r = 0; r < chunks_; ++r) {
      if (!sets_.subset(rows_[device][r], root[r])) return "contained";
      informative = informative || rows_[device][r] != root[r];
    }
  }
  return informative ? nullptr : "informative";
}

const char* System::run(const Step& step, const Numbers& group) {
  budget_->spend(4 * group.size() * std::uint64_t{chunks_});
  const auto empty = [&](std::uint32_t device) { return held(rows_[device]) == 0; };
  if (step.instruction && std::ranges::all_of(group, empty)) return "empty-group";
  const bool copies = step.collective == "Broadcast";
  Numbers total = copies ? rows_[group[0]] : Numbers(chunks_, 0);
  const char* broken = copies                           ? contain(group)
                       : step.collective == "AllGather" ? gather(group, total)
                                                        : add(group, total);
  if (broken != nullptr) return broken;
  const bool scatter = step.collective == "ReduceScatter";
  if (scatter && held(total) % group.size() != 0) return "divisible";
  const std::size_t share = held(total) / group.size();
  for (const std::uint32_t device : group) {
    const bool nothing = scatter || (step.collective == "Reduce" && device != group[0]);
    rows_[device] = nothing ? Numbers(chunks_, 0) : total;
  }
  for (std::size_t r = 0, index = 0; scatter && r < chunks_; ++r) {
    if (total[r] != 0) rows_[group[index++ / share]][r] = total[r];
  }
  return nullptr;
}

void System::take(const Step& step, const std::string& name) {
  for (const Numbers& group : step.groups) {
    const char* broken = run(step, group);
    if (broken == nullptr) continue;
    reject(name + ", group of device " + std::to_string(group[0]) + ": " + broken + " fails");
  }
}

bool System::at_goal(const std::vector<Numbers>& classes) const {
  for (const Numbers& members : classes) {
    for (const std::uint32_t device : members) {
      const std::uint32_t all = rows_[device][0];
      if (sets_.members(all) != members || rows_[device] != Numbers(chunks_, all)) return false;
    }
  }
  return true;
}

}  // namespace p2::kernel
