#pragma once

#include <vector>

#include "encodings/cnf/clauses.h"
#include "encodings/cnf/solver.h"
#include "encodings/cnf/stage.h"
#include "encodings/cnf/states.h"
#include "p2/limits.h"
#include "engine/program/program.h"

namespace p2::cnf {

/// One thing a step may do.
struct Choice {
  std::size_t shape = 0;  ///< index into the stage's
  Collective collective = Collective::AllReduce;
};

/// The legal programs of at most `size` steps over a stage as clauses: a model picks one choice
/// per step until the goal is reached and none after it. Two models that pick the same choices
/// are the same program: everything else is determined by them. With the unit clause
/// done()[size] the programs are the valid ones. Their order and numbering are normative:
/// docs/certificates.md.
class SynthesisClauses {
 public:
  /// Throws LimitMet when refuting the clauses would need more memory than the limits allow, or
  /// than 8 GiB.
  SynthesisClauses(Stage stage, Dialect dialect, std::uint32_t size, const Limits& limits = {});

  /// More may be added: whatever else is asked of the programs.
  Clauses& clauses() { return clauses_; }
  const Clauses& clauses() const { return clauses_; }
  const Stage& stage() const { return stage_; }
  const std::vector<Choice>& choices() const { return choices_; }
  /// The state before the first step, after it, and so on.
  const std::vector<States>& moments() const { return moments_; }
  /// picked()[t][m]: step t (from 0) makes choice m.
  const std::vector<std::vector<Literal>>& picked() const { return picked_; }
  /// done()[t]: the goal is reached after at most t steps.
  const std::vector<Literal>& done() const { return done_; }

  /// Choice m as a step: by its shape, without groups, or by its groups where they have no name.
  Step step(std::size_t m) const;
  /// What a model picks, step by step.
  std::vector<Literal> picks(const Solver& solver) const;
  std::vector<Step> program(const std::vector<Literal>& picks) const;

 private:
  static constexpr std::size_t kMostBytes = std::size_t{8} << 30U;
  /// What a refutation and its proof need for every byte of literals, as measured.
  static constexpr std::size_t kBytesInAll = 14;

  void start(const States& first);
  Literal at_goal(const States& moment);
  void pick(std::size_t t);
  void apply(std::size_t t, std::size_t shape);

  Clauses clauses_;
  Stage stage_;
  std::vector<Choice> choices_;
  std::vector<std::size_t> first_choice_;  ///< of every shape, and the end
  std::vector<std::vector<Literal>> picked_;
  std::vector<States> moments_;
  std::vector<Literal> done_;
};

}  // namespace p2::cnf
