// Functions of terms: what is known of them, and random functions for the rest.

#include "proofs/kernel/xla/terms.h"

namespace p2::kernel::xla {
namespace {

/// For all inputs.
bool is_negative(const Cell& a) {
  return a.high <= 0 && a.value != 0 && !a.high_is_assumed && !a.nan;
}

/// Of negative numbers these are none.
bool is_one_of_roots(Op op) { return op == Op::Sqrt || op == Op::Log; }

}  // namespace

Cell Terms::exponential(const Cell& a, const Type& type) {
  if (a.value == 0) return number(1);
  if (is_infinite(a)) return a.low > 0 ? a : Cell{};
  const std::uint64_t value = field_.power(base_, a.exponent);
  Cell result = drawn(Hash(key_).add("power").add(value), 0, kInfinity);
  result.value = value;
  result.nan = a.nan;
  result.is_unreal = a.is_unreal;
  if (is_bounded(a)) {
    // Greater than 0, however small; and finite, however large.
    result.low = a.low_is_assumed
                     ? 0
                     : std::min(std::numeric_limits<double>::max(), std::exp(a.low) * (1 - 1e-14));
    result.high = std::max(kLeast, std::exp(a.high) * (1 + 1e-14));
    result.high_is_assumed = a.high_is_assumed;
  }
  return settled(result, type);
}

Cell Terms::power(const Cell& a, const Cell& b, const Type& type) {
  const double exponent = std::fabs(b.low);
  Cell result = number(1);
  if (b.is_known() && exponent == std::floor(exponent) && exponent <= 64) {
    for (double i = 0; i < exponent; ++i) result = product(result, a, type);
  } else if (b.is_known() && exponent == 0.5 && !a.is_unreal) {  // the root of -inf is none
    const Cell operand[] = {a};
    result = real({Op::Sqrt, type, type}, operand);
  } else {
    const Cell operands[] = {a, b};
    if (a.is_known() && b.is_known()) return of_numbers({Op::Power, type, type}, operands);
    Cell unknown = function("power", operands, type);
    unknown.is_unreal = unknown.is_unreal || is_negative(a) || a.value == 0;
    return unknown;
  }
  return b.low < 0 ? inverse(result, type) : result;
}

/// Of real numbers, and of integers in the range of their type.
Cell Terms::maximum(const Cell& a, const Cell& b) {
  if (a.value == b.value) return a;
  // No more than the other is: by bounds for all real numbers, or below all.
  const auto is_below = [](const Cell& one, const Cell& other) {
    return !one.nan && one.high <= other.low &&
           ((!one.high_is_assumed && !other.low_is_assumed) || one.high == -kInfinity);
  };
  if (is_below(b, a)) return a;
  if (is_below(a, b)) return b;
  std::vector<std::uint64_t> members;
  for (const Cell* part : {&a, &b}) {
    const auto found = maxima_.find(part->value);
    if (found == maxima_.end()) {
      members.push_back(part->value);
    } else {
      members.insert(members.end(), found->second.begin(), found->second.end());
    }
  }
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  Hash hash(key_);
  hash.add("maximum");
  for (const std::uint64_t member : members) hash.add(member);
  Cell result = drawn(hash, std::max(a.low, b.low), std::max(a.high, b.high));
  const bool is_of_a = a.low > b.low || (a.low == b.low && !a.low_is_assumed);
  result.low_is_assumed = is_of_a ? a.low_is_assumed : b.low_is_assumed;
  result.high_is_assumed = a.high_is_assumed || b.high_is_assumed;
  result.is_unreal = a.is_unreal || b.is_unreal;
  if (a.nan || b.nan) result = unbounded(result);
  maxima_.emplace(result.value, std::move(members));
  return result;
}

/// Not a.
Cell Terms::opposite(const Cell& a) {
  const Type boolean = type_called("pred");
  const Cell operand[] = {a};
  return apply({Op::Not, boolean, boolean}, operand);
}

Cell Terms::compare(Direction direction, const Cell& a, const Cell& b, const Type& type) {
  const Cell x = unwrapped(a, type);
  const Cell y = unwrapped(b, type);
  if (type.is_integer() && x.is_known() != y.is_known() && is_exact(x) && is_exact(y)) {
    // Steps of one integer. k > x is not x > k - 1.
    const bool is_right = y.is_known();
    const Cell& integer = is_right ? x : y;
    const double border = is_right ? y.low : x.low;
    const Cell more = above_number(integer, border);         // integer > number
    const Cell no_less = above_number(integer, border - 1);  // integer >= number
    const bool is_less = direction == Direction::Lt || direction == Direction::Le;
    const bool is_strict = direction == Direction::Lt || direction == Direction::Gt;
    if (direction == Direction::Eq || direction == Direction::Ne) {
      const Cell equal = apply({Op::And, type_called("pred"), type_called("pred")},
                               std::array{no_less, opposite(more)});
      return direction == Direction::Eq ? equal : opposite(equal);
    }
    // integer > number, or with sides exchanged number > integer.
    const bool asks_more = is_less != is_right;
    if (asks_more) return is_strict ? more : no_less;
    return opposite(is_strict ? no_less : more);
  }
  const bool is_by_infinity =
      (is_infinite(x) && is_bounded(y)) || (is_infinite(y) && is_bounded(x));
  if ((x.is_unreal || y.is_unreal) && !is_by_infinity && type.is_float())
    return unreal_compared(direction, x, y, type);
  Cell difference = type.is_float() ? sum(x, negative(y), type) : plain_sum(x, negative(y));
  if (!type.is_float() && !is_exact(difference) && difference.value != 0) {
    // Values of 64 bits: their difference is no double, and bounds say nothing.
    difference = unbounded(difference);
  }
  switch (direction) {
    case Direction::Eq:
      return is_zero(difference);
    case Direction::Ne:
      return complement(is_zero(difference));
    case Direction::Gt:
      return positive(difference);
    case Direction::Le:
      return complement(positive(difference));
    case Direction::Lt:
      return positive(negative(difference));
    default:
      return complement(positive(negative(difference)));
  }
}

/// Of what may be infinite or NaN: x < y is neither y <= x nor its opposite.
Cell Terms::unreal_compared(Direction direction, const Cell& x, const Cell& y, const Type& type) {
  const Type boolean = type_called("pred");
  if (x.is_known() && y.is_known()) {
    const Cell numbers[] = {{0, 0, x.low, 0, false}, {0, 0, y.low, 0, false}};
    Elementwise operation{Op::Compare, type, boolean};
    operation.direction = direction;
    return number(computed(operation, numbers).value != 0 ? 1 : 0);
  }
  if (direction == Direction::Eq || direction == Direction::Ne) {
    const bool swap = y.value < x.value;
    const Cell both[] = {swap ? y : x, swap ? x : y};
    const Cell equal = function("equal", both, boolean);
    return direction == Direction::Eq ? equal : complement(equal);
  }
  const bool is_less = direction == Direction::Lt || direction == Direction::Le;
  const bool is_strict = direction == Direction::Lt || direction == Direction::Gt;
  const Cell sides[] = {is_less ? x : y, is_less ? y : x};
  return function(is_strict ? "less" : "not more", sides, boolean);
}

Cell Terms::select(const Cell& condition, const Cell& yes, const Cell& no, const Type& type) {
  if (condition.is_known()) return condition.low != 0 ? yes : no;
  if (yes.value == no.value) return yes;
  const Cell bounds = bounds_of_either(yes, no);
  if (is_bounded(yes) && is_bounded(no) && !bounds.is_unreal)
    return with_bounds(plain_sum(no, plain_product(condition, plain_sum(yes, negative(no)))),
                       bounds);
  const Cell other = complement(condition);
  const bool swap = other.value < condition.value;
  const Cell operands[] = {swap ? other : condition, swap ? no : yes, swap ? yes : no};
  return with_bounds(function("select", operands, type), bounds);
}

Cell Terms::convert(const Cell& a, const Type& from, const Type& to) {
  if (to.is_boolean()) return complement(is_zero(unwrapped(a, from)));
  if (from.is_float()) {
    if (to.is_float()) return settled(a, to);
    if (a.is_known() && std::isfinite(a.low)) {
      const Cell operand[] = {{0, 0, a.low, 0, false}};
      return integer(static_cast<std::int64_t>(computed({Op::Convert, from, to}, operand).value),
                     to);
    }
    const Cell operand[] = {a};
    return function("convert to " + std::string(to.name), operand, to);
  }
  if (to.is_float()) {
    Cell result = unwrapped(a, from);
    if (result.is_known() && std::fabs(result.low) < kExact)
      return integer(static_cast<std::int64_t>(result.low), to);
    if (!is_exact(result)) result.high = above(result.high);
    return settled(result, to);
  }
  // A value modulo a smaller power of 2 needs no wrapping.
  return to.bits <= from.bits ? a : unwrapped(a, from);
}

/// Of operands that are known.
Cell Terms::of_numbers(const Elementwise& operation, Cells operands) {
  std::vector<Cell> values;
  for (const Cell& operand : operands) values.push_back({0, 0, operand.low, 0, false});
  return constant(computed(operation, values).low, operation.to);
}

Cell Terms::real(const Elementwise& operation, Cells operands) {
  const Type& type = operation.to;
  // What is 0 for all inputs is known to be, as functions may have no value there.
  const auto is_zero = [](const Cell& cell) {
    return cell.value == 0 && !cell.is_known() && !cell.is_unreal;
  };
  if (std::any_of(operands.begin(), operands.end(), is_zero)) {
    std::vector<Cell> known(operands.begin(), operands.end());
    for (Cell& each : known) {
      if (is_zero(each)) each = Cell{};
    }
    return real(operation, known);
  }
  const Cell& a = operands[0];
  const auto one = [&](Op op, const Cell& x) {
    const Cell operand[] = {x};
    return real({op, type, type}, operand);
  };
  if (operation.op == Op::Atan2 && a.value == 0 && !is_at_least(operands[1], kLeast))
    return arbitrary(type);  // by the sign of a zero
  bool all_known = operation.op != Op::Exponential;
  for (const Cell& operand : operands) all_known = all_known && operand.is_known();
  switch (operation.op) {
    case Op::Add:
      return sum(a, operands[1], type);
    case Op::Subtract:
      return sum(a, negative(operands[1]), type);
    case Op::Negate:
      return negative(a);
    case Op::Multiply:
      return product(a, operands[1], type);
    case Op::Divide:
      return product(a, inverse(operands[1], type), type);
    case Op::Maximum:
      return maximum(a, operands[1]);
    case Op::Minimum:
      return minimum(a, operands[1]);
    case Op::Abs:
      return maximum(a, negative(a));
    case Op::Exponential:
      return exponential(a, type);
    case Op::Power:
      return power(a, operands[1], type);
    case Op::ReducePrecision:
      return a;
    case Op::Rsqrt:
      return inverse(one(Op::Sqrt, a), type);
    default:
      break;
  }
  if (all_known) return of_numbers(operation, operands);
  switch (operation.op) {
    case Op::ExponentialMinusOne:
      return sum(exponential(a, type), number(-1), type);
    case Op::LogPlusOne:
      return one(Op::Log, sum(a, number(1), type));
    case Op::Tan:
      return product(one(Op::Sine, a), inverse(one(Op::Cosine, a), type), type);
    case Op::Logistic:
    case Op::Tanh: {
      // 1 / (1 + e^-x), and 1 - 2 / (e^2x + 1).
      const bool is_tanh = operation.op == Op::Tanh;
      if (a.is_unreal) break;
      const Cell power = exponential(product(number(is_tanh ? 2 : -1), a, type), type);
      Cell result = inverse(plain_sum(power, number(1)), type);
      if (is_tanh) result = plain_sum(number(1), plain_product(number(-2), result));
      return settled(with_bounds(result, {0, 0, is_tanh ? -1.0 : 0.0, 1, a.nan}), type);
    }
    default:
      break;
  }
  Cell result = function("op " + std::to_string(static_cast<int>(operation.op)), operands, type);
  if (operation.op == Op::Remainder) result.is_unreal = result.is_unreal || operands[1].value == 0;
  if (is_one_of_roots(operation.op)) result.is_unreal = result.is_unreal || is_negative(a);
  if (!is_bounded(a)) return result;
  const auto bounds = [&](double low, double high) {
    return settled(with_bounds(result, {0, 0, low, high, false}), type);
  };
  const auto bounds_of_a = [&](double low, double high) {
    const Cell of{0, 0, low, high, false, a.low_is_assumed, a.high_is_assumed};
    return settled(with_bounds(result, of), type);
  };
  switch (operation.op) {
    case Op::Sine:
    case Op::Cosine:
    case Op::Sign:
    case Op::Erf:
      return bounds(-1, 1);
    case Op::Floor:
    case Op::Ceil:
    case Op::RoundAway:
    case Op::RoundEven:
      return bounds_of_a(std::floor(a.low), std::ceil(a.high));
    case Op::Sqrt:
      return a.low < 0 ? result
                       : bounds_of_a(std::sqrt(a.low) * (1 - 1e-14),
                                     std::max(kLeast, std::sqrt(a.high) * (1 + 1e-14)));
    default:
      return result;
  }
}

Cell Terms::integral(const Elementwise& operation, Cells operands) {
  const Type& type = operation.to;
  std::vector<Cell> values;
  for (const Cell& operand : operands) {
    const auto value = known(operand, type);
    if (value) values.push_back({static_cast<std::uint64_t>(*value)});
  }
  if (values.size() == operands.size())
    return integer(static_cast<std::int64_t>(computed(operation, values).value), type);
  const Cell& a = operands[0];
  const Cell& b = operands.size() > 1 ? operands[1] : operands[0];
  if (type.is_boolean()) {
    switch (operation.op) {
      case Op::Not:
        return complement(a);
      case Op::And:
      case Op::Multiply:
      case Op::Minimum:
        return both(a, b);
      case Op::Or:
      case Op::Add:
      case Op::Maximum:
        return either(a, b);
      case Op::Xor:
        if (a.is_known()) return a.low != 0 ? complement(b) : b;
        if (b.is_known()) return b.low != 0 ? complement(a) : a;
        return commutative("xor", a, b, type);
      default:
        not_covered("an operation on booleans");
    }
  }
  switch (operation.op) {
    case Op::Add:
      return sum(a, b, type);
    case Op::Subtract:
      return sum(a, negative(b), type);
    case Op::Multiply:
      return product(a, b, type);
    case Op::Negate:
      return negative(a);
    case Op::Not:
      return sum(number(-1), negative(a), type);
    default:
      break;
  }
  const Cell x = unwrapped(a, type);
  const Cell y = unwrapped(b, type);
  const auto is_zero_value = [](const Cell& cell) { return cell.is_known() && cell.low == 0; };
  switch (operation.op) {
    case Op::Maximum:
    case Op::Minimum: {
      const bool is_maximum = operation.op == Op::Maximum;
      if (x.is_known() != y.is_known() && is_exact(x) && is_exact(y)) {
        const Cell sides[] = {compare(Direction::Gt, x, y, type), is_maximum ? x : y,
                              is_maximum ? y : x};
        return apply({Op::Select, type, type}, sides);
      }
      return is_maximum ? maximum(x, y) : minimum(x, y);
    }
    case Op::Abs:
      if (x.low > lowest(type)) return maximum(x, negative(x));
      break;
    case Op::And:
      if (is_zero_value(x) || is_zero_value(y)) return {};
      return commutative("and", x, y, type);
    case Op::Or:
    case Op::Xor:
      if (is_zero_value(x)) return y;
      if (is_zero_value(y)) return x;
      return commutative(operation.op == Op::Or ? "or" : "xor", x, y, type);
    case Op::ShiftLeft:
    case Op::ShiftRightLogical:
    case Op::ShiftRightArithmetic:
      if (is_zero_value(y)) return x;
      break;
    case Op::Divide:
      if (y.is_known() && y.low == 1) return x;
      break;
    case Op::Remainder:
      if (x.low >= 0 && y.low > x.high) return x;
      break;
    default:
      break;
  }
  std::vector<Cell> all = {x};
  if (operands.size() > 1) all.push_back(y);
  Cell result = function(
      "op " + std::to_string(static_cast<int>(operation.op)) + " " + std::string(type.name), all,
      type);
  const bool divides = operation.op == Op::Divide || operation.op == Op::Remainder;
  // Bounds of 64 bits are no integers.
  if (divides && is_exact(x) && is_exact(y) && x.low >= 0 && y.low > 0) {
    result.low = 0;
    result.high =
        operation.op == Op::Divide ? std::floor(x.high / y.low) : std::min(x.high, y.high - 1);
  }
  return result;
}

Cell Terms::apply(const Elementwise& operation, Cells operands) {
  if (auto result = by_pieces(operation, operands)) return *result;
  return applied(operation, operands);
}

Cell Terms::applied(const Elementwise& operation, Cells operands) {
  const Type& to = operation.to;
  const bool moves =
      operation.op == Op::Select || (operation.op == Op::Convert && operation.from == to);
  const bool is_other = operation.from.kind == Type::Kind::Other || to.kind == Type::Kind::Other;
  if (is_other && !moves) {
    // Complex numbers, and those of 8 bits.
    Hash hash(key_);
    hash.add(static_cast<std::uint64_t>(operation.op));
    hash.add(static_cast<std::uint64_t>(operation.direction));
    hash.add(operation.from.name).add(to.name);
    for (const Cell& operand : operands) hash.add(operand.value);
    return any(hash, to);
  }
  switch (operation.op) {
    case Op::Compare:
      return compare(operation.direction, operands[0], operands[1], operation.from);
    case Op::Select:
      return select(operands[0], operands[1], operands[2], to);
    case Op::Convert:
      return convert(operands[0], operation.from, to);
    case Op::Clamp: {
      const Cell low[] = {operands[1], operands[0]};
      const Cell high[] = {apply({Op::Maximum, to, to}, low), operands[2]};
      return apply({Op::Minimum, to, to}, high);
    }
    case Op::IsFinite:
      if (is_bounded(operands[0])) return number(1);
      return is_infinite(operands[0]) ? Cell{} : function("is-finite", operands, to);
    case Op::BitcastConvert: {
      // Of a zero, which has no sign.
      if (operation.from.is_float() && operands[0].value == 0 && operation.from != to)
        return arbitrary(to);
      if (operation.from == to) return operands[0];
      if (operation.from.is_integer() && to.is_integer() && operation.from.bits == to.bits)
        return operands[0];
      const Cell operand[] = {unwrapped(operands[0], operation.from)};
      return function("bits of " + std::string(operation.from.name) + " as " + std::string(to.name),
                      operand, to);
    }
    default:
      break;
  }
  if (to.is_float()) return real(operation, operands);
  if (to.is_integer() || to.is_boolean()) return integral(operation, operands);
  return function("op " + std::to_string(static_cast<int>(operation.op)), operands, to);
}

}  // namespace p2::kernel::xla
