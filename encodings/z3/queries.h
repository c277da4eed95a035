#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/collective/language/definition.h"
#include "engine/hlo/equality/equivalence.h"
#include "engine/onesided/unrolling.h"
#include "engine/program/instance.h"
#include "engine/program/program.h"
#include "engine/reshard/plans/plan.h"
#include "engine/strategy/graph.h"
#include "p2/limits.h"
#include "p2/result.h"

/// Questions to Z3 about programs, plans and strategies; those about synthesis are in synthesis.h.
/// A query that reaches a limit is answered as undecided, with what it has settled.
///
/// All of them throw LimitReached where a limit is reached before there is any answer to give, or
/// where Z3 runs out of memory, and ToolError where Z3 fails otherwise. No z3::exception leaves
/// this folder.
namespace p2::z3_encoding {

/// The definitions of the collectives that a query uses, in the order of Collective: the built-in
/// ones unless others are given, which must outlive it.
using Definitions = std::span<const language::Definition>;

/// The version of Z3 in use, e.g. `4.8.12`.
std::string solver_version();

/// The query `validity`: is this program valid?
struct ValidityQuery {
  static constexpr const char* kName = "validity";

  const Program* program = nullptr;
  const Instance* instance = nullptr;  ///< needed where a step has a shape
  Dialect dialect = Dialect::Published;
  Definitions definitions = language::built_in_definitions();
  Limits limits = {};
};

/// Decides the program step by step. All rows of all states are constants, so that each condition
/// is one that Z3 simplifies to true or false; the solver is called where that does not suffice.
/// The groups of steps with a shape are formed inside Z3 (lowering.h) and not taken from the step.
/// Undecided where a limit is reached.
EngineAnswer judge(const ValidityQuery& query);

/// The query as SMT-LIB 2: every row of every state is a symbol, and the assertion says that some
/// condition fails. Hence unsat = the program is valid.
std::string smt_lib(const ValidityQuery& query);

/// The query `reshard-plan`: does this plan obey all rules?
struct PlanQuery {
  /// Plans of more operations are undecided.
  static constexpr std::size_t kMaxOperations = 2000;

  const reshard::Plan* plan = nullptr;
  Limits limits = {};
};

/// Decides rule by rule, in linear integer arithmetic, whether some element, whose coordinates are
/// unknowns, violates it: it is in a box and not in the buffer, in one half of a transfer and not
/// in the other, in two concurrent boxes, in a box that is sent and in none received before, in a
/// region and in none received. There is no deadlock iff every step and every transfer can have a
/// time such that a transfer is later than the beginning of its two steps and earlier than the next
/// ones. Of the answer, `rule` is the first one that is broken; the outcome is undecided where a
/// limit is reached.
EngineAnswer judge(const PlanQuery& query);

/// The query `strategy`: does a strategy cost less than `below`? A Boolean per configuration,
/// exactly one per vertex true; costs are unbounded integers. For small graphs.
struct StrategyQuery {
  const strategy::Graph* graph = nullptr;
  /// Where given, only strategies whose memory adds up to at most `limit`.
  const strategy::Memory* memory = nullptr;
  strategy::Cost limit = 0;
  strategy::Cost below = 0;
  Limits limits = {};
};

/// Z3's answer to: no strategy costs less.
struct StrategyBound {
  Outcome outcome = Outcome::Undecided;
  strategy::Strategy strategy;  ///< where refuted, one that costs less
};

StrategyBound check_bound(const StrategyQuery& query);

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

/// The query `module-equality`: are the outputs of two modules equal for all inputs?
///
/// Floating-point elements are real numbers, with their infinities and NaNs where constants bring
/// them in; integers are exact, modulo 2^bits; Booleans are Booleans. Sums, products, maxima,
/// comparisons and selections are what they are; all other functions are uninterpreted, and so is
/// 0 · e where the bounds of e do not show that it is finite. Elements are asked about one by one,
/// unless their normal forms are the same. Undecided beyond a number of expressions, or of units of
/// work, that is small enough for some seconds. An element that Z3 finds different may be equal:
/// Refuted comes with the numbers of inputs for which the difference is to be looked for.
hlo::SolverAnswer judge(const hlo::interpreter::OutputExpressions& outputs, const Limits& limits);

}  // namespace p2::z3_encoding
