// Where devices have the elements of a whole tensor, of which reductions it is the value, and what
// they have after they communicate.

#include <algorithm>
#include <numeric>
#include <set>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// One interval of indices along every dimension.
struct Box {
  Index from, sizes;

  bool meets(const Box& other) const {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] >= other.from[i] + other.sizes[i] || other.from[i] >= from[i] + sizes[i])
        return false;
    }
    return true;
  }
};

}  // namespace

std::size_t Places::intern(Place place) {
  const auto [found, is_new] = numbers_.emplace(std::move(place), places_.size());
  if (!is_new) return found->second;
  const Place& known = found->first;
  if (known.size < 1 || known.whole < 1) not_covered("empty tensors");
  places_.push_back(known);
  classes_.push_back(known.devices.empty() ? Numbering(devices_, 0) : numbered(known.devices));
  return places_.size() - 1;
}

std::size_t Places::identity(std::int64_t size) {
  return segments(size, size, std::vector<Segments>(devices_, {{0, 0, size}}));
}

std::size_t Places::segments(std::int64_t size, std::int64_t whole, std::vector<Segments> devices) {
  if (devices.size() != devices_) malformed("places on another number of devices");
  for (Segments& all : devices) {
    std::erase_if(all, [](const Segment& each) { return each.size == 0; });
    std::sort(all.begin(), all.end());
    Segments joined;
    for (const Segment& each : all) {
      const std::int64_t end = joined.empty() ? 0 : joined.back().at + joined.back().size;
      if (each.at < end || each.size < 0 || each.at + each.size > size || each.of < 0 ||
          each.of + each.size > whole)
        malformed("a place beyond its tensor");
      if (!joined.empty() && each.at == end && each.of == joined.back().of + joined.back().size)
        joined.back().size += each.size;
      else
        joined.push_back(each);
    }
    all = std::move(joined);
  }
  return intern({size, whole, std::move(devices)});
}

std::size_t Places::sliced(std::size_t place, const Index& starts, std::int64_t size,
                           std::int64_t shift, std::int64_t whole) {
  const Place old = at(place);
  if (is_free(place)) return free(size, whole);
  std::vector<Segments> devices(devices_);
  for (std::size_t device = 0; device < devices_; ++device) {
    for (const Segment& each : old.devices[device]) {
      // Inside of the slice, and of the whole tensor.
      const std::int64_t moved = each.of - each.at + starts[device] + shift;
      const std::int64_t begin = std::max({each.at - starts[device], std::int64_t{0}, -moved});
      const std::int64_t end =
          std::min({each.at + each.size - starts[device], size, whole - moved});
      if (begin < end) devices[device].push_back({begin, begin + moved, end - begin});
    }
  }
  return segments(size, whole, std::move(devices));
}

std::optional<std::size_t> Places::fixed(std::size_t place) {
  if (!is_free(place)) return place;
  const auto [size, whole, devices] = at(place);
  if (size > whole) return std::nullopt;
  return segments(size, whole, std::vector<Segments>(devices_, {{0, 0, size}}));
}

bool Places::is_identity(std::size_t place) {
  const std::int64_t size = at(place).size;
  return size == at(place).whole && (is_free(place) || place == identity(size));
}

bool Places::is_total(std::size_t place) const {
  const Place& known = at(place);
  return std::all_of(known.devices.begin(), known.devices.end(), [&](const Segments& all) {
    std::int64_t size = 0;
    for (const Segment& each : all) size += each.size;
    return size == known.size;
  });
}

std::optional<std::size_t> Places::meet(std::size_t a, std::size_t b) const {
  if (at(a).size != at(b).size || at(a).whole != at(b).whole) return std::nullopt;
  if (a == b || is_free(b)) return a;
  if (is_free(a)) return b;
  return std::nullopt;
}

Numbering Places::classes(const std::vector<std::size_t>& places) const {
  Numbering all(devices_, 0);
  for (const std::size_t place : places) all = common(all, classes_.at(place));
  return all;
}

Numbering Places::common(const Numbering& a, const Numbering& b) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> keys;
  for (std::size_t device = 0; device < a.size(); ++device) keys.emplace_back(a[device], b[device]);
  return numbered(keys);
}

std::size_t Places::partial(Partial partial) {
  const auto [found, is_new] = partial_numbers_.emplace(std::move(partial), partials_.size());
  if (is_new) partials_.push_back(found->first);
  return found->second;
}

std::optional<std::size_t> Places::refined(std::size_t partial, const Numbering& also) {
  const Partial old = partial_at(partial);
  const Numbering groups = common(old.groups, also);
  std::map<std::uint32_t, std::set<std::uint32_t>> all, left;
  for (std::size_t device = 0; device < devices_; ++device) {
    all[old.groups[device]].insert(old.copies[device]);
    left[groups[device]].insert(old.copies[device]);
  }
  for (std::size_t device = 0; device < devices_; ++device) {
    if (left[groups[device]].size() != all[old.groups[device]].size()) return std::nullopt;
  }
  return this->partial({old.op, groups, common(old.copies, also)});
}

