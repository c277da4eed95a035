#include "proofs/claims/small_tasks.h"

#include <algorithm>

namespace p2::claims {
namespace {

std::vector<std::uint32_t> hosts_in(std::uint32_t mask) {
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t host = 0; mask >> host != 0; ++host) {
    if ((mask >> host & 1U) != 0) hosts.push_back(host);
  }
  return hosts;
}

class Enumeration {
 public:
  Enumeration(const TaskSetSize& size, const std::function<bool(const UnitTasks&)>& visit)
      : size_(size),
        kinds_(((1U << size.senders) - 1) * ((1U << size.receivers) - 1)),
        visit_(visit) {}

  /// Adds tasks no longer than `longest`, and of equal ones none before `kind`.
  bool go_on(std::int64_t left, std::int64_t longest, std::uint32_t kind) {
    const auto missing = static_cast<std::int64_t>(size_.tasks - tasks_.size());
    if (missing == 0) return left != 0 || visit_(tasks_);
    for (std::int64_t size = std::min(longest, left - (missing - 1)); size * missing >= left;
         --size) {
      for (std::uint32_t k = size == longest ? kind : 0; k < kinds_; ++k) {
        const std::uint32_t senders = k % ((1U << size_.senders) - 1) + 1;
        const std::uint32_t receivers = k / ((1U << size_.senders) - 1) + 1;
        tasks_.push_back({size, hosts_in(senders), hosts_in(receivers)});
        const bool more = go_on(left - size, size, k);
        tasks_.pop_back();
        if (!more) return false;
      }
    }
    return true;
  }

 private:
  const TaskSetSize size_;
  const std::uint32_t kinds_;
  const std::function<bool(const UnitTasks&)>& visit_;
  UnitTasks tasks_;
};

}  // namespace

bool for_each_task_set(const TaskSetSize& size, std::int64_t longest,
                       const std::function<bool(const UnitTasks&)>& visit) {
  return Enumeration(size, visit).go_on(size.total, longest, 0);
}

}  // namespace p2::claims
