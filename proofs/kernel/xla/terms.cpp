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
  for (const Cell* zero : {&a, &b}) {
    const Cell& other = zero == &a ? b : a;
    // 0 · x is 0 only where x is finite for all inputs in range.
    if (zero->value != 0) continue;
    if (!is_bounded(settled(other, type))) return commutative("multiply", a, b, type);
    return {};
  }
  return settled(plain_product(a, b), type);
}

Cell Terms::inverse(const Cell& a, const Type& type) {
  if (a.value == 0 || is_infinite(a)) {
    if (is_infinite(a)) return {};
    const Cell operand[] = {a};
    return function("inverse", operand, type);
  }
  Cell result{field_.inverse(a.value), order_.inverse(a.exponent), 0, 0, a.nan};
  if (!is_bounded(a) || (a.low <= 0 && a.high >= 0)) return unbounded(result);
  result.low = below(1 / a.high);
  result.high = above(1 / a.low);
  if (a.is_known() && std::fma(1 / a.low, a.low, -1.0) == 0) result.low = result.high = 1 / a.low;
  return settled(result, type);
}

std::unique_ptr<Arithmetic> make_terms(std::uint64_t first, std::uint64_t second) {
  return std::make_unique<Terms>(first, second);
}

}  // namespace p2::kernel::xla
