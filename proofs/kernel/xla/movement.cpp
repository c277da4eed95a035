// Operations that move elements.

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/interpreter.h"

namespace p2::kernel::xla {
namespace {

/// Where elements lie in memory, in elements: dimensions in the order of the layout, and the last
/// of them cut into tiles, which are padded.
std::vector<std::int64_t> memory_places(const Shape& shape) {
  Index layout = shape.layout;
  if (layout.empty()) {
    layout.resize(shape.sizes.size());
    std::iota(layout.rbegin(), layout.rend(), 0);
  }
  if (layout.size() != shape.sizes.size()) malformed("the dimensions of a layout");
  std::vector<std::int64_t> places;
  for_each_index(shape.sizes, [&](const Index& index) {
    Index at;
    Index sizes;
    for (std::size_t i = layout.size(); i-- > 0;) {
      const auto dimension = static_cast<std::size_t>(layout[i]);
      at.push_back(index.at(dimension));
      sizes.push_back(shape.sizes.at(dimension));
    }
    for (const Index& tile : shape.tiles) {
      while (sizes.size() < tile.size()) {  // a scalar or a vector has dimensions of size 1 before
        sizes.insert(sizes.begin(), 1);
        at.insert(at.begin(), 0);
      }
      const std::size_t first = sizes.size() - tile.size();
      for (std::size_t i = 0; i < tile.size(); ++i) {
        if (tile[i] < 1) malformed("a tile");
        at.push_back(at[first + i] % tile[i]);
        sizes.push_back(tile[i]);
        at[first + i] /= tile[i];
        sizes[first + i] = (sizes[first + i] + tile[i] - 1) / tile[i];
      }
    }
    std::int64_t place = 0;
    for (std::size_t i = 0; i < at.size(); ++i) place = place * sizes[i] + at[i];
    places.push_back(place);
  });
  return places;
}

}  // namespace

std::vector<Index> ranges_of(const std::string& text) {
  std::vector<Index> ranges;
  for (const auto part : split(stripped(text, '{', '}'))) {
    if (trimmed(part).empty()) continue;
    Index range = integers_in(part);
    if (range.size() == 2) range.push_back(1);
    if (range.size() != 3) malformed("a range of a slice");
    ranges.push_back(std::move(range));
  }
  return ranges;
}

std::vector<Index> edges_of(const std::string& text) {
  std::vector<Index> edges;
  for (const auto part : split(text, 'x')) {
    Index edge;
    for (const auto number : split(part, '_')) edge.push_back(integers_in(number).at(0));
    if (edge.size() == 2) edge.push_back(0);
    if (edge.size() != 3) malformed("the edges of a pad");
    edges.push_back(std::move(edge));
  }
  return edges;
}

Tensor Interpreter::bitcast(const Computation& computation, const Instruction& instruction,
                            const Tensor& operand) {
  const Shape& from = computation.instructions[instruction.operands[0]].shape;
  const Shape& to = instruction.shape;
  if (from.type.name != to.type.name || from.elements() != to.elements())
    not_covered("a bitcast to another type");
  if (from.sizes == to.sizes && from.layout == to.layout && from.tiles == to.tiles) return operand;
  budget_.spend(64 * operand.cells.size() + 1);
  Tensor result{to.type, to.sizes, std::vector<Cell>(operand.cells.size())};
  const auto reads = memory_places(from);
  const auto writes = memory_places(to);
  std::map<std::int64_t, std::size_t> elements;
  for (std::size_t i = 0; i < reads.size(); ++i) elements[reads[i]] = i;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const auto found = elements.find(writes[i]);
    if (found == elements.end()) not_covered("a bitcast that reads what pads a tile");
    result.cells[i] = operand.cells.at(found->second);
  }
  return result;
}

