// Operations at indices that are data: dynamic slices, gather, scatter, sort.

#include <algorithm>
#include <numeric>

#include "proofs/kernel/xla/machine.h"

namespace p2::kernel::xla {
namespace {

std::int64_t row_major(const Index& sizes, const Index& index) {
  std::int64_t place = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] >= sizes.at(i)) malformed("an index beyond its tensor");
    place = place * sizes[i] + index[i];
  }
  return place;
}

const Cell& at(const Tensor& tensor, const Index& index) {
  if (index.size() != tensor.sizes.size()) malformed("an index of other dimensions");
  return tensor.cells.at(static_cast<std::size_t>(row_major(tensor.sizes, index)));
}

bool contains(const Index& list, std::size_t value) {
  return std::find(list.begin(), list.end(), static_cast<std::int64_t>(value)) != list.end();
}

}  // namespace

/// cell(chosen) where `chosen` starts where `starts` say, clamped to 0 … `most`. What depends on
/// inputs is chosen by value.
Cell Machine::at_starts(const std::vector<Cell>& starts, const Type& index_type, const Index& most,
                        const Type& type, Index& chosen,
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
  if (const auto known = arithmetic_.known(starts[next], index_type))
    return one(std::clamp<std::int64_t>(*known, 0, most[next]));
  std::vector<Cell> choices;
  for (std::int64_t start = 0; start <= most[next]; ++start) {
    budget_.spend(8);
    choices.push_back(one(start));
  }
  return arithmetic_.choose(starts[next], index_type, choices, type);
}

Tensor Machine::dynamic_slice(const Instruction& instruction, const Tensors& operands) {
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
      return at(x, from);
    });
  });
}

Tensor Machine::dynamic_update_slice(const Instruction& instruction, const Tensors& operands) {
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
        if (from[i] < 0 || from[i] >= update.sizes[i]) return at(x, index);
      }
      return at(update, from);
    });
  });
}

Tensor Machine::gather(const Instruction& instruction, const Tensors& operands) {
  const Tensor& x = *operands[0];
  const Tensor& indices = *operands[1];
  const Index offsets = instruction.numbers("offset_dims");
  const Index collapsed = instruction.numbers("collapsed_slice_dims");
  const Index batching = instruction.numbers("operand_batching_dims");
  const Index indices_batching = instruction.numbers("start_indices_batching_dims");
  const Index map = instruction.numbers("start_index_map");
  const Index slices = instruction.numbers("slice_sizes");
  const auto vector = static_cast<std::size_t>(instruction.number("index_vector_dim", 0));
  if (slices.size() != x.sizes.size() || batching.size() != indices_batching.size())
    malformed("the sizes of a gather");
  std::vector<std::size_t> kept;  // dimensions of the operand that the result has
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (!contains(collapsed, i) && !contains(batching, i)) kept.push_back(i);
  }
  if (kept.size() != offsets.size()) malformed("the dimensions of a gather");
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices[i] < 0 || slices[i] > x.sizes[i]) malformed("the slices of a gather");
    if ((contains(collapsed, i) || contains(batching, i)) && slices[i] != 1)
      malformed("the slices of a gather");
  }
  // The result has the dimensions of the slices, and those of the indices but for the vectors.
  Index expected;
  for (std::size_t i = 0, slice = 0, other = 0; i < instruction.shape.sizes.size(); ++i) {
    if (contains(offsets, i)) {
      expected.push_back(slices[kept.at(slice++)]);
      continue;
    }
    if (other == vector) ++other;
    expected.push_back(indices.sizes.at(other++));
  }
  const std::size_t batches = indices.sizes.size() - (vector < indices.sizes.size() ? 1 : 0);
  if (expected != instruction.shape.sizes || expected.size() != offsets.size() + batches)
    malformed("the shape of a gather");
  if (vector < indices.sizes.size() && indices.sizes[vector] != std::ssize(map))
    malformed("the vectors of a gather");
  Index most;
  for (const std::int64_t each : map) {
    const auto i = static_cast<std::size_t>(each);
    most.push_back(x.sizes.at(i) - slices[i]);
  }
  return filled(instruction.shape, [&](const Index& index) {
    Index batch;
    Index from(x.sizes.size(), 0);
    for (std::size_t i = 0, next = 0; i < index.size(); ++i) {
      if (contains(offsets, i))
        from[kept.at(next++)] = index[i];
      else
        batch.push_back(index[i]);
    }
    // `batch` lacks the dimension of index vectors, if the indices have one.
    Index place = batch;
    const bool has_vectors = vector < indices.sizes.size();
    if (has_vectors) place.insert(place.begin() + static_cast<std::ptrdiff_t>(vector), 0);
    std::vector<Cell> starts;
    for (std::size_t k = 0; k < map.size(); ++k) {
      if (has_vectors) place[vector] = static_cast<std::int64_t>(k);
      starts.push_back(at(indices, place));
    }
    for (std::size_t k = 0; k < batching.size(); ++k)
      from.at(static_cast<std::size_t>(batching[k])) =
          place.at(static_cast<std::size_t>(indices_batching[k]));
    Index chosen;
    return at_starts(starts, indices.type, most, x.type, chosen, [&](const Index& start) {
      Index read = from;
      for (std::size_t k = 0; k < map.size(); ++k)
        read[static_cast<std::size_t>(map[k])] += start[k];
      return at(x, read);
    });
  });
}

