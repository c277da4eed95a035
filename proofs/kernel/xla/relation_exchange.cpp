// What devices have of each other's parts: all-to-alls, by which what is cut along one dimension is
// cut along another, and halos, by which a device has the border of its neighbour's part.

#include <algorithm>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// Of a segment, the part that lies in [from, to) of the whole; empty if none does.
Segment part_of(const Segment& segment, std::int64_t from, std::int64_t to) {
  const std::int64_t begin = std::max(segment.of, from);
  const std::int64_t end = std::min(segment.of + segment.size, to);
  if (end <= begin) return {segment.at, segment.of, 0};
  return {segment.at + begin - segment.of, begin, end - begin};
}

/// Of a segment, the part that lies in [from, to) of the array.
Segment part_at(const Segment& segment, std::int64_t from, std::int64_t to) {
  const Segment part = part_of({segment.of, segment.at, segment.size}, from, to);
  return {part.of, part.at, part.size};
}

}  // namespace

/// The same array, of whose elements facts are known, as elements of what is made of these tensors:
/// by a hint of starts, limits and strides of a slice of the one; by the hint of a dimension of the
/// concatenation of all along it.
std::optional<Fact> RelatedModules::seen_in(const Node& node, const Facts& facts,
                                            const Index& hint) {
  const std::size_t rank = facts[0]->places.size();
  for (const Fact* fact : facts) {
    if (fact->partial || fact->view || fact->share || fact->places.size() != rank)
      return std::nullopt;
  }
  if (facts.size() == 1) {
    // All of the array, as a slice of it.
    const Form all{"slice", "", {Index(rank, 0), node.shape.sizes, Index(rank, 1)}};
    return rank == 0 || hint.empty() ? std::nullopt : sliced(node, all, *facts[0], hint);
  }
  if (hint.size() != 1 || hint[0] < 0 || hint[0] >= std::ssize(facts[0]->places))
    return std::nullopt;
  const auto along = static_cast<std::size_t>(hint[0]);
  std::vector<std::size_t> operands;
  std::vector<std::size_t> places = facts[0]->places;
  std::vector<Segments> devices(places_.devices());
  std::int64_t begin = 0;
  for (const Fact* fact : facts) {
    operands.push_back(fact->tensor);
    for (std::size_t k = 0; k < rank; ++k) {
      const auto both = places_.meet(places[k], fact->places[k]);
      if (k != along && !both) return std::nullopt;
      if (k != along) places[k] = *both;
    }
    const Place& place = places_.at(fact->places[along]);
    for (std::size_t device = 0; device < place.devices.size(); ++device) {
      Segments& all = devices[device];
      for (const Segment& each : place.devices[device]) {
        budget_.spend(1 + all.size());
        // What is already something of the whole need not be another element, too.
        const bool is_new = std::none_of(all.begin(), all.end(), [&](const Segment& other) {
          return part_at(each, other.at, other.at + other.size).size > 0;
        });
        if (is_new) all.push_back({each.at, each.of + begin, each.size});
      }
    }
    begin += place.whole;
  }
  places[along] = places_.segments(places_.at(places[along]).size, begin, std::move(devices));
  const auto tensor = tensors_.make({"concatenate", "", {hint}}, std::move(operands),
                                    tensors_.at(facts[0]->tensor).kind);
  return tensor ? std::optional(Fact{0, *tensor, std::move(places), {}}) : std::nullopt;
}

