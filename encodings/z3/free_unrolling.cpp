#include "encodings/z3/free_unrolling.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace p2::z3_encoding {
namespace {

std::vector<Group> all_groups(std::uint32_t devices) {
  std::vector<Group> groups;
  for (std::uint32_t mask = 1; mask < 1U << devices; ++mask) {
    if (std::popcount(mask) == 1) continue;
    Group& group = groups.emplace_back();
    for (std::uint32_t device = 0; device < devices; ++device) {
      if ((mask >> device & 1U) != 0) group.push_back(device);
    }
  }
  return groups;
}

bool has(const Group& group, std::uint32_t device) {
  return std::binary_search(group.begin(), group.end(), device);
}

bool overlap(const Group& a, const Group& b) {
  return std::any_of(a.begin(), a.end(), [&](std::uint32_t device) { return has(b, device); });
}

}  // namespace

FreeUnrolling::FreeUnrolling(z3::context& context, std::uint32_t devices,
                             const std::vector<Group>& classes, const Rulebook& rulebook,
                             const Meter& meter)
    : context_(&context),
      devices_(devices),
      rulebook_(rulebook),
      meter_(meter),
      groups_(all_groups(devices)),
      clauses_(meter),
      rows_(SystemRows::initial(context, devices, devices, devices)),
      goal_(rows_.with_sums(classes)) {}

z3::expr FreeUnrolling::symbol(const std::string& name) {
  return context_->bool_const(fmt::format("step{} {}", steps_.size() + 1, name).c_str());
}

SystemRows FreeUnrolling::fresh_rows() {
  SystemRows rows = rows_;
  for (std::uint32_t d = 0; d < devices_; ++d) {
    for (std::uint32_t r = 0; r < devices_; ++r) {
      const std::string name = fmt::format("step{}.device{}.chunk{}", steps_.size() + 1, d, r);
      rows.set(d, r, context_->bv_const(name.c_str(), devices_));
    }
  }
  return rows;
}

/// At least one group, and no device in two.
std::vector<z3::expr> FreeUnrolling::choose_groups() {
  std::vector<z3::expr> formed;
  z3::expr_vector some(*context_);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    formed.push_back(symbol(fmt::format("group{}", group)));
    some.push_back(formed.back());
    for (std::size_t other = 0; other < group; ++other) {
      if (overlap(groups_[group], groups_[other])) clauses_.add(!formed[group] || !formed[other]);
    }
  }
  clauses_.add(z3::mk_or(some));
  return formed;
}

std::vector<z3::expr> FreeUnrolling::choose_rule() {
  std::vector<z3::expr> chosen;
  z3::expr_vector some(*context_);
  for (const Rule& rule : rulebook_.rules()) {
    const z3::expr next = symbol(rule.definition.name);
    for (const z3::expr& other : chosen) clauses_.add(!next || !other);
    chosen.push_back(next);
    some.push_back(next);
  }
  clauses_.add(z3::mk_or(some));
  return chosen;
}

void FreeUnrolling::choose() {
  clauses_.add(!equal(rows_, goal_));
  Chosen step{rows_, choose_rule(), choose_groups()};
  const SystemRows after = fresh_rows();
  for (std::uint32_t rule = 0; rule < step.rules.size(); ++rule) {
    step.acts.emplace_back();
    for (std::size_t group = 0; group < groups_.size(); ++group) apply(rule, group, step, after);
  }
  for (std::uint32_t device = 0; device < devices_; ++device) keep(device, step, after);
  steps_.push_back(std::move(step));
  rows_ = after;
}

/// What follows where this rule and this group are chosen.
void FreeUnrolling::apply(std::uint32_t rule, std::size_t group, Chosen& step,
                          const SystemRows& after) {
  meter_.checkpoint();
  const z3::expr acts = symbol(fmt::format("rule{} group{}", rule, group));
  clauses_.add(!step.rules[rule] || !step.groups[group] || acts);
  step.acts[rule].push_back(acts);
  const Group& devices = groups_[group];
  const GroupRows before = rows_.of(devices);
  const Rule& definition = rulebook_.rules()[rule];
  Reading reading(*context_, definition, before);
  clauses_.demand({acts}, !holds_nothing(before), true);
  for (std::size_t i = 0; i < definition.definition.premises.size(); ++i) {
    clauses_.demand({acts}, reading.premise(i), true);
  }
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    for (std::uint32_t r = 0; r < devices_; ++r) {
      clauses_.demand_same(acts, after.row(devices[i], r), reading.row_after(i, r));
    }
  }
}

/// A device in no group keeps its rows.
void FreeUnrolling::keep(std::uint32_t device, const Chosen& step, const SystemRows& after) {
  const z3::expr idle = symbol(fmt::format("idle{}", device));
  z3::expr_vector either(*context_);
  either.push_back(idle);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (has(groups_[group], device)) either.push_back(step.groups[group]);
  }
  clauses_.add(z3::mk_or(either));
  for (std::uint32_t r = 0; r < devices_; ++r) {
    clauses_.demand_same(idle, after.row(device, r), rows_.row(device, r));
  }
}

z3::expr FreeUnrolling::end() {
  const std::string name = fmt::format("ends after step{}", steps_.size());
  z3::expr ends = context_->bool_const(name.c_str());
  for (std::uint32_t d = 0; d < devices_; ++d) {
    for (std::uint32_t r = 0; r < devices_; ++r) {
      clauses_.demand_equal({ends}, rows_.row(d, r), goal_.row(d, r));
    }
  }
  return ends;
}

}  // namespace p2::z3_encoding
