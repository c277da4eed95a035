#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/campaign/campaign.h"
#include "p2/answer.h"
#include "p2/document.h"
#include "proofs/claims/claim.h"

/// A campaign of claims: each settled on many systems; the summary of its results (report.cpp),
/// their certificates (certification.cpp) and reports (report.cpp).
namespace p2::claims {

/// What settles claims that forbid moves: enumeration of all valid programs, or a SAT solver.
enum class Engine : std::uint8_t { Explicit, Sat };

/// Where certificates go.
struct Certificates {
  std::string folder;
  std::uint64_t seed = 1;
  /// Of claims that forbid moves: by clauses, also where theorem T7 has a certificate.
  bool clauses = false;
};

/// Which claims are to be settled, and over what.
struct CampaignRequest {
  std::vector<const ScheduleClaim*> schedules;
  std::vector<const Claim*> claims;
  std::optional<HierarchyKind> from;  ///< only this one
  std::optional<HierarchyKind> to;
  std::vector<Dialect> dialects = {Dialect::Published};
  std::vector<PlacedSystem> systems;
  std::uint32_t size = 5;  ///< programs of at most this many steps
  Engine engine = Engine::Explicit;
  /// A result for every system, not only for the first of equivalent ones.
  bool every_system = false;
  bool deep = false;   ///< see Bounds
  unsigned parts = 1;  ///< see Bounds
  std::optional<Certificates> certificates = {};
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
  Evidence evidence = {};
  std::string certificate = {};  ///< the claim of the certificate; empty: there is none
  /// No choice is such that the claim could fail; by clauses, its certificate is the empty one.
  bool empty_question = false;
  /// Certificates that could not be written, and a disagreement.
  std::vector<Diagnostic> diagnostics = {};
  bool disagreement = false;  ///< a result that holds is refuted when it is to be certified
};

using ScheduleResult = std::pair<const ScheduleClaim*, ScheduleSettlement>;

/// In the order of claims, pairs of hierarchies, dialects and systems, whatever the number of
/// threads, processes and interruptions.
struct CampaignResults {
  std::vector<SettledQuestion> systems;
  std::vector<ScheduleResult> schedules;
};

/// The questions of a request: first the claims about schedules, then the searches. A search
/// answers all that is asked about the programs of one problem, and certifies what holds.
///
/// Systems with the same device grid (factor sizes in device order), reduction factors,
/// instructions and forbidden moves are equivalent: device ids, classes, groups, rules and goal are
/// functions of these alone. Claims with a `settle` of their own may depend on more, even on names
/// of levels: for them systems with the same `key` are equivalent, and none are if they have no
/// key.
///
/// What is not answered, because of a limit, a cancellation, or because another shard does, is
/// undecided.
class Campaign final : public campaign::Questions {
 public:
  /// The request must outlive this. Throws LimitReached if a limit is reached before the questions
  /// about tens of thousands of systems are collected.
  Campaign(const CampaignRequest& request, const Limits& limits);

  std::size_t count() const override { return request_.schedules.size() + searches_.size(); }
  double expected_cost(std::size_t question) const override;
  Answer ask(std::size_t question, const Limits& limits) override;
  void record(std::size_t question, const nlohmann::ordered_json& answer) override;

  std::size_t result_count() const { return results_.size(); }
  /// Of the questions of a shard.
  CampaignResults take_results(const campaign::Shard& shard);

 private:
  /// Everything that the answer of a claim that forbids moves depends on, and what summaries
  /// distinguish.
  using Key = std::tuple<std::vector<std::uint32_t>, FactorSet, std::vector<Move>,
                         std::vector<bool>, bool, std::optional<RowOrder>>;
  struct Search {
    std::vector<std::size_t> results;  ///< that it answers
    double states = 1;                 ///< a measure of its problem
  };

  void collect(const Claim& claim);
  void collect(const Claim& claim, HierarchyKind from, std::optional<HierarchyKind> to);
  void add(const Question& question);
  /// For a claim with a `settle` of its own.
  void add_with_key(const Question& question);
  static Key key(const Question& question, const Subject& subject);
  Answer ask_schedule(std::size_t number, const Limits& limits) const;
  Answer ask_search(const Search& search, const Limits& limits) const;
  bool ended_by_limit(const SettledQuestion& result, const Limits& limits) const;

  const CampaignRequest& request_;
  const Limits& limits_;  // while the questions are collected
  std::size_t systems_seen_ = 0;
  std::map<Key, std::size_t> equivalent_;  // → the first such result
  std::map<Problem, std::size_t> search_of_;
  std::map<std::string, std::size_t> search_of_key_;  // of one claim, dialect and pair
  std::vector<Search> searches_;
  std::vector<SettledQuestion> results_;
  std::vector<ScheduleResult> schedules_;
};

/// Settles every question of the request on the threads of this process. `journal` and `counters`
/// may be null.
std::vector<SettledQuestion> settle(const CampaignRequest& request, const Limits& limits = {},
                                    unsigned jobs = 0, campaign::Journal* journal = nullptr,
                                    campaign::Counters* counters = nullptr);

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

/// Writes a certificate of a result that holds, and its evidence into the result:
///  - of `synthesis-complete` and of claims that forbid moves (`expressiveness`, corollary B.4, the
///    lemmas, cases and witnesses about valid programs), the refutation of a counterexample: of the
///    latter in dialect published by the machine of theorem T7, of others by clauses;
///  - of `mixing` and of lemma B.3 over any groups, the refutation of a program that mixes classes,
///    up to the number of steps to which there is none;
///  - of `beyond-dsl`, `lattice-gain` and those on other networks, that nothing is cheaper than the
///    best programs over hierarchies, at any length.
/// All other evidence is SolverOnly. The folder's name has the digest of its contents, so that no
/// two processes write different files to the same one, and none writes what is there.
void certify(SettledQuestion& result, const Bounds& bounds, const Certificates& certificates);

/// Whether that certificate takes a SAT solver, if the claim forbids moves.
bool certified_by_clauses(const Question& question, const Certificates& certificates);

/// The same for the smallest and the shortest counterexample of every row of the summary: of costs,
/// that nothing is cheaper than the best programs found; of others, that it is a valid program and,
/// if two hierarchies are compared, which step is no instruction of the other. Counterexamples that
/// are single instructions have none.
void certify_counterexamples(std::vector<SettledQuestion>& results, const Bounds& bounds,
                             const Certificates& certificates);

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

/// The same for statements about resharding and pipelines, with the smallest counterexamples as
/// inputs to p2-verify.
Document schedule_errata(const std::vector<ScheduleResult>& results);

}  // namespace p2::claims