/// Elements of a tensor as those of it padded with zeros; by a hint of the dimension, the padding
/// before and after it, and which of both arrays of `has_zeros` are in, next to the tensor.
std::optional<Fact> RelatedModules::in_padding(const Fact& fact, const Index& hint,
                                               const std::vector<bool>& has_zeros) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const auto along = static_cast<std::size_t>(hint.at(0));
  const std::int64_t low = hint.at(1), high = hint.at(2);
  const Tensors::Tensor& tensor = tensors_.at(fact.tensor);
  if (fact.partial || fact.view || fact.share || along >= fact.places.size() || low < 0 ||
      low > kMost || high < 0 || high > kMost || tensor.kind == "pred" ||
      tensors_.varies(fact.tensor))
    return std::nullopt;
  const auto fixed = places_.fixed(fact.places[along]);
  if (!fixed) return std::nullopt;
  const Place place = places_.at(*fixed);
  const std::int64_t of = hint.at(3) == 0 ? low - place.size : low + place.whole;
  std::vector<Segments> devices = place.devices;
  for (std::size_t device = 0; device < devices.size(); ++device) {
    for (Segment& each : devices[device]) each.of += low;
    if (!has_zeros.at(device)) continue;
    if (place.size > (hint.at(3) == 0 ? low : high)) return std::nullopt;
    devices[device] = {{0, of, place.size}};
  }
  Form pad{"pad", "", std::vector<Index>(3, Index(fact.places.size(), 0))};
  pad.numbers[0][along] = low;
  pad.numbers[1][along] = high;
  const auto padded =
      tensors_.make(pad, {fact.tensor, tensors_.zeros_of(tensor.kind, {})}, tensor.kind);
  if (!padded) return std::nullopt;
  Fact result{0, *padded, fact.places, {}};
  result.places[along] = places_.segments(place.size, place.whole + low + high, std::move(devices));
  return result;
}

/// What devices are sent, as elements of a tensor padded with zeros, which those have that are sent
/// nothing.
std::optional<Fact> RelatedModules::sent_in_padding(const Node& node, const Fact& fact,
                                                    const Index& hint) {
  const Communication* const communication = this->communication(node);
  if (communication == nullptr || communication->opcode != "collective-permute" ||
      fact.places.empty() || fact.view || tensors_.varies(fact.tensor))
    return std::nullopt;
  std::vector<bool> has_zeros;
  for (const auto& source : communication->sources) has_zeros.push_back(!source);
  const auto sent = communicated(places_, *communication, node, fact);
  return sent ? in_padding(*sent, hint, has_zeros) : std::nullopt;
}

/// Indices that count up from 0 along a dimension, and a number of the device more: those from
/// there on.
std::optional<Fact> RelatedModules::counted_from(const Fact& fact, const Index& numbers) {
  const auto along = tensors_.counted(fact.tensor);
  if (!along || fact.view || fact.partial || fact.share) return std::nullopt;
  Fact result = fact;
  std::size_t& place = result.places[*along];
  if (places_.is_free(place)) return std::nullopt;
  const Place known = places_.at(place);
  std::vector<Segments> devices = known.devices;
  for (std::size_t device = 0; device < devices.size(); ++device) {
    for (Segment& each : devices[device]) {
      each.of += numbers[device];
      each = part_of(each, 0, known.whole);
    }
  }
  place = places_.segments(known.size, known.whole, std::move(devices));
  return result;
}

