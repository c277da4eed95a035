#include "encodings/z3/reading.h"

#include <algorithm>
#include <map>

#include "engine/base/invariant.h"

namespace p2::z3_encoding {

GroupRows::GroupRows(std::vector<z3::expr> rows, std::uint32_t positions)
    : rows_(std::move(rows)), positions_(positions) {
  if (!rows_.empty()) contributors_ = rows_[0].get_sort().bv_size();
  constant_ =
      std::all_of(rows_.begin(), rows_.end(), [](const z3::expr& row) { return row.is_numeral(); });
  alike_.resize(rows_.size() / positions);
  std::map<std::vector<unsigned>, std::size_t> class_of;
  std::vector<unsigned> column(positions);
  for (std::uint32_t chunk = 0; chunk < chunks(); ++chunk) {
    for (std::uint32_t i = 0; i < positions; ++i) column[i] = row(i, chunk).id();
    const auto [place, fresh] = class_of.emplace(column, classes_.size());
    if (fresh) classes_.push_back({chunk, 0});
    ++classes_[place->second].count;
    alike_[chunk] = classes_[place->second].first;
  }
}

namespace {

using language::Expression;
using language::Kind;
using language::Type;

Slots bit(std::uint32_t slot) { return static_cast<Slots>(1U << slot); }

Slots united(Slots a, Slots b) { return static_cast<Slots>(a | b); }

Slots without(Slots slots, const std::vector<language::Variable>& variables) {
  for (const language::Variable& variable : variables) {
    slots = static_cast<Slots>(slots & ~bit(variable.slot));
  }
  return slots;
}

/// Whether a value for all contributors at once can be made from those of the operands.
bool works_on_lanes(const Expression& expression) {
  switch (expression.kind) {
    case Kind::Holds:
    case Kind::Call:
    case Kind::Not:
    case Kind::And:
    case Kind::Or:
    case Kind::Implies:
    case Kind::Iff:
    case Kind::ForAll:
    case Kind::Exists:
      return expression.type == Type::Boolean;
    default:
      return false;
  }
}

}  // namespace

UsageTable::UsageTable(const language::Definition& definition) : definition_(definition) {
  for (const language::Let& let : definition.lets) note(let.body);
  for (const language::Premise& premise : definition.premises) note(premise.formula);
  note(definition.post_state.formula);
  note(definition.measure);
}

Usage UsageTable::note(const Expression& expression) {
  Usage usage;
  if (expression.kind == Kind::Call) {
    usage = of_call(expression);
  } else if (expression.kind == Kind::Variable) {
    usage.free = usage.numeric = bit(expression.index);
  } else if (expression.kind == Kind::Holds) {
    for (const Expression& operand : expression.operands) {
      if (operand.kind == Kind::Variable) usage.free = united(usage.free, bit(operand.index));
    }
    usage.chunk = bit(expression.operands[1].index);
  } else {
    usage = of_parts(expression);
  }
  if (!works_on_lanes(expression)) usage.single = usage.free;
  usages_[&expression] = usage;
  return usage;
}

Usage UsageTable::of_parts(const Expression& expression) {
  Usage usage;
  for (const Expression& operand : expression.operands) {
    const Usage part = note(operand);
    usage.free = united(usage.free, part.free);
    usage.numeric = united(usage.numeric, part.numeric);
    usage.chunk = united(usage.chunk, part.chunk);
    usage.single = united(usage.single, part.single);
  }
  usage.free = without(usage.free, expression.variables);
  usage.numeric = without(usage.numeric, expression.variables);
  usage.chunk = without(usage.chunk, expression.variables);
  usage.single = without(usage.single, expression.variables);
  return usage;
}

Usage UsageTable::of_call(const Expression& expression) const {
  const Usage& body = usages_.at(&definition_.lets[expression.index].body);
  Usage usage;
  for (std::uint32_t i = 0; i < expression.operands.size(); ++i) {
    const Expression& argument = expression.operands[i];
    if (argument.kind != Kind::Variable || (body.free & bit(i)) == 0) continue;
    const Slots slot = bit(argument.index);
    // One variable in two places: the let would have lanes along both.
    if ((usage.free & slot) != 0) usage.single = united(usage.single, slot);
    usage.free = united(usage.free, slot);
    if ((body.numeric & bit(i)) != 0) usage.numeric = united(usage.numeric, slot);
    if ((body.chunk & bit(i)) != 0) usage.chunk = united(usage.chunk, slot);
    if ((body.single & bit(i)) != 0) usage.single = united(usage.single, slot);
  }
  return usage;
}

using language::Expression;
using language::Kind;
using language::Type;

namespace {

bool contains(Slots slots, std::size_t slot) { return (slots >> slot & 1U) != 0; }

}  // namespace

Reading::Reading(z3::context& context, const Rule& rule, const GroupRows& rows, const Meter* meter)
    : rule_(rule),
      rows_(rows),
      meter_(meter),
      truth_(context, rows.contributors()),
      arithmetic_(context) {}

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
  if (meter_ != nullptr) meter_->step();
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

/// Quantifiers and aggregates.
namespace p2::z3_encoding {

using language::Expression;
using language::Kind;
using language::Sort;

bool Reading::on_lanes(Slots free, const Assignment& assignment) const {
  for (std::size_t slot = 0; slot < assignment.size(); ++slot) {
    if ((free >> slot & 1U) != 0 && assignment[slot] == kLanes) return true;
  }
  return false;
}

Value Reading::fold(const Expression& expression, Assignment assignment) {
  const Expression& body = expression.operands[0];
  // A variable of our own becomes lanes unless there are lanes already.
  const bool taken = on_lanes(rule_.usage.of(expression).free, assignment);
  bool over_lanes = false;
  for (const language::Variable& variable : expression.variables) {
    assignment[variable.slot] = 0;
    const bool single = (rule_.usage.of(body).single >> variable.slot & 1U) != 0;
    if (taken || over_lanes || single || variable.sort != Sort::Contributor) continue;
    if (expression.kind == Kind::Sum) continue;
    assignment[variable.slot] = kLanes;
    over_lanes = true;
  }
  return joined(expression.kind, parts(expression, assignment), over_lanes);
}

std::vector<Reading::Choice> Reading::choices(const language::Variable& variable,
                                              const Expression& body) const {
  std::vector<Choice> all;
  const bool numeric = (rule_.usage.of(body).numeric >> variable.slot & 1U) != 0;
  if (variable.sort == Sort::Chunk && !numeric) {
    for (const GroupRows::Class& alike : rows_.classes()) all.push_back({alike.first, alike.count});
    return all;
  }
  const std::uint32_t count = variable.sort == Sort::Position ? rows_.positions()
                              : variable.sort == Sort::Chunk  ? rows_.chunks()
                                                              : rows_.contributors();
  for (std::uint32_t i = 0; i < count; ++i) all.push_back({i, 1});
  return all;
}

std::vector<Reading::Part> Reading::parts(const Expression& expression, Assignment& assignment) {
  const Expression& body = expression.operands[0];
  // One value that settles the whole: false for `forall`, true for `exists`.
  const bool settles = expression.kind == Kind::ForAll || expression.kind == Kind::Exists;
  const std::uint64_t settling = expression.kind == Kind::ForAll ? 0 : 1;
  std::vector<Part> all;
  const auto walk = [&](const auto& self, std::size_t depth, std::uint64_t weight) -> bool {
    if (depth == expression.variables.size()) {
      Value part = value(body, assignment);
      if (settles && part.is(1 - settling)) return true;
      if (settles && part.is(settling)) all.clear();
      const bool go_on = !settles || !part.is(settling);
      all.push_back({std::move(part), weight});
      return go_on;
    }
    const language::Variable& variable = expression.variables[depth];
    if (assignment[variable.slot] == kLanes) return self(self, depth + 1, weight);
    for (const Choice& choice : choices(variable, body)) {
      assignment[variable.slot] = choice.value;
      if (!self(self, depth + 1, weight * choice.weight)) return false;
    }
    assignment[variable.slot] = 0;
    return true;
  };
  walk(walk, 0, 1);
  return all;
}

Value Reading::joined(Kind kind, const std::vector<Part>& parts, bool over_lanes) const {
  if (kind == Kind::Count || kind == Kind::Sum) return total(parts, over_lanes);
  std::vector<Value> values;
  values.reserve(parts.size());
  for (const Part& part : parts) values.push_back(part.value);
  const bool for_all = kind == Kind::ForAll;
  Value value = for_all ? truth_.conjunction(values) : truth_.disjunction(values);
  if (!over_lanes) return value;
  return for_all ? truth_.all_lanes(value) : truth_.any_lane(value);
}

Value Reading::total(const std::vector<Part>& parts, bool over_lanes) const {
  std::vector<Value> values;
  for (const auto& [value, weight] : parts) {
    const bool lanes = over_lanes && value.term && value.term->is_bv();
    const bool boolean = value.term && value.term->is_bool();
    Value amount = lanes     ? arithmetic_.count_lanes(*value.term)
                   : boolean ? arithmetic_.from_boolean(value)
                             : value;
    // A body that does not speak of its contributor counts once for each.
    if (over_lanes && !lanes) {
      amount = arithmetic_.multiply(amount, Value::of(rows_.contributors()));
    }
    values.push_back(arithmetic_.multiply(amount, Value::of(weight)));
  }
  return arithmetic_.sum(values);
}

}  // namespace p2::z3_encoding
