// Reshapes and broadcasts of what devices have: where dimensions of one index here are more in the
// whole, and where parts side by side are summands.

#include <algorithm>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// Multiplies, up to 2^50.
bool grow(std::int64_t& product, std::int64_t factor) {
  if (factor < 1 || product > (std::int64_t{1} << 50U) / factor) return false;
  product *= factor;
  return true;
}

}  // namespace

/// Dimensions fall into groups of the same number of elements, of the array and of the tensor.
std::optional<Fact> RelatedModules::reshaped(const Node& node, const Fact& fact,
                                             const Index& sizes) {
  const Index& own = node.shape.sizes;
  const Index from = tensors_.at(fact.tensor).sizes;
  Index from_own;
  for (const std::size_t place : fact.places) from_own.push_back(places_.at(place).size);
  if (sizes.size() != own.size()) return std::nullopt;
  std::vector<std::size_t> places;
  for (std::size_t i = 0, j = 0; i < from.size() || j < own.size();) {
    if (i < from.size() && from[i] == 1) {
      if (from_own[i] != 1 || !places_.is_total(fact.places[i])) return std::nullopt;
      ++i;
      continue;
    }
    if (j < own.size() && sizes[j] == 1) {
      if (own[j] != 1) return std::nullopt;
      places.push_back(places_.identity(1));
      ++j;
      continue;
    }
    const std::size_t i0 = i;
    const std::size_t j0 = j;
    std::int64_t a = 1, b = 1, whole_a = 1, whole_b = 1;
    do {
      const bool takes_from = j > j0 && (a < b || (a == b && whole_a < whole_b));
      if (takes_from || i == i0) {
        if (i == from.size()) return std::nullopt;
        if (!grow(a, from_own[i]) || !grow(whole_a, from[i++])) return std::nullopt;
      } else {
        if (j == own.size()) return std::nullopt;
        if (!grow(b, own[j]) || !grow(whole_b, sizes[j++])) return std::nullopt;
      }
    } while (j == j0 || a != b || whole_a != whole_b);
    if (i == i0 + 1 && j == j0 + 1) {
      places.push_back(fact.places[i0]);
      continue;
    }
    bool is_free = true;
    for (std::size_t k = i0; k < i; ++k) is_free = is_free && places_.is_free(fact.places[k]);
    if (is_free) {
      for (std::size_t k = j0; k < j; ++k) places.push_back(places_.free(own[k], sizes[k]));
      continue;
    }
    const std::vector<std::size_t> group(fact.places.begin() + static_cast<std::ptrdiff_t>(i0),
                                         fact.places.begin() + static_cast<std::ptrdiff_t>(i));
    const auto range = [&](const Index& of) {
      return Index(of.begin() + static_cast<std::ptrdiff_t>(j0),
                   of.begin() + static_cast<std::ptrdiff_t>(j));
    };
    const auto split = places_.split(group, range(own), range(sizes), budget_);
    if (!split) return std::nullopt;
    places.insert(places.end(), split->begin(), split->end());
  }
  return made(node, {"reshape", "", {sizes}}, {&fact}, std::move(places), fact.partial);
}

/// Of a reshape that only adds dimensions of one index, of a tensor that has more of them, those of
/// the operand in the result.
std::optional<Index> RelatedModules::as_broadcast(const Index& own, const Fact& fact,
                                                  const Index& sizes) const {
  const Index& from = tensors_.at(fact.tensor).sizes;
  if (sizes.size() != own.size()) return std::nullopt;
  Index dimensions;
  for (std::size_t k = 0; k < own.size(); ++k) {
    const std::size_t next = dimensions.size();
    if (next < from.size() && own[k] == places_.at(fact.places[next]).size &&
        sizes[k] == from[next])
      dimensions.push_back(static_cast<std::int64_t>(k));
    else if (own[k] != 1)
      return std::nullopt;
  }
  return dimensions.size() == from.size() ? std::optional(dimensions) : std::nullopt;
}

/// A broadcast along these dimensions, of one index each, is one of what the operand has along
/// them: those of the tensor may be more. `hint`: the sizes, and the dimensions.
std::optional<Fact> RelatedModules::broadcast_with(const Node& node, const Form& form,
                                                   const Fact& fact, const Index& hint) {
  const Index& own = node.shape.sizes;
  const auto end = hint.begin() + std::ssize(own);
  Index list = form.numbers[0];
  if (!std::is_sorted(list.begin(), list.end())) return std::nullopt;
  for (auto each = end; each != hint.end(); ++each) {
    const bool is_new = *each >= 0 && *each < std::ssize(own) && element_of(own, *each) == 1 &&
                        std::find(list.begin(), list.end(), *each) == list.end();
    if (!is_new) return std::nullopt;
    list.push_back(*each);
  }
  std::sort(list.begin(), list.end());
  Node wide = node;
  Index own_sizes, sizes;
  for (const std::int64_t each : list) {
    own_sizes.push_back(element_of(own, each));
    sizes.push_back(element_of(hint, each));
  }
  wide.shape.sizes = std::move(own_sizes);
  const auto operand = reshaped(wide, fact, sizes);
  if (!operand) return std::nullopt;
  return moved(node, {"broadcast", "", {list, own}}, {&*operand}, Index(hint.begin(), end));
}

