#pragma once

#include <cstddef>

#include "encodings/z3/query.h"
#include "engine/onesided/unrolling.h"
#include "p2/result.h"

namespace p2::z3_encoding {

/// The query `onesided-orders`: do all interleavings of these launches end, without a race and with
/// the right result?
struct OrdersQuery {
  /// Unrollings of more events, or of more pairs of accesses, are undecided.
  static constexpr std::size_t kMaxEvents = 3000;
  static constexpr std::size_t kMaxPairs = 20000;

  const onesided::Unrolling* unrolling = nullptr;
  Limits limits = {};
};

/// Partial-order encoding in difference logic (Alglave, Kroening and Tautschnig, "Partial orders
/// for efficient bounded model checking of concurrent software", CAV 2013): every event has a time
/// t, in the order of one interleaving, and a time m, in an order that the memory model allows of
/// that interleaving. Signals of several threads end waits in the order of t. A race are two
/// accesses in one order by t and in the other by m; a deadlock is a set of events, closed under
/// what they wait for, after which nothing can occur. Without either, one order of Z3's is executed
/// for the result. Shares the unrolling with the other engines, and no order.
EngineAnswer judge(const OrdersQuery& query);

}  // namespace p2::z3_encoding
