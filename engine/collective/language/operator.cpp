#include "engine/collective/language/operator.h"

namespace p2::language {
namespace {

constexpr Type B = Type::Boolean;
constexpr Type I = Type::Integer;

constexpr Operator kOperators[] = {{"iff", kLoosest, Kind::Iff, B, B},
                                   {"implies", kImpliesLevel, Kind::Implies, B, B},
                                   {"or", 2, Kind::Or, B, B},
                                   {"and", 3, Kind::And, B, B},
                                   {"=", kComparisonLevel, Kind::Equal, I, B},
                                   {"!=", kComparisonLevel, Kind::Equal, I, B, false, true},
                                   {"<", kComparisonLevel, Kind::Less, I, B},
                                   {"<=", kComparisonLevel, Kind::LessEqual, I, B},
                                   {">", kComparisonLevel, Kind::Less, I, B, true},
                                   {">=", kComparisonLevel, Kind::LessEqual, I, B, true},
                                   {"+", 6, Kind::Add, I, I},
                                   {"-", 6, Kind::Subtract, I, I},
                                   {"*", 7, Kind::Multiply, I, I},
                                   {"/", 7, Kind::Divide, I, I},
                                   {"%", 7, Kind::Modulo, I, I}};

}  // namespace

const Operator* operator_spelled(std::string_view spelling) {
  for (const Operator& op : kOperators) {
    if (op.spelling == spelling) return &op;
  }
  return nullptr;
}

}  // namespace p2::language
