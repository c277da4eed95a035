#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p2/campaign.h"
#include "p2/instance.h"
#include "p2/place.h"

namespace p2 {

/// Which reduction programs are valid (section 3 of the P2 paper), or, with `exists`, whether there
/// is one with a property.
struct SynthesizeRequest {
  /// `axes`, `reduce` and one of `hierarchy` and `system` must be present. Without `placement`, all
  /// placements.
  InstanceSpec instance;
  /// The same is asked about these; the document has an answer for each. Excludes `smt2`.
  std::vector<InstanceSpec> more_instances;
  std::uint32_t size = 5;  ///< maximum number of steps, 0 to 32

  /// `auto`: an engine whose cost does not depend on sizes where one is proved to answer, else the
  /// explicit search. `explicit`: the explicit search. `z3`, `cnf` or `all`: the explicit search,
  /// and these enumerate the programs of every placement again; the sets are compared.
  std::string engine = "auto";
  /// Folder for certificates, which p2-check accepts, that every list is complete: of one placement
  /// the folder itself, of several one inside for each, whose name has the digest of its contents.
  /// Only for the paper's collectives and goal.
  std::optional<std::string> certify;
  /// A folder for the question whether the list of the one placement is complete, as formulas for
  /// other SAT solvers, one for each first step: without `certify` they are written there, with it
  /// the certificate is made of the proofs that are there. docs/campaigns.md.
  std::optional<std::string> cubes;
  /// Ask instead for one program in which a step has this collective or form (`Broadcast`,
  /// `InsideGroup`, `Parallel`, `Master`) or, after `no-`, in which none has. Excludes `certify`,
  /// `smt2`, `explain` and `count_only`.
  std::optional<std::string> exists;
  /// Also return the query to Z3 whether there are further programs of exactly `size` steps, which
  /// must be at least 1; for one placement.
  bool smt2 = false;

  /// Also decide whether the programs are the same for every size of at least 2 of the factors
  /// greater than 1. Sizes in `instance` that are `*` ask this of their factors; `hierarchy`,
  /// `axes` and `placement` may have them. Only for the paper's collectives and goal.
  bool all_sizes = false;
  bool count_only = false;  ///< count the programs without listing them
  bool explain = false;     ///< in the text: draw the device states after every step
  /// Parts of the document to build. A long list takes memory in each; after a disagreement of the
  /// engines there is JSON in any case.
  bool text = true;
  bool json = true;
  /// Of the placements. With a journal or a shard `SynthesizedPlacement` has counts only, and the
  /// document all else. Excludes `smt2`.
  CampaignPart part = {};
};

/// The programs of one placement compared with those that another engine enumerates.
struct ListComparison {
  std::string engine = {};
  /// The engine has proved that there are no further programs.
  bool complete = false;
  /// All programs of at most this size were enumerated; absent if not even the empty one was
  /// decided.
  std::optional<std::uint32_t> settled_size = {};
  std::uint64_t found = 0;
  std::vector<std::string> missing = {};  ///< enumerated by the engine, absent from the list
  std::vector<std::string> extra =
      {};  ///< in the list up to settled_size, not enumerated by the engine
  /// What the reference interpreter decides about the first `missing` and `extra` programs.
  struct Replay {
    std::string program;
    EngineAnswer answer;
  };
  std::vector<Replay> replays = {};

  bool differs() const { return !missing.empty() || !extra.empty(); }
};

/// What one engine decides about `exists`.
struct ExistenceAnswer {
  std::string engine;
  Outcome outcome = Outcome::Undecided;  ///< Established: there is one; Refuted: there is none
  std::string program = {};              ///< a shortest one, if there is one
  /// There is none of at most this size; absent if nothing is known.
  std::optional<std::uint32_t> settled_size = {};
};

/// The answer about one placement.
struct SynthesizedPlacement {
  ParallelismMatrix matrix;
  std::string begins;              ///< initial state: `contributions`, `shards` or `root-sum`
  std::uint32_t chunks = 0;        ///< of every buffer
  std::uint64_t count = 0;         ///< programs of at most `settled_size` steps
  std::uint32_t settled_size = 0;  ///< `size`, or less if a limit was reached
  /// In the one-line notation, by size, then in search order. Empty with `count_only` or `exists`.
  std::vector<std::string> programs;
  std::vector<ListComparison> comparisons;  ///< in the order z3, cnf
  std::vector<ExistenceAnswer> existence;   ///< in the order explicit, z3, cnf
};

/// `results` has one entry for each placement, with the certificate as its evidence. Its outcome is
/// Established if the list is complete up to `size` and every engine asked confirms it, and, where
/// that is asked, for all sizes; with `exists`, if there is such a program. `outcome` is
/// Disagreement if engines differ, Undecided if a placement is undecided, otherwise Refuted if with
/// `exists` a placement has no such program, or the programs are not the same for all sizes.
struct SynthesizeAnswer : CampaignAnswer {
  std::vector<SynthesizedPlacement> placements;
  std::uint64_t total = 0;  ///< programs over all placements
  bool complete = true;     ///< all lists, or all answers to `exists`, are settled up to `size`
  std::optional<std::string> smt2;  ///< SMT-LIB 2, if asked for and no limit was reached
};

/// Enumerates the valid programs of every placement by explicit-state breadth-first search;
/// placements with the same problem share one search, different problems are searched by
/// `options.jobs` threads. Programs with user-defined collectives are replayed to see whether every
/// step is sound. The JSON of the document is that of `p2-verify synth --format json`.
///
/// Throws InputError for a request that cannot be answered: an incomplete instance, an unsound
/// definition, an unknown engine or property, several placements with `smt2`, more than 100,000
/// placements. Throws LimitReached for more than 2^64 programs.
///
///     p2::SynthesizeRequest request;
///     request.instance.hierarchy = "node=2,gpu=4";
///     request.instance.axes = "data=8";
///     request.instance.reduce = "data";
///     const p2::SynthesizeAnswer answer = p2::synthesize(request, {});
///     for (const std::string& program : answer.placements[0].programs) …
SynthesizeAnswer synthesize(const SynthesizeRequest& request, const Options& options);

}  // namespace p2
