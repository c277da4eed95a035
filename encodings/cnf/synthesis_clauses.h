#pragma once

#include <vector>

#include "encodings/cnf/clauses.h"
#include "encodings/cnf/coordinates.h"
#include "encodings/cnf/states.h"

namespace p2::cnf {

/// One thing a step may do.
struct Choice {
  GroupShape shape;
  Collective collective = Collective::AllReduce;
};

/// The programs of exactly `size` steps of an instance as clauses: a model picks one choice per
/// step such that every step is legal, the goal is reached after the last step and not before. Two
/// models that pick the same choices are the same program: everything else is determined by them.
class SynthesisClauses {
 public:
  SynthesisClauses(const Instance& instance, Dialect dialect, std::uint32_t size);

  const Clauses& clauses() const { return clauses_; }
  const std::vector<Choice>& choices() const { return choices_; }
  /// picked()[t][m]: step t (from 0) makes choice m.
  const std::vector<std::vector<Literal>>& picked() const { return picked_; }

 private:
  void start(const States& first);
  void finish(const std::vector<States>& moments);
  Literal at_goal(const States& moment);
  void step(std::size_t t, const States& before, const States& after);

  Clauses clauses_;
  Coordinates coordinates_;
  std::vector<Coordinates::DistinctShape> shapes_;
  std::vector<Choice> choices_;
  std::vector<std::size_t> shape_of_;
  std::vector<std::vector<Literal>> picked_;
};

}  // namespace p2::cnf
