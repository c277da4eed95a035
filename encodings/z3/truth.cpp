#include "encodings/z3/truth.h"

#include <algorithm>

namespace p2::z3_encoding {
namespace {

/// Equal operands once: most quantifiers range over many devices in the same state.
std::vector<z3::expr> distinct(std::vector<z3::expr> terms) {
  const auto before = [](const z3::expr& a, const z3::expr& b) { return a.id() < b.id(); };
  const auto same = [](const z3::expr& a, const z3::expr& b) { return a.id() == b.id(); };
  std::sort(terms.begin(), terms.end(), before);
  terms.erase(std::unique(terms.begin(), terms.end(), same), terms.end());
  return terms;
}

/// Whether a term and its negation are both among the terms, which are sorted.
bool contradictory(const std::vector<z3::expr>& terms) {
  const auto before = [](const z3::expr& a, const z3::expr& b) { return a.id() < b.id(); };
  return std::any_of(terms.begin(), terms.end(), [&](const z3::expr& term) {
    if (!term.is_app() || term.num_args() != 1) return false;
    const Z3_decl_kind kind = term.decl().decl_kind();
    return (kind == Z3_OP_BNOT || kind == Z3_OP_NOT) &&
           std::binary_search(terms.begin(), terms.end(), term.arg(0), before);
  });
}

z3::expr joined(z3::context& context, const std::vector<z3::expr>& terms, bool conjunction) {
  if (terms.size() == 1) return terms[0];
  if (terms[0].is_bool()) {
    std::vector<Z3_ast> arguments(terms.begin(), terms.end());
    const auto count = static_cast<unsigned>(arguments.size());
    Z3_ast all = conjunction ? Z3_mk_and(context, count, arguments.data())
                             : Z3_mk_or(context, count, arguments.data());
    return {context, all};
  }
  // A balanced tree: Z3 4.8.12 takes quadratic time to delete a context with long chains in it.
  std::vector<z3::expr> level = terms;
  while (level.size() > 1) {
    std::vector<z3::expr> halved;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
      halved.push_back(conjunction ? level[i] & level[i + 1] : level[i] | level[i + 1]);
    }
    if (level.size() % 2 == 1) halved.push_back(level.back());
    level = std::move(halved);
  }
  return level[0];
}

}  // namespace

Truth::Truth(z3::context& context, unsigned lanes)
    : context_(&context), none_(context.bv_val(0, lanes)), every_(~none_) {
  every_ = every_.simplify();
}

Value Truth::negation(const Value& a) const {
  if (!a.term) return Value::of(a.known == 0 ? 1 : 0);
  return Value::truth(a.term->is_bool() ? !*a.term : ~*a.term);
}

Value Truth::conjunction(const std::vector<Value>& all) const { return join(all, true); }

Value Truth::disjunction(const std::vector<Value>& all) const { return join(all, false); }

Value Truth::join(const std::vector<Value>& all, bool conjunction) const {
  const std::uint64_t neutral = conjunction ? 1 : 0;
  std::vector<z3::expr> booleans;
  std::vector<z3::expr> vectors;
  for (const Value& value : all) {
    if (value.term) {
      (value.term->is_bool() ? booleans : vectors).push_back(*value.term);
    } else if (value.known != neutral) {
      return Value::of(1 - neutral);
    }
  }
  if (booleans.empty() && vectors.empty()) return Value::of(neutral);
  booleans = distinct(std::move(booleans));
  vectors = distinct(std::move(vectors));
  if (contradictory(booleans) || contradictory(vectors)) return Value::of(1 - neutral);
  if (booleans.empty()) return Value::truth(joined(*context_, vectors, conjunction));
  const z3::expr boolean = joined(*context_, booleans, conjunction);
  if (vectors.empty()) return Value::truth(boolean);
  vectors.push_back(lanes(Value::truth(boolean)));
  return Value::truth(joined(*context_, vectors, conjunction));
}

Value Truth::equivalence(const Value& a, const Value& b) const {
  // Either order the same term.
  if (a.term && b.term && a.term->id() > b.term->id()) return equivalence(b, a);
  if (!a.term) return a.known == 1 ? b : negation(b);
  if (!b.term) return b.known == 1 ? a : negation(a);
  if (a.term->id() == b.term->id()) return Value::of(1);
  if (a.term->is_bool() && b.term->is_bool()) return Value::truth(*a.term == *b.term);
  return Value::truth(~(lanes(a) ^ lanes(b)));
}

Value Truth::all_lanes(const Value& a) const {
  if (!a.term || a.term->is_bool()) return a;
  return Value::truth(*a.term == every_);
}

Value Truth::any_lane(const Value& a) const {
  if (!a.term || a.term->is_bool()) return a;
  return Value::truth(*a.term != none_);
}

z3::expr Truth::boolean(const Value& a) const {
  return a.term ? *a.term : context_->bool_val(a.known == 1);
}

z3::expr Truth::lanes(const Value& a) const {
  if (!a.term) return a.known == 1 ? every_ : none_;
  return a.term->is_bool() ? z3::ite(*a.term, every_, none_) : *a.term;
}

}  // namespace p2::z3_encoding
