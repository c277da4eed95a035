#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "encodings/z3/queries.h"
#include "encodings/z3/synthesis.h"
#include "engine/program/program.h"

namespace p2::z3_encoding {

/// A price that is linear in the chunks that the first device of a group holds before the step.
struct GroupPrice {
  std::uint64_t base = 0;
  std::uint64_t per_chunk = 0;
};

/// A step costs the price of its most expensive group, a program the sum of its steps.
struct PriceLimit {
  std::function<GroupPrice(Collective collective, std::size_t size)> price;
  std::uint64_t below = 0;  ///< only programs that cost less
};

/// The query `free-groups`: is there a valid program whose steps are a collective on any disjoint
/// groups of at least two devices? A group in which nobody holds anything is not legal.
struct FreeGroupsQuery {
  std::uint32_t devices = 0;  ///< at most 8: every subset of the devices is a symbol in every step
  std::vector<Group> classes;
  std::uint32_t size = 3;  ///< most steps
  bool mixing = false;     ///< some group is to have devices of several classes
  std::optional<PriceLimit> limit = {};
  Definitions definitions = language::built_in_definitions();
  Limits limits = {};
};

struct FreeGroupsAnswer {
  Existence existence = Existence::Unknown;
  std::vector<Step> witness;  ///< a shortest program, where one exists
  std::uint32_t settled = 0;  ///< no program of at most so many steps exists
};

FreeGroupsAnswer find_one(const FreeGroupsQuery& query);

}  // namespace p2::z3_encoding
