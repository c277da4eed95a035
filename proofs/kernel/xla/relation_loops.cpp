// Loops: what is assumed of the arrays that an iteration changes holds after it, and so after the
// loop (induction over iterations).

#include <algorithm>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// Numbers for devices, by a hint n, c, v_1, …, v_n: that of device d is v_((d / c) mod n + 1).
/// Moves `at` behind them.
std::optional<Index> by_device(const Index& hint, std::size_t& at, std::size_t devices) {
  const std::size_t left = hint.size() - at;
  const std::int64_t count = hint.at(at);
  if (count < 1 || count > static_cast<std::int64_t>(left) - 2 || hint[at + 1] < 1)
    return std::nullopt;
  Index numbers;
  for (std::int64_t device = 0; device < static_cast<std::int64_t>(devices); ++device) {
    const std::int64_t which = (device / hint[at + 1]) % count;
    numbers.push_back(hint[at + 2 + static_cast<std::size_t>(which)]);
  }
  at += static_cast<std::size_t>(count) + 2;
  return numbers;
}

}  // namespace

void RelatedModules::forget(std::size_t count) {
  facts_.resize(std::min(count, facts_.size()));
  for (Assumptions& loop : assumptions_) {
    std::erase_if(loop.facts, [&](std::size_t fact) { return fact >= count; });
    if (loop.closed && *loop.closed >= count) loop.closed.reset();
  }
}

/// The number of a variable.
std::optional<std::size_t> RelatedModules::variable_of(std::size_t tensor) const {
  const Tensors::Tensor& known = tensors_.at(tensor);
  return known.form.opcode == "variable"
             ? std::optional(static_cast<std::size_t>(known.form.numbers[0][0]))
             : std::nullopt;
}

/// The loop of the other module that a loop is taken to be.
std::optional<std::size_t> RelatedModules::paired(std::size_t loop) const {
  const auto& facts = assumptions_[loop].facts;
  return facts.empty() ? std::nullopt
                       : std::optional(variables()[*variable_of(facts_[facts[0]].tensor)].loop);
}

bool RelatedModules::is_assumed(const Fact& fact, std::size_t tensor, const Fact& assumed) const {
  if (fact.tensor != tensor || fact.view || fact.share) return false;
  for (std::size_t k = 0; k < fact.places.size(); ++k) {
    if (places_.meet(fact.places[k], assumed.places[k]) != assumed.places[k]) return false;
  }
  // Zeros are parts of a reduction that is zero.
  return fact.partial == assumed.partial || (tensors_.is_zero(tensor) && !fact.partial);
}

/// Of a loop's variable, with a fact about what the loop begins with: the hint is the number of the
/// variable that it is in the other module, and for every dimension 0 or where it begins by device;
/// then, of a partial sum, which part a device has.
std::optional<Fact> RelatedModules::assumed(std::size_t node, const Facts& facts,
                                            const Index& hint) {
  const std::size_t loop = local_.variables.at(node).loop;
  const auto number = static_cast<std::size_t>(hint.empty() ? -1 : hint[0]);
  if (facts.size() != 1 || number >= variables().size() || assumptions_[loop].closed)
    return std::nullopt;
  const WholeModule::Variable& variable = variables()[number];
  if (paired(loop).value_or(variable.loop) != variable.loop) return std::nullopt;
  // Variables of one loop in two of which one contains the other would be of different iterations.
  for (std::size_t k = 0; k < local_.loops.size(); ++k) {
    const Loop& other = local_.loops[k];
    const bool is_nested = other.contains(local_.loops[loop]) || local_.loops[loop].contains(other);
    if (k != loop && is_nested && paired(k) == variable.loop) return std::nullopt;
  }
  Fact result{0, variable.tensor, facts[0]->places, facts[0]->partial};
  const Index& sizes = tensors_.at(variable.tensor).sizes;
  if (result.places.size() != sizes.size()) return std::nullopt;
  std::size_t at = 1;
  for (std::size_t k = 0; k < sizes.size() && at < hint.size(); ++k) {
    if (hint[at] == 0) {
      ++at;
      continue;
    }
    const auto begin = by_device(hint, at, places_.devices());
    if (!begin) return std::nullopt;
    const std::int64_t own = local_.nodes[node].shape.sizes.at(k);
    std::vector<Segments> devices;
    for (const std::int64_t of : *begin) devices.push_back({{0, of, own}});
    result.places[k] = places_.segments(own, sizes[k], std::move(devices));
  }
  if (at < hint.size()) {
    const auto parts = by_device(hint, at, places_.devices());
    if (!parts || at != hint.size()) return std::nullopt;
    Numbering copies;
    for (const std::int64_t part : *parts) copies.push_back(static_cast<std::uint32_t>(part));
    Partial partial{Op::Add, places_.classes(result.places), {}};
    partial.copies = Places::common(partial.groups, copies);
    result.partial = places_.partial(std::move(partial));
  }
  // Devices with parts of the same elements have the same places.
  if (result.partial &&
      places_.refined(*result.partial, places_.classes(result.places)) != result.partial)
    return std::nullopt;
  return is_assumed(*facts[0], variable.first, result) ? std::optional(result) : std::nullopt;
}

/// Of what a loop makes: the hint is the number of the assumption about the variable. Where it is
/// the first fact about what this loop makes, it comes from facts about all that the assumptions
/// are about, after an iteration, and about the condition: the loops go on together.
std::optional<Fact> RelatedModules::after_loop(std::size_t node,
                                               const std::vector<std::size_t>& list,
                                               const Index& hint) {
  const auto& [number, array] = local_.results.at(node);
  const Loop& loop = local_.loops[number];
  Assumptions& all = assumptions_[number];
  const auto which = static_cast<std::size_t>(hint.size() == 1 ? hint[0] : -1);
  if (which >= all.facts.size()) return std::nullopt;
  const auto variable = [&](const Fact& fact) -> const WholeModule::Variable& {
    return variables()[*variable_of(fact.tensor)];
  };
  if (!all.closed) {
    if (list.size() != all.facts.size() + 1) return std::nullopt;
    for (std::size_t k = 0; k < all.facts.size(); ++k) {
      const Fact& next = facts_.at(list[k]);
      const Fact& assumption = facts_[all.facts[k]];
      const std::size_t next_node = loop.next[local_.variables.at(assumption.node).number];
      if (next.node != next_node || !is_assumed(next, variable(assumption).next, assumption))
        return std::nullopt;
    }
    const Fact& goes_on = facts_.at(list.back());
    if (goes_on.node != loop.condition || goes_on.partial || goes_on.share || goes_on.view ||
        goes_on.tensor != condition(*paired(number)) || tensors_.varies(goes_on.tensor))
      return std::nullopt;
    all.closed = facts_.size();
  } else if (!list.empty()) {
    return std::nullopt;
  }
  const Fact& assumption = facts_[all.facts[which]];
  if (local_.variables.at(assumption.node).number != array) return std::nullopt;
  return Fact{node, variable(assumption).result, assumption.places, assumption.partial};
}

}  // namespace p2::kernel::xla
