// Operations that move elements, also at indices that are data: dynamic slices, gather, scatter,
// sort.

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
    if (x.cells.size() == 1) {
      const auto count = static_cast<std::size_t>(shape.elements());
      budget_.spend(24 * count + 1);
      return Tensor{shape.type, shape.sizes, std::vector<Cell>(count, x.cells[0])};
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

namespace {

/// Where an index of updates, or of the result of a gather, lies: what it is within a window of the
/// tensor, and the place of its vector in the indices, of which the first number is to be read.
struct WindowIndex {
  Index within;
  Index place;
};

/// The dimensions of windows that a gather or scatter reads or writes.
struct Windows {
  Index dimensions;               ///< of the updates, or of the result
  std::vector<std::size_t> kept;  ///< dimensions of the tensor, which they are
  Index batching, indices_batching;
  std::optional<std::size_t> vector;  ///< the dimension of the indices that vectors are along

  Windows(const Instruction& instruction, const Tensor& tensor, const Tensor& indices,
          Index in_windows, const Index& dropped, const std::string& batches,
          const std::string& of_indices)
      : dimensions(std::move(in_windows)),
        batching(instruction.numbers(batches)),
        indices_batching(instruction.numbers(of_indices)) {
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
      if (!contains(dropped, i) && !contains(batching, i)) kept.push_back(i);
    }
    if (kept.size() != dimensions.size() || batching.size() != indices_batching.size() ||
        !std::is_sorted(dimensions.begin(), dimensions.end()))
      malformed("the dimensions of a " + instruction.opcode);
    const auto along = static_cast<std::size_t>(instruction.number("index_vector_dim", 0));
    if (along < indices.sizes.size()) vector = along;
  }

  WindowIndex of(const Index& index, std::size_t tensor_dimensions) const {
    WindowIndex result{Index(tensor_dimensions, 0), {}};
    for (std::size_t i = 0, next = 0; i < index.size(); ++i) {
      if (contains(dimensions, i))
        result.within[kept.at(next++)] = index[i];
      else
        result.place.push_back(index[i]);
    }
    if (vector) result.place.insert(result.place.begin() + static_cast<std::ptrdiff_t>(*vector), 0);
    for (std::size_t k = 0; k < batching.size(); ++k)
      result.within.at(static_cast<std::size_t>(batching[k])) =
          result.place.at(static_cast<std::size_t>(indices_batching[k]));
    return result;
  }

  /// The k-th number of the vector at a place of the indices.
  const Cell& start(const Tensor& indices, Index place, std::size_t k) const {
    if (vector) place[*vector] = static_cast<std::int64_t>(k);
    return element(indices, place);
  }
};

}  // namespace

std::optional<std::int64_t> start_of(std::int64_t integer, const Type& type, std::int64_t most) {
  if (type.kind == Type::Kind::Unsigned && integer < 0) return std::nullopt;
  return std::clamp<std::int64_t>(integer, 0, most);
}

/// cell(chosen) where `chosen` starts where `starts` say, clamped to 0 … `most`. What depends on
/// inputs is chosen by value.
Cell Interpreter::at_starts(const std::vector<Cell>& starts, const Type& index_type,
                            const Index& most, const Type& type, Index& chosen,
                            const std::function<Cell(const Index&)>& cell) {
  const std::size_t next = chosen.size();
  if (next == starts.size()) return cell(chosen);
  const auto one = [&](std::int64_t start) {
    chosen.push_back(start);
    const Cell result = at_starts(starts, index_type, most, type, chosen, cell);
    chosen.pop_back();
    return result;
  };
  if (most[next] < 0) malformed("a slice that is larger than its tensor");
  if (const auto known = arithmetic_.known(starts[next], index_type)) {
    const auto start = start_of(*known, index_type, most[next]);
    if (!start) not_covered("an index of 2^63");
    return one(*start);
  }
  std::vector<Cell> choices;
  for (std::int64_t start = 0; start <= most[next]; ++start) {
    budget_.spend(8);
    choices.push_back(one(start));
  }
  return arithmetic_.choose(starts[next], index_type, choices, type);
}

Tensor Interpreter::dynamic_slice(const Instruction& instruction, const Tensors& operands) {
  const Tensor& x = *operands[0];
  const Index& sizes = instruction.shape.sizes;
  if (operands.size() != x.sizes.size() + 1 || sizes.size() != x.sizes.size() ||
      instruction.numbers("dynamic_slice_sizes") != sizes)
    not_covered("this dynamic-slice");
  std::vector<Cell> starts;
  Index most;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    starts.push_back(operands[i + 1]->cells.at(0));
    most.push_back(x.sizes[i] - sizes[i]);
  }
  const Type& index_type = operands.size() > 1 ? operands[1]->type : x.type;
  return filled(instruction.shape, [&](const Index& index) {
    Index chosen;
    return at_starts(starts, index_type, most, x.type, chosen, [&](const Index& start) {
      Index from = index;
      for (std::size_t i = 0; i < from.size(); ++i) from[i] += start[i];
      return element(x, from);
    });
  });
}