/// A choice by where an index along a dimension is. By the hint of that dimension, of two arrays of
/// one tensor; by (dimension, low, high, k), of elements of the tensor of operand k, which is
/// padded with the number that all elements of the other are.
std::optional<Fact> RelatedModules::chosen_by_index(const Facts& facts, const Index& hint) {
  const Fact& condition = *facts[0];
  const auto along = tensors_.counted(condition.tensor);
  if (!along || (hint.size() != 1 && hint.size() != 4) ||
      hint[0] != static_cast<std::int64_t>(*along))
    return std::nullopt;
  const std::int64_t low = hint.size() == 4 ? hint[1] : 0;
  const std::int64_t high = hint.size() == 4 ? hint[2] : 0;
  if (low < 0 || high < 0 || (hint.size() == 4 && hint[3] != 1 && hint[3] != 2))
    return std::nullopt;
  const bool is_padded = hint.size() == 4;
  const Fact& x = *facts[is_padded ? static_cast<std::size_t>(hint[3]) : 1];
  const Fact& other = *facts[&x == facts[1] ? 2 : 1];
  if (x.view || x.partial || x.share || other.view || other.partial || other.share ||
      x.places.size() != condition.places.size())
    return std::nullopt;
  const auto is_all = [&](std::size_t place) {
    return places_.is_free(place) || places_.is_total(place);
  };
  Fact result{0, x.tensor, x.places, {}};
  for (std::size_t k = 0; k < x.places.size(); ++k) {
    if (k != *along && !is_all(condition.places[k])) return std::nullopt;
    if (is_padded) {
      if (!is_all(other.places.at(k))) return std::nullopt;
    } else if (k != *along) {
      const auto both = places_.meet(x.places[k], other.places.at(k));
      if (!both) return std::nullopt;
      result.places[k] = *both;
    }
  }
  // An index is its place, as a number of the type.
  const Place where = places_.at(condition.places[*along]);
  const int bits = std::min(type_called(tensors_.at(condition.tensor).kind).bits - 1, 40);
  const std::int64_t own = places_.at(x.places[*along]).whole;
  const auto from = places_.fixed(x.places[*along]);
  const auto from_other = is_padded ? from : places_.fixed(other.places.at(*along));
  if (where.devices.empty() || !from || !from_other || where.whole > std::int64_t{1} << bits ||
      where.whole != own + low + high)
    return std::nullopt;
  if (is_padded) {
    const Tensors::Tensor& number = tensors_.at(other.tensor);
    if (number.form.opcode != "broadcast" || !tensors_.at(number.operands[0]).sizes.empty())
      return std::nullopt;
    Form pad{"pad", "", std::vector<Index>(3, Index(x.places.size(), 0))};
    pad.numbers[0][*along] = low;
    pad.numbers[1][*along] = high;
    const auto tensor =
        tensors_.make(pad, {x.tensor, number.operands[0]}, tensors_.at(x.tensor).kind);
    if (!tensor) return std::nullopt;
    result.tensor = *tensor;
  } else if (x.tensor != other.tensor) {
    return std::nullopt;
  }
  const View& view = *condition.view;
  const bool x_is_first = &x == facts[1];
  std::vector<Segments> devices(places_.devices());
  for (std::size_t device = 0; device < devices.size(); ++device) {
    const auto take = [&](const Segment& indices, bool is_within) {
      const bool takes_x = (is_within != view.is_not) == x_is_first;
      const std::int64_t end = indices.at + indices.size;
      if (!takes_x && is_padded) {
        devices[device].push_back(part_of(indices, 0, low));
        devices[device].push_back(part_of(indices, low + own, where.whole));
        return;
      }
      budget_.spend(places_.at(takes_x ? *from : *from_other).devices[device].size());
      for (Segment each : places_.at(takes_x ? *from : *from_other).devices[device]) {
        each = part_at(each, indices.at, end);
        each.of += low;
        devices[device].push_back(each);
      }
    };
    for (const Segment& each : where.devices[device]) {
      const std::int64_t to = std::max(view.from[device], view.to[device]);
      take(part_of(each, -kNoBound, view.from[device]), false);
      take(part_of(each, view.from[device], to), true);
      take(part_of(each, to, kNoBound), false);
    }
  }
  result.places[*along] = places_.segments(where.size, where.whole, std::move(devices));
  return result;
}

void Communication::look_at_groups(std::size_t devices) {
  std::vector<bool> is_member(devices, false);
  std::size_t members = 0;
  bool are_alike = true;
  for (const auto& group : groups) {
    are_alike = are_alike && group.size() == groups[0].size();
    for (const std::size_t each : group) is_member.at(each) = true;
    members += group.size();
  }
  has_even_groups = are_alike && members == devices &&
                    std::find(is_member.begin(), is_member.end(), false) == is_member.end();
}

