#include "engine/hlo/interpreter/element_operation.h"

#include <unordered_map>

namespace p2::hlo::interpreter {

std::optional<Element> element_of(std::string_view opcode) {
  static const std::unordered_map<std::string_view, Element> kElements = {
      {"abs", Element::Abs},
      {"add", Element::Add},
      {"and", Element::And},
      {"atan2", Element::Atan2},
      {"bitcast-convert", Element::BitcastConvert},
      {"cbrt", Element::Cbrt},
      {"ceil", Element::Ceil},
      {"clamp", Element::Clamp},
      {"compare", Element::Compare},
      {"convert", Element::Convert},
      {"count-leading-zeros", Element::CountLeadingZeros},
      {"cosine", Element::Cosine},
      {"divide", Element::Divide},
      {"erf", Element::Erf},
      {"exponential", Element::Exponential},
      {"exponential-minus-one", Element::ExponentialMinusOne},
      {"floor", Element::Floor},
      {"is-finite", Element::IsFinite},
      {"log", Element::Log},
      {"log-plus-one", Element::LogPlusOne},
      {"logistic", Element::Logistic},
      {"maximum", Element::Maximum},
      {"minimum", Element::Minimum},
      {"multiply", Element::Multiply},
      {"mulhi", Element::MultiplyHigh},
      {"negate", Element::Negate},
      {"not", Element::Not},
      {"or", Element::Or},
      {"popcnt", Element::PopulationCount},
      {"power", Element::Power},
      {"reduce-precision", Element::ReducePrecision},
      {"remainder", Element::Remainder},
      {"round-nearest-afz", Element::RoundAway},
      {"round-nearest-even", Element::RoundEven},
      {"rsqrt", Element::Rsqrt},
      {"select", Element::Select},
      {"shift-left", Element::ShiftLeft},
      {"shift-right-arithmetic", Element::ShiftRightArithmetic},
      {"shift-right-logical", Element::ShiftRightLogical},
      {"sign", Element::Sign},
      {"sine", Element::Sine},
      {"sqrt", Element::Sqrt},
      {"subtract", Element::Subtract},
      {"tan", Element::Tan},
      {"tanh", Element::Tanh},
      {"xor", Element::Xor}};
  const auto found = kElements.find(opcode);
  return found == kElements.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Direction> direction_of(std::string_view text) {
  if (text == "EQ") return Direction::Eq;
  if (text == "NE") return Direction::Ne;
  if (text == "LT") return Direction::Lt;
  if (text == "LE") return Direction::Le;
  if (text == "GT") return Direction::Gt;
  if (text == "GE") return Direction::Ge;
  return std::nullopt;
}

bool is_commutative(Element code) {
  switch (code) {
    case Element::Add:
    case Element::And:
    case Element::Maximum:
    case Element::Minimum:
    case Element::Multiply:
    case Element::MultiplyHigh:
    case Element::Or:
    case Element::Xor:
      return true;
    default:
      return false;
  }
}

std::size_t number_of_operands(Element code) {
  switch (code) {
    case Element::Clamp:
    case Element::Select:
      return 3;
    case Element::Add:
    case Element::And:
    case Element::Atan2:
    case Element::Compare:
    case Element::Divide:
    case Element::Maximum:
    case Element::Minimum:
    case Element::Multiply:
    case Element::MultiplyHigh:
    case Element::Or:
    case Element::Power:
    case Element::Remainder:
    case Element::ShiftLeft:
    case Element::ShiftRightArithmetic:
    case Element::ShiftRightLogical:
    case Element::Subtract:
    case Element::Xor:
      return 2;
    default:
      return 1;
  }
}

}  // namespace p2::hlo::interpreter
