// Sums of which every device has some summands: of a microbatch, or of what one of several programs
// has.

#include <algorithm>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// Joins boxes that touch along a dimension and are alike along all others.
void join_along(std::vector<Box>& boxes, std::size_t along) {
  const auto key = [&](Box box) {
    box.from[along] = box.sizes[along] = 0;
    return box;
  };
  std::sort(boxes.begin(), boxes.end(), [&](const Box& a, const Box& b) {
    const auto order = key(a) <=> key(b);
    return order == 0 ? a.from[along] < b.from[along] : order < 0;
  });
  std::vector<Box> joined;
  for (Box& box : boxes) {
    const bool touches = !joined.empty() && key(joined.back()) == key(box) &&
                         joined.back().from[along] + joined.back().sizes[along] == box.from[along];
    if (touches)
      joined.back().sizes[along] += box.sizes[along];
    else
      joined.push_back(std::move(box));
  }
  boxes = std::move(joined);
}

}  // namespace

std::optional<std::size_t> Places::parts(Parts parts, Budget& budget) {
  for (std::vector<Box>& boxes : parts.devices) {
    budget.spend(8 * boxes.size());
    std::sort(boxes.begin(), boxes.end());
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      for (std::size_t other = k + 1; other < boxes.size(); ++other) {
        budget.spend(1);
        if (boxes[k].meets(boxes[other])) return std::nullopt;
        // The others begin later along the first dimension.
        if (boxes[other].from[0] >= boxes[k].from[0] + boxes[k].sizes[0]) break;
      }
    }
    for (std::size_t along = 0; along < parts.space.size(); ++along) join_along(boxes, along);
    std::sort(boxes.begin(), boxes.end());
  }
  return parts_.number(std::move(parts)).first;
}

std::optional<std::size_t> Places::parts_along(const std::vector<std::size_t>& places,
                                               Budget& budget) {
  const auto known = parts_along_.find(places);
  if (known != parts_along_.end()) return known->second;
  auto& result = parts_along_[places];
  Parts parts;
  for (const std::size_t place : places) {
    if (is_free(place) || !is_total(place)) return result;
    parts.space.push_back(at(place).whole);
  }
  for (std::size_t device = 0; device < devices_; ++device) {
    std::vector<Box> boxes = {{}};
    for (const std::size_t place : places) {
      std::vector<Box> next;
      for (const Box& box : boxes) {
        for (const Segment& each : at(place).devices[device]) {
          next.push_back(box);
          next.back().from.push_back(each.of);
          next.back().sizes.push_back(each.size);
        }
      }
      boxes = std::move(next);
      budget.spend(8 * boxes.size());
    }
    parts.devices.push_back(std::move(boxes));
  }
  return result = this->parts(std::move(parts), budget);
}

std::optional<std::size_t> Places::joined(std::size_t a, std::size_t b, Budget& budget) {
  const auto known = joined_.find({a, b});
  if (known != joined_.end()) return known->second;
  Parts both = parts_at(a);
  if (both.space != parts_at(b).space) return std::nullopt;
  for (std::size_t device = 0; device < devices_; ++device) {
    const std::vector<Box>& more = parts_at(b).devices[device];
    both.devices[device].insert(both.devices[device].end(), more.begin(), more.end());
  }
  return joined_[{a, b}] = parts(std::move(both), budget);
}

std::optional<std::size_t> Places::joined(std::size_t parts,
                                          const std::vector<std::vector<std::size_t>>& groups,
                                          Budget& budget) {
  auto& known = joined_groups_[parts];
  for (const auto& [of, result] : known) {
    if (of == groups) return result;
  }
  const Parts& own = parts_at(parts);
  Parts all{own.space, std::vector<std::vector<Box>>(devices_)};
  for (const auto& group : groups) {
    std::vector<Box> boxes;
    for (const std::size_t each : group)
      boxes.insert(boxes.end(), own.devices.at(each).begin(), own.devices[each].end());
    for (const std::size_t each : group) all.devices.at(each) = boxes;
  }
  const auto result = this->parts(std::move(all), budget);
  known.emplace_back(groups, result);
  return result;
}

