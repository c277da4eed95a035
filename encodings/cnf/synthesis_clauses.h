#pragma once

#include <vector>

#include "encodings/cnf/clauses.h"
#include "encodings/cnf/coordinates.h"
#include "encodings/cnf/states.h"

namespace p2::cnf {

/// One thing a step may do.
struct Choice {
  std::size_t shape = 0;  ///< index into the distinct shapes
  Collective collective = Collective::AllReduce;
};

/// The valid programs of at most `size` steps of an instance as clauses: a model picks one choice
/// per step until the goal is reached and none after it. Two models that pick the same choices are
/// the same program: everything else is determined by them.
class SynthesisClauses {
 public:
  SynthesisClauses(const Instance& instance, Dialect dialect, std::uint32_t size);

  const Clauses& clauses() const { return clauses_; }
  const std::vector<Coordinates::DistinctShape>& shapes() const { return shapes_; }
  const std::vector<Choice>& choices() const { return choices_; }
  /// picked()[t][m]: step t (from 0) makes choice m.
  const std::vector<std::vector<Literal>>& picked() const { return picked_; }

 private:
  void start(const States& first);
  Literal at_goal(const States& moment);
  void pick(std::size_t t);
  void step(std::size_t t, const States& before, const States& after);
  void apply(std::size_t t, std::size_t shape, const States& before, const States& after);

  Clauses clauses_;
  Coordinates coordinates_;
  std::vector<Coordinates::DistinctShape> shapes_;
  std::vector<Choice> choices_;
  std::vector<std::vector<Literal>> picked_;
  std::vector<Literal> done_;  ///< by moment
};

}  // namespace p2::cnf
