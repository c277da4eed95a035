#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/execution/job.h"

namespace p2::execution {

/// The calls that the plan has for a rank, in their order, for chunks of `chunk_elements`.
std::vector<Issued> planned_calls(const Plan& plan, std::uint32_t rank, std::size_t chunk_elements);
/// Those of all ranks, for chunks of one element.
std::vector<std::vector<Issued>> planned_calls(const Plan& plan);

/// The calls of one rank in one job, a JSON object per line: program, name of the elements' type,
/// step, collective, group, position, count and root, in the order in which they were issued.
std::string record_lines(const Job& job, const std::vector<Issued>& issued);

/// What keeps the ranks' calls from matching, or nothing when every call finds the same call of all
/// other ranks of its group at the head of what they have still to do, so that no order of arrival
/// can make ranks wait for each other in a circle. `issued` is by rank.
std::optional<std::string> first_mismatch(const Plan& plan,
                                          const std::vector<std::vector<Issued>>& issued);

}  // namespace p2::execution
