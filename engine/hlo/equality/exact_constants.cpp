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

bool is_one_of(double value, const std::set<double>& magnitudes) {
  return std::isfinite(value) && magnitudes.contains(std::fabs(value));
}

bool lists_one_of(const Literal& literal, const std::set<double>& magnitudes) {
  return std::ranges::any_of(literal.elements, [&](const LiteralElement& each) {
    return is_one_of(value_of(each, literal), magnitudes);
  });
}

void add_magnitudes(const Literal& literal, std::set<double>& to) {
  for (const LiteralElement& each : literal.elements) {
    const double value = value_of(each, literal);
    if (std::isfinite(value)) to.insert(std::fabs(value));
  }
}

/// The module with exact literals of all narrow constants, and of wide ones that list one of these.
std::shared_ptr<const Module> stated(const std::shared_ptr<const Module>& module,
                                     const std::set<double>& magnitudes) {
  auto made = std::make_shared<Module>(*module);
  for (Computation& computation : made->computations) {
    for (Instruction& each : computation.instructions) {
      const Width width = width_of(each);
      if (width == Width::Other) continue;
      const Literal& literal = *each.literal;
      if (width == Width::Wide && !lists_one_of(literal, magnitudes)) continue;
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
  std::set<double> narrow;  // magnitudes, as those below
  std::set<double> both;
  const auto visit_both = [&](Width width, const auto& use) {
    visit(*modules.before, width, use);
    visit(*modules.after, width, use);
  };
  visit_both(Width::Narrow, [&](const Literal& literal) { add_magnitudes(literal, narrow); });
  if (narrow.empty()) return modules;
  visit_both(Width::Wide, [&](const Literal& literal) {
    for (const LiteralElement& each : literal.elements) {
      const double value = value_of(each, literal);
      // Whole numbers and halves are what they are in any type.
      const bool is_half = !std::isfinite(value) || 2 * value == std::floor(2 * value);
      if (!is_half && is_one_of(value, narrow)) both.insert(std::fabs(value));
    }
  });
  if (both.empty()) return modules;
  // A number that is listed beside an exact one is exact wherever it stands.
  for (std::size_t before = 0; before != both.size();) {
    before = both.size();
    visit_both(Width::Wide, [&](const Literal& literal) {
      if (lists_one_of(literal, both)) add_magnitudes(literal, both);
    });
  }
  return {stated(modules.before, both), stated(modules.after, both)};
}

}  // namespace p2::hlo
