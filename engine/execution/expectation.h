#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/derivation.h"

namespace p2::execution {

/// What the ranks should hold, by the rules: after every step up to the first that is refused, and
/// at the end.
class Expectation {
 public:
  Expectation(const Program& program, Dialect dialect);

  const Verdict& verdict() const { return verdict_; }
  /// Whether the states after step `step`, from 1, are known: the steps up to it are legal.
  bool knows(std::size_t step) const { return step <= verdict_.legal_steps; }
  /// Whose contributions chunk `chunk` of a rank should hold after a step that is known. None: the
  /// rank does not hold the chunk.
  std::vector<std::uint32_t> after(std::size_t step, std::uint32_t rank, std::uint32_t chunk) const;
  /// Whose contributions every chunk of a rank should hold at the end: its reduction class.
  const Group& goal(std::uint32_t rank) const { return classes_[class_of_[rank]]; }

 private:
  StateTable states_;
  Verdict verdict_;
  std::vector<SystemState> after_;  // [step], from 0
  std::vector<Group> classes_;
  std::vector<std::size_t> class_of_;
};

}  // namespace p2::execution