Tensor Interpreter::dynamic_update_slice(const Instruction& instruction, const Tensors& operands) {
  const Tensor& x = *operands[0];
  const Tensor& update = *operands[1];
  if (operands.size() != x.sizes.size() + 2 || update.sizes.size() != x.sizes.size() ||
      !(update.type == x.type) || instruction.shape.sizes != x.sizes)
    not_covered("this dynamic-update-slice");
  std::vector<Cell> starts;
  Index most;
  for (std::size_t i = 0; i < x.sizes.size(); ++i) {
    starts.push_back(operands[i + 2]->cells.at(0));
    most.push_back(x.sizes[i] - update.sizes[i]);
  }
  const Type& index_type = operands.size() > 2 ? operands[2]->type : x.type;
  return filled(instruction.shape, [&](const Index& index) {
    Index chosen;
    return at_starts(starts, index_type, most, x.type, chosen, [&](const Index& start) {
      Index from = index;
      for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] -= start[i];
        if (from[i] < 0 || from[i] >= update.sizes[i]) return element(x, index);
      }
      return element(update, from);
    });
  });
}

Tensor Interpreter::gather(const Instruction& instruction, const Tensors& operands) {
  const Tensor& x = *operands[0];
  const Tensor& indices = *operands[1];
  const Index collapsed = instruction.numbers("collapsed_slice_dims");
  const Index map = instruction.numbers("start_index_map");
  const Index slices = instruction.numbers("slice_sizes");
  if (slices.size() != x.sizes.size()) malformed("the sizes of a gather");
  const Windows windows(instruction, x, indices, instruction.numbers("offset_dims"), collapsed,
                        "operand_batching_dims", "start_indices_batching_dims");
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices[i] < 0 || slices[i] > x.sizes[i]) malformed("the slices of a gather");
    if ((contains(collapsed, i) || contains(windows.batching, i)) && slices[i] != 1)
      malformed("the slices of a gather");
  }
  // The result has the dimensions of the slices, and those of the indices but for the vectors.
  Index expected;
  for (std::size_t i = 0, slice = 0, other = 0; i < instruction.shape.sizes.size(); ++i) {
    if (contains(windows.dimensions, i)) {
      expected.push_back(slices[windows.kept.at(slice++)]);
      continue;
    }
    if (windows.vector == other) ++other;
    expected.push_back(indices.sizes.at(other++));
  }
  const std::size_t batches = indices.sizes.size() - (windows.vector ? 1 : 0);
  if (expected != instruction.shape.sizes || expected.size() != windows.dimensions.size() + batches)
    malformed("the shape of a gather");
  if (windows.vector && indices.sizes[*windows.vector] != std::ssize(map))
    malformed("the vectors of a gather");
  Index most;
  for (const std::int64_t each : map) {
    const auto i = static_cast<std::size_t>(each);
    most.push_back(x.sizes.at(i) - slices[i]);
  }
  return filled(instruction.shape, [&](const Index& index) {
    const auto [from, place] = windows.of(index, x.sizes.size());
    std::vector<Cell> starts;
    for (std::size_t k = 0; k < map.size(); ++k) starts.push_back(windows.start(indices, place, k));
    Index chosen;
    return at_starts(starts, indices.type, most, x.type, chosen,
                     [&, first = from](const Index& start) {
                       Index read = first;
                       for (std::size_t k = 0; k < map.size(); ++k)
                         read[static_cast<std::size_t>(map[k])] += start[k];
                       return element(x, read);
                     });
  });
}

