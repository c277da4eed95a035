// What a compiler expands is taken together again: gathers and scatters at indices that are put
// together from those of a batch and of data, and reshaped to a list of vectors.

#include <algorithm>
#include <numeric>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// Which of the operand's dimensions are indexed by data, and which by a dimension of the indices.
struct Indices {
  std::size_t node = 0;  ///< by data; the last dimension is the one of vectors
  Index mapped;
  Index batching, of_indices;
};

/// Counts along a dimension of its shape, which has `size` indices.
std::optional<std::int64_t> dimension_of_iota(const Node& node, std::int64_t size) {
  if (node.instruction->opcode != "iota" || !node.shape.type.is_integer() ||
      node.shape.type.bits < 32 || size >= INT32_MAX)
    return std::nullopt;
  const std::int64_t along = node.instruction->number("iota_dimension", 0);
  const bool is_so = along >= 0 && along + 1 < std::ssize(node.shape.sizes) &&
                     element_of(node.shape.sizes, along) == size;
  return is_so ? std::optional(along) : std::nullopt;
}

/// Whether all elements are 0, as those of an iota along a dimension of one index are.
bool is_zero(const FlatModule& flat, const Node& node) {
  const Node* of = &node;
  while (is_one_of(of->instruction->opcode, {"broadcast", "reshape"}))
    of = &flat.nodes[of->operands.at(0)];
  return of->instruction->opcode == "constant" && of->shape.type.is_integer() &&
         trimmed(of->instruction->text) == "0";
}

/// Components of vectors that are put together: an array, or zeros.
struct Component {
  std::optional<std::size_t> node;
  std::size_t count = 0;
};

/// Those of a concatenation of vectors, or of vectors that are padded with zeros; none of any
/// other.
std::vector<Component> components_of(const FlatModule& flat, const Node& joined) {
  std::vector<Component> all;
  const auto count_of = [](const Shape& shape) {
    return static_cast<std::size_t>(shape.sizes.back());
  };
  const std::int64_t vectors = std::ssize(joined.shape.sizes) - 1;
  if (joined.instruction->opcode == "concatenate" &&
      joined.instruction->numbers("dimensions") == Index{vectors}) {
    for (const std::size_t each : joined.operands) {
      const Shape& shape = flat.nodes[each].shape;
      if (shape.sizes.empty()) return {};
      all.push_back({each, count_of(shape)});
    }
  }
  if (joined.instruction->opcode != "pad" || !is_zero(flat, flat.nodes[joined.operands.at(1)]))
    return all;
  const std::vector<Index> edges = edges_of(joined.instruction->attribute("padding"));
  for (std::size_t k = 0; k < edges.size(); ++k) {
    const std::int64_t low = edges[k].at(0), high = edges[k].at(1);
    const bool is_last = static_cast<std::int64_t>(k) == vectors;
    const bool is_apart = edges[k].size() > 2 && edges[k][2] != 0;
    if (low < 0 || high < 0 || is_apart || (!is_last && (low != 0 || high != 0))) return {};
    if (!is_last) continue;
    all = {{std::nullopt, static_cast<std::size_t>(low)},
           {joined.operands[0], count_of(flat.nodes[joined.operands[0]].shape)},
           {std::nullopt, static_cast<std::size_t>(high)}};
    std::erase_if(all, [](const Component& each) { return each.count == 0; });
  }
  return all;
}

/// The indices of a gather or scatter of these components and batches, as a list of vectors before
/// it was reshaped; nothing where vectors are not along their last dimension.
std::optional<Indices> vectors_of(const FlatModule& flat, const Node& node, const Index& map,
                                  const Indices& old) {
  std::size_t number = node.operands[1];
  const auto sizes = [&](std::size_t each) -> const Index& { return flat.nodes[each].shape.sizes; };
  if (map.empty() || sizes(number).empty() || sizes(number).back() != std::ssize(map) ||
      node.instruction->number("index_vector_dim", -1) + 1 != std::ssize(sizes(number)))
    return std::nullopt;
  const Node& last = flat.nodes[number];
  if (old.batching.empty() && last.instruction->opcode == "reshape" && last.operands.size() == 1) {
    const Index& from = sizes(last.operands[0]);
    if (!from.empty() && from.back() == std::ssize(map)) number = last.operands[0];
  }
  return Indices{number, map, old.batching, old.of_indices};
}

