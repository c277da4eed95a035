#include "proofs/definition/settlement.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "encodings/z3/reading.h"
#include "proofs/definition/step.h"
#include "proofs/definition/symbolic_step.h"

namespace p2::definition {
namespace {

using KnownRules = std::span<const z3_encoding::Rule* const>;

/// A known collective, or two one after the other, and how it was found to differ from a
/// definition.
struct Candidate {
  std::vector<std::size_t> parts;  ///< count the known ones
  bool differs = false;            ///< both are legal in some state and end differently
  bool own_alone = false;          ///< only the definition is legal in some state
  bool other_alone = false;        ///< only the candidate is
  std::set<std::uint32_t> meets;   ///< sizes of groups for which both are legal in some state
};

/// What a definition and a candidate make of one state.
struct PostStates {
  std::optional<language::GroupState> own;
  std::optional<language::GroupState> other;

  bool differ() const { return own && other && *own != *other; }
};

/// The state after the steps of these collectives, or nothing where one of them is not legal.
std::optional<language::GroupState> outcome(std::span<const std::size_t> parts, KnownRules known,
                                            const language::GroupState& before);

/// Enters what one state shows.
void note(const PostStates& outcomes, std::uint32_t devices, Candidate& candidate);

/// The same as terms, for one shape.
class SymbolicComparison {
 public:
  SymbolicComparison(z3::context& context, const z3_encoding::Rule& own, const Candidate& candidate,
                     KnownRules known, const Shape& shape);

  const z3_encoding::GroupRows& before() const { return own_.before(); }
  z3::expr own_legal() const { return own_legal_; }
  z3::expr other_legal() const { return other_legal_; }
  z3::expr differ() const { return own_legal_ && other_legal_ && !same_; }

 private:
  SymbolicStep own_;
  z3::expr own_legal_;
  z3::expr other_legal_;
  z3::expr same_;
};

std::optional<language::GroupState> outcome(std::span<const std::size_t> parts, KnownRules known,
                                            const language::GroupState& before) {
  std::optional<language::GroupState> state = before;
  for (const std::size_t part : parts) {
    std::optional<Step> step = take(known[part]->definition, *state);
    if (!step) return std::nullopt;
    state = std::move(step->after);
  }
  return state;
}

void note(const PostStates& outcomes, std::uint32_t devices, Candidate& candidate) {
  if (outcomes.differ()) candidate.differs = true;
  if (outcomes.own && outcomes.other) candidate.meets.insert(devices);
  if (outcomes.own && !outcomes.other) candidate.own_alone = true;
  if (!outcomes.own && outcomes.other) candidate.other_alone = true;
}

SymbolicComparison::SymbolicComparison(z3::context& context, const z3_encoding::Rule& own,
                                       const Candidate& candidate, KnownRules known,
                                       const Shape& shape)
    : own_(context, own, symbolic_rows(context, shape)),
      own_legal_(own_.legal()),
      other_legal_(context.bool_val(true)),
      same_(context.bool_val(true)) {
  z3_encoding::GroupRows rows = own_.before();
  for (const std::size_t part : candidate.parts) {
    SymbolicStep step(context, *known[part], rows);
    other_legal_ = other_legal_ && step.legal();
    rows = step.after();
  }
  same_ = same_rows(own_.after(), rows);
}

using language::GroupState;

/// Shapes whose states are all compared; every state costs as many steps as there are candidates.
constexpr std::uint32_t kMaxComparedBits = 12;

std::vector<Candidate> all_candidates(std::size_t known) {
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < known; ++i) all.push_back({{i}, false, false, false, {}});
  for (std::size_t i = 0; i < known; ++i) {
    for (std::size_t j = 0; j < known; ++j) all.push_back({{i, j}, false, false, false, {}});
  }
  return all;
}

class Search {
 public:
  Search(const Subject& own, KnownRules known, const Scope& scope)
      : own_(own), known_(known), scope_(scope), candidates_(all_candidates(known.size())) {}

  Relations run() {
    for_each_shape([&](const Shape& shape) { compare_states(shape); });
    for (Candidate& candidate : candidates_) {
      if (meets_everywhere(candidate) && proved(candidate)) {
        result_.found.push_back(relation(candidate));
      }
    }
    return std::move(result_);
  }

 private:
  template <typename Visit>
  void for_each_shape(Visit visit) const {
    for (std::uint32_t n = kMinGroup; n <= scope_.max_group; ++n) {
      for (const Shape& shape : shapes_of(n)) visit(shape);
    }
  }

  PostStates outcomes(const Candidate& candidate, const GroupState& before) const {
    PostStates found;
    if (auto step = take(own_.definition, before)) found.own = std::move(step->after);
    found.other = outcome(candidate.parts, known_, before);
    return found;
  }

  /// Whether a limit was met, which is then noted.
  bool stopped() {
    if (scope_.limits.exceeded(0)) result_.decided = false;
    return scope_.limits.exceeded(0);
  }
  void compare_states(const Shape& shape);
  bool meets_everywhere(Candidate& candidate);
  bool proved(Candidate& candidate);
  bool ask(Candidate& candidate, const SymbolicComparison& compared, const z3::expr& condition,
           const Shape& shape);
  Relation relation(const Candidate& candidate) const;

