// Symbolic evaluation of inputs. Of related modules, every device's tensor is made of pieces of the
// inputs of the module before partitioning.

#include <algorithm>

#include "engine/hlo/equality/evaluation.h"

namespace p2::hlo {

/// Whether a device holds what `map` names of a whole tensor.
bool Evaluation::is_held(const TensorRelation& relation, std::uint32_t device,
                         const IndexMap& map) {
  return std::ranges::any_of(relation.pieces[device], [&](const Piece& piece) {
    for (std::size_t i = 0; i < map.size(); ++i) {
      const std::vector<std::int64_t> ends = {piece.of[i], piece.of[i] + piece.sizes[i]};
      if (space_.interval_of(map[i], ends) != 1) return false;
    }
    return true;
  });
}

/// An element of one of the tensors whose reduction an input is; `device` of the atom is its
/// number.
Value Evaluation::global_input(const Node& node, std::uint32_t number, const IndexMap& map) {
  const TensorRelation& relation = context_.relation->inputs[number];
  std::vector<Value> parts;
  for (std::uint32_t part = 0; part < relation.parts; ++part) {
    if (relation.parts_are_devices && !is_held(relation, part, map)) continue;
    parts.push_back(values_.atom({ValueKind::Input, number, part, map}));
  }
  if (parts.size() == 1) return parts[0];
  return combine(node, relation.reducer, std::move(parts), relation.whole.type);
}

/// Any number, the device's own: what pads a short tile, what is received from nobody.
Value Evaluation::arbitrary(const Query& query, const IndexMap& map) {
  const auto first = static_cast<std::int64_t>(context_.relation->inputs.size());
  return values_.atom({ValueKind::Input, first + query.ref.node, query.device, map});
}

Evaluation::Answer Evaluation::parameter(const Query& query, const Node& node,
                                         const IndexMap& map) {
  const ModuleRelation* relation = context_.relation;
  if (relation == nullptr) {
    return values_.atom({ValueKind::Input, node.parameter, query.device, map});
  }
  if (number_ == 0) return global_input(node, node.parameter, map);
  for (std::size_t number = 0; number < relation->inputs.size(); ++number) {
    const TensorRelation& tensor = relation->inputs[number];
    if (tensor.number_on(query.device) != node.parameter) continue;
    for (const Piece& piece : tensor.pieces[query.device]) {
      IndexMap whole;
      for (std::size_t i = 0; i < map.size(); ++i) {
        const std::size_t place =
            space_.interval_of(map[i], {piece.at[i], piece.at[i] + piece.sizes[i]});
        if (place == 1) whole.push_back(map[i].plus(piece.of[i] - piece.at[i]));
      }
      if (whole.size() != map.size()) continue;
      const std::uint32_t part = tensor.part_of(query.device);
      return values_.atom({ValueKind::Input, static_cast<std::int64_t>(number), part, whole});
    }
  }
  return arbitrary(query, map);
}

}  // namespace p2::hlo
