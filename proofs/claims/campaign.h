#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "p2/answer.h"
#include "p2/document.h"
#include "proofs/claims/claim.h"

/// A campaign: claims settled on many systems, in parallel, with a journal that survives kills; the
/// summary of its results, their certificates (certification.cpp) and reports (report.cpp).
namespace p2::claims {

/// What settles claims that forbid moves: enumeration of all valid programs, or a SAT solver.
enum class Engine : std::uint8_t { Explicit, Sat };

/// Which claims are to be settled, and over what.
struct CampaignRequest {
  std::vector<const Claim*> claims;
  std::optional<HierarchyKind> from;  ///< only this one
  std::optional<HierarchyKind> to;
  std::vector<Dialect> dialects = {Dialect::Published};
  std::vector<PlacedSystem> systems;
  std::uint32_t size = 5;  ///< programs of at most this many steps
  Engine engine = Engine::Explicit;
  /// A result for every system, not only for the first of equivalent ones.
  bool every_system = false;
  bool deep = false;  ///< see Bounds
};

/// One claim on one placed system.
struct Question {
  const Claim* claim = nullptr;
  const PlacedSystem* system = nullptr;
  Dialect dialect = Dialect::Published;
  HierarchyKind from = HierarchyKind::Hardware;
  std::optional<HierarchyKind> to;
};

/// The order of rows of the system, if the question is about (c): it matters there only.
std::optional<RowOrder> row_order(const Question& question);

struct SettledQuestion {
  Question question;
  /// Systems of the request that are equivalent for this claim; the one in `question` is the first.
  std::uint32_t systems = 1;
  Settlement answer;
  Evidence evidence = {};        ///< by certify_results (certification.h)
  std::string certificate = {};  ///< the claim of the certificate; empty: there is none
  /// The certificate refutes the empty clause: no choice is such that the claim could fail.
  bool empty_question = false;
};

/// Counters of a running campaign, for other threads. A search answers all questions about the
/// programs of one problem.
struct CampaignProgress {
  std::atomic<std::uint64_t> searches = 0;
  std::atomic<std::uint64_t> searches_known = 0;  ///< taken from the journal
  std::atomic<std::uint64_t> searches_done = 0;   ///< completed, not ended by a limit
};

struct CampaignOptions {
  unsigned jobs = 0;  ///< threads; 0 = one per core
  Limits limits;      ///< of all threads together; each has an equal part of the memory
  /// A write-ahead log of what is settled; an existing one of the same request is continued.
  std::optional<std::string> journal;
  CampaignProgress* progress = nullptr;  ///< may be null
  /// What a result will take when all is described; the campaign is declined where that is more
  /// than the limits leave.
  std::size_t bytes_per_result = 0;
};

/// Settles every question of the request, in parallel. The results are in the order of claims,
/// pairs of hierarchies, dialects and systems, whatever the number of threads and the
/// interruptions.
///
/// Systems with the same device grid (factor sizes in device order), reduction factors,
/// instructions and forbidden moves are equivalent: device ids, classes, groups, rules and goal are
/// functions of these alone. Claims with a `settle` of their own may depend on more, even on names
/// of levels: for them systems with the same `key` are equivalent, and none are if they have no
/// key.
///
/// Questions not answered because of a limit or a cancellation are undecided; their searches are
/// not written to the journal. Throws InputError if the journal belongs to another request or
/// cannot be used, and LimitReached if a limit is reached before the questions about tens of
/// thousands of systems are collected.
std::vector<SettledQuestion> settle(const CampaignRequest& request, const CampaignOptions& options);

/// The part of a summary with one order of rows.
struct OrderSummary {
  RowOrder order = RowOrder::All;
  std::uint64_t systems = 0;
  std::uint64_t refuted = 0;    ///< systems
  std::uint64_t undecided = 0;  ///< systems
};

/// All results of one claim, pair of hierarchies and dialect, for systems that reduce over one axis
/// or over several.
struct Summary {
  Question question;  ///< claim, dialect and hierarchies; the system is the first one
  bool several_axes = false;
  std::uint64_t systems = 0;
  std::uint64_t refuted = 0;    ///< systems
  std::uint64_t undecided = 0;  ///< systems
  /// The counterexample with the fewest devices, then steps, then the first; null if there is none.
  const SettledQuestion* smallest = nullptr;
  const SettledQuestion* shortest = nullptr;  ///< with the fewest steps, then devices
  /// By order of rows, if the question is about (c); those that occur, first, between, last, all.
  std::vector<OrderSummary> orders;

