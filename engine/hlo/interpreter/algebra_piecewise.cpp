// Piecewise functions of one integer: what comparisons with numbers, clamps and look-ups at an
// index that depends on inputs amount to. Their normal form is the sum of steps
//   value_0 + Σ [integer > upto_k] (value_(k+1) − value_k).

#include <algorithm>
#include <cmath>

#include "engine/hlo/interpreter/algebra.h"

namespace p2::hlo::interpreter {
namespace {

constexpr std::size_t kMaxPieces = 5000;

bool is_known(const Term& a) { return a.low == a.high; }
/// Whether doubles hold all values of an integer.
bool is_exact(const Term& a) {
  return std::fabs(a.low) < kExactIntegers && std::fabs(a.high) < kExactIntegers;
}
bool is_bounded(const Term& a) { return !a.nan && std::isfinite(a.low) && std::isfinite(a.high); }

}  // namespace

auto Algebra::shifted(const Term& a) const -> Shifted {
  const auto found = shifted_.find(a.value);
  if (found == shifted_.end()) return {a, 0};
  Shifted result = found->second;
  // The integer was first met where it may have had the bounds of one piece.
  result.integer.low = a.low - result.offset;
  result.integer.high = a.high - result.offset;
  return result;
}

auto Algebra::piecewise(const Term& a) const -> const Piecewise* {
  if (piecewise_.empty()) return nullptr;
  const auto found = piecewise_.find(a.value);
  return found == piecewise_.end() ? nullptr : &found->second;
}

/// [integer > threshold].
Term Algebra::step(const Term& integer, double threshold) {
  if (threshold < integer.low) return number(1);
  if (threshold >= integer.high) return {};
  const auto whole = static_cast<std::int64_t>(threshold);
  return drawn_term(hash(hash(0x57E9, integer.value), static_cast<std::uint64_t>(whole)), 0, 1);
}

Term Algebra::from_pieces(Piecewise all, ElementType type) {
  std::vector<Piece> pieces;
  for (const Piece& piece : all.pieces) {  // drops empty ones, joins equal ones
    const bool last = &piece == &all.pieces.back();
    if (!last && piece.upto < all.integer.low) continue;
    if (!pieces.empty() && pieces.back().upto >= std::min(piece.upto, all.integer.high)) continue;
    if (!pieces.empty() && pieces.back().value.value == piece.value.value) {
      pieces.back().upto = piece.upto;  // each has the bounds of its own piece
      pieces.back().value.low = std::min(pieces.back().value.low, piece.value.low);
      pieces.back().value.high = std::max(pieces.back().value.high, piece.value.high);
      pieces.back().value.nan = pieces.back().value.nan || piece.value.nan;
    } else {
      pieces.push_back(piece);
    }
  }
  pieces.back().upto = kInfinity;
  double low = kInfinity;
  double high = -kInfinity;
  double from = all.integer.low;
  bool bounded = true;
  for (Piece& piece : pieces) {
    const Shifted moves = shifted(piece.value);
    const double to = std::min(piece.upto, all.integer.high);
    if (!is_known(piece.value) && moves.integer.value == all.integer.value) {
      // The bounds of the piece are not those of the integer.
      shifted_.try_emplace(piece.value.value, Shifted{all.integer, moves.offset});
      piece.value.low = std::max(piece.value.low, from + moves.offset);
      piece.value.high = std::min(piece.value.high, to + moves.offset);
    }
    low = std::min(low, piece.value.low);
    high = std::max(high, piece.value.high);
    bounded = bounded && is_bounded(piece.value);
    from = piece.upto + 1;
  }
  if (pieces.size() == 1) return pieces[0].value;
  Term result;
  if (bounded) {
    result = pieces[0].value;
    for (std::size_t k = 0; k + 1 < pieces.size(); ++k) {
      const Term difference = plain_sum(pieces[k + 1].value, plain_negated(pieces[k].value));
      result = plain_sum(result, plain_product(step(all.integer, pieces[k].upto), difference));
    }
    // The exponent only has to be a function of the value.
    result.exponent = hash(0x57E8, result.value) >> 6U;
  } else {
    std::uint64_t state = hash(0x57E7, all.integer.value);
    for (const Piece& piece : pieces) {
      const bool last = &piece == &pieces.back();
      state =
          hash(state, last ? 0 : static_cast<std::uint64_t>(static_cast<std::int64_t>(piece.upto)));
      state = hash(state, piece.value.value);
    }
    result = drawn_term(state, low, high);
  }
  result.low = low;
  result.high = high;
  result.nan = !bounded && std::any_of(pieces.begin(), pieces.end(),
                                       [](const Piece& piece) { return piece.value.nan; });
  all.pieces = std::move(pieces);
  piecewise_.insert_or_assign(result.value, std::move(all));
  return type.is_float() ? settled(result) : result;
}

std::optional<Term> Algebra::by_pieces(std::initializer_list<const Term*> operands,
                                       ElementType type, bool any_other, const OfPieces& function) {
  if (piecewise_.empty()) return std::nullopt;
  std::vector<const Piecewise*> all;
  const Piecewise* first = nullptr;
  for (const Term* operand : operands) {
    const Piecewise* own = piecewise(*operand);
    if (own != nullptr && first != nullptr && own->integer.value != first->integer.value) {
      if (!any_other) return std::nullopt;
      own = nullptr;
    }
    if (own == nullptr && !any_other && !is_known(*operand)) return std::nullopt;
    if (own != nullptr && first == nullptr) first = own;
    all.push_back(own);
  }
  if (first == nullptr) return std::nullopt;
  Piecewise result{first->integer, {}};
  std::vector<std::size_t> at(all.size(), 0);
  while (result.pieces.size() < kMaxPieces) {
    double upto = kInfinity;
    std::vector<Term> values;
    std::size_t k = 0;
    for (const Term* operand : operands) {
      if (all[k] == nullptr) {
        values.push_back(*operand);
      } else {
        const Piece& piece = all[k]->pieces[at[k]];
        values.push_back(piece.value);
        upto = std::min(upto, piece.upto);
      }
      ++k;
    }
    const std::optional<Term> value = function(values);
    if (!value) return std::nullopt;
    result.pieces.push_back({upto, *value});
    if (upto == kInfinity) return from_pieces(std::move(result), type);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] != nullptr && all[i]->pieces[at[i]].upto == upto) ++at[i];
    }
  }
  return std::nullopt;
}

