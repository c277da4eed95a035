#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proofs/claims/campaign.h"

namespace p2::claims {

/// Those of them whose rows reduced over stand in one order.
struct OrderSummary {
  RowOrder order = RowOrder::All;
  std::uint64_t systems = 0;
  std::uint64_t refuted = 0;    ///< systems
  std::uint64_t undecided = 0;  ///< systems
};

/// All results of one claim, pair of hierarchies and dialect, for systems that reduce over one axis
/// or over several.
struct Summary {
  Question question;  ///< its claim, dialect and hierarchies; the system is of no meaning
  bool several_axes = false;
  std::uint64_t systems = 0;
  std::uint64_t refuted = 0;    ///< systems
  std::uint64_t undecided = 0;  ///< systems
  /// Of the refuted ones that with the fewest devices, then steps, then the first; none otherwise.
  const Result* smallest = nullptr;
  const Result* shortest = nullptr;  ///< the one with the fewest steps, then devices
  /// By order of rows, if the question speaks of (c); those that occur, first, between, last, all.
  std::vector<OrderSummary> orders;

  Outcome verdict() const;
};

/// `rows first: refuted on 8 of 40; rows last: holds on 40`; empty if the order does not matter.
std::string by_order(const Summary& row);

/// In the order of the results, single axis before several. Points into `results`.
std::vector<Summary> summarise(const std::vector<Result>& results);

/// Whether the paper says it: of the pairs of hierarchies those that theorem 3.2 orders.
bool in_paper(const Question& question);

/// Refuted if one result is; else undecided if one is; else all hold.
Outcome verdict_of(const std::vector<Result>& results);

/// The counterexample of a refuted result, with its groups.
Program counterexample(const Result& result);

}  // namespace p2::claims
