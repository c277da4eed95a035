#include "engine/hlo/interpreter/compared_elements.h"

#include <cmath>

#include <fmt/ranges.h>

#include "engine/hlo/interpreter/execution.h"

namespace p2::hlo::interpreter {
namespace {

/// Whether a constant of a narrow floating-point type was rounded to it: then results differ by as
/// much as the type rounds.
bool has_rounded_constant(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (!instruction.literal) continue;
      const ElementType type = instruction.shape.array.type;  // also where it is stated exactly
      if (!type.is_float() || type.bits() > 16) continue;
      for (const LiteralElement& element : instruction.literal->elements) {
        const auto [p, q] = fraction_of(real_constant(element), type);
        int exponent = 0;
        if (std::frexp(q, &exponent) != 0.5) return true;
      }
    }
  }
  return false;
}

/// Inputs that a text names.
constexpr std::size_t kMaxGivenShown = 8;

}  // namespace

std::string given_text(const GivenInputs* given) {
  if (given == nullptr || given->empty()) return "";
  std::string text = "; but of";
  std::size_t left = kMaxGivenShown;
  for (const auto& [keys, number] : *given) {
    if (left-- == 0) return text + " …";
    const std::string value = number.real == 0 && number.integer != 0
                                  ? fmt::format("{}", number.integer)
                                  : fmt::format("{:.7g}", number.real);
    const bool first = &keys == &given->begin()->first;
    text += fmt::format(
        "{} input {}, element {}{}: {}", first ? "" : ",", keys[0], keys[1],
        keys.size() == 3 && keys[2] != kNone ? fmt::format(", on device {}", keys[2]) : "", value);
  }
  return text;
}

double tolerance_of(const Module& before, const Module& after) {
  const bool is_narrow = has_rounded_constant(before) || has_rounded_constant(after);
  return is_narrow ? kNarrowTolerance : kTolerance;
}

Difference difference_of(const ComparedElement& element, std::int64_t partitions, const Draw& draw,
                         std::uint64_t seed, const std::string& inputs) {
  const Scalar& a = element.before;
  const Scalar& b = element.after;
  const bool is_float = element.type.is_float();
  const auto text = [&](const Scalar& value) {
    if (!is_float) return fmt::format("{}", value.integer);
    if (std::isnan(value.real)) return std::string("nan");
    const bool is_close = std::fabs(a.real - b.real) < 1e-5 * std::fabs(a.real);
    return is_close ? fmt::format("{:.15g}", value.real) : fmt::format("{:.7g}", value.real);
  };
  const std::int64_t replica = element.device / partitions;
  const std::int64_t partition = element.device % partitions;
  Difference difference{"value", {}};
  difference.element = ElementDifference{element.device, replica, partition, element.output,
                                         element.index,  text(a), text(b)};
  difference.explanation = fmt::format(
      "On device {} (replica {}, partition {}), element [{}] of output {} is {} before, and {} "
      "after, for inputs drawn with seed {:#x}: numbers of magnitude {} to {}{}, integers {} to "
      "{}{}{}.",
      element.device, replica, partition, fmt::join(element.index, ","), element.output, text(a),
      text(b), seed, draw.low, draw.high,
      draw.sign == Draw::Sign::Both       ? " of both signs"
      : draw.sign == Draw::Sign::Negative ? ", negative"
                                          : "",
      draw.first, draw.last,
      draw.any_magnitude ? " of all magnitudes, so that some are beyond what they index" : "",
      inputs);
  difference.of_infinities = is_float && !(std::isfinite(a.real) && std::isfinite(b.real));
  return difference;
}

}  // namespace p2::hlo::interpreter
