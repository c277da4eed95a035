#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/onesided/plan.h"

namespace p2::onesided {

/// How many texts two engines were compared about.
struct Counts {
  std::size_t valid = 0;
  std::size_t invalid = 0;
  std::size_t open = 0;    ///< one of the two does not decide
  std::size_t unread = 0;  ///< no plans
};

/// Small plans in the text format, right ones of different kinds.
std::vector<std::string> small_plans();

/// A plan with one to three random changes of its lines: one left out, repeated or exchanged with
/// the next, an order, an index or the second half of a buffer changed. Many are still right.
std::string mutated(const std::string& plan, std::uint64_t seed);

/// One to three ranks with a few blocks that access scratch, and counters, mostly with as many
/// signals as are waited for, that blocks and ranks share. Outputs are right in any case.
std::string random_shared_plan(std::uint64_t seed);

/// Small execution plans of MSCCL++, right ones of different kinds: channels, packets, ports, a
/// switch, semaphores and barriers, groups of thread blocks.
std::vector<Plan> small_execution_plans();

/// A plan with one or two random changes: an op left out, repeated, exchanged with the next, made
/// relaxed or strong, moved to another chunk or channel, a nop, a flag of the plan.
Plan mutated(Plan plan, std::uint64_t seed);

}  // namespace p2::onesided
