#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "proofs/claims/campaign.h"

namespace p2::claims {

/// All questions of a request, like ones once (see settle), and the searches that answer them.
class Plan {
 public:
  /// The request must outlive the plan. Throws std::length_error where a limit is met before all
  /// questions about tens of thousands of systems are put together, which can take minutes.
  Plan(const Request& request, const Limits& limits);

  std::vector<Result> results;                     ///< one per question, not answered yet
  std::vector<std::vector<std::size_t>> searches;  ///< the questions that each answers

 private:
  /// Everything that an answer of a claim that forbids moves depends on, and what summaries tell
  /// apart.
  using Content = std::tuple<std::vector<std::uint32_t>, FactorSet, std::vector<Move>,
                             std::vector<bool>, bool, std::optional<RowOrder>>;

  void ask(const Claim& claim);
  void ask(const Claim& claim, HierarchyKind from, std::optional<HierarchyKind> to);
  void enter(const Question& question);
  /// For a claim that settles itself.
  void enter_settled(const Question& question);
  static Content content(const Question& question, const Subject& subject);

  const Request& request_;
  const Limits& limits_;
  std::size_t asked_ = 0;
  std::map<Content, std::size_t> alike_;  // → the first such question
  std::map<Problem, std::size_t> search_of_;
  std::map<std::string, std::size_t> search_of_content_;  // of one claim, dialect and pair
};

}  // namespace p2::claims
