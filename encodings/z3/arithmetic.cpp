#include "encodings/z3/arithmetic.h"

#include <algorithm>
#include <bit>

namespace p2::z3_encoding {
namespace {

unsigned width_of(std::uint64_t most) {
  return std::max(1U, static_cast<unsigned>(std::bit_width(most)));
}

unsigned common_width(const Value& a, const Value& b) { return width_of(std::max(a.most, b.most)); }

/// Whether the value is known by how many of some things hold.
bool counts(const Value& value) { return value.ladder && value.ladder->step == 1; }

z3::expr exactly(const Ladder& ladder, std::uint64_t value) {
  return ladder.at_least(value) && ladder.at_most(value);
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
  std::shared_ptr<const Ladder> ladder;
  if (counts(a) && counts(b) && b.most == 1 && most <= Ladder::kMostRungs) {
    ladder = std::make_shared<const Ladder>(one_more(*a.ladder, *b.ladder));
  }
  return Value::integer(bits(a, width) + bits(b, width), most, std::move(ladder));
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
  if (!wraps && !factor.term && counted.ladder) {
    Ladder ladder = *counted.ladder;
    ladder.step *= factor.known;
    product.ladder = std::make_shared<const Ladder>(std::move(ladder));
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
  std::shared_ptr<const Ladder> ladder;
  if (a.ladder && !b.term && b.known <= Ladder::kMostRungs) {
    ladder = std::make_shared<const Ladder>(remainder(*a.ladder, b.known));
  }
  return Value::integer(bits(Value::integer(rest, most), width_of(most)), most, std::move(ladder));
}

Value Arithmetic::equal(const Value& a, const Value& b) const {
  if (!a.term && !b.term) return Value::of(a.known == b.known ? 1 : 0);
  if ((!a.term && a.known > b.most) || (!b.term && b.known > a.most)) return Value::of(0);
  if (a.ladder && b.ladder) return Value::truth(z3_encoding::equal(*a.ladder, *b.ladder));
  if (a.ladder && !b.term) return Value::truth(exactly(*a.ladder, b.known));
  if (b.ladder && !a.term) return Value::truth(exactly(*b.ladder, a.known));
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
  if (a.ladder && b.ladder) return z3_encoding::less_equal(*a.ladder, *b.ladder);
  if (a.ladder && !b.term) return a.ladder->at_most(b.known);
  if (b.ladder && !a.term) return b.ladder->at_least(a.known);
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
                        std::make_shared<const Ladder>(Ladder{{*a.term}, 1}));
}

Value Arithmetic::count_lanes(const z3::expr& lanes) const {
  std::vector<Value> single;
  const unsigned width = lanes.get_sort().bv_size();
  for (unsigned i = 0; i < width; ++i) single.push_back(Value::integer(lanes.extract(i, i), 1));
  return sum(single);
}

}  // namespace p2::z3_encoding
