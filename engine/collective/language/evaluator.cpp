#include "engine/collective/language/evaluator.h"

#include "engine/base/invariant.h"

namespace p2::language {
namespace {

/// Results of a let with more different arguments than this are not remembered.
constexpr std::uint64_t kMostRemembered = 1U << 20U;

std::uint64_t arithmetic(Kind kind, std::uint64_t a, std::uint64_t b) {
  switch (kind) {
    case Kind::Equal:
      return a == b;
    case Kind::Less:
      return a < b;
    case Kind::LessEqual:
      return a <= b;
    case Kind::Add:
      return a + b;
    case Kind::Subtract:
      return a < b ? 0 : a - b;
    case Kind::Multiply:
      return a * b;
    case Kind::Divide:
      return b == 0 ? 0 : a / b;
    case Kind::Modulo:
      return b == 0 ? a : a % b;
    default:
      invariant(false, "not an operation on integers");
      return 0;
  }
}

}  // namespace

std::uint64_t Evaluator::value(const Expression& expression, const Assignment& assignment) {
  switch (expression.kind) {
    case Kind::Truth:
    case Kind::Number:
      return expression.number;
    case Kind::GroupSize:
      return state_.devices();
    case Kind::ChunkCount:
      return state_.chunks();
    case Kind::Variable:
      return assignment[expression.index];
    case Kind::Holds:
      return holds(expression, assignment);
    case Kind::Call:
      return call(expression, assignment);
    case Kind::ForAll:
    case Kind::Exists:
    case Kind::Count:
    case Kind::Sum:
      return fold(expression, assignment);
    default:
      return operation(expression, assignment);
  }
}

std::uint64_t Evaluator::operation(const Expression& expression, const Assignment& assignment) {
  const std::uint64_t left = value(expression.operands[0], assignment);
  const auto right = [&] { return value(expression.operands[1], assignment); };
  switch (expression.kind) {
    case Kind::Not:
      return left == 0;
    case Kind::And:
      return left == 0 ? 0 : right();
    case Kind::Or:
      return left == 1 ? 1 : right();
    case Kind::Implies:
      return left == 0 ? 1 : right();
    case Kind::Iff:
      return left == right();
    default:
      return arithmetic(expression.kind, left, right());
  }
}

std::uint64_t Evaluator::fold(const Expression& expression, Assignment assignment) {
  const bool for_all = expression.kind == Kind::ForAll;
  const bool formula = for_all || expression.kind == Kind::Exists;
  std::uint64_t result = 0;
  for (bool more = first(expression.variables, assignment); more;
       more = next(expression.variables, assignment)) {
    const std::uint64_t body = value(expression.operands[0], assignment);
    if (formula && body != (for_all ? 1U : 0U)) return body;
    result += body;
  }
  return formula ? (for_all ? 1 : 0) : result;
}

bool Evaluator::first(const std::vector<Variable>& variables, Assignment& assignment) const {
  bool any = true;
  for (const Variable& variable : variables) {
    assignment[variable.slot] = 0;
    any = any && size(variable.sort) > 0;
  }
  return any;
}

bool Evaluator::next(const std::vector<Variable>& variables, Assignment& assignment) const {
  for (auto variable = variables.rbegin(); variable != variables.rend(); ++variable) {
    if (++assignment[variable->slot] < size(variable->sort)) return true;
    assignment[variable->slot] = 0;
  }
  return false;
}

std::uint64_t Evaluator::holds(const Expression& expression, const Assignment& assignment) {
  const std::vector<Expression>& at = expression.operands;
  return state_.holds(index(at[0], assignment), index(at[1], assignment), index(at[2], assignment));
}

std::uint64_t Evaluator::call(const Expression& expression, const Assignment& assignment) {
  const Let& let = definition_.lets[expression.index];
  Assignment inner{};
  std::uint64_t places = 1;
  std::uint64_t place = 0;
  for (std::size_t i = 0; i < let.parameters.size(); ++i) {
    const std::uint64_t choices = size(let.parameters[i].sort);
    inner[i] = index(expression.operands[i], assignment);
    if (places > kMostRemembered) continue;
    places *= choices;
    place = place * choices + inner[i];
  }
  if (places > kMostRemembered) return value(let.body, inner);
  std::vector<std::optional<std::uint64_t>>& known = known_[expression.index];
  if (known.empty()) known.resize(places);
  if (!known[place]) known[place] = value(let.body, inner);
  return *known[place];
}

std::uint32_t Evaluator::index(const Expression& argument, const Assignment& assignment) const {
  return argument.kind == Kind::Variable ? assignment[argument.index] : 0;
}

std::uint32_t Evaluator::size(Sort sort) const {
  switch (sort) {
    case Sort::Position:
      return state_.devices();
    case Sort::Chunk:
      return state_.chunks();
    case Sort::Contributor:
      return state_.contributors();
  }
  invariant(false, "not a sort");
  return 0;
}

}  // namespace p2::language