Tensor Machine::scatter(const Instruction& instruction, const Tensors& operands) {
  if (operands.size() != 3) not_covered("a scatter of several arrays");
  const Tensor& x = *operands[0];
  const Tensor& indices = *operands[1];
  const Tensor& updates = *operands[2];
  const Scalar function = scalar_function(instruction.attribute("to_apply"));
  const Index window = instruction.numbers("update_window_dims");
  const Index inserted = instruction.numbers("inserted_window_dims");
  const Index batching = instruction.numbers("input_batching_dims");
  const Index indices_batching = instruction.numbers("scatter_indices_batching_dims");
  const Index map = instruction.numbers("scatter_dims_to_operand_dims");
  const auto vector = static_cast<std::size_t>(instruction.number("index_vector_dim", 0));
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < x.sizes.size(); ++i) {
    if (!contains(inserted, i) && !contains(batching, i)) kept.push_back(i);
  }
  if (kept.size() != window.size() || batching.size() != indices_batching.size())
    malformed("the dimensions of a scatter");
  if (!(updates.type == x.type)) malformed("the type of a scatter");
  Index batches;
  for (std::size_t i = 0; i < updates.sizes.size(); ++i) {
    if (!contains(window, i)) batches.push_back(updates.sizes[i]);
  }
  Index expected = indices.sizes;
  if (vector < expected.size()) {
    if (expected[vector] != std::ssize(map)) malformed("the vectors of a scatter");
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(vector));
  }
  if (batches != expected) malformed("the updates of a scatter");
  Tensor result = x;
  const std::vector<Type> types = {x.type, x.type};
  // The extent of a window: an update is dropped unless all of its window lies inside.
  Index extent(x.sizes.size(), 1);
  for (std::size_t k = 0; k < kept.size(); ++k)
    extent[kept[k]] = updates.sizes.at(static_cast<std::size_t>(window[k]));
  for (std::size_t i = 0; i < extent.size(); ++i) {
    if (extent[i] > x.sizes[i]) malformed("the window of a scatter");
  }
  std::size_t number = 0;
  for_each_index(updates.sizes, [&](const Index& index) {
    const Cell& update = updates.cells.at(number++);
    Index batch;
    Index to(x.sizes.size(), 0);
    for (std::size_t i = 0, next = 0; i < index.size(); ++i) {
      if (contains(window, i))
        to[kept.at(next++)] = index[i];
      else
        batch.push_back(index[i]);
    }
    Index place = batch;
    const bool has_vectors = vector < indices.sizes.size();
    if (has_vectors) place.insert(place.begin() + static_cast<std::ptrdiff_t>(vector), 0);
    for (std::size_t k = 0; k < batching.size(); ++k)
      to.at(static_cast<std::size_t>(batching[k])) =
          place.at(static_cast<std::size_t>(indices_batching[k]));
    std::vector<std::pair<std::size_t, Cell>> open;  // dimensions whose start depends on inputs
    for (std::size_t k = 0; k < map.size(); ++k) {
      if (has_vectors) place[vector] = static_cast<std::int64_t>(k);
      const Cell& start = at(indices, place);
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
    for_each_index(most, [&](const Index& starts) {
      budget_.spend(32);
      Index target = to;
      std::optional<Cell> condition;
      const Type boolean = type_called("pred");
      for (std::size_t k = 0; k < open.size(); ++k) {
        target[open[k].first] += starts[k];
        const Cell sides[] = {open[k].second, arithmetic_.integer(starts[k], indices.type)};
        const Cell here =
            arithmetic_.apply({Op::Compare, indices.type, boolean, Direction::Eq}, sides);
        const Cell both[] = {condition.value_or(here), here};
        condition = condition ? arithmetic_.apply({Op::And, boolean, boolean}, both) : here;
      }
      Cell& cell = result.cells.at(static_cast<std::size_t>(row_major(x.sizes, target)));
      const Cell arguments[] = {cell, update};
      const Cell combined = call(function, types, arguments).at(0);
      const Cell choice[] = {condition.value_or(combined), combined, cell};
      cell = condition ? arithmetic_.apply({Op::Select, x.type, x.type}, choice) : combined;
    });
  });
  return result;
}

