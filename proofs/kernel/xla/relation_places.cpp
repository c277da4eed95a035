// Where devices have the elements of a whole tensor, of which reductions it is the value, and what
// they have after they communicate.

#include <algorithm>
#include <numeric>
#include <set>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// Whether all of a group are in one class.
bool together(const Numbering& classes, const std::vector<std::vector<std::size_t>>& groups) {
  return std::all_of(groups.begin(), groups.end(), [&](const auto& group) {
    return std::all_of(group.begin(), group.end(),
                       [&](std::size_t each) { return classes[each] == classes[group[0]]; });
  });
}

}  // namespace

bool Box::meets(const Box& other) const {
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] >= other.from[i] + other.sizes[i] || other.from[i] >= from[i] + sizes[i])
      return false;
  }
  return true;
}

std::size_t Places::intern(Place place) {
  if (place.size < 1 || place.whole < 1) not_covered("empty tensors");
  const auto [number, is_new] = places_.number(std::move(place));
  if (!is_new) return number;
  const auto& devices = at(number).devices;
  classes_.push_back(devices.empty() ? Numbering(devices_, 0) : numbered(devices));
  return number;
}

std::size_t Places::identity(std::int64_t size) {
  const auto found = identities_.find(size);
  if (found != identities_.end()) return found->second;
  return identities_[size] = segments(size, size, std::vector<Segments>(devices_, {{0, 0, size}}));
}

std::size_t Places::segments(std::int64_t size, std::int64_t whole, std::vector<Segments> devices) {
  if (devices.size() != devices_) malformed("places on another number of devices");
  for (Segments& all : devices) {
    std::erase_if(all, [](const Segment& each) { return each.size == 0; });
    std::sort(all.begin(), all.end());
    std::size_t count = 0;  // that are left where those that touch are joined
    for (const Segment each : all) {
      Segment* const last = count == 0 ? nullptr : &all[count - 1];
      const std::int64_t end = last == nullptr ? 0 : last->at + last->size;
      if (each.at < end || each.size < 0 || each.at + each.size > size || each.of < 0 ||
          each.of + each.size > whole)
        malformed("a place beyond its tensor");
      if (last != nullptr && each.at == end && each.of == last->of + last->size)
        last->size += each.size;
      else
        all[count++] = each;
    }
    all.resize(count);
  }
  return intern({size, whole, std::move(devices)});
}

std::size_t Places::sliced(std::size_t place, const Index& starts, std::int64_t size,
                           std::int64_t shift, std::int64_t whole) {
  if (is_free(place)) return free(size, whole);
  const auto key = std::tuple(place, size, shift, whole, starts);
  const auto known = sliced_.find(key);
  if (known != sliced_.end()) return known->second;
  const Place& old = at(place);
  std::vector<Segments> devices(devices_);
  for (std::size_t device = 0; device < devices_; ++device) {
    const std::int64_t start = starts.at(starts.size() == 1 ? 0 : device);
    for (const Segment& each : old.devices[device]) {
      // Inside of the slice, and of the whole tensor.
      const std::int64_t moved = each.of - each.at + start + shift;
      const std::int64_t begin = std::max({each.at - start, std::int64_t{0}, -moved});
      const std::int64_t end = std::min({each.at + each.size - start, size, whole - moved});
      if (begin < end) devices[device].push_back({begin, begin + moved, end - begin});
    }
  }
  return sliced_[key] = segments(size, whole, std::move(devices));
}

std::size_t Places::concatenated(const std::vector<std::size_t>& places, bool is_one) {
  const auto key = std::pair(places, is_one);
  const auto known = concatenated_.find(key);
  if (known != concatenated_.end()) return known->second;
  std::vector<Segments> devices(devices_);
  std::int64_t end = 0, of = 0;
  for (const std::size_t place : places) {
    const Place& each = at(place);
    for (std::size_t device = 0; device < devices_; ++device) {
      for (const Segment& segment : each.devices[device])
        devices[device].push_back({segment.at + end, segment.of + of, segment.size});
    }
    end += each.size;
    if (!is_one) of += each.whole;
  }
  return concatenated_[key] = segments(end, is_one ? at(places[0]).whole : of, std::move(devices));
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
  std::vector<std::size_t> different;  // of which no two, nor none, are the same everywhere
  for (const std::size_t place : places) {
    const bool is_known =
        is_free(place) || std::find(different.begin(), different.end(), place) != different.end();
    if (!is_known) different.push_back(place);
  }
  if (different.empty()) return Numbering(devices_, 0);
  Numbering all = classes_.at(different[0]);
  for (std::size_t k = 1; k < different.size(); ++k) all = common(all, classes_.at(different[k]));
  return all;
}