  const Subject& own_;
  KnownRules known_;
  const Scope& scope_;
  std::vector<Candidate> candidates_;
  z3::context context_;
  Relations result_;
};

void Search::compare_states(const Shape& shape) {
  const bool all = shape.bits() <= kMaxComparedBits;
  const auto visit = [&](const GroupState& before) {
    const std::optional<Step> own = take(own_.definition, before);
    std::vector<std::optional<Step>> first;
    for (const z3_encoding::Rule* rule : known_) first.push_back(take(rule->definition, before));
    for (Candidate& candidate : candidates_) {
      if (candidate.differs) continue;
      const std::optional<Step>& start = first[candidate.parts[0]];
      if (!own && !start) continue;
      PostStates found;
      if (own) found.own = own->after;
      if (start) {
        found.other = outcome(std::span(candidate.parts).subspan(1), known_, start->after);
      }
      note(found, shape.devices, candidate);
    }
  };
  const bool finished = for_each_state(shape, all, scope_.seed, scope_.limits, visit);
  result_.decided = result_.decided && finished;
}

/// Whether a state satisfies the condition; it is entered into the candidate. A state in which the
/// interpreter sees something else than Z3 is a difference.
bool Search::ask(Candidate& candidate, const SymbolicComparison& compared,
                 const z3::expr& condition, const Shape& shape) {
  const StateAnswer answer =
      find_state(context_, compared.before(), condition, scope_.limits, false);
  if (!answer.decided) result_.decided = false;
  if (!answer.state) return false;
  const Candidate known = candidate;
  note(outcomes(candidate, *answer.state), shape.devices, candidate);
  const bool new_fact = candidate.differs != known.differs || candidate.meets != known.meets ||
                        candidate.own_alone != known.own_alone ||
                        candidate.other_alone != known.other_alone;
  if (!new_fact) {
    result_.differences.push_back({"relations", shape, "refuted", "holds", answer.state});
  }
  return new_fact;
}

bool Search::meets_everywhere(Candidate& candidate) {
  for (std::uint32_t n = kMinGroup; n <= scope_.max_group; ++n) {
    if (candidate.differs) return false;
    std::vector<Shape> shapes = shapes_of(n);
    std::reverse(shapes.begin(), shapes.end());  // the larger, the more likely
    for (const Shape& shape : shapes) {
      // Where all states were compared, a state in which both are legal would be known.
      if (candidate.meets.count(n) != 0 || shape.bits() <= kMaxComparedBits) break;
      if (stopped()) return false;
      const SymbolicComparison compared(context_, own_.rule, candidate, known_, shape);
      ask(candidate, compared, compared.own_legal() && compared.other_legal(), shape);
    }
    if (candidate.meets.count(n) == 0) return false;
  }
  return !candidate.differs;
}

bool Search::proved(Candidate& candidate) {
  const bool decided_before = result_.decided;
  result_.decided = true;
  for_each_shape([&](const Shape& shape) {
    if (candidate.differs || !result_.decided || stopped()) return;
    const SymbolicComparison compared(context_, own_.rule, candidate, known_, shape);
    const z3::expr own = compared.own_legal();
    const z3::expr other = compared.other_legal();
    if (ask(candidate, compared, compared.differ(), shape)) return;
    if (!candidate.own_alone) ask(candidate, compared, own && !other, shape);
    if (!candidate.other_alone) ask(candidate, compared, !own && other, shape);
  });
  const bool proved = result_.decided && !candidate.differs;
  result_.decided = result_.decided && decided_before;
  return proved;
}

Relation Search::relation(const Candidate& candidate) const {
  Relation relation;
  relation.kind = candidate.own_alone
                      ? (candidate.other_alone ? Relation::Kind::Agrees : Relation::Kind::Weaker)
                      : (candidate.other_alone ? Relation::Kind::Stronger : Relation::Kind::Equal);
  for (const std::size_t part : candidate.parts) {
    relation.to.push_back(known_[part]->definition.name);
  }
  return relation;
}

}  // namespace

std::string_view to_string(Relation::Kind kind) {
  switch (kind) {
    case Relation::Kind::Equal:
      return "equal";
    case Relation::Kind::Stronger:
      return "stronger";
    case Relation::Kind::Weaker:
      return "weaker";
    case Relation::Kind::Agrees:
      return "agrees";
  }
  invariant(false, "not a kind of relation");
  return {};
}

std::string to_string(const Relation& relation) {
  const std::string to = fmt::format("{}", fmt::join(relation.to, "; "));
  switch (relation.kind) {
    case Relation::Kind::Equal:
      return "= " + to;
    case Relation::Kind::Stronger:
      return "= " + to + ", with a stronger premise";
    case Relation::Kind::Weaker:
      return "= " + to + ", with a weaker premise";
    default:
      return "= " + to + " where both are defined";
  }
}

Relations find_relations(const Subject& own, KnownRules known, const Scope& scope) {
  return Search(own, known, scope).run();
}

}  // namespace p2::definition
