#include "proofs/definition/settlement.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proofs/definition/every_size.h"
#include "proofs/definition/step.h"

namespace p2::definition {
namespace {

/// The search for a number of chunks with which premises can be satisfied: all numbers up to
/// kMaxSearchedChunks that the premises about n and k admit, but no more than kMaxAsked of them.
constexpr std::uint32_t kMaxSearchedChunks = 256;
constexpr std::uint32_t kMaxAsked = 24;
constexpr std::uint32_t kMaxBits = 2048;
/// Z3's units of work for one of these questions.
constexpr std::uint64_t kSearchWork = 2'000'000;
/// Where no group of the scope has a legal step, groups of up to so many devices are searched.
constexpr std::uint32_t kMaxSearchedGroup = 16;
constexpr std::uint32_t kMaxAskedOfLarger = 3;
/// Shapes at which claims are examined because the only legal steps are there.
constexpr std::uint32_t kMaxExaminedBits = 1024;

/// A state with something in it that satisfies all premises.
StateAnswer find_legal(z3::context& context, const Subject& subject, const Shape& shape,
                       const Limits& limits) {
  if (limits.exceeded(0)) return {};
  SymbolicStep step(context, subject.rule, symbolic_rows(context, shape));
  return find_state(context, step.before(), step.legal(), limits, false);
}

/// The search in groups of one size.
class GroupSearch {
 public:
  GroupSearch(const Subject& subject, std::uint32_t devices, const Limits& limits)
      : subject_(subject), limits_(limits), searching_(limits) {
    answer_.devices = devices;
    searching_.work = std::min(limits.work.value_or(kSearchWork), kSearchWork);
  }

  /// Asks about the shapes that the explicit engine has seen, until Z3 has a state.
  void ask_about(const std::vector<Exploration>& seen) {
    bool decided = true;
    for (const Exploration& explored : seen) {
      if (explored.shape.devices != answer_.devices) continue;
      const StateAnswer z3 = find_legal(context_, subject_, explored.shape, limits_);
      decided = decided && (z3.decided || explored.complete);
      z3_decided_ = z3_decided_ && z3.decided;
      if (!answer_.legal) answer_.legal = explored.legal;
      compare(explored, z3);
      if (difference_ || z3.state) break;
    }
    next_chunks_ = max_chunks(answer_.devices) + 1;
    if (decided && !answer_.legal) answer_.none_up_to = max_chunks(answer_.devices);
  }

  /// Asks about further numbers of chunks until there is a state: the first `most` that the
  /// premises admit, and n² and 2n².
  void ask_about_more_chunks(std::uint32_t most) {
    const std::uint32_t n = answer_.devices;
    bool decided = answer_.none_up_to + 1 >= next_chunks_;
    for (std::uint32_t k = next_chunks_; k <= kMaxSearchedChunks; ++k) {
      if (admits(subject_.definition, n, k)) {
        const bool asks = most > 0 || k == n * n || k == 2 * n * n;
        if (most > 0) --most;
        decided = asks && ask(k) && decided;
      }
      if (answer_.legal || difference_ || limits_.exceeded(0)) return;
      if (decided) answer_.none_up_to = k;
    }
  }

  GroupSatisfiability& answer() { return answer_; }
  bool z3_decided() const { return z3_decided_; }
  const std::optional<Difference>& difference() const { return difference_; }

 private:
  /// Asks about k chunks. Whether it is decided that no state of 1 or n contributors is legal.
  bool ask(std::uint32_t k) {
    bool decided = true;
    for (const std::uint32_t contributors : {1U, answer_.devices}) {
      const Shape shape{answer_.devices, k, contributors};
      if (shape.bits() > kMaxBits) return false;
      const StateAnswer z3 = find_legal(context_, subject_, shape, searching_);
      decided = decided && z3.decided;
      compare({shape, false, std::nullopt, {}}, z3);
      if (answer_.legal || difference_) return true;
    }
    return decided;
  }

  void compare(const Exploration& explored, const StateAnswer& z3) {
    if (z3.state && !legal(subject_.definition, *z3.state)) {
      difference_ = {"satisfiable", explored.shape, "holds", "refuted", z3.state};
    } else if (z3.decided && !z3.state && explored.legal) {
      difference_ = {"satisfiable", explored.shape, "refuted", "holds", explored.legal};
    } else if (z3.state && !answer_.legal) {
      answer_.legal = z3.state;
    }
  }

