#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/hlo/explanation/holding.h"
#include "engine/hlo/explanation/trace.h"

namespace p2::hlo {

/// Operations on elements, of all executions of one explanation: what is said does not depend on
/// the time that they take.
constexpr std::uint64_t kMaxExplanationWork = 12'000'000;

/// For slow machines.
constexpr std::chrono::milliseconds kMaxExplanationTime{5000};

/// Two modules of a comparison, executed at one random point, and how the arrays of the one are
/// made of those of the other.
class RelatedModules {
 public:
  /// All must outlive this. Throws as RandomInterpretation, and LimitReached for large modules.
  RelatedModules(const Module& before, const Module& after, const ModuleDecision& decision,
                 const Limits& limits);

  /// The module that is explained, and the one that it is related to: the one before, unless that
  /// one alone is partitioned.
  const Module& subject() const { return subject_; }
  const Module& other() const { return other_; }
  bool is_of_before() const { return is_of_before_; }
  const char* other_word() const { return is_of_before_ ? "after" : "before"; }

  const Trace& trace() const { return trace_; }
  const TracedArray& array(std::uint32_t number) const { return trace_.arrays[number]; }
  const Trace& other_trace() const { return other_trace_; }
  const Devices& devices() const { return decision_.devices; }
  /// That executing both modules takes.
  double operations() const { return decision_.operations; }
  const ModuleRelation& relation() const { return relation_; }
  const std::vector<Groups>& groups() const { return groups_; }
  /// The array of an output, as its number is in a decision, on a device that holds some of it.
  std::uint32_t output(std::size_t number, std::uint32_t device) const;
  /// The first device that holds some of an output.
  std::uint32_t holder_of(std::size_t output) const;

  /// Constants are related to anything.
  bool is_related(std::uint32_t array);
  const std::optional<Holding>& holding(std::uint32_t array);
  bool occurs(std::uint32_t array);

  /// Whether the outputs are equal for all inputs with `changed` in place of the subject.
  bool is_valid(const Module& changed) const;

  /// `axis model`, or `{0,1} {2,3}`.
  std::string over(const Groups& groups) const;
  /// `pieces of down before (line 9)`.
  std::string held_text(const Holding& holding) const;

 private:
  Form subject_form() const { return is_of_before_ ? relation_.before : relation_.after; }

  const ModuleDecision& decision_;
  const ModuleRelation& relation_;
  bool is_of_before_;
  const Module& subject_;
  const Module& other_;
  const Limits& limits_;
  RandomInterpretation interpretation_;
  Trace other_trace_;
  Trace trace_;
  std::vector<Groups> groups_;
  HoldingSearch search_;
  std::map<std::uint32_t, std::optional<Holding>> holdings_;
  std::map<std::uint32_t, bool> occurs_;
};

/// `explain(limits)`; nothing where the modules are too large or not understood.
template <typename Explain>
auto explain_within(const ModuleDecision& decision, const Limits& limits, const Explain& explain)
    -> decltype(explain(limits)) {
  if (!decision.relation || decision.operations * 3 > static_cast<double>(kMaxExplanationWork)) {
    return {};
  }
  Limits bounded = limits;
  const auto soon = std::chrono::steady_clock::now() + kMaxExplanationTime;
  bounded.deadline = bounded.deadline ? std::min(*bounded.deadline, soon) : soon;
  try {
    return explain(bounded);
  } catch (const interpreter::NotUnderstood&) {
  } catch (const IllFormed&) {
  } catch (const LimitReached&) {
  }
  return {};
}

}  // namespace p2::hlo
