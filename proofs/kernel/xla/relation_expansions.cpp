// Gathers and scatters as a compiler expands them: indices that are put together from those of a
// batch and of data, and reshaped to a list of vectors, are taken apart again.

#include <algorithm>
#include <numeric>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// Which of the operand's dimensions are indexed by data, and which by a dimension of the indices.
struct Indices {
  std::size_t node = 0;  ///< by data; the last dimension is one index
  std::int64_t mapped = 0;
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

std::optional<Indices> indices_of(const FlatModule& flat, const Node& node, const Index& map) {
  const Instruction& instruction = *node.instruction;
  const Index& operand = flat.nodes[node.operands[0]].shape.sizes;
  std::size_t number = node.operands[1];
  const auto sizes = [&](std::size_t each) -> const Index& { return flat.nodes[each].shape.sizes; };
  const auto is_last = [&](std::int64_t dimension) {
    return !sizes(number).empty() && dimension + 1 == std::ssize(sizes(number)) &&
           sizes(number).back() == std::ssize(map);
  };
  if (map.empty() || !is_last(instruction.number("index_vector_dim", -1))) return std::nullopt;
  const Node& last = flat.nodes[number];
  if (last.instruction->opcode == "reshape" && last.operands.size() == 1) {
    const Index& from = sizes(last.operands[0]);
    if (!from.empty() && from.back() == std::ssize(map)) number = last.operands[0];
  }
  if (map.size() == 1) return Indices{number, map[0], {}, {}};
  const Node& joined = flat.nodes[number];
  if (joined.instruction->opcode != "concatenate" || joined.operands.size() != map.size() ||
      joined.instruction->numbers("dimensions") != Index{std::ssize(joined.shape.sizes) - 1})
    return std::nullopt;
  std::optional<Indices> result;
  std::vector<std::pair<std::int64_t, std::int64_t>> batches;
  for (std::size_t k = 0; k < map.size(); ++k) {
    const Node& part = flat.nodes[joined.operands[k]];
    if (part.shape.sizes.empty() || part.shape.sizes.back() != 1 || map[k] < 0 ||
        map[k] >= std::ssize(operand))
      return std::nullopt;
    if (const auto along = dimension_of_iota(part, element_of(operand, map[k]))) {
      batches.emplace_back(map[k], *along);
    } else if (!result) {
      result = Indices{joined.operands[k], map[k], {}, {}};
    } else {
      return std::nullopt;
    }
  }
  if (!result) return std::nullopt;
  std::sort(batches.begin(), batches.end());
  for (const auto& [of, along] : batches) {
    if (contains(result->of_indices, static_cast<std::size_t>(along)) ||
        contains(result->batching, static_cast<std::size_t>(of)) || of == result->mapped)
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

std::string text_of(const Index& list) {
  std::string text;
  for (const std::int64_t each : list) text += (text.empty() ? "" : ",") + std::to_string(each);
  return "{" + text + "}";
}

std::optional<std::size_t> add_without_expansion(FlatModule& flat, const Node& node,
                                                 const std::function<std::size_t(Node)>& add) {
  const Instruction& old = *node.instruction;
  const bool is_gather = old.opcode == "gather";
  const char* const batching = is_gather ? "operand_batching_dims" : "input_batching_dims";
  const char* const of_indices =
      is_gather ? "start_indices_batching_dims" : "scatter_indices_batching_dims";
  const char* const window_key = is_gather ? "offset_dims" : "update_window_dims";
  const char* const dropped_key = is_gather ? "collapsed_slice_dims" : "inserted_window_dims";
  const char* const map_key = is_gather ? "start_index_map" : "scatter_dims_to_operand_dims";
  if (node.operands.size() != (is_gather ? 2U : 3U) || old.shape.is_tuple ||
      !old.numbers(batching).empty() || !old.numbers(of_indices).empty())
    return std::nullopt;
  const Index operand = flat.nodes[node.operands[0]].shape.sizes;
  const Shape windows = is_gather ? node.shape : flat.nodes[node.operands[2]].shape;
  const Index offsets = old.numbers(window_key);
  const Index dropped = old.numbers(dropped_key);
  const auto found = indices_of(flat, node, old.numbers(map_key));
  if (!found || !are_last(offsets, windows.sizes.size()) ||
      offsets.size() + dropped.size() != operand.size())
    return std::nullopt;
  // What a window has of every dimension of the operand.
  Index slices(operand.size(), 1);
  for (std::size_t k = 0, next = 0; k < operand.size(); ++k) {
    if (!contains(dropped, k)) slices[k] = element_of(windows.sizes, offsets.at(next++));
  }
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
    const bool is_mapped = found->mapped == static_cast<std::int64_t>(k);
    if (contains(dropped, k) || (is_mapped && slices[k] == 1)) {
      new_dropped.push_back(static_cast<std::int64_t>(k));
      continue;
    }
    new_offsets.push_back(std::ssize(own));
    own.push_back(slices[k]);
  }
  one.attributes.set(window_key, text_of(new_offsets));
  one.attributes.set(dropped_key, text_of(new_dropped));
  one.attributes.set(map_key, text_of({found->mapped}));
  one.attributes.set(batching, text_of(found->batching));
  one.attributes.set(of_indices, text_of(found->of_indices));
  one.attributes.set("index_vector_dim", std::to_string(vector));
  const bool is_old = found->node == node.operands[1] && own == windows.sizes;
  if (is_old || std::accumulate(own.begin(), own.end(), 1.0, std::multiplies<>()) !=
                    static_cast<double>(windows.elements()))
    return std::nullopt;
  const auto write = [&](Instruction instruction, std::vector<std::size_t> operands) {
    Node next = node;
    flat.written.push_back(std::make_shared<const Instruction>(std::move(instruction)));
    next.instruction = flat.written.back().get();
    next.shape = next.instruction->shape;
    next.operands = std::move(operands);
    next.is_function = true;
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

}  // namespace p2::kernel::xla
