#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proofs/claims/claim.h"

namespace p2::claims {

/// What settles claims that forbid moves.
enum class Engine : std::uint8_t { Explicit, Clauses };

/// Which claims are to be settled, and over what.
struct Request {
  std::vector<const Claim*> claims;
  std::optional<HierarchyKind> from;  ///< only this one
  std::optional<HierarchyKind> to;
  std::vector<Dialect> dialects = {Dialect::Published};
  std::vector<PlacedSystem> systems;
  std::uint32_t size = 5;  ///< most steps of a program
  Engine engine = Engine::Explicit;
  /// Also asks every question that an earlier one has answered already.
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

/// Of a question that speaks of (c), in which the order of rows matters: that of its system.
std::optional<RowOrder> row_order(const Question& question);

struct Result {
  Question question;
  /// So many systems of the request are alike for this claim, with the one in `question` the first.
  std::uint32_t systems = 1;
  Answer answer;
};

/// How far a campaign has come, for whoever watches it from another thread. A search answers all
/// the questions that speak of the programs of one problem.
struct CampaignProgress {
  std::atomic<std::uint64_t> searches = 0;
  std::atomic<std::uint64_t> searches_known = 0;  ///< taken from the journal
  std::atomic<std::uint64_t> searches_done = 0;
};

struct CampaignOptions {
  unsigned jobs = 0;  ///< threads; 0 = one per core
  Limits limits;      ///< of all threads together; each has an equal part of the memory
  std::optional<std::string> journal;  ///< a file that keeps what was settled
  CampaignProgress* progress = nullptr;
  const std::atomic<bool>* stop = nullptr;  ///< once true, no further search is started
};

/// Settles every question of the request, in parallel. The results stand in the order of claims,
/// pairs of hierarchies, dialects and systems, whatever the number of threads and however often the
/// campaign was interrupted.
///
/// Questions about systems with the same device grid (factor sizes in device order), the same
/// reduction factors and the same instructions, of which the claim forbids the same, are one:
/// device ids, classes, groups, rules and goal are functions of these alone. Claims that settle
/// themselves may look at more, even at names of levels: they are asked once for all systems with
/// the same `content`, and of every system where they have none.
///
/// Questions not reached because of `stop` or a limit are undecided; they are not written to the
/// journal, nor are the others of their search. Throws InputError when the journal is of another
/// request or cannot be used.
std::vector<Result> settle(const Request& request, const CampaignOptions& options);

}  // namespace p2::claims