Value Machine::sort(const Instruction& instruction, const Operands& operands) {
  try {
    return sorted(instruction, operands);
  } catch (const CheckFailure& failure) {
    // By what depends on inputs: an unknown function of all of it.
    if (failure.verdict != Verdict::Incomplete || !arithmetic_.is_symbolic()) throw;
    return opaque(instruction, operands);
  }
}

/// Lines along the dimension, ordered by the comparator; of equal elements the first stays first.
Value Machine::sorted(const Instruction& instruction, const Operands& operands) {
  const Scalar less = scalar_function(instruction.attribute("to_apply"));
  const auto shapes = arrays_of(instruction.shape);
  const auto along = static_cast<std::size_t>(instruction.number("dimension", -1) >= 0
                                                  ? instruction.number("dimension", 0)
                                                  : instruction.numbers("dimensions").at(0));
  Value parts;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    parts.parts.push_back(everywhere(operands, [&](std::size_t, const Tensors& tensors) {
      if (tensors.size() != shapes.size()) malformed("results of a sort");
      Tensor result = *tensors[k];
      const Index strides = strides_of(result.sizes);
      const auto length = static_cast<std::size_t>(result.sizes.at(along));
      Index others = result.sizes;
      others[along] = 1;
      std::vector<Type> types;
      for (const Tensor* tensor : tensors) types.insert(types.end(), {tensor->type, tensor->type});
      for_each_index(others, [&](const Index& first) {
        const auto place = [&](std::size_t i) {
          return static_cast<std::size_t>(row_major(result.sizes, first) +
                                          static_cast<std::int64_t>(i) * strides[along]);
        };
        const auto is_less = [&](std::size_t a, std::size_t b) {
          std::vector<Cell> arguments;
          for (const Tensor* tensor : tensors) {
            arguments.push_back(tensor->cells.at(place(a)));
            arguments.push_back(tensor->cells.at(place(b)));
          }
          const auto known =
              arithmetic_.known(call(less, types, arguments).at(0), type_called("pred"));
          if (!known) not_covered("a sort by what depends on inputs");
          return *known != 0;
        };
        // By insertion: any comparator ends.
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < length; ++i) {
          std::size_t at = order.size();
          while (at > 0 && is_less(i, order[at - 1])) --at;
          order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), i);
        }
        for (std::size_t i = 0; i < length; ++i)
          result.cells[place(i)] = tensors[k]->cells.at(place(order[i]));
      });
      return result;
    }));
  }
  return instruction.shape.is_tuple ? parts : std::move(parts.parts.at(0));
}

}  // namespace p2::kernel::xla
