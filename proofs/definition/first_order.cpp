#include "proofs/definition/first_order.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/invariant.h"
#include "engine/collective/language/interpreter.h"

namespace p2::definition {

using language::Expression;
using language::Kind;
using language::Sort;

namespace {

/// The number that a term is, if it is one.
std::optional<std::uint64_t> known_number(const z3::expr& term) {
  std::uint64_t number = 0;
  return term.is_numeral_u64(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

FirstOrder::FirstOrder(z3::context& context, const language::Definition& definition,
                       std::optional<std::uint32_t> devices)
    : context_(context),
      definition_(definition),
      n_(devices ? context.int_val(*devices) : context.int_const("n")),
      k_(context.int_const("k")),
      contributors_(context.int_const("contributors")),
      holds_(context.function("s", context.int_sort(), context.int_sort(), context.int_sort(),
                              context.bool_sort())) {}

z3::expr FirstOrder::legal() {
  z3::expr all = n_ >= 1;
  for (const language::Premise& premise : definition_.premises) {
    all = all && value(premise.formula, Terms{});
  }
  return all;
}

z3::expr FirstOrder::before(const z3::expr& position, const z3::expr& chunk,
                            const z3::expr& contributor) {
  return holds_(position, chunk, contributor);
}

z3::expr FirstOrder::after(const z3::expr& position, const z3::expr& chunk,
                           const z3::expr& contributor) {
  return value(definition_.post_state.formula, Terms{position, chunk, contributor});
}

z3::expr FirstOrder::within(const z3::expr& term, Sort sort) const {
  const z3::expr& end = sort == Sort::Position ? n_ : sort == Sort::Chunk ? k_ : contributors_;
  return 0 <= term && term < end;
}

z3::expr FirstOrder::value(const Expression& expression, const Terms& terms) {
  switch (expression.kind) {
    case Kind::Truth:
      return context_.bool_val(expression.number == 1);
    case Kind::Number:
      return context_.int_val(static_cast<std::uint64_t>(expression.number));
    case Kind::GroupSize:
      return n_;
    case Kind::ChunkCount:
      return k_;
    case Kind::Variable:
      return *terms[expression.index];
    case Kind::Holds:
      return holds_(argument(expression.operands[0], terms),
                    argument(expression.operands[1], terms),
                    argument(expression.operands[2], terms));
    case Kind::Call: {
      Terms inner;
      for (std::size_t i = 0; i < expression.operands.size(); ++i) {
        inner[i] = argument(expression.operands[i], terms);
      }
      return value(definition_.lets[expression.index].body, inner);
    }
    case Kind::ForAll:
    case Kind::Exists:
      return quantified(expression, terms);
    case Kind::Not:
    case Kind::And:
    case Kind::Or:
    case Kind::Implies:
    case Kind::Iff:
    case Kind::Equal:
    case Kind::Less:
    case Kind::LessEqual:
      return connective(expression, terms);
    default:
      return uninterpreted(expression, terms);
  }
}

z3::expr FirstOrder::connective(const Expression& expression, const Terms& terms) {
  z3::expr left = value(expression.operands[0], terms);
  if (expression.kind == Kind::Not) return !left;
  const z3::expr right = value(expression.operands[1], terms);
  switch (expression.kind) {
    case Kind::And:
      return left && right;
    case Kind::Or:
      return left || right;
    case Kind::Implies:
      return z3::implies(left, right);
    case Kind::Iff:
    case Kind::Equal:
      return left == right;
    case Kind::Less:
      return left < right;
    case Kind::LessEqual:
      return left <= right;
    default:
      invariant(false, "not a connective");
      return left;
  }
}

z3::expr FirstOrder::quantified(const Expression& expression, Terms terms) {
  z3::expr_vector bound(context_);
  z3::expr range = context_.bool_val(true);
  for (const language::Variable& variable : expression.variables) {
    const z3::expr term = integer(fmt::format("bound!{}", bound_++).c_str());
    bound.push_back(term);
    range = range && within(term, variable.sort);
    terms[variable.slot] = term;
  }
  const z3::expr body = value(expression.operands[0], terms);
  return expression.kind == Kind::ForAll ? z3::forall(bound, z3::implies(range, body))
                                         : z3::exists(bound, range && body);
}

z3::expr FirstOrder::uninterpreted(const Expression& expression, const Terms& terms) {
  z3::expr_vector arguments(context_);
  std::string name;
  if (expression.kind == Kind::Count || expression.kind == Kind::Sum) {
    // One function for each place of the text, of all that is in scope there.
    const auto place = static_cast<unsigned>(places_.size());
    name = fmt::format("number!{}", places_.emplace(&expression, place).first->second);
    for (const std::optional<z3::expr>& term : terms) {
      if (term) arguments.push_back(*term);
    }
  } else {
    name = fmt::format("operation!{}", static_cast<int>(expression.kind));
    for (const Expression& operand : expression.operands) {
      arguments.push_back(value(operand, terms));
    }
    const auto left = known_number(arguments[0]);
    const auto right = known_number(arguments[1]);
    if (left && right) {
      return context_.int_val(language::arithmetic(expression.kind, *left, *right));
    }
  }
  if (arguments.empty()) return integer(name.c_str());
  z3::sort_vector domain(context_);
  for (unsigned i = 0; i < arguments.size(); ++i) domain.push_back(context_.int_sort());
  return context_.function(name.c_str(), domain, context_.int_sort())(arguments);
}

z3::expr FirstOrder::argument(const Expression& expression, const Terms& terms) const {
  return expression.kind == Kind::Variable ? *terms[expression.index] : context_.int_val(0);
}

}  // namespace p2::definition