Places::Reduced Places::reduced(Op op, const std::vector<std::size_t>& kept,
                                const std::vector<std::size_t>& along, Budget& budget) {
  std::vector<std::size_t> key = {static_cast<std::size_t>(op)};
  key.insert(key.end(), kept.begin(), kept.end());
  key.push_back(SIZE_MAX);
  key.insert(key.end(), along.begin(), along.end());
  const auto known = reductions_.find(key);
  if (known != reductions_.end()) return known->second;
  Reduced& result = reductions_[key];
  double whole = 1;
  for (const std::size_t place : along) {
    if (is_free(place) || !is_total(place)) return result;
    whole *= static_cast<double>(at(place).whole);
  }
  if (whole > 9e15) return result;
  Partial partial{op, classes(kept), {}};
  partial.copies = common(partial.groups, classes(along));
  // The elements of every class of copies, and so of every group: each once.
  std::map<std::uint32_t, std::vector<Box>> groups;
  bool is_cut = false;
  for (std::uint32_t device = 0; device < devices_; ++device) {
    if (partial.copies[device] != device) continue;
    is_cut = is_cut || partial.groups[device] != device;
    std::vector<Box> boxes = {{}};
    for (const std::size_t place : along) {
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
    auto& all = groups[partial.groups[device]];
    all.insert(all.end(), boxes.begin(), boxes.end());
  }
  for (auto& [group, boxes] : groups) {
    double size = 0;
    std::sort(boxes.begin(), boxes.end(),
              [](const Box& a, const Box& b) { return a.from < b.from; });
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      double one = 1;
      for (const std::int64_t each : boxes[k].sizes) one *= static_cast<double>(each);
      size += one;
      for (std::size_t other = k + 1; other < boxes.size(); ++other) {
        budget.spend(1);
        // The others begin later along the first dimension.
        if (boxes[other].from[0] >= boxes[k].from[0] + boxes[k].sizes[0]) break;
        if (boxes[k].meets(boxes[other])) return result;
      }
    }
    if (size != whole) return result;
  }
  if (!is_cut) return result.emplace(std::nullopt), result;
  return result.emplace(this->partial(std::move(partial))), result;
}

Places::Reduced Places::summed(std::size_t partial,
                               const std::vector<std::vector<std::size_t>>& groups,
                               Budget& budget) {
  budget.spend(64 * devices_);
  const Partial old = partial_at(partial);
  std::map<std::uint32_t, std::set<std::uint32_t>> all;
  for (std::size_t device = 0; device < devices_; ++device)
    all[old.groups[device]].insert(old.copies[device]);
  // Which parts a device has the sum of afterwards. A part is in one sum.
  using Sums = std::map<std::set<std::uint32_t>, std::uint32_t>;
  Sums sums;
  std::vector<const Sums::value_type*> of(devices_, nullptr);
  std::map<std::uint32_t, const Sums::value_type*> sum_of;
  for (const auto& group : groups) {
    std::set<std::uint32_t> parts;
    for (const std::size_t each : group) {
      if (old.groups[each] != old.groups[group[0]] || !parts.insert(old.copies[each]).second)
        return std::nullopt;
    }
    if (parts.empty()) continue;
    const auto next = static_cast<std::uint32_t>(sums.size());
    const Sums::value_type& sum = *sums.emplace(std::move(parts), next).first;
    for (const std::size_t each : group) {
      of[each] = &sum;
      if (sum_of.emplace(old.copies[each], &sum).first->second != &sum) return std::nullopt;
    }
  }
  bool is_all = true;
  std::vector<std::uint32_t> numbers;
  for (std::size_t device = 0; device < devices_; ++device) {
    if (of[device] == nullptr) return std::nullopt;
    is_all = is_all && of[device]->first.size() == all[old.groups[device]].size();
    numbers.push_back(of[device]->second);
  }
  if (is_all) return Reduced(std::in_place, std::nullopt);
  return Reduced(std::in_place, this->partial({old.op, old.groups, numbered(numbers)}));
}

std::optional<Fact> RelatedModules::collective(const Node& node, const Fact& fact) {
  auto result = tensors_.varies(fact.tensor) ? std::nullopt : gathered_or_summed(node, fact);
  if (result || !has_own_ || fact.partial) return result;
  // As a manual part of the other module does it.
  for (const std::size_t place : fact.places) {
    if (!places_.is_identity(place)) return std::nullopt;
  }
  const auto tensor = exchange_of(local_.module, node, fact.tensor);
  if (!tensor) return std::nullopt;
  result = Fact{0, *tensor, {}, {}};
  for (const std::int64_t size : node.shape.sizes) result->places.push_back(places_.identity(size));
  return result;
}

