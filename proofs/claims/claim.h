#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "p2/limits.h"
#include "proofs/claims/subject.h"

namespace p2::claims {

/// `Undecided`: a limit was met first, or the claim is beyond what this engine enumerates.
enum class Outcome : std::uint8_t { Holds, Refuted, Undecided };

/// What was found of a claim on one subject.
struct Answer {
  Outcome verdict = Outcome::Undecided;
  /// Settled for all programs of at most so many steps.
  std::uint32_t settled = 0;
  /// The counterexample in the notation of programs over `from` (or of bare groups): the first of
  /// the shortest. Empty unless refuted.
  std::string program;
  std::size_t steps = 0;  ///< of the counterexample
  std::string note;       ///< what is wrong with it, in words; may be empty

  bool operator==(const Answer&) const = default;
};

/// What bounds an answer: programs of at most `size` steps are looked at.
struct Bounds {
  std::uint32_t size = 5;
  Limits limits;
  /// Searches over arbitrary groups and for cheaper programs go on where they take minutes.
  bool deep = false;
};

struct CostAnswer;

/// A statement about every placed system, settled here one system at a time.
struct Claim {
  /// Marks the moves that no valid program may use; the claim holds exactly if none does. Such
  /// claims about one search space share one search.
  using Forbids = std::vector<bool> (*)(const Subject& subject);
  /// Settles the claim on its own.
  using Settles = Answer (*)(const Subject& subject, const Bounds& bounds);
  /// All that the answer of `settles` depends on, as a text: subjects with equal ones are alike.
  using Content = std::string (*)(const Subject& subject);

  /// The same answer with the programs that it rests on (cheaper_groups.h).
  using Prices = CostAnswer (*)(const Subject& subject, const Bounds& bounds);

  std::string name = {};
  std::string statement = {};  ///< in words
  std::string formula = {};
  std::string section = {};              ///< of the paper; empty for a claim that is not in it
  std::string repair = {};               ///< the claim that says it right; empty where none does
  std::string engine = {};               ///< what settles it here
  std::vector<HierarchyKind> from = {};  ///< over which it is asked
  std::vector<HierarchyKind> to = {};    ///< with which each is compared; empty where none is
  Forbids forbids = nullptr;             ///< one of the two is set
  Settles settles = nullptr;
  Prices prices = nullptr;    ///< of a claim about costs
  Content content = nullptr;  ///< of `settles`; not set where every subject is different
};

/// The claims of the paper's section 3 and appendix B, with its proofs' witnesses and their
/// repairs; and those about the rules themselves.
void append_claims_of_paper(std::vector<Claim>& claims);
void append_claims_about_rules(std::vector<Claim>& claims);
void append_claims_about_definitions(std::vector<Claim>& claims);
/// What programs over any disjoint groups can do that those over hierarchies cannot.
void append_claims_beyond_groups(std::vector<Claim>& claims);
/// Which programs are cheaper than which, in the latency-bandwidth model.
void append_claims_about_cost(std::vector<Claim>& claims);

/// All claims, in the order in which --list prints them.
const std::vector<Claim>& registry();
/// Nothing when there is none of that name.
const Claim* claim_called(std::string_view name);

/// `holds`, `refuted`, `unknown`.
std::string_view to_string(Outcome verdict);
std::optional<Outcome> verdict_called(std::string_view name);

}  // namespace p2::claims