/// Whether devices that exchange elements have the same places.
bool RelatedModules::are_alike(const Place& place, const Communication& communication) {
  if (place.devices.empty()) return false;
  const auto have_one = [&](std::size_t a, std::size_t b) {
    return place.devices[a] == place.devices[b];
  };
  for (const auto& group : communication.groups) {
    for (const std::size_t each : group) {
      if (!have_one(each, group[0])) return false;
    }
  }
  for (std::size_t device = 0; device < communication.sources.size(); ++device) {
    const auto& source = communication.sources[device];
    if (source && !have_one(device, *source)) return false;
  }
  return true;
}

/// In groups of n, along a dimension of n indices (d), of which member p gets index p of all, side
/// by side. Members have, along another dimension (e), the m indices after those of the member
/// before: together they are n·m indices, of which the result has n along d and m along e. The
/// index p is that of a tensor in which d and the next dimension are one.
std::optional<Fact> RelatedModules::exchanged(const Communication& communication, const Node& node,
                                              const Fact& fact) {
  const Instruction& instruction = *node.instruction;
  const Index& own = local_.nodes[fact.node].shape.sizes;
  if (fact.partial || fact.share || !instruction.has("dimensions")) return std::nullopt;
  const auto d = static_cast<std::size_t>(instruction.numbers("dimensions").at(0));
  const std::size_t after = d + 1;
  if (after >= own.size() || !places_.is_identity(fact.places[after])) return std::nullopt;
  // Where every dimension begins, if it is in one piece.
  std::vector<std::size_t> places;
  std::vector<Index> first;
  for (const std::size_t each : fact.places) {
    const auto place = places_.fixed(each);
    if (!place || !places_.is_total(*place)) return std::nullopt;
    places.push_back(*place);
    Index& begin = first.emplace_back();
    for (const Segments& all : places_.at(*place).devices) {
      if (all.size() != 1) return std::nullopt;
      begin.push_back(all[0].of);
    }
  }
  Numbering position(places_.devices(), 0), leader(places_.devices(), 0);
  if (!communication.has_even_groups) return std::nullopt;
  for (const auto& group : communication.groups) {
    const std::int64_t size = std::ssize(group);
    if (size != own[d] || instruction.number("split_count", size) != size) return std::nullopt;
    for (std::size_t k = 0; k < group.size(); ++k) {
      position[group[k]] = static_cast<std::uint32_t>(k);
      leader[group[k]] = static_cast<std::uint32_t>(group[0]);
    }
  }
  std::optional<std::size_t> cut;
  for (std::size_t k = 0; k < own.size(); ++k) {
    bool is_same = true, is_next = true;
    for (std::size_t device = 0; device < leader.size(); ++device) {
      const std::int64_t beyond = first[k][device] - first[k][leader[device]];
      is_same = is_same && beyond == 0;
      is_next = is_next && beyond == own[k] * position[device];
    }
    if (is_same) continue;
    if (!is_next || cut) return std::nullopt;
    cut = k;
  }
  if (!cut) return std::nullopt;
  const std::size_t e = *cut;  // for d itself the transpose below would not fit
  const Index whole = tensors_.at(fact.tensor).sizes;
  Index sizes, order(own.size());
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (k == d) continue;
    if (k == e) {
      order[d] = std::ssize(sizes);
      sizes.push_back(whole[k] / own[k]);
    }
    order[k] = std::ssize(sizes);
    sizes.push_back(k == e ? own[k] : k == after ? whole[d] * whole[k] : whole[k]);
  }
  std::vector<Segments> along_d, along_after;
  for (std::size_t device = 0; device < leader.size(); ++device) {
    const std::int64_t begin = first[e][leader[device]];
    if (begin % own[e] != 0) return std::nullopt;
    along_d.push_back({{0, begin / own[e], own[d]}});
    along_after.push_back({{0, (first[d][device] + position[device]) * whole[after], own[after]}});
  }
  places[d] = places_.segments(own[d], whole[e] / own[e], std::move(along_d));
  places[after] = places_.segments(own[after], whole[d] * whole[after], std::move(along_after));
  places[e] = places_.identity(own[e]);
  const std::string& kind = tensors_.at(fact.tensor).kind;
  auto tensor = tensors_.make({"reshape", "", {sizes}}, {fact.tensor}, kind);
  if (tensor) tensor = tensors_.make({"transpose", "", {order}}, {*tensor}, kind);
  return tensor ? std::optional(Fact{0, *tensor, std::move(places), {}}) : std::nullopt;
}

