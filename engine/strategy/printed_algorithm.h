#pragma once

#include <optional>
#include <vector>

#include "engine/strategy/graph.h"
#include "engine/strategy/ties.h"

namespace p2::strategy {

/// How the paper's algorithms 1 to 3 are read where they can be read in several ways. Line 12 of
/// algorithm 3 has `v.tbl` where only `T` makes sense; either way these are the vertices of the
/// table, so there is nothing to choose.
struct Reading {
  /// Algorithm 3, line 4: "S is empty" as printed, or "no table was joined yet", as meant. They
  /// differ where two tables agree nowhere: as printed, what follows starts over without them.
  bool restarts_when_empty = true;
  /// Costs are added up as whole numbers, or as the doubles `cost / unit`.
  std::optional<double> unit;
};

/// What the printed algorithms return.
struct Printed {
  /// By vertex; a vertex that no table which was joined has stays without one. Empty where no
  /// strategy is left.
  std::vector<std::optional<std::uint32_t>> strategy;

  bool complete() const;
};

/// Algorithm 1 with algorithms 2 and 3, line by line: a reference, not a way to find strategies.
/// Its tables have a row per choice of a vertex and all its neighbours. Nothing where there would
/// be more than `most_rows` of them.
std::optional<Printed> printed_algorithm(const Graph& graph, const Reading& reading, Ties& ties,
                                         std::size_t most_rows);

/// How many rows the tables have at the beginning, or the largest number there is.
std::uint64_t printed_rows(const Graph& graph);

}  // namespace p2::strategy