Numbering Places::common(const Numbering& a, const Numbering& b) {
  std::vector<std::uint64_t> keys;
  keys.reserve(a.size());
  for (std::size_t device = 0; device < a.size(); ++device)
    keys.push_back(std::uint64_t{a[device]} << 32U | b[device]);
  return numbered(keys);
}

std::size_t Places::partial(Partial partial) { return partials_.number(std::move(partial)).first; }

std::optional<std::size_t> Places::refined(std::size_t partial, const Numbering& also) {
  const Partial& old = partial_at(partial);
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

std::optional<std::size_t> Places::refined(std::size_t partial,
                                           const std::vector<std::size_t>& places) {
  const auto key = std::pair(partial, places);
  const auto found = refined_.find(key);
  if (found != refined_.end()) return found->second;
  return refined_[key] = refined(partial, classes(places));
}

Places::Reduced Places::reduced(Op op, const std::vector<std::size_t>& kept,
                                const std::vector<std::size_t>& along, Budget& budget) {
  std::vector<std::size_t> key;
  key.reserve(2 + kept.size() + along.size());
  key.push_back(static_cast<std::size_t>(op));
  key.insert(key.end(), kept.begin(), kept.end());
  key.push_back(SIZE_MAX);
  key.insert(key.end(), along.begin(), along.end());
  const auto known = reductions_.find(key);
  if (known != reductions_.end()) return known->second;
  Reduced result;
  if (const auto parts = parts_along(along, budget)) result = complete(*parts, kept, budget, op);
  return reductions_[key] = result;
}

Places::Reduced Places::complete(std::size_t parts, const std::vector<std::size_t>& kept,
                                 Budget& budget, Op op) {
  std::vector<std::size_t> key = {static_cast<std::size_t>(op), parts};
  key.insert(key.end(), kept.begin(), kept.end());
  const auto known = completions_.find(key);
  if (known != completions_.end()) return known->second;
  Reduced& result = completions_[key];
  const Parts& all_parts = parts_at(parts);
  double whole = 1;
  for (const std::int64_t size : all_parts.space) whole *= static_cast<double>(size);
  if (whole > 9e15) return result;
  Partial partial{op, classes(kept), {}};
  partial.copies = common(partial.groups, numbered(all_parts.devices));
  // The elements of every class of copies, and so of every group: each once.
  std::map<std::uint32_t, std::vector<const Box*>> groups;
  bool is_cut = false;
  for (std::uint32_t device = 0; device < devices_; ++device) {
    if (partial.copies[device] != device) continue;
    is_cut = is_cut || partial.groups[device] != device;
    const std::vector<Box>& boxes = all_parts.devices[device];
    budget.spend(8 * boxes.size());
    auto& all = groups[partial.groups[device]];
    for (const Box& each : boxes) all.push_back(&each);
  }
  for (auto& [group, boxes] : groups) {
    double size = 0;
    std::sort(boxes.begin(), boxes.end(),
              [](const Box* a, const Box* b) { return a->from < b->from; });
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      const Box& box = *boxes[k];
      double one = 1;
      for (const std::int64_t each : box.sizes) one *= static_cast<double>(each);
      size += one;
      for (std::size_t other = k + 1; other < boxes.size(); ++other) {
        budget.spend(1);
        // The others begin later along the first dimension.
        if (!box.from.empty() && boxes[other]->from[0] >= box.from[0] + box.sizes[0]) break;
        if (box.meets(*boxes[other])) return result;
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
  auto& known = sums_[partial];
  for (const auto& [of, result] : known) {
    if (of == groups) return result;
  }
  return known.emplace_back(groups, new_sums(partial, groups, budget)).second;
}

Places::Reduced Places::new_sums(std::size_t partial,
                                 const std::vector<std::vector<std::size_t>>& groups,
                                 Budget& budget) {
  budget.spend(64 * devices_);
  const Partial& old = partial_at(partial);
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

/// By the rules of collectives, of a tensor that is the same on all devices; or as the other module
/// does it with tensors that devices have of their own: of which they have all, or along other
/// dimensions than that of the exchange the same part where they exchange it.
std::optional<Fact> RelatedModules::collective(const Node& node, const Fact& fact) {
  const Communication* const communication = this->communication(node);
  if (!tensors_.varies(fact.tensor) && communication != nullptr) {
    auto result = communication->opcode == "all-to-all"
                      ? exchanged(*communication, node, fact)
                      : communicated(places_, *communication, node, fact);
    if (!result && communication->opcode == "all-gather")
      result = gathered_across(*communication, node, fact);
    if (result) return result;
  }
  if (!has_own_ || fact.partial || fact.share) return std::nullopt;
  std::optional<std::size_t> along;
  if (node.instruction->has("dimensions"))
    along = static_cast<std::size_t>(node.instruction->numbers("dimensions").at(0));
  Fact result{0, 0, {}, {}};
  for (std::size_t k = 0; k < fact.places.size() && k < node.shape.sizes.size(); ++k) {
    const std::size_t place = fact.places[k];
    const bool is_all = places_.is_identity(place);
    const bool is_kept = !is_all && along != k && communication != nullptr &&
                         are_alike(places_.at(place), *communication);
    if (!is_all && !is_kept) return std::nullopt;
    result.places.push_back(is_all ? places_.identity(node.shape.sizes[k]) : place);
  }
  const auto tensor = whole_.exchange_of(local_.module, node, fact.tensor);
  if (!tensor) return std::nullopt;
  result.tensor = *tensor;
  return result;
}

/// What devices gather of an index less one number, or of a condition on one, that is the same of
/// all members of a group.
std::optional<Fact> RelatedModules::gathered_view(const Node& node, const Fact& fact) {
  const Communication* const communication = this->communication(node);
  const View& view = *fact.view;
  if (communication == nullptr || communication->opcode != "all-gather" ||
      tensors_.varies(fact.tensor) ||
      (view.kind != View::Kind::Minus && view.kind != View::Kind::Within))
    return std::nullopt;
  for (const auto& group : communication->groups) {
    for (const std::size_t each : group) {
      const bool is_same = view.from.at(each) == view.from.at(group[0]) &&
                           (view.to.empty() || view.to.at(each) == view.to.at(group[0]));
      if (!is_same) return std::nullopt;
    }
  }
  Fact plain = fact;
  plain.view.reset();
  auto result = communicated(places_, *communication, node, plain);
  if (result) result->view = view;
  return result;
}

const Communication* RelatedModules::communication(const Node& node) {
  const Instruction& instruction = *node.instruction;
  std::string opcode = instruction.opcode;
  if (opcode.ends_with("-start")) opcode.resize(opcode.size() - 6);
  constexpr std::size_t kOther = SIZE_MAX;
  const auto own_numbers = [&] {
    std::vector<std::size_t> own(runners_.all.count(), kOther);
    for (std::size_t device = 0; device < runners_.ids.size(); ++device)
      own.at(runners_.ids[device]) = device;
    return own;
  };
  if (opcode == "collective-permute") {
    const std::vector<std::size_t> own = own_numbers();
    const auto senders = interpreter_.senders_of(*node.computation, instruction);
    permutation_ = {opcode, {}, {}};
    permutation_.sources.resize(runners_.ids.size());
    for (std::size_t id = 0; id < own.size(); ++id) {
      if (!senders[id]) continue;
      const std::size_t from = own[*senders[id]];
      if ((from == kOther) != (own[id] == kOther)) return nullptr;
      if (own[id] != kOther) permutation_.sources[own[id]] = from;
    }
    return &permutation_;
  }
  if (!is_one_of(opcode, {"all-gather", "all-reduce", "all-to-all", "reduce-scatter"}))
    return nullptr;
  const auto& groups = interpreter_.groups_of(instruction, opcode != "all-to-all");
  const auto [known, is_new] = communications_.try_emplace({opcode, &groups});
  if (!is_new) return known->second ? &*known->second : nullptr;
  Communication result{opcode, {}, {}};
  const std::vector<std::size_t> own = own_numbers();
  for (const auto& group : groups) {
    auto& members = result.groups.emplace_back();
    std::size_t others = 0;
    for (const std::size_t id : group) {
      if (own[id] == kOther) ++others;
      if (own[id] != kOther) members.push_back(own[id]);
    }
    if (others != 0 && !members.empty()) return nullptr;
    if (members.empty()) result.groups.pop_back();
  }
  result.look_at_groups(runners_.ids.size());
  known->second = std::move(result);
  return &*known->second;
}

std::optional<Fact> RelatedModules::communicated(Places& places, const Communication& communication,
                                                 const Node& node, const Fact& fact) const {
  const Instruction& instruction = *node.instruction;
  const std::string_view opcode = communication.opcode;
  const auto& groups = communication.groups;
  Fact result{0, fact.tensor, fact.places, {}};
  Index own;
  for (const std::size_t place : fact.places) own.push_back(places.at(place).size);
  Index sizes = own;
  if (opcode == "collective-permute") {
    if (fact.partial || fact.share) return std::nullopt;
    const auto& sources = communication.sources;
    const bool is_all = std::all_of(sources.begin(), sources.end(),
                                    [](const auto& source) { return source.has_value(); });
    // Nobody's array has no segments, along one dimension: one that elements are sent along.
    std::size_t none = 0;
    for (std::size_t k = own.size(); k-- > 0 && !is_all;) {
      const std::vector<Segments>& all = places.at(result.places[k]).devices;
      for (std::size_t device = 0; device < all.size(); ++device) {
        if (sources[device] && all[device] != all.at(*sources[device])) none = k;
      }
    }
    if (!is_all) {
      if (own.empty()) return std::nullopt;
      const auto place = places.fixed(result.places[none]);
      if (!place) return std::nullopt;
      result.places[none] = *place;
    }
    for (std::size_t k = 0; k < own.size(); ++k) {
      if (places.is_free(result.places[k])) continue;
      const Place known = places.at(result.places[k]);
      std::vector<Segments> devices = known.devices;
      for (std::size_t device = 0; device < devices.size(); ++device) {
        if (sources[device]) devices[device] = known.devices.at(*sources[device]);
        if (!sources[device] && k == none) devices[device].clear();
      }
      result.places[k] = places.segments(known.size, known.whole, std::move(devices));
    }
    return result;
  }
  const bool is_scatter = opcode == "reduce-scatter";
  if (opcode != "all-reduce" && opcode != "all-gather" && !is_scatter) return std::nullopt;
  if (!communication.has_even_groups) return std::nullopt;
  std::vector<std::size_t> position;  // of devices in their groups, where these are in an order
  if (opcode != "all-reduce") {
    position.resize(places.devices());
    for (const auto& group : groups) {
      for (std::size_t k = 0; k < group.size(); ++k) position[group[k]] = k;
    }
  }
  const auto count = std::ssize(groups.at(0));
  const auto along = static_cast<std::size_t>(
      opcode == "all-reduce" ? 0 : instruction.numbers("dimensions").at(0));
  if (opcode != "all-reduce" && along >= sizes.size()) return std::nullopt;
  if (opcode == "all-gather") {
    sizes[along] *= count;
    if (fact.partial || fact.share) return std::nullopt;
    std::vector<std::size_t> others = fact.places;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(along));
    const Numbering classes = places.classes(others);
    const Place& place = places.at(fact.places[along]);
    std::vector<Segments> devices(places.devices());
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
                               ? places.free(sizes[along], place.whole)
                               : places.segments(sizes[along], place.whole, std::move(devices));
    return result;
  }
  const auto op = reducer_of(local_.module, instruction);
  if (!op) return std::nullopt;
  if (count == 1) {
    // A reduction of one.
    result.partial = fact.partial;
    result.share = fact.share;
  } else if (fact.partial) {
    if (places.partial_at(*fact.partial).op != *op) return std::nullopt;
    const auto left = places.summed(*fact.partial, groups, budget_);
    if (!left) return std::nullopt;
    result.partial = *left;
  } else if (fact.share) {
    if (*op != Op::Add || !together(places.classes(fact.places), groups)) return std::nullopt;
    const auto parts = places.joined(fact.share->parts, groups, budget_);
    if (!parts) return std::nullopt;
    result.share = Share{fact.share->summand, *parts};
  } else {
    // The largest of equal values.
    const bool is_same =
        *op == Op::Maximum || *op == Op::Minimum || *op == Op::And || *op == Op::Or;
    if (!is_same || !together(places.classes(fact.places), groups)) return std::nullopt;
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
    place = places.sliced(place, first, sizes[along], 0, places.at(place).whole);
    if (result.partial) {
      result.partial =
          places.refined(*result.partial, Places::common(taken, places.classes(result.places)));
      if (!result.partial) return std::nullopt;
    }
  }
  return result;
}

}  // namespace p2::kernel::xla
