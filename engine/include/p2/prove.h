#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p2/campaign.h"
#include "p2/instance.h"

namespace p2 {

/// Which statements of the papers and about the rules are to be settled, and on what.
///
///   ProveRequest request;
///   request.claims = {"lemma-b7"};
///   request.max_devices = 8;
///   const ProveAnswer answer = prove(request, {});
///   // answer.summary[0].outcome == Outcome::Refuted: lemma B.7 is false on some system
struct ProveRequest {
  std::vector<std::string> claims;  ///< names that list_claims() has; at least one, or `all`
  bool all = false;                 ///< every claim; those about schedules unless a system is given
  std::optional<std::string> from;  ///< only programs over `a|b|c|d|collapsed|lattice`
  std::optional<std::string> to;    ///< only expressed over this one
  std::string dialect = "published";         ///< `printed|published|both`
  std::string engine = "explicit";           ///< `explicit` or `cnf`, for claims about programs
  std::uint32_t size = 5;                    ///< programs of at most this many steps, 1 to 32
  std::optional<std::uint32_t> max_devices;  ///< all systems of 2 to this many devices, 2 to 64;
                                             ///< absent: 6. Excludes `system`.
  /// Only this system, with axes and reduction: on its placement, or on all placements.
  InstanceSpec system;
  bool every_system = false;  ///< a result for every system, also for equivalent ones
  bool deep = false;          ///< no bounds on searches that take longer than seconds
  /// A question for the SAT solver about programs is split by its first step into so many parts,
  /// refuted on all threads, with one proof of all (cube and conquer); from 1 to 1024.
  std::uint32_t cubes = 1;
  CampaignPart part;
  std::optional<std::string> certify;  ///< a folder for certificates
  bool report = false;                 ///< fill `ProveAnswer::report`; implies every_system
};

/// All results of one claim, pair of hierarchies and dialect, for systems that reduce over one axis
/// or over several.
struct ClaimSummary {
  std::string claim;
  std::string from;
  std::optional<std::string> to;
  std::string dialect;
  bool several_axes = false;
  std::uint64_t systems = 0;
  std::uint64_t refuted = 0;    ///< systems
  std::uint64_t undecided = 0;  ///< systems
  Outcome outcome = Outcome::Undecided;
};

/// Answer::results are those of each claim on each system, then those of claims about schedules;
/// the counterexample of a refuted one has the program in its facts.
struct ProveAnswer : CampaignAnswer {
  std::vector<ClaimSummary> summary;
  /// The errata: false statements with their smallest counterexamples, repairs and hypotheses.
  Document report;
};

/// Settles the claims by enumeration, branch and bound, SAT or Z3, whatever each one names.
/// Progress reports count the questions. Throws InputError,
/// at the flag of the command line that the member corresponds to, for what cannot be asked and for
/// a journal that cannot be used, and LimitReached if a limit is reached before the questions are
/// collected. Other limits leave results undecided. Certificates that cannot be written are
/// diagnostics.
ProveAnswer prove(const ProveRequest& request, const Options& options);

/// A statement that prove() settles.
struct ClaimInfo {
  std::string name;
  std::string statement;
  std::string formula;
  std::string section;  ///< of its paper; empty for a claim that is not in one
  std::string range;    ///< hierarchies `a, b`, or for schedules the cases
  std::string to;       ///< hierarchies with which those of `range` are compared; may be empty
  std::string engine;   ///< what settles it
};

struct ClaimList : Answer {
  std::vector<ClaimInfo> claims;     ///< about placed systems
  std::vector<ClaimInfo> schedules;  ///< about resharding and pipelines
};

/// All claims, in the order of the papers.
ClaimList list_claims();

}  // namespace p2