  const Subject& subject_;
  const Limits& limits_;
  Limits searching_;
  z3::context context_;
  GroupSatisfiability answer_;
  std::optional<Difference> difference_;
  bool z3_decided_ = true;
  std::uint32_t next_chunks_ = 1;
};

std::vector<std::size_t> all_premises(const Subject& subject) {
  std::vector<std::size_t> all(subject.rule.definition.premises.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

/// The premises without those that are not needed to exclude every state.
std::vector<std::size_t> excluding_premises(const Subject& subject, const Limits& limits) {
  std::vector<std::size_t> kept = all_premises(subject);
  for (const std::size_t premise : all_premises(subject)) {
    std::vector<std::size_t> fewer = kept;
    std::erase(fewer, premise);
    if (never_legal(subject.rule.definition, fewer, {}, limits)) kept = fewer;
  }
  return kept;
}

/// No group of the scope has a legal step: either that is proved for groups of every size, or a
/// larger one is searched for.
void settle_without_legal_step(const Subject& subject, const Scope& scope, Satisfiability& result) {
  if (never_legal(subject.rule.definition, all_premises(subject), {}, scope.limits)) {
    result.verdict = result.z3 = Outcome::Refuted;
    result.by_states = Outcome::Undecided;
    result.excluding = excluding_premises(subject, scope.limits);
    return;
  }
  result.verdict = result.z3 = result.by_states = Outcome::Undecided;
  for (std::uint32_t n = scope.max_group + 1; n <= kMaxSearchedGroup; ++n) {
    if (scope.limits.exceeded(0)) return;
    GroupSearch search(subject, n, scope.limits);
    search.ask_about_more_chunks(kMaxAskedOfLarger);
    result.searched_to = n;
    result.difference = search.difference();
    result.larger = search.answer().legal;
    if (result.larger || result.difference) return;
  }
}

std::string group_text(const GroupSatisfiability& group) {
  const std::uint32_t chunks = group.legal->chunks();
  return chunks <= max_chunks(group.devices) ? fmt::format("{}", group.devices)
                                             : fmt::format("{} (k = {})", group.devices, chunks);
}

/// `none for n = 3, none found for n = 5 up to k = 32`
std::string none_text(const std::vector<GroupSatisfiability>& groups) {
  std::vector<std::uint32_t> never;
  std::vector<std::string> parts;
  for (const GroupSatisfiability& group : groups) {
    if (group.never) never.push_back(group.devices);
  }
  if (!never.empty()) parts.push_back(fmt::format("none for n = {}", fmt::join(never, ", ")));
  for (const GroupSatisfiability& group : groups) {
    if (group.legal || group.never) continue;
    parts.push_back(group.none_up_to == 0 ? fmt::format("n = {} undecided", group.devices)
                                          : fmt::format("none found for n = {} up to k = {}",
                                                        group.devices, group.none_up_to));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string Satisfiability::text() const {
  std::vector<std::string> some;
  for (const GroupSatisfiability& group : groups) {
    if (group.legal) some.push_back(group_text(group));
  }
  if (verdict == Outcome::Refuted) return "no legal steps, for every n and k";
  std::string text;
  if (!some.empty()) text = fmt::format("legal steps for n = {}", fmt::join(some, ", "));
  const std::string none = none_text(groups);
  if (!none.empty()) text += (text.empty() ? "" : "; ") + none;
  if (larger) {
    text += fmt::format("; there are for n = {}, k = {}", larger->devices(), larger->chunks());
  } else if (searched_to > 0) {
    text += fmt::format("; none found for larger n up to {}", searched_to);
  }
  return text;
}

Satisfiability settle_satisfiability(const Subject& subject, const std::vector<Exploration>& seen,
                                     const Scope& scope) {
  Satisfiability result;
  bool some = false;
  for (std::uint32_t n = kMinGroup; n <= scope.max_group; ++n) {
    GroupSearch search(subject, n, scope.limits);
    search.ask_about(seen);
    GroupSatisfiability& group = search.answer();
    if (!group.legal && !search.difference()) {
      group.never = never_legal(subject.rule.definition, all_premises(subject), n, scope.limits);
      if (!group.never) search.ask_about_more_chunks(kMaxAsked);
    }
    result.difference = search.difference();
    if (result.difference) {
      result.verdict = Outcome::Undecided;
      return result;
    }
    if (!group.legal && !group.never && !search.z3_decided()) result.z3 = Outcome::Undecided;
    some = some || group.legal;
    result.groups.push_back(group);
  }
  if (!some) settle_without_legal_step(subject, scope, result);
  return result;
}

std::vector<Shape> shapes_with_legal_steps(const Satisfiability& satisfiability) {
  std::vector<Shape> shapes;
  for (const GroupSatisfiability& group : satisfiability.groups) {
    if (!group.legal || group.legal->chunks() <= max_chunks(group.devices)) continue;
    for (const std::uint32_t contributors : {1U, group.devices}) {
      const Shape shape{group.devices, group.legal->chunks(), contributors};
      if (shape.bits() <= kMaxExaminedBits) shapes.push_back(shape);
    }
  }
  return shapes;
}

}  // namespace p2::definition