/// An integer modulo 2^bits, in the range of its type.
std::optional<Term> Algebra::wrapped_by_pieces(const Term& a, ElementType type, double low,
                                               double high) {
  const double size = high - low + 1;
  Piecewise simple{shifted(a).integer, {{kInfinity, a}}};
  const Piecewise* all = piecewise(a);
  if (all == nullptr) all = &simple;
  if (!is_exact(a) || !is_exact(all->integer) || size > 4294967296.0) return std::nullopt;
  Piecewise result{all->integer, {}};
  double from = all->integer.low;
  for (const Piece& piece : all->pieces) {
    const double to = std::min(piece.upto, all->integer.high);
    const Shifted moves = shifted(piece.value);
    if (is_known(piece.value)) {
      const double rest = std::fmod(std::fmod(piece.value.low - low, size) + size, size) + low;
      result.pieces.push_back({piece.upto, number(rest)});
    } else if (moves.integer.value != all->integer.value) {
      if (piece.value.low < low || piece.value.high > high) return std::nullopt;
      result.pieces.push_back(piece);
    } else {
      const double first = std::floor((from + moves.offset - low) / size);
      const double last = std::floor((to + moves.offset - low) / size);
      if (last - first > 4) return std::nullopt;
      for (double turn = first; turn <= last; ++turn) {
        const double upto = turn == last ? piece.upto : low + (turn + 1) * size - 1 - moves.offset;
        result.pieces.push_back(
            {upto, simple_sum(all->integer, number(moves.offset - turn * size), type)});
      }
    }
    from = piece.upto + 1;
  }
  return from_pieces(std::move(result), type);
}