  Outcome outcome() const;
};

/// `rows first: refuted on 8 of 40; rows last: holds on 40`; empty if the order does not matter.
std::string by_order(const Summary& row);

/// In the order of the results, single axis before several. Points into `results`.
std::vector<Summary> summarize(const std::vector<SettledQuestion>& results);

/// Whether the paper states it: of pairs of hierarchies, those that theorem 3.2 orders.
bool in_paper(const Question& question);

/// The worst of all: Refuted, Undecided, Established.
Outcome outcome_of(const std::vector<SettledQuestion>& results);

/// The counterexample of a refuted result, with its groups.
Program counterexample(const SettledQuestion& result);

struct CertificationOptions {
  std::string folder;
  std::uint64_t seed = 1;
  unsigned jobs = 0;                         ///< threads; 0 = one per core
  std::atomic<std::size_t>* done = nullptr;  ///< counts the results examined; may be null
};

struct Certification {
  std::vector<Diagnostic> diagnostics;  ///< certificates that could not be written, disagreements
  bool disagreement = false;            ///< the SAT solver refutes a result that holds
};

/// Writes certificates into the folder, and evidence and claim of each into its result:
///  - for every result that holds of `synthesis-complete` and of claims that forbid moves
///    (`expressiveness`, corollary B.4, the lemmas, cases and witnesses about valid programs), the
///    refutation of a counterexample;
///  - for every result that holds of `mixing` and of lemma B.3 over any groups, the refutation of a
///    program that mixes classes, up to the number of steps to which there is none;
///  - for every result that holds of `beyond-dsl`, `lattice-gain` and those on other networks, that
///    nothing is cheaper than the best programs over hierarchies, at any length; and for the
///    smallest and the shortest counterexample that nothing is cheaper than the best programs
///    found;
///  - for the smallest and the shortest counterexample of every other row of the summary that it is
///    a valid program and, if two hierarchies are compared, which step is no instruction of the
///    other. Counterexamples that are single instructions have none.
/// The evidence of all other results is SolverOnly.
Certification certify_results(std::vector<SettledQuestion>& results, const Bounds& bounds,
                              const CertificationOptions& options);

/// A condition on systems under which a claim that is false in general was refuted on none.
struct Hypothesis {
  std::string words;
  std::uint64_t systems = 0;  ///< that satisfy it
};

/// The weakest condition, of a fixed list and then of pairs from it, under which all of `results`
/// hold: the one that the most systems satisfy. Its words are empty if there is none. The results
/// are those of one claim, pair of hierarchies and dialect, one for every system.
Hypothesis weakest_hypothesis(const std::vector<const SettledQuestion*>& results);

/// The errata of the paper: a table of its statements with their verdicts and, for each false one,
/// the smallest counterexample drawn step by step, the claim that repairs it, and the weakest
/// hypothesis under which it holds. The request must have asked for every system.
Document errata(const std::vector<SettledQuestion>& results, const CampaignRequest& request);

using ScheduleResult = std::pair<const ScheduleClaim*, ScheduleSettlement>;

/// The same for statements about resharding and pipelines, with the smallest counterexamples as
/// inputs to p2-verify.
Document schedule_errata(const std::vector<ScheduleResult>& results);

}  // namespace p2::claims
