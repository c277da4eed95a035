// Symbolic evaluation of inputs. Of related modules, every device's tensor is made of pieces of the
// inputs of the module before partitioning.

#include "engine/hlo/equality/evaluation.h"

namespace p2::hlo {

/// An element of one of the tensors whose reduction an input is; `device` of the atom is its
/// number.
Value Evaluation::global_input(const Node& node, std::uint32_t number, const IndexMap& map) {
  const TensorRelation& relation = context_.relation->inputs[number];
  std::vector<Value> parts;
  for (std::uint32_t part = 0; part < relation.parts; ++part) {
    parts.push_back(values_.atom({ValueKind::Input, number, part, map}));
  }
  if (parts.size() == 1) return parts[0];
  return combine(node, relation.reducer, std::move(parts), relation.whole.type);
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
    if (tensor.number != node.parameter) continue;
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
  // What pads a short tile is any number, the device's own.
  const auto padding = static_cast<std::int64_t>(relation->inputs.size()) + node.parameter;
  return values_.atom({ValueKind::Input, padding, query.device, map});
}

}  // namespace p2::hlo