/// Of such vectors that are put together of data and others, with windows of `slices`, those of
/// data alone; nothing where they are not.
std::optional<Indices> of_data(const FlatModule& flat, const Node& node, const Index& slices,
                               const Indices& vectors) {
  const Index& operand = flat.nodes[node.operands[0]].shape.sizes;
  const Index& map = vectors.mapped;
  const Node& joined = flat.nodes[vectors.node];
  const std::vector<Component> components = components_of(flat, joined);
  if (map.size() == 1 || components.empty()) return std::nullopt;
  std::optional<Indices> result;
  std::vector<std::pair<std::int64_t, std::int64_t>> batches;
  for (std::size_t k = 0; k < vectors.batching.size(); ++k)
    batches.emplace_back(vectors.batching[k], vectors.of_indices.at(k));
  Index single;  // indexed by zeros; of one index
  std::size_t at = 0;
  for (const auto& [each, count] : components) {
    if (at + count > map.size()) return std::nullopt;
    const Index mapped(map.begin() + static_cast<std::ptrdiff_t>(at),
                       map.begin() + static_cast<std::ptrdiff_t>(at + count));
    at += count;
    if (std::any_of(mapped.begin(), mapped.end(), [&](std::int64_t dimension) {
          return dimension < 0 || dimension >= std::ssize(operand);
        }))
      return std::nullopt;
    const auto along = each && count == 1
                           ? dimension_of_iota(flat.nodes[*each], element_of(operand, mapped[0]))
                           : std::nullopt;
    const bool is_all = (!each || is_zero(flat, flat.nodes[*each])) &&
                        std::all_of(mapped.begin(), mapped.end(), [&](std::int64_t dimension) {
                          return element_of(slices, dimension) == element_of(operand, dimension);
                        });
    if (along) {
      batches.emplace_back(mapped[0], *along);
    } else if (is_all) {
      // A window of all there is begins at 0.
      for (const std::int64_t dimension : mapped) {
        if (element_of(operand, dimension) == 1) single.push_back(dimension);
      }
    } else if (each && !result) {
      result = Indices{*each, mapped, {}, {}};
    } else {
      return std::nullopt;
    }
  }
  if (!result || at != map.size()) return std::nullopt;
  // Such a dimension counts along any of one index.
  const std::int64_t last = std::ssize(joined.shape.sizes) - 1;
  const auto is_free = [&](std::int64_t dimension) {
    return element_of(joined.shape.sizes, dimension) == 1 &&
           std::none_of(batches.begin(), batches.end(),
                        [&](const auto& batch) { return batch.second == dimension; });
  };
  for (const std::int64_t each : single) {
    std::int64_t free = 0;
    while (free < last && !is_free(free)) ++free;
    if (free >= last) return std::nullopt;
    batches.emplace_back(each, free);
  }
  std::sort(batches.begin(), batches.end());
  for (const auto& [of, along] : batches) {
    if (contains(result->of_indices, static_cast<std::size_t>(along)) ||
        contains(result->batching, static_cast<std::size_t>(of)) ||
        contains(result->mapped, static_cast<std::size_t>(of)))
      return std::nullopt;
    result->batching.push_back(of);
    result->of_indices.push_back(along);
  }
  return result;
}

/// Whether these are the last dimensions of `rank`.
bool are_last(const Index& list, std::size_t rank) {
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (list[k] != static_cast<std::int64_t>(rank - list.size() + k)) return false;
  }
  return list.size() <= rank;
}

}  // namespace

Node written(FlatModule& flat, const Node& like, Instruction instruction) {
  Node node = like;
  instruction.kind = 0;
  flat.written.push_back(std::make_shared<const Instruction>(std::move(instruction)));
  node.instruction = flat.written.back().get();
  node.shape = node.instruction->shape;
  return node;
}

std::string text_of(const Index& list) {
  std::string text;
  for (const std::int64_t each : list) text += (text.empty() ? "" : ",") + std::to_string(each);
  return "{" + text + "}";
}

