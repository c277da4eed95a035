// Random interpretation (Gulwani and Necula, POPL 2003): the elements of tensors are functions of
// the inputs; a cell is such a function's value at a random point of a field. Equal functions have
// equal values. Different ones have equal values with a probability of about 2^-59, for a prime and
// a point that the checker draws after it has read the modules (lemma of Schwartz and Zippel).
//
// Sums, products and quotients are those of the field. An exponential is a power, so that
// e^x e^y = e^(x+y): the base has the order q, where p = 2q + 1 is the field's prime, and exponents
// are computed modulo q. A maximum is a random function of the set of its members. All else is a
// random function of the values of its arguments.

#include "proofs/kernel/xla/terms.h"

#include <bit>

namespace p2::kernel::xla {
namespace {

/// The test of Miller and Rabin; these bases decide below 2^64 (Sorenson and Webster 2015).
bool is_prime(std::uint64_t n) {
  for (const std::uint64_t small : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
    if (n % small == 0) return n == small;
  }
  const Field field{n};
  const int twos = std::countr_zero(n - 1);
  for (const std::uint64_t base : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
    std::uint64_t x = field.power(base, (n - 1) >> twos);
    bool witness = x != 1 && x != n - 1;
    for (int i = 1; i < twos && witness; ++i) {
      x = field.product(x, x);
      witness = x != n - 1;
    }
    if (witness) return false;
  }
  return true;
}

}  // namespace

std::uint64_t random_order(Hash& hash) {
  std::uint64_t q = (hash.add("order").result() >> 6U | std::uint64_t{1} << 58U | 1U) &
                    ((std::uint64_t{1} << 59U) - 1);
  while (!is_prime(q) || !is_prime(2 * q + 1)) q += 2;
  return q;
}

Cell Terms::sum(const Cell& a, const Cell& b, const Type& type) {
  if (type.is_float()) {
    if (!is_infinite(a) && !is_infinite(b)) return settled(plain_sum(a, b), type);
    const Cell& infinity = is_infinite(a) ? a : b;
    const Cell& other = is_infinite(a) ? b : a;
    if (is_bounded(other) || other.value == infinity.value) return infinity;
    return commutative("add", a, b, type);
  }
  Cell result = plain_sum(a, b);
  if (!is_exact(result)) result = plain_sum(unwrapped(a, type), unwrapped(b, type));
  if (!is_exact(result)) return commutative("add", a, b, type);
  if (a.is_known() != b.is_known()) {
    Shifted from = shifted(a.is_known() ? b : a);
    from.offset += a.is_known() ? a.low : b.low;
    const bool is_sum_of_these = plain_sum(from.integer, number(from.offset)).value == result.value;
    if (is_sum_of_these) shifted_.emplace(result.value, from);
  }
  return result;
}

Cell Terms::product(const Cell& a, const Cell& b, const Type& type) {
  if (!type.is_float()) {
    const Cell result = plain_product(a, b);
    if (is_exact(result)) return result;
    const Cell again = plain_product(unwrapped(a, type), unwrapped(b, type));
    return is_exact(again) ? again : commutative("multiply", a, b, type);
  }
  if (is_infinite(a) || is_infinite(b)) {
    const double known = a.is_known() && b.is_known() ? a.low * b.low : 0;
    if (std::isinf(known)) return number(known);
    return commutative("multiply", a, b, type);
  }
  if (a.is_unreal || b.is_unreal) {
    // Of what may be infinite no product is left out again.
    for (const Cell* each : {&a, &b}) {
      const Cell& other = each == &a ? b : a;
      if (each->is_known() && each->low == 1) return other;
      if (each->is_known() && each->low == -1) return negative(other);
    }
    return commutative("multiply", a, b, type);
  }
  for (const Cell* zero : {&a, &b}) {
    const Cell& other = zero == &a ? b : a;
    // 0 · x is 0 only where x is finite for all inputs in range.
    if (zero->value != 0) continue;
    if (is_bounded(settled(other, type))) return {};
    Cell result = commutative("multiply", a, b, type);
    result.is_unreal = true;  // 0 or NaN: its inverse is none
    return result;
  }
  return settled(plain_product(a, b), type);
}

Cell Terms::inverse(const Cell& a, const Type& type) {
  if (a.value == 0 || is_infinite(a)) {
    return is_infinite(a) ? Cell{} : pole_;
  }
  if (a.is_unreal) return function("inverse", std::array{a}, type);
  Cell result{field_.inverse(a.value), order_.inverse(a.exponent), 0, 0, a.nan};
  if (!is_bounded(a) || (a.low <= 0 && a.high >= 0)) return unbounded(result);
  result.low = below(1 / a.high);
  result.high = above(1 / a.low);
  result.low_is_assumed = result.high_is_assumed = a.low_is_assumed || a.high_is_assumed;
  if (a.is_known() && std::fma(1 / a.low, a.low, -1.0) == 0) result.low = result.high = 1 / a.low;
  return settled(result, type);
}

std::unique_ptr<Arithmetic> make_terms(std::uint64_t first, std::uint64_t second) {
  return std::make_unique<Terms>(first, second);
}

// Piecewise functions of one integer: what comparisons with numbers, clamps and look-ups at an
// index that depends on inputs amount to. Their normal form is the sum of steps
//   value_0 + Σ [integer > upto_k] (value_(k+1) - value_k).

namespace {

constexpr std::size_t kMaxPieces = 4096;

}  // namespace

/// As long as it lives, cells are those of one piece.
class Terms::Within {
 public:
  Within(Terms& terms, const Cell& integer, double from, double upto) : terms_(terms) {
    is_condition_ = from >= integer.low || upto < integer.high;
    if (is_condition_) terms_.conditions_.push_back({integer.value, from, upto});
  }
  ~Within() {
    if (is_condition_) terms_.conditions_.pop_back();
  }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  Terms& terms_;
  bool is_condition_ = false;
};

/// What was found under conditions that hold, too.
template <typename Thing>
const Thing* Terms::Conditional<Thing>::find(std::uint64_t value,
                                             const std::vector<Condition>& conditions) const {
  const auto found = entries_.find(value);
  if (found == entries_.end()) return nullptr;
  const auto follows = [&](const Condition& each) {
    return std::any_of(conditions.begin(), conditions.end(), [&](const Condition& known) {
      return known.integer == each.integer && each.from <= known.from && known.upto <= each.upto;
    });
  };
  for (const Entry& entry : found->second) {
    if (std::all_of(entry.conditions.begin(), entry.conditions.end(), follows)) return &entry.thing;
  }
  return nullptr;
}

template <typename Thing>
void Terms::Conditional<Thing>::set(std::uint64_t value, const std::vector<Condition>& conditions,
                                    Thing thing) {
  std::vector<Entry>& all = entries_[value];
  auto own = std::find_if(all.begin(), all.end(),
                          [&](const Entry& entry) { return entry.conditions == conditions; });
  if (own == all.end() && all.size() == kMost) own = all.end() - 1;
  if (own == all.end())
    all.push_back({conditions, std::move(thing)});
  else
    *own = {conditions, std::move(thing)};
}

/// The integer has the bounds of all its values here, with which it was first met.
auto Terms::shifted(const Cell& a) -> Shifted {
  const auto found = shifted_.find(a.value);
  Shifted result = found == shifted_.end() ? Shifted{a, 0} : found->second;
  if (const Cell* known = integers_.find(result.integer.value, conditions_)) {
    result.integer = *known;
    return result;
  }
  result.integer.low = a.low - result.offset;
  result.integer.high = a.high - result.offset;
  result.integer.nan = a.nan;
  integers_.set(result.integer.value, conditions_, result.integer);
  return result;
}

auto Terms::pieces_of(const Cell& a) const -> const Pieces* {
  // Functions of several integers may be pieces of each other: so deep in cases it is opaque.
  constexpr std::size_t kMaxDepth = 8;
  if (pieces_.empty() || a.is_known() || conditions_.size() > kMaxDepth) return nullptr;
  return pieces_.find(a.value, conditions_);
}

/// integer + offset, with the bounds that it has for from < integer <= upto; others as they are.
Cell Terms::narrowed(const Cell& a, const Cell& integer, double from, double upto) {
  if (a.is_known()) return a;
  const Shifted moves = shifted(a);
  if (moves.integer.value != integer.value || pieces_of(a) != nullptr) return a;
  Cell result = a;
  result.low = std::max(a.low, from + 1 + moves.offset);
  result.high = std::min(a.high, upto + moves.offset);
  return result.low <= result.high ? result : a;
}

Cell Terms::from_pieces(const Pieces& pieces) {
  const Cell& integer = pieces.integer;
  std::vector<Piece> flat;
  double from = integer.low - 1;
  const auto add = [&](double upto, const Cell& value) {
    upto = std::min(upto, integer.high);
    if (upto <= from) return;
    const Within within(*this, integer, from, upto);
    const Cell own = narrowed(value, integer, from, upto);
    if (!flat.empty() && flat.back().value.value == own.value) {
      Cell& last = flat.back().value;
      last = with_bounds(last, bounds_of_either(last, own));
      flat.back().upto = upto;
    } else {
      flat.push_back({upto, own});
    }
    from = upto;
  };
  for (const Piece& piece : pieces.all) {
    std::vector<Piece> parts = {piece};
    {
      const Within within(*this, integer, from, std::min(piece.upto, integer.high));
      const Pieces* inner = pieces_of(piece.value);
      if (inner != nullptr && inner->integer.value == integer.value) parts = inner->all;
    }
    for (const Piece& each : parts) add(std::min(each.upto, piece.upto), each.value);
  }
  if (flat.empty()) malformed("an integer without values");
  if (flat.size() == 1) return flat[0].value;
  if (flat.size() > kMaxPieces) not_covered("an index of more than 4096 values");
  flat.back().upto = kInfinity;
  Cell bounds = flat[0].value;
  bool are_bounded = true;
  for (const Piece& piece : flat) {
    bounds = bounds_of_either(bounds, piece.value);
    are_bounded = are_bounded && is_bounded(piece.value);
  }
  Cell result = flat[0].value;
  Hash hash(key_);
  hash.add("pieces").add(integer.value);
  for (std::size_t k = 0; k + 1 < flat.size(); ++k) {
    const auto upto = static_cast<std::uint64_t>(static_cast<std::int64_t>(flat[k].upto));
    hash.add(upto).add(flat[k].value.value);
    if (!are_bounded) continue;
    const Cell step = drawn(Hash(key_).add("step").add(integer.value).add(upto), 0, 1);
    result = plain_sum(result,
                       plain_product(step, plain_sum(flat[k + 1].value, negative(flat[k].value))));
  }
  if (!are_bounded) result = drawn(hash.add(flat.back().value.value), 0, 0);
  result = with_bounds(result, bounds);
  pieces_.set(result.value, conditions_, Pieces{integer, std::move(flat)});
  return result;
}

Cell Terms::above_number(const Cell& a, double number) {
  if (a.low > number) return this->number(1);
  if (a.high <= number) return {};
  if (const Pieces* own = pieces_of(a)) {
    Pieces result{own->integer, {}};
    double from = own->integer.low - 1;
    for (const Piece& piece : std::vector<Piece>(own->all)) {
      const double upto = std::min(piece.upto, result.integer.high);
      const Within within(*this, result.integer, from, upto);
      result.all.push_back(
          {piece.upto, above_number(narrowed(piece.value, result.integer, from, upto), number)});
      from = upto;
    }
    return from_pieces(result);
  }
  const Shifted moves = shifted(a);
  return from_pieces({moves.integer, {{number - moves.offset, {}}, {kInfinity, this->number(1)}}});
}

/// The operation piece by piece, where an operand is a function of one integer.
std::optional<Cell> Terms::by_pieces(const Elementwise& operation, Cells operands) {
  const bool of_integers = !operation.from.is_float() && operation.op != Op::BitcastConvert;
  const bool can_be = of_integers || operation.op == Op::Select || operation.op == Op::Multiply;
  if (pieces_.empty() || !can_be || operands.size() > 3) return std::nullopt;
  Pieces owns[3];
  std::size_t count = 0;
  const Cell* integer = nullptr;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Pieces* own = pieces_of(operands[i]);
    if (own == nullptr || (integer != nullptr && own->integer.value != integer->value)) continue;
    owns[i] = *own;
    integer = &owns[i].integer;
    ++count;
  }
  // Products with what is no function of the integer are in normal form anyway.
  if (count == 0 || (!of_integers && operation.op == Op::Multiply && count < 2))
    return std::nullopt;
  Pieces result{*integer, {}};
  std::size_t at[3] = {};
  double from = integer->low - 1;
  for (;;) {
    double upto = kInfinity;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!owns[i].all.empty()) upto = std::min(upto, owns[i].all[at[i]].upto);
    }
    const Within within(*this, result.integer, from, std::min(upto, result.integer.high));
    std::vector<Cell> values;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Cell& value = owns[i].all.empty() ? operands[i] : owns[i].all[at[i]].value;
      values.push_back(narrowed(value, result.integer, from, std::min(upto, result.integer.high)));
    }
    result.all.push_back({upto, apply(operation, values)});
    work_.spend(64);
    if (upto == kInfinity) break;
    if (result.all.size() > kMaxPieces) not_covered("an index of more than 4096 values");
    from = upto;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!owns[i].all.empty() && owns[i].all[at[i]].upto == upto) ++at[i];
    }
  }
  return from_pieces(result);
}