std::optional<Fact> RelatedModules::gathered_or_summed(const Node& node, const Fact& fact) {
  const Instruction& instruction = *node.instruction;
  std::string opcode = instruction.opcode;
  if (opcode.ends_with("-start")) opcode.resize(opcode.size() - 6);
  Fact result{0, fact.tensor, fact.places, {}};
  const Index& own = local_.nodes[fact.node].shape.sizes;
  Index sizes = own;
  if (opcode == "collective-permute") {
    if (fact.partial) return std::nullopt;
    const std::vector<std::size_t> sources = sources_of(node);
    const bool is_all = std::find(sources.begin(), sources.end(), 0U) == sources.end();
    if (!is_all) {
      if (own.empty()) return std::nullopt;
      const auto place = places_.fixed(result.places[0]);
      if (!place) return std::nullopt;
      result.places[0] = *place;
    }
    for (std::size_t& place : result.places) {
      if (places_.is_free(place)) continue;
      std::vector<Segments> devices;
      for (const std::size_t source : sources)
        devices.push_back(source == 0 ? Segments() : places_.at(place).devices[source - 1]);
      place = places_.segments(places_.at(place).size, places_.at(place).whole, std::move(devices));
    }
    return result;
  }
  if (opcode == "all-to-all") return exchanged(node, fact);
  const bool is_scatter = opcode == "reduce-scatter";
  if (opcode != "all-reduce" && opcode != "all-gather" && !is_scatter) return std::nullopt;
  const auto groups = interpreter_.groups_of(instruction, true);
  std::vector<std::size_t> position(places_.devices(), SIZE_MAX);
  for (const auto& group : groups) {
    if (group.size() != groups[0].size()) return std::nullopt;
    for (std::size_t k = 0; k < group.size(); ++k) position[group[k]] = k;
  }
  if (std::find(position.begin(), position.end(), SIZE_MAX) != position.end()) return std::nullopt;
  const auto count = std::ssize(groups.at(0));
  const auto along = static_cast<std::size_t>(
      opcode == "all-reduce" ? 0 : instruction.numbers("dimensions").at(0));
  if (opcode != "all-reduce" && along >= sizes.size()) return std::nullopt;
  if (opcode == "all-gather") {
    sizes[along] *= count;
    if (fact.partial) return std::nullopt;
    std::vector<std::size_t> others = fact.places;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(along));
    const Numbering classes = places_.classes(others);
    const Place place = places_.at(fact.places[along]);
    std::vector<Segments> devices(places_.devices());
    for (const auto& group : groups) {
      Segments all;
      for (const std::size_t each : group) {
        if (classes[each] != classes[group[0]]) return std::nullopt;
        if (place.devices.empty()) continue;
        for (const Segment& segment : place.devices[each])
          all.push_back({segment.at + static_cast<std::int64_t>(position[each]) * place.size,
                         segment.of, segment.size});
      }
      for (const std::size_t each : group) devices[each] = all;
    }
    result.places[along] = place.devices.empty()
                               ? places_.free(sizes[along], place.whole)
                               : places_.segments(sizes[along], place.whole, std::move(devices));
    return result;
  }
  const auto op = reducer_of(local_.module, instruction);
  if (!op) return std::nullopt;
  if (fact.partial) {
    if (places_.partial_at(*fact.partial).op != *op) return std::nullopt;
    const auto left = places_.summed(*fact.partial, groups, budget_);
    if (!left) return std::nullopt;
    result.partial = *left;
  } else {
    // The largest of equal values.
    const bool is_same =
        *op == Op::Maximum || *op == Op::Minimum || *op == Op::And || *op == Op::Or;
    const Numbering classes = places_.classes(fact.places);
    for (const auto& group : groups) {
      for (const std::size_t each : group) {
        if (!is_same || classes[each] != classes[group[0]]) return std::nullopt;
      }
    }
  }
  if (is_scatter) {
    if (sizes[along] % count != 0) return std::nullopt;
    sizes[along] /= count;
    Index first;
    Numbering taken;
    for (const std::size_t each : position) {
      first.push_back(static_cast<std::int64_t>(each) * sizes[along]);
      taken.push_back(static_cast<std::uint32_t>(each));
    }
    std::size_t& place = result.places[along];
    place = places_.sliced(place, first, sizes[along], 0, places_.at(place).whole);
    if (result.partial) {
      result.partial =
          places_.refined(*result.partial, Places::common(taken, places_.classes(result.places)));
      if (!result.partial) return std::nullopt;
    }
  }
  return result;
}

}  // namespace p2::kernel::xla