std::optional<std::size_t> add_without_expansion(FlatModule& flat, const Node& node,
                                                 const AddNode& add) {
  const Instruction& old = *node.instruction;
  const bool is_gather = old.opcode == "gather";
  const char* const batching = is_gather ? "operand_batching_dims" : "input_batching_dims";
  const char* const of_indices =
      is_gather ? "start_indices_batching_dims" : "scatter_indices_batching_dims";
  const char* const window_key = is_gather ? "offset_dims" : "update_window_dims";
  const char* const dropped_key = is_gather ? "collapsed_slice_dims" : "inserted_window_dims";
  const char* const map_key = is_gather ? "start_index_map" : "scatter_dims_to_operand_dims";
  if (node.operands.size() != (is_gather ? 2U : 3U) || old.shape.is_tuple) return std::nullopt;
  const Index operand = flat.nodes[node.operands[0]].shape.sizes;
  const Shape windows = is_gather ? node.shape : flat.nodes[node.operands[2]].shape;
  const Index offsets = old.numbers(window_key);
  const Index dropped = old.numbers(dropped_key);
  const Indices batches{0, {}, old.numbers(batching), old.numbers(of_indices)};
  if (!are_last(offsets, windows.sizes.size()) ||
      offsets.size() + dropped.size() + batches.batching.size() != operand.size())
    return std::nullopt;
  // What a window has of every dimension of the operand.
  Index slices(operand.size(), 1);
  for (std::size_t k = 0, next = 0; k < operand.size(); ++k) {
    if (!contains(dropped, k) && !contains(batches.batching, k))
      slices[k] = element_of(windows.sizes, offsets.at(next++));
  }
  auto found = vectors_of(flat, node, old.numbers(map_key), batches);
  if (!found) return std::nullopt;
  if (auto data = of_data(flat, node, slices, *found)) found = std::move(data);
  for (const std::int64_t each : found->batching) {
    if (element_of(slices, each) != 1) return std::nullopt;
  }
  Instruction one = old;
  Index own = flat.nodes[found->node].shape.sizes;
  const std::int64_t vector = std::ssize(own) - 1;
  own.pop_back();
  Index new_dropped, new_offsets;
  for (std::size_t k = 0; k < operand.size(); ++k) {
    if (contains(found->batching, k)) continue;
    const bool is_mapped = contains(found->mapped, k);
    if (contains(dropped, k) || (is_mapped && slices[k] == 1)) {
      new_dropped.push_back(static_cast<std::int64_t>(k));
      continue;
    }
    new_offsets.push_back(std::ssize(own));
    own.push_back(slices[k]);
  }
  one.attributes.set(window_key, text_of(new_offsets));
  one.attributes.set(dropped_key, text_of(new_dropped));
  one.attributes.set(map_key, text_of(found->mapped));
  one.attributes.set(batching, text_of(found->batching));
  one.attributes.set(of_indices, text_of(found->of_indices));
  one.attributes.set("index_vector_dim", std::to_string(vector));
  const bool is_old = found->node == node.operands[1] && own == windows.sizes;
  if (is_old || std::accumulate(own.begin(), own.end(), 1.0, std::multiplies<>()) !=
                    static_cast<double>(windows.elements()))
    return std::nullopt;
  const auto write = [&](Instruction instruction, std::vector<std::size_t> operands) {
    Node next = written(flat, node, std::move(instruction));
    next.operands = std::move(operands);
    next.is_function = true;
    const bool is_reshape = next.operands.size() == 1;
    next.has_sorted_indices = node.has_sorted_indices && !is_reshape;
    next.has_unique_indices = node.has_unique_indices && !is_reshape;
    return add(std::move(next));
  };
  const auto reshaped = [&](std::size_t number, const Index& sizes) {
    Instruction step{old.name, "reshape", {}, {old.operands[0]}, "", {}};
    step.shape.type = node.shape.type;
    step.shape.sizes = sizes;
    return write(std::move(step), {number});
  };
  std::vector<std::size_t> operands = {node.operands[0], found->node};
  one.shape = node.shape;
  if (is_gather) {
    one.attributes.set("slice_sizes", text_of(slices));
    one.shape.sizes = own;
    const std::size_t result = write(std::move(one), operands);
    return own == node.shape.sizes ? result : reshaped(result, node.shape.sizes);
  }
  operands.push_back(own == windows.sizes ? node.operands[2] : reshaped(node.operands[2], own));
  return write(std::move(one), operands);
}

std::optional<std::size_t> add_joined_pads(FlatModule& flat, const Node& node, const AddNode& add) {
  constexpr std::size_t kMost = 64;
  struct Part {
    std::int64_t begin = 0;
    std::size_t node = 0;
  };
  const Index& sizes = node.shape.sizes;
  std::optional<std::size_t> along;
  std::vector<Part> parts;
  std::vector<std::size_t> left = node.operands;
  for (std::size_t k = 0; k < left.size(); ++k) {
    if (k == kMost) return std::nullopt;
    const Node* each = &flat.nodes[left[k]];
    while (each->instruction->opcode == "convert" && each->shape.type.is_float() &&
           flat.nodes[each->operands.at(0)].shape.type.is_float())
      each = &flat.nodes[each->operands[0]];
    if (each->instruction->opcode == "maximum") {
      left.insert(left.end(), each->operands.begin(), each->operands.end());
      continue;
    }
    if (each->instruction->opcode != "pad" || each->operands.size() != 2 ||
        !is_neutral_to(Op::Maximum, *flat.nodes[each->operands[1]].instruction))
      return std::nullopt;
    const auto edges = edges_of(each->instruction->attribute("padding"));
    const std::size_t known = parts.size();
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const Index& edge = edges[i];
      if (edge.at(0) < 0 || edge.at(1) < 0 || (edge.size() > 2 && edge[2] != 0))
        return std::nullopt;
      if (edge[0] == 0 && edge[1] == 0) continue;
      if (along.value_or(i) != i) return std::nullopt;
      along = i;
      parts.push_back({edge[0], each->operands[0]});
    }
    if (parts.size() != known + 1) return std::nullopt;
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.begin < b.begin; });
  std::int64_t end = 0;
  std::vector<std::size_t> operands;
  for (const Part& each : parts) {
    if (each.begin != end) return std::nullopt;
    end += flat.nodes[each.node].shape.sizes.at(*along);
    operands.push_back(each.node);
  }
  if (!along || end != sizes.at(*along)) return std::nullopt;
  Instruction joined{node.instruction->name, "concatenate", node.shape, {}, "", {}};
  joined.attributes.set("dimensions", text_of({static_cast<std::int64_t>(*along)}));
  Node result = written(flat, node, std::move(joined));
  result.operands = std::move(operands);
  return add(std::move(result));
}

}  // namespace p2::kernel::xla
