#include "encodings/z3/reading.h"

#include "engine/base/invariant.h"

namespace p2::z3_encoding {

using language::Expression;
using language::Kind;
using language::Type;

namespace {

bool contains(Slots slots, std::size_t slot) { return (slots >> slot & 1U) != 0; }

}  // namespace

Reading::Reading(z3::context& context, const Rule& rule, const GroupRows& rows)
    : rule_(rule), rows_(rows), truth_(context, rows.contributors()), arithmetic_(context) {}

z3::expr Reading::premise(std::size_t index) {
  return truth_.boolean(value(rule_.definition.premises.at(index).formula, Assignment{}));
}

z3::expr Reading::row_after(std::uint32_t position, std::uint32_t chunk) {
  const Expression& formula = rule_.definition.post_state.formula;
  Assignment assignment{position, chunk, kLanes};
  if (!contains(rule_.usage.of(formula).single, 2)) {
    return truth_.lanes(remembered(formula, assignment));
  }
  std::vector<z3::expr> held;
  for (std::uint32_t c = 0; c < rows_.contributors(); ++c) {
    assignment[2] = c;
    held.push_back(truth_.boolean(remembered(formula, assignment)));
  }
  // The first contributor is the lowest bit.
  const auto bit = [&](const z3::expr& one) { return arithmetic_.from_boolean(Value::truth(one)); };
  z3::expr row = *bit(held[0]).term;
  for (std::size_t c = 1; c < held.size(); ++c) row = z3::concat(*bit(held[c]).term, row);
  return rows_.constant() ? row.simplify() : row;
}

Value Reading::measure() { return value(rule_.definition.measure, Assignment{}); }

Value Reading::value(const Expression& expression, const Assignment& assignment) {
  switch (expression.kind) {
    case Kind::Truth:
    case Kind::Number:
      return Value::of(expression.number);
    case Kind::GroupSize:
      return Value::of(rows_.positions());
    case Kind::ChunkCount:
      return Value::of(rows_.chunks());
    case Kind::Variable:
      return Value::of(assignment[expression.index]);
    case Kind::Holds:
      return holds(expression, assignment);
    case Kind::Call:
      return call(expression, assignment);
    case Kind::ForAll:
    case Kind::Exists:
    case Kind::Count:
    case Kind::Sum:
      return remembered(expression, assignment);
    case Kind::Not:
    case Kind::And:
    case Kind::Or:
    case Kind::Implies:
    case Kind::Iff:
      return connective(expression, assignment);
    default:
      return operation(expression, assignment);
  }
}

Value Reading::connective(const Expression& expression, const Assignment& assignment) {
  Value left = value(expression.operands[0], assignment);
  // What the left operand settles alone is not asked of the right one.
  if (expression.kind == Kind::And && left.is(0)) return left;
  if (expression.kind == Kind::Or && left.is(1)) return left;
  if (expression.kind == Kind::Implies && left.is(0)) return Value::of(1);
  if (expression.kind == Kind::Not) return truth_.negation(left);
  const Value right = value(expression.operands[1], assignment);
  switch (expression.kind) {
    case Kind::And:
      return truth_.conjunction({left, right});
    case Kind::Or:
      return truth_.disjunction({left, right});
    case Kind::Implies:
      return truth_.disjunction({truth_.negation(left), right});
    default:
      return truth_.equivalence(left, right);
  }
}

Value Reading::operation(const Expression& expression, const Assignment& assignment) {
  const Value left = value(expression.operands[0], assignment);
  const Value right = value(expression.operands[1], assignment);
  switch (expression.kind) {
    case Kind::Equal:
      return arithmetic_.equal(left, right);
    case Kind::Less:
      return arithmetic_.less(left, right);
    case Kind::LessEqual:
      return arithmetic_.less_equal(left, right);
    case Kind::Add:
      return arithmetic_.add(left, right);
    case Kind::Subtract:
      return arithmetic_.subtract(left, right);
    case Kind::Multiply:
      return arithmetic_.multiply(left, right);
    case Kind::Divide:
      return arithmetic_.divide(left, right);
    case Kind::Modulo:
      return arithmetic_.modulo(left, right);
    default:
      invariant(false, "not an operation on integers");
      return {};
  }
}

Value Reading::holds(const Expression& expression, const Assignment& assignment) const {
  const std::vector<Expression>& at = expression.operands;
  const z3::expr& row = rows_.row(index(at[0], assignment), index(at[1], assignment));
  const std::uint32_t contributor = index(at[2], assignment);
  if (contributor == kLanes) return Value::truth(row);
  return Value::truth(row.extract(contributor, contributor) == row.ctx().bv_val(1, 1));
}

Value Reading::call(const Expression& expression, const Assignment& assignment) {
  const Expression& body = rule_.definition.lets[expression.index].body;
  Assignment inner{};
  for (std::size_t i = 0; i < expression.operands.size(); ++i) {
    inner[i] = index(expression.operands[i], assignment);
  }
  return remembered(body, inner);
}

Value Reading::remembered(const Expression& expression, const Assignment& assignment) {
  const Usage& usage = rule_.usage.of(expression);
  Question question{&expression, {}};
  for (std::size_t slot = 0; slot < assignment.size(); ++slot) {
    if (!contains(usage.free, slot)) continue;
    const bool any_alike = contains(usage.chunk, slot) && !contains(usage.numeric, slot);
    question.assignment[slot] = any_alike ? rows_.first_alike(assignment[slot]) : assignment[slot];
  }
  if (const auto found = known_.find(question); found != known_.end()) return found->second;
  const bool folds = expression.kind == Kind::ForAll || expression.kind == Kind::Exists ||
                     expression.kind == Kind::Count || expression.kind == Kind::Sum;
  const Value computed =
      folds ? fold(expression, question.assignment) : value(expression, question.assignment);
  return known_.emplace(question, simplified(computed, expression.type)).first->second;
}

std::uint32_t Reading::index(const Expression& argument, const Assignment& assignment) {
  return argument.kind == Kind::Variable ? assignment[argument.index] : 0;
}

Value Reading::simplified(const Value& value, Type type) const {
  if (!rows_.constant() || !value.term) return value;
  const z3::expr term = value.term->simplify();
  if (term.is_true() || term.is_false()) return Value::of(term.is_true() ? 1 : 0);
  if (type == Type::Integer && term.is_numeral()) return Value::of(term.get_numeral_uint64());
  return {0, term, value.most, {}};
}

std::size_t Reading::QuestionHash::operator()(const Question& question) const {
  std::size_t hash = std::hash<const void*>()(question.expression);
  for (const std::uint32_t value : question.assignment) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29U;
  }
  return hash;
}

}  // namespace p2::z3_encoding
