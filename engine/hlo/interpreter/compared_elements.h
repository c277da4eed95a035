#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/interpreter/execution_tensors.h"
#include "engine/hlo/interpreter/local_operations.h"
#include "engine/hlo/interpreter/numbers.h"

/// What comparisons by execution share: an element that differs, and operations that are not
/// understood.
namespace p2::hlo::interpreter {

/// An element of an output, with its values.
struct ComparedElement {
  std::uint32_t device = 0;
  std::size_t output = 0;
  std::vector<std::int64_t> index = {};
  Scalar before = {};
  Scalar after = {};
  ElementType type = {};

  bool is_at(const ComparedElement& other) const {
    return device == other.device && output == other.output && index == other.index;
  }
};

/// About the largest number of f32.
constexpr double kOverflowing = 1e38;
/// Values differ beyond rounding: relative to themselves, and a tenth of it to the largest value of
/// the tensor.
constexpr double kTolerance = 3e-5;
/// The same where constants are rounded to a narrow type.
constexpr double kNarrowTolerance = 2e-2;
/// The tolerance for two modules.
double tolerance_of(const Module& before, const Module& after);

/// The first inputs that were not drawn, in words.
std::string given_text(const GivenInputs* given);

/// That an element differs, for numbers drawn with a seed; `inputs`: what else is said of these.
Difference difference_of(const ComparedElement& element, std::int64_t partitions, const Draw& draw,
                         std::uint64_t seed, const std::string& inputs);

/// `decide()`, or Undecided where something is not understood.
template <typename Decide>
ModuleDecision unless_not_understood(const Module& before, const Module& after,
                                     const Devices& devices, const Decide& decide) {
  try {
    return decide();
  } catch (const NotUnderstood& error) {
    ModuleDecision decision;
    decision.outcome = Outcome::Undecided;
    decision.devices = devices;
    const SourcePosition& where = error.instruction->position;
    decision.reason =
        fmt::format("Not understood: {} ({}:{}).", error.what(), where.source, where.line);
    const bool is_before = has_instruction(before, error.instruction);
    decision.unknown = {
        unknown_operation(is_before ? before : after, *error.instruction, error.why)};
    return decision;
  }
}

}  // namespace p2::hlo::interpreter
