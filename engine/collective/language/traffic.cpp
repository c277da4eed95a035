#include "engine/collective/language/parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "p2/error.h"

/// The clause of a definition that says what a step costs:
///
///   traffic = "traffic" COLLECTIVE [ "of" part ]
///   part    = product { ( "+" | "-" ) product }
///   product = factor { ( "*" | "/" ) factor }
///   factor  = NUMBER | "n" | "(" part ")"
namespace p2::language {
namespace {

constexpr std::array<std::string_view, 6> kPriced = {"AllReduce", "ReduceScatter", "AllGather",
                                                     "Reduce",    "Broadcast",     "AllToAll"};

/// Parts are evaluated for groups of 2 to this many devices when they are read, and of every power
/// of two up to the largest system.
constexpr std::uint32_t kEveryUpTo = 64;
constexpr std::uint32_t kLargestGroup = 1U << 20;

/// Nothing where a division is by 0.
std::optional<Rational> value_of(const Expression& part, std::uint32_t n) {
  if (part.kind == Kind::Number) return Rational(part.number);
  if (part.kind == Kind::GroupSize) return Rational(n);
  const std::optional<Rational> left = value_of(part.operands[0], n);
  const std::optional<Rational> right = value_of(part.operands[1], n);
  if (!left || !right) return std::nullopt;
  if (part.kind == Kind::Add) return *left + *right;
  if (part.kind == Kind::Subtract) return *left - *right;
  if (part.kind == Kind::Multiply) return *left * *right;
  if (*right == 0) return std::nullopt;
  return *left / *right;
}

/// Why the part for groups of n devices says nothing; empty if it does.
std::string fault_of(const Expression& part, std::uint32_t n) {
  const std::optional<Rational> value = value_of(part, n);
  if (value && *value > 0) return {};
  return fmt::format("the part of the traffic is {} for n = {}, expected more than 0",
                     value ? to_string(*value) : "a division by 0", n);
}

std::string to_string(const Expression& part, bool in_parentheses) {
  if (part.kind == Kind::Number) return std::to_string(part.number);
  if (part.kind == Kind::GroupSize) return "n";
  const char sign = part.kind == Kind::Add        ? '+'
                    : part.kind == Kind::Subtract ? '-'
                    : part.kind == Kind::Multiply ? '*'
                                                  : '/';
  const std::string text = fmt::format("{} {} {}", to_string(part.operands[0], true), sign,
                                       to_string(part.operands[1], true));
  return in_parentheses ? "(" + text + ")" : text;
}

class PartParser {
 public:
  explicit PartParser(TokenStream& tokens) : tokens_(tokens) {}

  Expression part() {
    Expression left = product();
    while (tokens_.at("+") || tokens_.at("-")) {
      const Kind kind = tokens_.take().text == "+" ? Kind::Add : Kind::Subtract;
      left = combined(kind, std::move(left), product());
    }
    return left;
  }

 private:
  Expression product() {
    Expression left = factor();
    while (tokens_.at("*") || tokens_.at("/")) {
      const Kind kind = tokens_.take().text == "*" ? Kind::Multiply : Kind::Divide;
      left = combined(kind, std::move(left), factor());
    }
    return left;
  }

  Expression factor() {
    Expression factor;
    factor.type = Type::Integer;
    if (tokens_.accept("n")) {
      factor.kind = Kind::GroupSize;
    } else if (tokens_.at("(")) {
      const Token open = tokens_.take();
      if (++nesting_ > kMaxDepth) {
        tokens_.fail(open.offset, fmt::format("nested deeper than {}", kMaxDepth));
      }
      factor = part();
      if (!tokens_.accept(")")) tokens_.expected("an operator or ')'");
      --nesting_;
    } else if (tokens_.peek().kind == TokenKind::Number) {
      factor.kind = Kind::Number;
      factor.number = number();
    } else {
      tokens_.expected("a number, n or '(' in the part of the traffic");
    }
    return factor;
  }

  std::uint64_t number() {
    const std::string_view digits = tokens_.peek().text;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || value > kMaxNumber) {
      tokens_.expected(fmt::format("a number from 0 to {}", kMaxNumber));
    }
    tokens_.take();
    return value;
  }

  Expression combined(Kind kind, Expression left, Expression right) {
    if (++operators_ > kMaxDepth) {
      tokens_.fail(tokens_.peek().offset,
                   fmt::format("more than {} operators in the part of the traffic", kMaxDepth));
    }
    Expression result;
    result.kind = kind;
    result.type = Type::Integer;
    result.operands.push_back(std::move(left));
    result.operands.push_back(std::move(right));
    return result;
  }

  TokenStream& tokens_;
  std::size_t nesting_ = 0;
  std::size_t operators_ = 0;
};

}  // namespace

Traffic parse_traffic(TokenStream& tokens) {
  const Token& name = tokens.peek();
  if (name.kind != TokenKind::Word || std::ranges::find(kPriced, name.text) == kPriced.end()) {
    tokens.expected(fmt::format("one of {} after 'traffic'", fmt::join(kPriced, ", ")));
  }
  Traffic traffic{std::string(tokens.take().text), {}};
  traffic.part.kind = Kind::Number;
  traffic.part.type = Type::Integer;
  traffic.part.number = 1;
  if (!tokens.accept("of")) return traffic;
  const std::size_t offset = tokens.peek().offset;
  traffic.part = PartParser(tokens).part();
  for (std::uint32_t n = 2; n <= kLargestGroup; n = n < kEveryUpTo ? n + 1 : 2 * n) {
    const std::string fault = fault_of(traffic.part, n);
    if (!fault.empty()) tokens.fail(offset, fault);
  }
  return traffic;
}

Rational traffic_part(const Definition& definition, std::uint32_t n) {
  const std::string fault = fault_of(definition.traffic->part, n);
  if (!fault.empty()) throw InputError({definition.name}, fault);
  return *value_of(definition.traffic->part, n);
}

std::string to_string(const Traffic& traffic) {
  const bool whole = traffic.part.kind == Kind::Number && traffic.part.number == 1;
  return traffic.collective + (whole ? "" : " of " + to_string(traffic.part, false));
}

}  // namespace p2::language
