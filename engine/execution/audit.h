#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/execution/elements.h"
#include "engine/execution/plan.h"
#include "engine/program/derivation.h"

namespace p2::execution {

/// The states of a program by the rules, after every step up to the first that is refused, and the
/// goal.
class Expectation {
 public:
  Expectation(const Program& program, Dialect dialect);

  const ProgramDecision& decision() const { return decision_; }
  /// Whether the state after step `step`, from 1, is known: the steps up to it are legal.
  bool knows(std::size_t step) const { return step <= decision_.legal_steps; }
  /// The contributors of chunk `chunk` of a rank after a step that is known. None: the rank does
  /// not hold the chunk.
  std::vector<std::uint32_t> after(std::size_t step, std::uint32_t rank, std::uint32_t chunk) const;
  /// The contributors of every chunk of a rank at the end: its reduction class.
  const Group& goal(std::uint32_t rank) const { return classes_[class_of_[rank]]; }

 private:
  StateTable states_;
  ProgramDecision decision_;
  std::vector<SystemState> after_;  // [step], from 0
  std::vector<Group> classes_;
  std::vector<std::size_t> class_of_;
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
/// Compares all elements at the end, and counts those that the rank lacks.
Audit audit_result(const Held& held, const Inputs& inputs, const Expectation& expectation);

}  // namespace p2::execution
