#include "encodings/z3/terms.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace p2::z3_encoding {
namespace {

/// What `holds` says of the value of `unary`, by halving the values that it may have.
z3::expr by_cases(const UnaryNumber& unary, const std::function<z3::expr(std::uint64_t)>& holds) {
  const auto among = [&](const auto& self, std::size_t low, std::size_t high) -> z3::expr {
    if (low == high) return holds(low * unary.step);
    const std::size_t middle = (low + high + 1) / 2;
    z3::expr above = self(self, middle, high);
    const z3::expr below = self(self, low, middle - 1);
    if (above.id() == below.id()) return above;
    return z3::ite(unary.thresholds[middle - 1], above, below);
  };
  return among(among, 0, unary.thresholds.size());
}

z3::expr equal_thresholds(const UnaryNumber& a, const UnaryNumber& b) {
  z3::expr_vector all(a.context());
  for (std::size_t i = 0; i < a.thresholds.size(); ++i) {
    const bool in_order = a.thresholds[i].id() <= b.thresholds[i].id();
    if (a.thresholds[i].id() == b.thresholds[i].id()) continue;
    all.push_back(in_order ? a.thresholds[i] == b.thresholds[i]
                           : b.thresholds[i] == a.thresholds[i]);
  }
  return z3::mk_and(all);
}

}  // namespace

z3::expr UnaryNumber::at_least(std::uint64_t value) const {
  if (value == 0) return context().bool_val(true);
  if (value > most()) return context().bool_val(false);
  return thresholds[(value - 1) / step];
}

UnaryNumber one_more(const UnaryNumber& count, const UnaryNumber& more) {
  const z3::expr& one = more.thresholds[0];
  UnaryNumber sum;
  for (std::size_t i = 0; i <= count.thresholds.size(); ++i) {
    const z3::expr here = count.at_least(i + 1);
    const z3::expr before = count.at_least(i);
    const z3::expr reached = i == 0 ? one : before && one;
    sum.thresholds.push_back(i == count.thresholds.size() ? reached : here || reached);
  }
  return sum;
}

UnaryNumber remainder(const UnaryNumber& of, std::uint64_t divisor) {
  UnaryNumber rest;
  for (std::uint64_t least = 1; least < divisor; ++least) {
    rest.thresholds.push_back(by_cases(
        of, [&](std::uint64_t value) { return of.context().bool_val(value % divisor >= least); }));
  }
  return rest;
}

z3::expr equal(const UnaryNumber& a, const UnaryNumber& b) {
  if (a.step == b.step && a.thresholds.size() == b.thresholds.size()) return equal_thresholds(a, b);
  return by_cases(a, [&](std::uint64_t value) {
    if (value % b.step != 0 || value > b.most()) return a.context().bool_val(false);
    return b.at_least(value) && b.at_most(value);
  });
}

z3::expr less_equal(const UnaryNumber& a, const UnaryNumber& b) {
  return by_cases(a, [&](std::uint64_t value) { return b.at_least(value); });
}

namespace {

unsigned width_of(std::uint64_t most) {
  return std::max(1U, static_cast<unsigned>(std::bit_width(most)));
}

unsigned common_width(const Value& a, const Value& b) { return width_of(std::max(a.most, b.most)); }

/// Whether the value is known by how many of some things hold.
bool counts(const Value& value) { return value.unary && value.unary->step == 1; }

z3::expr exactly(const UnaryNumber& unary, std::uint64_t value) {
  return unary.at_least(value) && unary.at_most(value);
}

}  // namespace

z3::expr Arithmetic::bits(const Value& a, unsigned width) const {
  if (!a.term) return context_->bv_val(static_cast<std::uint64_t>(a.known), width);
  const unsigned has = a.term->get_sort().bv_size();
  if (has == width) return *a.term;
  return has < width ? z3::zext(*a.term, width - has) : a.term->extract(width - 1, 0);
}

Value Arithmetic::add(const Value& a, const Value& b) const {
  if (!a.term && !b.term) return Value::of(a.known + b.known);
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  const bool wraps = a.most > UINT64_MAX - b.most;
  const std::uint64_t most = wraps ? UINT64_MAX : a.most + b.most;
  const unsigned width = width_of(most);
  std::shared_ptr<const UnaryNumber> unary;
  if (counts(a) && counts(b) && b.most == 1 && most <= UnaryNumber::kMaxThresholds) {
    unary = std::make_shared<const UnaryNumber>(one_more(*a.unary, *b.unary));
  }
  return Value::integer(bits(a, width) + bits(b, width), most, std::move(unary));
}

Value Arithmetic::subtract(const Value& a, const Value& b) const {
  if (!a.term && !b.term) return Value::of(a.known < b.known ? 0 : a.known - b.known);
  if (b.is(0)) return a;
  const unsigned width = common_width(a, b);
  const z3::expr from = bits(a, width);
  const z3::expr taken = bits(b, width);
  const z3::expr rest = z3::ite(z3::ult(from, taken), context_->bv_val(0, width), from - taken);
  return Value::integer(bits(Value::integer(rest, a.most), width_of(a.most)), a.most);
}

