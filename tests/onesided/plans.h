#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace p2::onesided {

/// Small plans in the text format, right ones of different kinds.
std::vector<std::string> small_plans();

/// A plan with one to three random changes of its lines: one left out, repeated or exchanged with
/// the next, an order, an index or the second half of a buffer changed. Many are still right.
std::string mutated(const std::string& plan, std::uint64_t seed);

}  // namespace p2::onesided
