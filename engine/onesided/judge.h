#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/limits.h"
#include "engine/onesided/ordering.h"
#include "engine/onesided/plan.h"
#include "engine/onesided/text_plan.h"
#include "engine/onesided/unrolling.h"
#include "p2/limits.h"
#include "p2/result.h"

namespace p2::onesided {

/// The decision about a plan, over all interleavings of any number of launches.
struct PlanDecision : Decision<Violation> {
  /// Why it is undecided, a stable name: `unknown-collective`, `ambiguous-match`,
  /// `forwarded-packets`, `limit`.
  std::string open = {};
  std::vector<std::string> sizes = {};  ///< that were examined
};

/// Why nothing was decided about one unrolling.
struct OpenQuestion {
  std::string name;  ///< as PlanDecision::open
  std::string reason;
};

/// What was found out about one unrolling.
struct UnrollingDecision {
  std::optional<Violation> violation = {};
  std::optional<OpenQuestion> open = {};
};

/// Decides about the launches of an unrolling, in the order of Rule. Throws LimitReached.
UnrollingDecision judge(const Unrolling& unrolling, const Limits& limits);

/// Decides about a plan for all its sizes. Positions of the violation have `source` as their file.
PlanDecision judge(const Plan& plan, const std::string& source, const Limits& limits);
PlanDecision judge(const TextPlan& plan, const std::string& source, const Limits& limits);

/// The same for what `unroll` makes of choice number k of the sizes, for so many launches.
using Unroll = std::function<std::variant<Unrolling, Violation>(std::size_t, std::uint32_t)>;
PlanDecision judge_unrollings(const std::string& source, std::size_t count, std::uint32_t launches,
                              const Unroll& unroll, const Limits& limits);

/// The first packet that is overwritten, operation that never ends, or wait without its signal.
/// `open`: operations wait for each other, but not if every element goes on by itself.
std::optional<Violation> find_deadlock(const Ordering& ordering,
                                       const transfer::HappensBefore& time,
                                       std::optional<OpenQuestion>& open, LimitWatch& watch);
/// Why it is open whether an operation ends that waits for packets forwarded from its own.
OpenQuestion open_forwarding(const Ordering& ordering, transfer::Event stuck);

/// Adds to `ordering` the signals that precede waits in all interleavings, for counters whose
/// matching is ambiguous. Throws LimitReached.
void match_in_all_interleavings(Ordering& ordering, LimitWatch& watch);

/// Whether an interleaving of a plan with ambiguous counters, to which no match was added, stops in
/// its last launch. Precondition: `time` has no cycle. Throws LimitReached.
UnrollingDecision find_stop(const Ordering& ordering, const transfer::HappensBefore& time,
                            LimitWatch& watch);

/// A fault of a plan with ambiguous counters that the order of all interleavings does not decide:
/// whether one stops, or has a race. Precondition: `time` has no cycle. Throws LimitReached.
UnrollingDecision search_interleavings(Ordering& ordering, const transfer::HappensBefore& time,
                                       LimitWatch& watch);

/// The first race, in the order of Rule; `time` is the acyclic order of time. Throws LimitReached.
std::optional<Violation> find_race(const Ordering& ordering, const transfer::HappensBefore& time,
                                   LimitWatch& watch);

/// The first output cell that differs from the collective's definition, by launch, rank and index.
/// One schedule is executed, of which every interleaving has the result. Preconditions: no cycle,
/// no race. `open`: the collective is unknown. Throws LimitReached.
std::optional<Violation> find_wrong_result(const Ordering& ordering,
                                           const transfer::HappensBefore& time, LimitWatch& watch,
                                           std::optional<OpenQuestion>& open);

// Other engines, and what stands on them.

struct ExplorerOptions {
  /// Interleave all steps. Otherwise only steps that do not commute are run in all orders: signals
  /// and waits of counters that several signal, or wait on.
  bool all_interleavings = false;
  std::uint64_t max_states = 200'000;
};

/// An independent engine for small plans: executes an unrolling step by step, in all interleavings,
/// and detects races as it goes (Flanagan and Freund, "FastTrack: efficient and precise dynamic
/// race detection", PLDI 2009, with sets of operations instead of clocks). It shares no order with
/// Ordering: what an operation has seen is passed on by meets, signals, flushes and launches.
///
/// Decides about the launches of the unrolling alone: undecided (`surplus`) where a counter gets
/// more signals than it is waited for, and (`limit`) beyond max_states. Throws LimitReached.
UnrollingDecision explore(const Unrolling& unrolling, const ExplorerOptions& options,
                          LimitWatch& watch);

/// How one run of a plan failed.
struct RunFailure {
  std::uint64_t seed = 0;
  std::string reason;  ///< `o[1] of rank 0 after launch 0 is wrong`, or what never ends
};

/// Runs a plan once on a memory that is as late as it may be: a seed draws which step comes next;
/// what a block writes stays in its store buffer (Owens, Sarkar and Sewell, "A better x86 memory
/// model: x86-TSO", TPHOLs 2009, here without order) until it is drained at random, by a release, a
/// barrier or the end of the launch; element-wise operations may be put off until the next meet;
/// transfers go on when a launch has ended. Nothing if all outputs are right, and for collectives
/// without a known result if the run ends. It uses no order of Ordering. Throws LimitReached.
std::optional<RunFailure> simulate(const Unrolling& unrolling, std::uint64_t seed,
                                   LimitWatch& watch);

/// The first failure of the runs with seeds 0 … runs − 1.
std::optional<RunFailure> find_failing_run(const Unrolling& unrolling, std::uint64_t runs,
                                           LimitWatch& watch);

/// Runs a plan once with a thread per block, per rank and per rank's proxy, on atomic memory. With
/// `late` a memory that is as late as in simulate(); otherwise every access is sequentially
/// consistent, at once and in program order. `seed` draws what is late and when threads pause; the
/// rest is up to the machine. A run in which nothing happens for a while has failed. Throws
/// LimitReached where there would be too many threads, and at the deadline.
std::optional<RunFailure> run_with_threads(const Unrolling& unrolling, bool late,
                                           std::uint64_t seed, const Limits& limits);

/// Inputs of runs are numbers drawn for every launch, rank and input cell, added modulo 2^64: a
/// wrong sum is right by chance with a probability of 2^-64.
std::uint64_t input_number(std::uint32_t launch, std::uint32_t rank, std::uint32_t cell);
/// By launch, rank and cell.
using Outputs = std::vector<std::vector<std::vector<std::uint64_t>>>;
/// The first output of a run that is not the collective's, in words; nothing for collectives
/// without a known result.
std::optional<std::string> find_wrong_number(const Unrolling& plan, const Outputs& outputs);

/// Changes that make a refuted plan valid; leaving out any one of them does not.
struct Repair {
  std::vector<std::string> changes;  ///< `make gpu 1 tb 0 op 3 (rlxsignal) a signal`
  std::string text;                  ///< the repaired plan, in the format that it was read in
};

/// Searches among orders made release and acquire, threads made to meet, flushes and a second half
/// of scratch: first all changes of the fewest kinds that make the plan valid, then as few of them
/// as possible by leaving out half, a quarter, … (Zeller and Hildebrandt, "Simplifying and
/// isolating failure-inducing input", TSE 28(2), 2002). Every plan on the way is judged. Nothing
/// where no such changes help. Throws LimitReached.
std::optional<Repair> find_repair(const Plan& plan, const std::string& source,
                                  const Limits& limits);
std::optional<Repair> find_text_repair(const std::string& text, const std::string& source,
                                       const Limits& limits);

}  // namespace p2::onesided