Value Arithmetic::multiply(const Value& a, const Value& b) const {
  if (!a.term && !b.term) return Value::of(a.known * b.known);
  if (a.is(0) || b.is(0)) return Value::of(0);
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  const bool wraps = a.most > UINT64_MAX / std::max<std::uint64_t>(b.most, 1);
  const std::uint64_t most = wraps ? UINT64_MAX : a.most * b.most;
  const unsigned width = width_of(most);
  // Only for widths that wrap can an operand be wider than the product.
  Value product = Value::integer(bits(a, width) * bits(b, width), most);
  const Value& factor = a.term ? b : a;
  const Value& counted = a.term ? a : b;
  if (!wraps && !factor.term && counted.unary) {
    UnaryNumber unary = *counted.unary;
    unary.step *= factor.known;
    product.unary = std::make_shared<const UnaryNumber>(std::move(unary));
  }
  return product;
}

Value Arithmetic::divide(const Value& a, const Value& b) const {
  if (!a.term && !b.term) return Value::of(b.known == 0 ? 0 : a.known / b.known);
  if (b.is(0)) return Value::of(0);
  if (b.is(1)) return a;
  const unsigned width = common_width(a, b);
  const z3::expr divisor = bits(b, width);
  const z3::expr zero = context_->bv_val(0, width);
  z3::expr quotient = z3::udiv(bits(a, width), divisor);
  if (b.term) quotient = z3::ite(divisor == zero, zero, quotient);
  return Value::integer(bits(Value::integer(quotient, a.most), width_of(a.most)), a.most);
}

Value Arithmetic::modulo(const Value& a, const Value& b) const {
  if (!a.term && !b.term) return Value::of(b.known == 0 ? a.known : a.known % b.known);
  if (b.is(0)) return a;
  if (b.is(1)) return Value::of(0);
  const unsigned width = common_width(a, b);
  const z3::expr divisor = bits(b, width);
  z3::expr rest = z3::urem(bits(a, width), divisor);
  if (b.term) rest = z3::ite(divisor == context_->bv_val(0, width), bits(a, width), rest);
  const std::uint64_t most = b.term ? a.most : std::min(a.most, b.known - 1);
  std::shared_ptr<const UnaryNumber> unary;
  if (a.unary && !b.term && b.known <= UnaryNumber::kMaxThresholds) {
    unary = std::make_shared<const UnaryNumber>(remainder(*a.unary, b.known));
  }
  return Value::integer(bits(Value::integer(rest, most), width_of(most)), most, std::move(unary));
}

Value Arithmetic::equal(const Value& a, const Value& b) const {
  if (!a.term && !b.term) return Value::of(a.known == b.known ? 1 : 0);
  if ((!a.term && a.known > b.most) || (!b.term && b.known > a.most)) return Value::of(0);
  if (a.unary && b.unary) return Value::truth(z3_encoding::equal(*a.unary, *b.unary));
  if (a.unary && !b.term) return Value::truth(exactly(*a.unary, b.known));
  if (b.unary && !a.term) return Value::truth(exactly(*b.unary, a.known));
  const unsigned width = common_width(a, b);
  return Value::truth(bits(a, width) == bits(b, width));
}

Value Arithmetic::less(const Value& a, const Value& b) const {
  if (!a.term && !b.term) return Value::of(a.known < b.known ? 1 : 0);
  if (b.is(0) || (!a.term && a.known >= b.most)) return Value::of(0);
  if (!b.term && a.most < b.known) return Value::of(1);
  // The same term as b <= a: where one run of chunks ends the next one begins.
  return Value::truth(!at_most(b, a));
}

Value Arithmetic::less_equal(const Value& a, const Value& b) const {
  if (!a.term && !b.term) return Value::of(a.known <= b.known ? 1 : 0);
  if (a.is(0) || (!b.term && a.most <= b.known)) return Value::of(1);
  if (!a.term && a.known > b.most) return Value::of(0);
  return Value::truth(at_most(a, b));
}

z3::expr Arithmetic::at_most(const Value& a, const Value& b) const {
  if (a.unary && b.unary) return z3_encoding::less_equal(*a.unary, *b.unary);
  if (a.unary && !b.term) return a.unary->at_most(b.known);
  if (b.unary && !a.term) return b.unary->at_least(a.known);
  const unsigned width = common_width(a, b);
  return z3::ule(bits(a, width), bits(b, width));
}

Value Arithmetic::sum(const std::vector<Value>& all) const {
  Value total = Value::of(0);
  for (const Value& value : all) total = add(total, value);
  return total;
}

Value Arithmetic::from_boolean(const Value& a) const {
  if (!a.term) return a;
  return Value::integer(z3::ite(*a.term, context_->bv_val(1, 1), context_->bv_val(0, 1)), 1,
                        std::make_shared<const UnaryNumber>(UnaryNumber{{*a.term}, 1}));
}

Value Arithmetic::count_lanes(const z3::expr& lanes) const {
  std::vector<Value> single;
  const unsigned width = lanes.get_sort().bv_size();
  for (unsigned i = 0; i < width; ++i) single.push_back(Value::integer(lanes.extract(i, i), 1));
  return sum(single);
}

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