Tensor Interpreter::scatter(const Instruction& instruction, const Tensors& operands) {
  if (operands.size() != 3) not_covered("a scatter of several arrays");
  const Tensor& x = *operands[0];
  const Tensor& indices = *operands[1];
  const Tensor& updates = *operands[2];
  const Scalar function = scalar_function(instruction.attribute("to_apply"));
  const Index map = instruction.numbers("scatter_dims_to_operand_dims");
  const Windows windows(instruction, x, indices, instruction.numbers("update_window_dims"),
                        instruction.numbers("inserted_window_dims"), "input_batching_dims",
                        "scatter_indices_batching_dims");
  if (!(updates.type == x.type)) malformed("the type of a scatter");
  Index batches;
  for (std::size_t i = 0; i < updates.sizes.size(); ++i) {
    if (!contains(windows.dimensions, i)) batches.push_back(updates.sizes[i]);
  }
  Index expected = indices.sizes;
  if (windows.vector) {
    if (expected[*windows.vector] != std::ssize(map)) malformed("the vectors of a scatter");
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(*windows.vector));
  }
  if (batches != expected) malformed("the updates of a scatter");
  Tensor result = x;
  const std::vector<Type> types = {x.type, x.type};
  // The extent of a window: an update is dropped unless all of its window lies inside.
  Index extent(x.sizes.size(), 1);
  for (std::size_t k = 0; k < windows.kept.size(); ++k)
    extent[windows.kept[k]] = updates.sizes.at(static_cast<std::size_t>(windows.dimensions[k]));
  for (std::size_t i = 0; i < extent.size(); ++i) {
    if (extent[i] > x.sizes[i]) malformed("the window of a scatter");
  }
  std::size_t number = 0;
  for_each_index(updates.sizes, [&](const Index& index) {
    const Cell& update = updates.cells.at(number++);
    auto [to, place] = windows.of(index, x.sizes.size());
    std::vector<std::pair<std::size_t, Cell>> open;  // dimensions whose start depends on inputs
    for (std::size_t k = 0; k < map.size(); ++k) {
      const Cell& start = windows.start(indices, place, k);
      const auto dimension = static_cast<std::size_t>(map[k]);
      if (const auto known = arithmetic_.known(start, indices.type)) {
        if (*known < 0 || *known > x.sizes.at(dimension) - extent[dimension]) return;
        to[dimension] += *known;
      } else {
        open.emplace_back(dimension, start);
      }
    }
    Index most;
    for (const auto& [dimension, start] : open)
      most.push_back(x.sizes[dimension] - extent[dimension] + 1);
    for_each_index(most, [&, &to = to](const Index& starts) {
      budget_.spend(32);
      Index target = to;
      std::optional<Cell> condition;
      const Type boolean = type_called("pred");
      for (std::size_t k = 0; k < open.size(); ++k) {
        target[open[k].first] += starts[k];
        const Cell start = arithmetic_.integer(starts[k], indices.type);
        if (arithmetic_.known(start, indices.type) != starts[k]) return;  // none of the type's
        const Cell sides[] = {open[k].second, start};
        const Cell here =
            arithmetic_.apply({Op::Compare, indices.type, boolean, Direction::Eq}, sides);
        const Cell both[] = {condition.value_or(here), here};
        condition = condition ? arithmetic_.apply({Op::And, boolean, boolean}, both) : here;
      }
      Cell& cell = result.cells.at(place_of(x.sizes, target));
      const Cell arguments[] = {cell, update};
      const Cell combined = call(function, types, arguments).at(0);
      const Cell choice[] = {condition.value_or(combined), combined, cell};
      cell = condition ? arithmetic_.apply({Op::Select, x.type, x.type}, choice) : combined;
    });
  });
  return result;
}

std::size_t sorted_dimension(const Instruction& sort) {
  const std::int64_t number = sort.number("dimension", -1);
  return static_cast<std::size_t>(number >= 0 ? number : sort.numbers("dimensions").at(0));
}

bool is_stable_sort(const Instruction& sort) {
  return sort.has("is_stable") && sort.attribute("is_stable") == "true";
}

/// Lines along the dimension, ordered by the comparator; of equal elements the first stays first.
/// An unknown function of all operands by what depends on inputs, and where the sort is not stable
/// and elements that are equal to the comparator differ.
Value Interpreter::sort(const Instruction& instruction, const Operands& operands) {
  const Scalar less = scalar_function(instruction.attribute("to_apply"));
  const std::size_t along = sorted_dimension(instruction);
  const Type boolean = type_called("pred");
  const bool is_stable = is_stable_sort(instruction);
  bool is_known = true;
  const auto sorted = [&](std::size_t number, std::size_t, const Tensors& tensors) {
    Tensor result = *tensors.at(number);
    const std::int64_t stride = strides_of(result.sizes).at(along);
    const auto length = static_cast<std::size_t>(result.sizes[along]);
    Index others = result.sizes;
    others[along] = 1;
    std::vector<Type> types;
    for (const Tensor* tensor : tensors) types.insert(types.end(), {tensor->type, tensor->type});
    for_each_index(others, [&](const Index& first) {
      if (!is_known) return;
      const auto place = [&](std::size_t i) {
        return place_of(result.sizes, first) + i * static_cast<std::size_t>(stride);
      };
      const auto is_less = [&](std::size_t a, std::size_t b) {
        std::vector<Cell> arguments;
        for (const Tensor* tensor : tensors) {
          arguments.push_back(tensor->cells.at(place(a)));
          arguments.push_back(tensor->cells.at(place(b)));
        }
        const auto known = arithmetic_.known(call(less, types, arguments).at(0), boolean);
        is_known = is_known && known.has_value();
        return known.value_or(0) != 0;
      };
      // By insertion: any comparator ends.
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < length && is_known; ++i) {
        std::size_t at = order.size();
        while (at > 0 && is_less(i, order[at - 1])) --at;
        order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), i);
      }
      for (std::size_t i = 1; i < order.size() && is_known && !is_stable; ++i) {
        const bool is_tie = !is_less(order[i - 1], order[i]);
        for (const Tensor* tensor : tensors) {
          const Cell& a = tensor->cells.at(place(order[i - 1]));
          const Cell& b = tensor->cells.at(place(order[i]));
          is_known = is_known && (!is_tie || (a.value == b.value && a.low == b.low));
        }
      }
      for (std::size_t i = 0; i < order.size(); ++i)
        result.cells[place(i)] = tensors[number]->cells.at(place(order[i]));
    });
    return result;
  };
  Value all = every_result(instruction, operands, sorted);
  return is_known ? all : opaque(instruction, operands);
}

}  // namespace p2::kernel::xla