/// A reshape moves what has one index here, whatever it has in the whole: it is one to parts of
/// dimensions, a transpose that keeps the others in order, and a reshape. `hint`: the sizes, then
/// of all parts those in the whole, those here, and the order.
std::optional<Fact> RelatedModules::reshaped_by_parts(const Node& node, const Fact& fact,
                                                      const Index& hint) {
  const std::size_t rank = node.shape.sizes.size();
  const std::size_t count = (hint.size() - rank) / 3;
  if (hint.size() != rank + 3 * count) return std::nullopt;
  const auto list = [&](std::size_t begin, std::size_t size) {
    return Index(hint.begin() + static_cast<std::ptrdiff_t>(begin),
                 hint.begin() + static_cast<std::ptrdiff_t>(begin + size));
  };
  Node parts = node;
  parts.shape.sizes = list(rank + count, count);
  const Index order = list(rank + 2 * count, count);
  Node turned = parts;
  std::vector<bool> used(count, false);
  std::int64_t last = -1;
  for (std::size_t k = 0; k < count; ++k) {
    const std::int64_t each = order[k];
    if (each < 0 || each >= std::ssize(order) || used[static_cast<std::size_t>(each)])
      return std::nullopt;
    used[static_cast<std::size_t>(each)] = true;
    turned.shape.sizes.set(k, element_of(parts.shape.sizes, each));
    if (turned.shape.sizes[k] == 1) continue;
    if (each < last) return std::nullopt;
    last = each;
  }
  const auto split = reshaped(parts, fact, list(rank, count));
  if (!split) return std::nullopt;
  std::vector<std::size_t> places;
  for (const std::int64_t each : order)
    places.push_back(split->places.at(static_cast<std::size_t>(each)));
  const auto moved =
      made(turned, {"transpose", "", {order}}, {&*split}, std::move(places), split->partial);
  return moved ? reshaped(node, *moved, list(0, rank)) : std::nullopt;
}

/// A reduction over dimensions of which some have one index here is that over the others, reshaped
/// to a tensor of these sizes.
std::optional<Fact> RelatedModules::reduced_to(const Node& node, const Form& form,
                                               const Facts& facts, const Index& sizes) {
  Form narrow = form;
  Node reduced = node;
  narrow.numbers[0].clear();
  Index kept;
  for (std::size_t k = 0; k < facts[0]->places.size(); ++k) {
    const std::int64_t size = places_.at(facts[0]->places[k]).size;
    if (contains(form.numbers[0], k) && size != 1)
      narrow.numbers[0].push_back(static_cast<std::int64_t>(k));
    else
      kept.push_back(size);
  }
  reduced.shape.sizes = std::move(kept);
  if (narrow.numbers[0].empty()) return std::nullopt;
  const auto all = reduce(reduced, narrow, facts);
  return all && !all->share ? reshaped(node, *all, sizes) : std::nullopt;
}

/// What devices have each a part of, side by side along a dimension, is one summand each of the sum
/// of all parts. `hint`: the dimension, and 0.
std::optional<Fact> RelatedModules::seen_as_sum(const Node& node, const Fact& fact,
                                                const Index& hint) {
  const auto along = static_cast<std::size_t>(hint[0]);
  const Type& type = node.shape.type;
  if (hint[0] < 0 || along >= fact.places.size() || hint[1] != 0 || fact.partial || fact.view ||
      fact.share || (!type.is_float() && !type.is_integer()))
    return std::nullopt;
  const Place& place = places_.at(fact.places[along]);
  if (place.size < 1 || place.whole % place.size != 0) return std::nullopt;
  const auto at = static_cast<std::ptrdiff_t>(along);
  Index sizes = tensors_.at(fact.tensor).sizes;
  sizes[along] = place.size;
  sizes.insert(sizes.begin() + at, place.whole / place.size);
  Node parts = node;
  Index own = node.shape.sizes;
  own.insert(own.begin() + at, 1);
  parts.shape.sizes = std::move(own);
  const auto split = reshaped(parts, fact, sizes);
  if (!split || places_.is_free(split->places[along])) return std::nullopt;
  std::vector<std::size_t> kept = split->places;
  kept.erase(kept.begin() + at);
  const auto partial = places_.reduced(Op::Add, kept, {split->places[along]}, budget_);
  if (!partial || !*partial) return std::nullopt;
  const Fact zero{0, tensors_.zeros_of(kind_of(type), {}), {}, {}};
  return made(node, {"reduce", "add", {{hint[0]}}}, {&*split, &zero}, std::move(kept), *partial);
}

}  // namespace p2::kernel::xla
