#include "proofs/kernel/system.h"

#include <algorithm>

namespace p2::kernel {

std::uint32_t Sets::number(const Numbers& members) {
  const auto fresh = static_cast<std::uint32_t>(members_.size());
  const auto [entry, inserted] = numbers_.try_emplace(members, fresh);
  budget_->spend(members.size() + 1);
  if (inserted) members_.push_back(&entry->first);
  return entry->second;
}

bool Sets::subset(std::uint32_t small, std::uint32_t large) const {
  if (small == large || small == 0) return true;
  const Numbers& a = members(small);
  const Numbers& b = members(large);
  budget_->spend(a.size() + b.size());
  return std::includes(b.begin(), b.end(), a.begin(), a.end());
}

std::optional<std::uint32_t> Sets::unite(const Numbers& numbers) {
  const auto known = united_.find(numbers);
  if (known != united_.end()) return known->second;
  Numbers all;
  for (const std::uint32_t number : numbers) {
    all.insert(all.end(), members(number).begin(), members(number).end());
  }
  budget_->spend(16 * (numbers.size() + all.size()));
  std::sort(all.begin(), all.end());
  std::optional<std::uint32_t> result;
  if (std::adjacent_find(all.begin(), all.end()) == all.end()) result = number(all);
  united_.emplace(numbers, result);
  return result;
}

System::System(std::uint32_t devices, std::uint32_t chunks, Budget& budget)
    : budget_(&budget), sets_(budget), chunks_(chunks) {
  budget.spend(4 * std::uint64_t{devices} * chunks);  // bounds the memory
  for (std::uint32_t d = 0; d < devices; ++d) rows_.emplace_back(chunks, sets_.number({d}));
}

std::uint32_t System::held(std::uint32_t device) const {
  const Numbers& all = rows_[device];
  return chunks_ - static_cast<std::uint32_t>(std::count(all.begin(), all.end(), 0U));
}

bool System::holds(std::uint32_t device, std::uint32_t chunk, std::uint32_t contributor) const {
  const Numbers& members = sets_.members(rows_[device][chunk]);
  return std::binary_search(members.begin(), members.end(), contributor);
}

/// The sum over the group, chunk by chunk.
std::optional<std::string> System::add(const Numbers& group, Numbers& total) {
  Numbers column;
  Numbers last;
  for (std::uint32_t r = 0; r < chunks_; ++r) {
    column.clear();
    for (const std::uint32_t device : group) column.push_back(rows_[device][r]);
    const auto empty = std::count(column.begin(), column.end(), 0U);
    if (empty != 0 && empty != std::ssize(column)) return "premise same-chunks fails";
    if (column != last) {
      const auto all = sets_.unite(column);
      if (!all) return "premise disjoint fails";
      total[r] = *all;
      last = column;
    } else {
      total[r] = total[r - 1];
    }
  }
  return std::nullopt;
}

std::optional<std::string> System::gather(const Numbers& group, Numbers& total) {
  for (const std::uint32_t device : group) {
    for (std::uint32_t r = 0; r < chunks_; ++r) {
      if (rows_[device][r] == 0) continue;
      if (total[r] != 0) return "premise disjoint-chunks fails";
      total[r] = rows_[device][r];
    }
    if (held(device) != held(group[0])) return "premise equal-count fails";
  }
  return std::nullopt;
}

std::optional<std::string> System::contain(const Numbers& group) const {
  const Numbers& root = rows_[group[0]];
  bool informative = false;
  for (const std::uint32_t device : group) {
    for (std::uint32_t r = 0; r < chunks_; ++r) {
      if (!sets_.subset(rows_[device][r], root[r])) return "premise contained fails";
      informative = informative || rows_[device][r] != root[r];
    }
  }
  if (!informative) return "premise informative fails";
  return std::nullopt;
}

std::optional<std::string> System::run(const std::string& collective, const Numbers& group) {
  budget_->spend(4 * group.size() * std::uint64_t{chunks_});
  Numbers total(chunks_, 0);
  if (collective == "Broadcast") total = rows_[group[0]];
  const auto fault = collective == "Broadcast"   ? contain(group)
                     : collective == "AllGather" ? gather(group, total)
                                                 : add(group, total);
  if (fault) return fault;
  const auto n = static_cast<std::uint32_t>(group.size());
  const std::uint32_t held = chunks_ - static_cast<std::uint32_t>(
                                           std::count(total.begin(), total.end(), 0U));
  const bool scatter = collective == "ReduceScatter";
  if (scatter && held % n != 0) return "premise divisible fails";
  for (const std::uint32_t device : group) {
    const bool nothing = scatter || (collective == "Reduce" && device != group[0]);
    rows_[device] = nothing ? Numbers(chunks_, 0) : total;
  }
  for (std::uint32_t r = 0, index = 0; scatter && r < chunks_; ++r) {
    if (total[r] != 0) rows_[group[index++ / (held / n)]][r] = total[r];
  }
  return std::nullopt;
}

std::optional<std::string> System::take(const Step& step) {
  for (const Numbers& group : step.groups) {
    const auto idle = [&](std::uint32_t device) { return held(device) == 0; };
    const std::string where = "group of device " + std::to_string(group[0]) + ": ";
    if (step.instruction && std::all_of(group.begin(), group.end(), idle)) {
      return where + "all of it holds nothing";
    }
    if (const auto fault = run(step.collective, group)) return where + *fault;
  }
  return std::nullopt;
}

bool System::at_goal(const std::vector<Numbers>& classes) {
  for (const Numbers& members : classes) {
    const Numbers wanted(chunks_, sets_.number(members));
    for (const std::uint32_t device : members) {
      if (rows_[device] != wanted) return false;
    }
  }
  return true;
}

}  // namespace p2::kernel