Tensor Interpreter::moved(const Instruction& instruction, const Tensors& operands) {
  const std::string& opcode = instruction.opcode;
  const Shape& shape = instruction.shape;
  const Tensor& x = *operands[0];
  if (opcode == "reshape") {
    if (static_cast<std::int64_t>(x.cells.size()) != shape.elements()) malformed("a reshape");
    budget_.spend(x.cells.size());
    return Tensor{shape.type, shape.sizes, x.cells};
  }
  const Index dimensions = instruction.numbers("dimensions");
  Index from(x.sizes.size(), 0);
  if (opcode == "transpose" || opcode == "broadcast") {
    // Dimension k of a transpose's result is dimensions[k] of its operand; dimension k of a
    // broadcast's operand is dimensions[k] of its result.
    const bool is_transpose = opcode == "transpose";
    if (dimensions.size() != x.sizes.size() ||
        std::set<std::int64_t>(dimensions.begin(), dimensions.end()).size() != dimensions.size() ||
        (is_transpose && shape.sizes.size() != x.sizes.size()))
      malformed("the dimensions of " + opcode);
    for (std::size_t k = 0; k < dimensions.size(); ++k) {
      const auto other = static_cast<std::size_t>(dimensions[k]);
      if (is_transpose ? shape.sizes[k] != x.sizes.at(other) : shape.sizes.at(other) != x.sizes[k])
        malformed("the sizes of " + opcode);
    }
    return filled(shape, [&](const Index& index) {
      for (std::size_t k = 0; k < dimensions.size(); ++k) {
        const auto other = static_cast<std::size_t>(dimensions[k]);
        if (is_transpose)
          from.at(other) = index.at(k);
        else
          from[k] = index.at(other);
      }
      return element(x, from);
    });
  }
  if (opcode == "slice") {
    const auto ranges = ranges_of(instruction.attribute("slice"));
    if (ranges.size() != x.sizes.size() || shape.sizes.size() != x.sizes.size())
      malformed("the ranges of a slice");
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const auto& range = ranges[i];
      if (range[0] < 0 || range[1] < range[0] || range[1] > x.sizes[i] || range[2] < 1 ||
          shape.sizes[i] != (range[1] - range[0] + range[2] - 1) / range[2])
        malformed("the ranges of a slice");
    }
    return filled(shape, [&](const Index& index) {
      for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = ranges[i][0] + index.at(i) * ranges[i][2];
      return element(x, from);
    });
  }
  if (opcode == "reverse") {
    if (shape.sizes != x.sizes) malformed("the sizes of a reverse");
    return filled(shape, [&](const Index& index) {
      from = index;
      for (const std::int64_t each : dimensions) {
        const auto i = static_cast<std::size_t>(each);
        from.at(i) = x.sizes[i] - 1 - from[i];
      }
      return element(x, from);
    });
  }
  if (opcode == "concatenate") {
    const auto along = static_cast<std::size_t>(dimensions.at(0));
    Index sizes = x.sizes;
    sizes.at(along) = 0;
    for (const Tensor* operand : operands) {
      Index others = operand->sizes;
      sizes[along] += others.at(along);
      others[along] = sizes[along];
      if (others != sizes || !(operand->type == x.type))
        malformed("the operands of a concatenation");
    }
    if (sizes != shape.sizes) malformed("the size of a concatenation");
    return filled(shape, [&](const Index& index) {
      from = index;
      for (const Tensor* operand : operands) {
        if (from.at(along) < operand->sizes.at(along)) return element(*operand, from);
        from[along] -= operand->sizes[along];
      }
      malformed("the size of a concatenation");
    });
  }
  const std::vector<Index> edges = edges_of(instruction.attribute("padding"));
  if (edges.size() != x.sizes.size() && !(x.sizes.empty() && edges.size() == 1))
    malformed("the edges of a pad");
  for (std::size_t i = 0; i < x.sizes.size(); ++i) {
    const Index& edge = edges[i];
    const std::int64_t size = x.sizes[i] + edge.at(0) + edge.at(1) +
                              std::max<std::int64_t>(x.sizes[i] - 1, 0) * edge.at(2);
    if (edge[2] < 0 || shape.sizes.at(i) != size) malformed("the size of a pad");
  }
  const bool is_mixed = operands.at(1)->type.is_float() && x.type.is_float();
  if (!(operands[1]->type == x.type) && !is_mixed) malformed("the type of a pad");
  const Cell& padding = operands[1]->cells.at(0);
  return filled(shape, [&](const Index& index) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::int64_t place = index.at(i) - edges[i][0];
      const std::int64_t step = edges[i][2] + 1;
      if (place < 0 || place % step != 0 || place / step >= x.sizes[i]) return padding;
      from[i] = place / step;
    }
    return element(x, from);
  });
}

}  // namespace p2::kernel::xla