Cell Terms::choose(const Cell& index, const Type& index_type, Cells choices, const Type& type) {
  const Cell place = unwrapped(index, index_type);
  const auto last = static_cast<double>(choices.size() - 1);
  const auto choice = [&](double number) {
    return choices[static_cast<std::size_t>(std::clamp(number, 0.0, last))];
  };
  if (choices.size() > kMaxPieces || !is_exact(place)) {
    std::vector<Cell> operands = {place};
    operands.insert(operands.end(), choices.begin(), choices.end());
    return function("choose", operands, type);
  }
  const Pieces* own = pieces_of(place);
  const Pieces all = own != nullptr ? *own : Pieces{shifted(place).integer, {{kInfinity, place}}};
  Pieces result{all.integer, {}};
  double from = all.integer.low - 1;
  for (const Piece& piece : all.all) {
    const double upto = std::min(piece.upto, all.integer.high);
    const Within within(*this, all.integer, from, upto);
    const Shifted moves = shifted(piece.value);
    if (piece.value.is_known()) {
      result.all.push_back({piece.upto, choice(piece.value.low)});
    } else if (moves.integer.value == all.integer.value) {
      // Below 0 the first choice, above the last the last one.
      const double end = std::clamp(upto + moves.offset, 0.0, last);
      double number = std::clamp(from + 1 + moves.offset, 0.0, last);
      for (; number < end; ++number) result.all.push_back({number - moves.offset, choice(number)});
      result.all.push_back({piece.upto, choice(end)});
    } else {
      result.all.push_back({piece.upto, choose(piece.value, index_type, choices, type)});
    }
    from = upto;
  }
  return from_pieces(result);
}

}  // namespace p2::kernel::xla