/// In groups, along a dimension (d), of what is cut along another one (e): members have, of n·m
/// indices along e, m that begin at a multiple of m, and the same of other dimensions. The index
/// among the n is then that of a tensor in which it stands before d, as one dimension with it.
std::optional<Fact> RelatedModules::gathered_across(const Communication& communication,
                                                    const Node& node, const Fact& fact) {
  const Index& own = local_.nodes[fact.node].shape.sizes;
  if (fact.partial || fact.share || !node.instruction->has("dimensions")) return std::nullopt;
  const auto d = static_cast<std::size_t>(node.instruction->numbers("dimensions").at(0));
  if (d >= own.size() || !communication.has_even_groups) return std::nullopt;
  std::vector<std::size_t> places;
  for (const std::size_t each : fact.places) {
    const auto place = places_.fixed(each);
    if (!place) return std::nullopt;
    places.push_back(*place);
  }
  std::optional<std::size_t> cut;
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (are_alike(places_.at(places[k]), communication)) continue;
    if (cut || k == d) return std::nullopt;
    cut = k;
  }
  if (!cut) return std::nullopt;
  const std::size_t e = *cut;
  const Place& across = places_.at(places[e]);
  const Place& along = places_.at(places[d]);
  if (own[e] == 0 || across.whole % own[e] != 0) return std::nullopt;
  std::vector<Segments> along_d(places_.devices());
  for (const auto& group : communication.groups) {
    Segments all;
    for (std::size_t k = 0; k < group.size(); ++k) {
      const Segments& member = across.devices[group[k]];
      if (member.size() != 1 || member[0].size != own[e] || member[0].of % own[e] != 0)
        return std::nullopt;
      for (const Segment& each : along.devices[group[k]])
        all.push_back({each.at + static_cast<std::int64_t>(k) * own[d],
                       each.of + member[0].of / own[e] * along.whole, each.size});
    }
    for (const std::size_t each : group) along_d[each] = all;
  }
  const std::int64_t tiles = across.whole / own[e];
  Index sizes, joined, order;
  for (std::size_t k = 0; k < own.size(); ++k) {
    const std::int64_t whole = k == e ? own[e] : places_.at(places[k]).whole;
    if (k == e) sizes.push_back(tiles);
    if (k == d) order.push_back(static_cast<std::int64_t>(e));
    order.push_back(static_cast<std::int64_t>(k + (k >= e ? 1 : 0)));
    sizes.push_back(whole);
    joined.push_back(k == d ? tiles * whole : whole);
  }
  places[d] =
      places_.segments(own[d] * std::ssize(communication.groups[0]), joined[d], std::move(along_d));
  places[e] = places_.identity(own[e]);
  const std::string& kind = tensors_.at(fact.tensor).kind;
  auto tensor = tensors_.make({"reshape", "", {sizes}}, {fact.tensor}, kind);
  if (tensor) tensor = tensors_.make({"transpose", "", {order}}, {*tensor}, kind);
  if (tensor) tensor = tensors_.make({"reshape", "", {joined}}, {*tensor}, kind);
  return tensor ? std::optional(Fact{0, *tensor, std::move(places), {}}) : std::nullopt;
}

}  // namespace p2::kernel::xla
