#include <algorithm>
#include <cmath>

#include "engine/hlo/equality/trial.h"

namespace p2::hlo {
namespace {

constexpr std::int64_t kMostBound = 4096;
constexpr int kDeepestOffsets = 16;

std::uint64_t mixed(std::uint64_t state, std::uint64_t more) {
  state = (state ^ more) * 0x9E3779B97F4A7C15ULL;
  return state ^ (state >> 29U);
}

}  // namespace

double Trial::input(const Atom& atom, const std::vector<std::int64_t>& place) const {
  if (kind_ == Kind::Ones) return 1;
  const bool chosen = chosen_ == std::pair(atom.source, atom.device);
  if (kind_ == Kind::OneHot) return chosen ? 1 : 0;
  if (kind_ == Kind::OneElement) return chosen && place == chosen_place_ ? 1 : 0;
  std::uint64_t state = mixed(mixed(seed_, static_cast<std::uint64_t>(atom.source)), atom.device);
  if (kind_ == Kind::PerElement) {
    for (const std::int64_t at : place) state = mixed(state, static_cast<std::uint64_t>(at));
  }
  const std::uint64_t drawn = mixed(state, 1) >> 40U;
  return static_cast<double>(truth_ ? drawn % 2 : drawn % 7 + 1);
}

/// Where a fixed index is, with what the trial makes of offsets that are not known.
std::optional<std::vector<std::int64_t>> Trial::place(const IndexMap& map) {
  std::vector<std::int64_t> place;
  const Offsets& offsets = context_.values.offsets();
  for (const Coordinate& coordinate : map) {
    std::int64_t at = coordinate.base;
    for (const Term& term : coordinate.terms) {
      if (term.variable >= 0) return std::nullopt;
      if (++offsets_inside_offsets_ > kDeepestOffsets) return std::nullopt;
      const auto start = of(static_cast<Value>(offsets.key(term.variable)));
      --offsets_inside_offsets_;
      if (!start) return std::nullopt;
      const auto most = static_cast<double>(offsets.most(term.variable));
      at += term.stride * static_cast<std::int64_t>(std::clamp(std::floor(*start), 0.0, most));
    }
    place.push_back(at);
  }
  return place;
}

/// Whether the chosen element is one of those that an atom stands for. Nothing where its variables
/// share coordinates, or overlap in one.
std::optional<bool> Trial::holds_chosen(const Atom& atom) {
  IndexMap start = atom.map;
  for (std::size_t k = 0; k < atom.binders.size(); ++k) {
    start = substitute(start, kBinder + static_cast<Variable>(k), {});
  }
  const auto first = place(start);
  if (!first) return std::nullopt;
  if (chosen_ != std::pair(atom.source, atom.device)) return false;
  std::size_t used = 0;
  bool holds = true;
  for (std::size_t i = 0; i < atom.map.size(); ++i) {
    std::int64_t rest = chosen_place_[i] - (*first)[i];
    std::vector<Term> terms = atom.map[i].terms;
    std::erase_if(terms, [](const Term& term) { return term.variable < kBinder; });
    std::sort(terms.begin(), terms.end(),
              [](const Term& a, const Term& b) { return a.stride > b.stride; });
    std::int64_t below = INT64_MAX;
    for (const Term& term : terms) {
      const std::int64_t extent = atom.binders[static_cast<std::size_t>(term.variable - kBinder)];
      if (term.stride <= 0 || term.stride * extent > below) return std::nullopt;
      below = term.stride;
      const std::int64_t digit = std::clamp<std::int64_t>(rest / term.stride, 0, extent - 1);
      rest -= digit * term.stride;
    }
    used += terms.size();
    holds = holds && rest == 0;
  }
  if (used != atom.binders.size()) return std::nullopt;
  return holds;
}

std::optional<double> Trial::bound_one_by_one(const Atom& atom, std::int64_t count) {
  std::optional<double> result;
  for (std::int64_t i = 0; i < count; ++i) {
    IndexMap map = atom.map;
    std::int64_t rest = i;
    for (std::size_t k = 0; k < atom.binders.size(); ++k) {
      map = substitute(map, kBinder + static_cast<Variable>(k), {rest % atom.binders[k], {}});
      rest /= atom.binders[k];
    }
    const auto at = place(map);
    if (!at) return std::nullopt;
    const double number = input(atom, *at);
    const bool least = atom.reducer == Reducer::Minimum || atom.reducer == Reducer::And;
    result = !result                        ? number
             : atom.reducer == Reducer::Add ? *result + number
             : least                        ? std::min(*result, number)
                                            : std::max(*result, number);
  }
  return result;
}

std::optional<double> Trial::bound(const Atom& atom) {
  std::int64_t count = 1;
  for (const std::int64_t extent : atom.binders) count *= extent;
  if (kind_ == Kind::OneElement) {
    const auto holds = holds_chosen(atom);
    if (!holds) return std::nullopt;
    const bool least = atom.reducer == Reducer::Minimum || atom.reducer == Reducer::And;
    return *holds && !least ? 1 : 0;
  }
  if (kind_ != Kind::PerElement) {
    return input(atom, {}) * (atom.reducer == Reducer::Add ? static_cast<double>(count) : 1);
  }
  if (count > kMostBound) return std::nullopt;
  return bound_one_by_one(atom, count);
}

void Trial::choose(const Atom& atom) {
  chosen_ = {atom.source, atom.device};
  chosen_place_.clear();
  IndexMap start = atom.map;
  for (std::size_t k = 0; k < atom.binders.size(); ++k) {
    start = substitute(start, kBinder + static_cast<Variable>(k), {});
  }
  if (const auto first = place(start)) chosen_place_ = *first;
  chosen_place_.resize(atom.map.size());
}

std::optional<double> Trial::atom(const Atom& atom) {
  if (atom.kind != ValueKind::Input) return std::nullopt;
  if (!atom.binders.empty()) return bound(atom);
  if (kind_ != Kind::PerElement && kind_ != Kind::OneElement) return input(atom, {});
  const auto at = place(atom.map);
  if (!at) return std::nullopt;
  return input(atom, *at);
}

}  // namespace p2::hlo
