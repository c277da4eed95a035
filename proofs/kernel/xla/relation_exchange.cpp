// All-to-alls: what is cut along one dimension is cut along another afterwards.

#include <algorithm>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {

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
  std::size_t members = 0;
  for (const auto& group : communication.groups) {
    if (std::ssize(group) != own[d]) return std::nullopt;
    members += group.size();
    for (std::size_t k = 0; k < group.size(); ++k) {
      position[group[k]] = static_cast<std::uint32_t>(k);
      leader[group[k]] = static_cast<std::uint32_t>(group[0]);
    }
  }
  if (members != places_.devices()) return std::nullopt;
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

}  // namespace p2::kernel::xla
