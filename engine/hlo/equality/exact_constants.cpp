#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "engine/hlo/equality/decisions.h"
#include "engine/hlo/interpreter/numbers.h"

namespace p2::hlo {
namespace {

enum class Width : std::uint8_t { Narrow, Wide, Other };

/// Of the type of the elements that a constant lists.
Width width_of(const Instruction& instruction) {
  if (instruction.opcode != "constant" || !instruction.literal || instruction.literal->elided)
    return Width::Other;
  const std::string_view type = instruction.literal->shape.type.name();
  if (type == "f16" || type == "bf16") return Width::Narrow;
  return type == "f32" || type == "f64" ? Width::Wide : Width::Other;
}

double value_of(const LiteralElement& element, const Literal& literal) {
  return interpreter::rounded_constant(interpreter::real_constant(element), literal.shape.type);
}

/// Calls `use(literal)` for all constants of a width.
template <typename Use>
void visit(const Module& module, Width width, const Use& use) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& each : computation.instructions) {
      if (width_of(each) == width) use(*each.literal);
    }
  }
}

LiteralElement exactly(double value, const LiteralElement& element) {
  if (!std::isfinite(value) || value == 0) return element;
  constexpr double kWhole = 0x1p53;
  double numerator = value;
  std::int64_t denominator = 1;
  while (numerator != std::floor(numerator) && denominator < std::int64_t{1} << 60U) {
    numerator *= 2;
    denominator *= 2;
  }
  if (numerator == std::floor(numerator) && std::fabs(numerator) < kWhole) {
    if (const auto number = Number::ratio(static_cast<std::int64_t>(numerator), denominator))
      return {*number, {}};
  }
  return {{}, fmt::format("{:.17g}", value)};
}

/// The module, or one with other literals where they have one of the values.
std::shared_ptr<const Module> stated(const std::shared_ptr<const Module>& module,
                                     const std::set<double>& values) {
  auto made = std::make_shared<Module>(*module);
  for (Computation& computation : made->computations) {
    for (Instruction& each : computation.instructions) {
      if (width_of(each) == Width::Other) continue;
      const Literal& literal = *each.literal;
      const auto is_stated = [&](const LiteralElement& element) {
        const double value = value_of(element, literal);
        return std::isfinite(value) && values.contains(value);
      };
      if (std::ranges::none_of(literal.elements, is_stated)) continue;
      Literal exact{literal.shape, {}};
      exact.shape.type = *ElementType::from_xla("f64");
      for (const LiteralElement& element : literal.elements)
        exact.elements.push_back(exactly(value_of(element, literal), element));
      each.literal = std::make_shared<const Literal>(std::move(exact));
    }
  }
  return made;
}

}  // namespace

ModulePair with_exact_constants(ModulePair modules) {
  std::set<double> narrow;
  std::set<double> both;
  for (const auto& module : {modules.before, modules.after}) {
    visit(*module, Width::Narrow, [&](const Literal& literal) {
      for (const LiteralElement& each : literal.elements) {
        const double value = value_of(each, literal);
        if (std::isfinite(value)) narrow.insert(value);
      }
    });
  }
  if (narrow.empty()) return modules;
  for (const auto& module : {modules.before, modules.after}) {
    visit(*module, Width::Wide, [&](const Literal& literal) {
      for (const LiteralElement& each : literal.elements) {
        const double value = value_of(each, literal);
        // Whole numbers and halves are what they are in any type.
        const bool is_half = !std::isfinite(value) || 2 * value == std::floor(2 * value);
        if (!is_half && narrow.contains(value)) both.insert(value);
      }
    });
  }
  if (both.empty()) return modules;
  return {stated(modules.before, both), stated(modules.after, both)};
}

}  // namespace p2::hlo