/// [a > b] for integers that do not wrap around.
std::optional<Term> Algebra::greater_by_pieces(const Term& a, const Term& b) {
  const Piecewise* x = piecewise(a);
  const Piecewise* y = piecewise(b);
  Piecewise simple;
  if (x == nullptr && y == nullptr) {
    if (is_known(a) == is_known(b)) return std::nullopt;
    simple.integer = shifted(is_known(a) ? b : a).integer;
    simple.pieces = {{kInfinity, is_known(a) ? b : a}};
    (is_known(a) ? y : x) = &simple;
  }
  const Term& integer = x != nullptr ? x->integer : y->integer;
  if (x != nullptr && y != nullptr && x->integer.value != y->integer.value) return std::nullopt;
  Piecewise result{integer, {}};
  std::size_t i = 0;
  std::size_t k = 0;
  double from = -kInfinity;
  const Term one = number(1);
  const Term zero = {};
  while (result.pieces.size() < kMaxPieces) {
    const Term& left = x != nullptr ? x->pieces[i].value : a;
    const Term& right = y != nullptr ? y->pieces[k].value : b;
    const double upto = std::min(x != nullptr ? x->pieces[i].upto : kInfinity,
                                 y != nullptr ? y->pieces[k].upto : kInfinity);
    const Shifted l = shifted(left);
    const Shifted r = shifted(right);
    const bool left_moves = !is_known(left) && l.integer.value == integer.value;
    const bool right_moves = !is_known(right) && r.integer.value == integer.value;
    if ((!left_moves && !is_known(left)) || (!right_moves && !is_known(right))) return std::nullopt;
    if (left_moves == right_moves) {
      const bool greater = left_moves ? l.offset > r.offset : left.low > right.low;
      result.pieces.push_back({upto, greater ? one : zero});
    } else {
      // integer + offset > number from `border` on, or number > integer + offset up to it.
      const double border = left_moves ? right.low - l.offset : left.low - r.offset - 1;
      if (border > from) result.pieces.push_back({std::min(border, upto), left_moves ? zero : one});
      if (border < upto) result.pieces.push_back({upto, left_moves ? one : zero});
    }
    if (upto == kInfinity) {
      result.pieces.back().upto = kInfinity;
      Term term = from_pieces(std::move(result), {});
      return term;
    }
    from = upto;
    if (x != nullptr && x->pieces[i].upto == upto) ++i;
    if (y != nullptr && y->pieces[k].upto == upto) ++k;
  }
  return std::nullopt;
}

/// The choice at an index, clamped to those that exist.
std::optional<Term> Algebra::choose_by_pieces(const Term& index, std::span<const Term> choices,
                                              ElementType type) {
  Piecewise simple{shifted(index).integer, {{kInfinity, index}}};
  const Piecewise* all = piecewise(index);
  if (all == nullptr) all = &simple;
  const auto last = static_cast<double>(choices.size() - 1);
  const auto choice = [&](double place) {
    return choices[static_cast<std::size_t>(std::clamp(place, 0.0, last))];
  };
  Piecewise result{all->integer, {}};
  double from = all->integer.low;
  for (const Piece& piece : all->pieces) {
    if (is_known(piece.value)) {
      result.pieces.push_back({piece.upto, choice(piece.value.low)});
    } else {
      const Shifted moves = shifted(piece.value);
      if (moves.integer.value != all->integer.value) return std::nullopt;
      // Below 0 the first choice, above the last the last one.
      const double to = std::min(piece.upto, all->integer.high);
      const double first = std::max(from + moves.offset, 0.0);
      const double final = std::min(to + moves.offset, last);
      for (double place = std::min(first, last); place < final; ++place) {
        result.pieces.push_back({place - moves.offset, choice(place)});
        if (result.pieces.size() > kMaxPieces) return std::nullopt;
      }
      result.pieces.push_back({piece.upto, choice(final)});
    }
    from = piece.upto + 1;
  }
  return from_pieces(std::move(result), type);
}

}  // namespace p2::hlo::interpreter