/// Of a sum over dimensions that are at `along`: every device has some of its summands.
std::optional<Fact> RelatedModules::shared(const Node& node, const Form& form, const Facts& facts,
                                           std::vector<std::size_t> places,
                                           const std::vector<std::size_t>& along) {
  std::vector<std::size_t> operands;
  for (const Fact* fact : facts) {
    if (fact->partial || fact->share || fact->view) return std::nullopt;
    operands.push_back(fact->tensor);
  }
  const auto parts = places_.parts_along(along, budget_);
  if (!parts || kind_of(node.shape.type) == "pred") return std::nullopt;
  auto result = made(node, form, facts, std::move(places));
  if (result)
    result->share = Share{tensors_.summand(form, std::move(operands), result->tensor), *parts};
  return result;
}

std::optional<Fact> RelatedModules::settled(Fact fact) {
  if (const auto all = places_.complete(fact.share->parts, fact.places, budget_)) {
    fact.partial = *all;
    fact.share.reset();
  }
  return fact;
}

/// Summands are added, or an operation commutes with their sum.
std::optional<Fact> RelatedModules::of_shares(std::size_t number, const Facts& facts,
                                              const Index& hint) {
  const Node& node = local_.nodes.at(number);
  if (std::any_of(facts.begin(), facts.end(), [](const Fact* fact) { return fact->view; }))
    return std::nullopt;
  if (!node.is_function) {
    if (facts.size() != 1 || node.operands.size() != 1) return std::nullopt;
    auto result = collective(node, *facts[0]);
    return result && result->share ? settled(std::move(*result)) : result;
  }
  const std::string_view opcode = node.instruction->opcode;
  if (opcode == "add" && facts.size() == 2 && facts[0]->share && facts[1]->share) {
    // The same sum of the same tensors, of which each has others.
    const auto& [a, b] = std::tie(*facts[0], *facts[1]);
    if (a.tensor == b.tensor && a.places == b.places && a.share->summand == b.share->summand) {
      if (const auto both = places_.joined(a.share->parts, b.share->parts, budget_)) {
        Fact result = a;
        result.share->parts = *both;
        return settled(std::move(result));
      }
    }
  }
  // By the rule for partial sums, of the sum and of a summand. That every device alone has all
  // parts says no more than that the operation has to commute with a sum.
  Numbering alone;
  for (std::uint32_t device = 0; device < places_.devices(); ++device) alone.push_back(device);
  const std::size_t partial = places_.partial({Op::Add, alone, alone});
  std::optional<std::size_t> parts;
  std::vector<Fact> sums, summands;
  for (const Fact* fact : facts) {
    sums.push_back(*fact);
    summands.push_back(*fact);
    if (fact->partial || (fact->share && parts.value_or(fact->share->parts) != fact->share->parts))
      return std::nullopt;
    if (!fact->share) continue;
    parts = fact->share->parts;
    for (auto* list : {&sums, &summands}) {
      list->back().partial = partial;
      list->back().share.reset();
    }
    summands.back().tensor = fact->share->summand;
  }
  const auto result_of = [&](const std::vector<Fact>& list) {
    Facts all;
    for (const Fact& fact : list) all.push_back(&fact);
    return rule_of(number, all, false, hint);
  };
  auto sum = result_of(sums);
  const auto summand = result_of(summands);
  if (!sum || !summand || sum->partial != partial || summand->partial != partial ||
      sum->places != summand->places || sum->view || summand->view)
    return std::nullopt;
  sum->partial.reset();
  sum->share = Share{summand->tensor, parts.value()};
  return sum;
}

}  // namespace p2::kernel::xla
