#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/execution/elements.h"
#include "engine/execution/plan.h"
#include "engine/program/derivation.h"
#include "engine/program/goal.h"

namespace p2::execution {

/// The states of a program by the rules, from its beginning up to the first step that is refused,
/// and the goal.
class Expectation {
 public:
  Expectation(const Program& program, Dialect dialect);

  const ProgramDecision& decision() const { return decision_; }
  /// Whether the state after step `step`, from 1, is known: the steps up to it are legal.
  bool knows(std::size_t step) const { return step <= decision_.legal_steps; }
  /// The contributors of chunk `chunk` of a rank after a step that is known; 0: at the beginning.
  /// None: the rank does not hold the chunk.
  Contributors after(std::size_t step, std::uint32_t rank, std::uint32_t chunk) const {
    return row(after_[step][rank], chunk);
  }
  /// The contributors of a chunk of a rank at the end. None: the goal does not ask for the chunk.
  Contributors goal(std::uint32_t rank, std::uint32_t chunk) const {
    return row(goal_[rank], chunk);
  }
  std::uint32_t chunks() const { return states_.chunks(); }
  /// What the program is to do to the devices of its largest class.
  Collective collective() const { return collective_; }
  std::uint32_t largest_class() const { return largest_class_; }

 private:
  Contributors row(StateId state, std::uint32_t chunk) const {
    return states_.sets().members(states_.row(state, chunk));
  }

  StateTable states_;
  ProgramDecision decision_;
  std::vector<SystemState> after_;  // [step], from 0
  SystemState goal_;
  Collective collective_;
  std::uint32_t largest_class_ = 1;
};

/// An element that differs from the reference.
struct WrongElement {
  std::uint32_t rank = 0;
  std::uint32_t step = 0;  ///< from 1; 0 = the result at the end
  bool missing = false;    ///< the rank does not hold the element; `got` is undefined
  std::uint64_t element = 0;
  double got = 0;
  double expected = 0;
};

/// Result of comparing a rank's elements with the reference. Sent between processes as bytes.
struct Audit {
  static constexpr std::size_t kShown = 4;

  std::uint64_t compared = 0;
  std::uint64_t wrong = 0;
  std::array<WrongElement, kShown> shown = {};  ///< the first `min(wrong, kShown)`

  void add(const WrongElement& element);
  void join(const Audit& other);
};

/// The compact buffer of a rank.
struct Held {
  std::uint32_t rank = 0;
  const Rows& chunks;
  std::size_t chunk_elements = 0;
  std::span<const std::byte> elements;
};

/// Compares all elements after a step whose state is known.
Audit audit_step(const Held& held, const Inputs& inputs, const Expectation& expectation,
                 std::size_t step);
/// Compares all elements that the goal asks for, and counts those that the rank lacks.
Audit audit_result(const Held& held, const Inputs& inputs, const Expectation& expectation);

}  // namespace p2::execution
