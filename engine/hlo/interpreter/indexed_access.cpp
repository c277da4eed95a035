// Operations whose operands say where elements are: dynamic slices, gather, scatter. An index that
// depends on inputs is a piecewise function in the algebra (algebra_piecewise.cpp).

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/block_dimensions.h"
#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/interpreter/expressions.h"
#include "engine/hlo/interpreter/local_operations.h"
#include "engine/hlo/interpreter/numbers.h"
#include "engine/hlo/interpreter/ranges.h"
#include "engine/hlo/operations.h"

namespace p2::hlo::interpreter {
namespace {

/// Symbolic indices are looked up in at most as many places.
constexpr std::int64_t kMaxPlaces = 4096;

/// The start of a window, moved to where it fits. An integer of u64 from 2^63 on is negative here.
std::int64_t clamped_start(std::int64_t value, ElementType type, std::int64_t last) {
  if (value < 0 && type.kind() == ElementType::Kind::Unsigned) return last;
  return std::clamp<std::int64_t>(value, 0, last);
}

}  // namespace

template <typename A>
void LocalOperations<A>::require_start(const Instruction& instruction, const Operands& operands,
                                       std::size_t first, const Index& sizes,
                                       const Index& window) const {
  const std::size_t rank = sizes.size();
  require(operands.size() > first && window.size() == rank, instruction, "its operands");
  const bool vector = operands[first]->array.shape.sizes.size() == 1;
  require(vector ? operands[first]->array.cells->size() == rank : operands.size() == first + rank,
          instruction, "its start");
  for (std::size_t i = 0; i < rank; ++i) {
    require(window[i] <= sizes[i], instruction, "its window");
    require(vector || operands[first + i]->array.cells->size() == 1, instruction, "its start");
  }
}

template <typename A>
auto LocalOperations<A>::start_index(const Instruction& instruction, const Operands& operands,
                                     std::size_t first, const Index& sizes, const Index& window)
    -> std::optional<Index> {
  Index start(sizes.size(), 0);
  const Index last = list_attribute(instruction, kStartSizes);  // of a module on blocks
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool vector = operands[first]->array.shape.sizes.size() == 1;
    const Array<Cell>& from = operands[vector ? first : first + i]->array;
    const auto value =
        arithmetic_.as_integer(from.at(vector ? static_cast<std::int64_t>(i) : 0), from.shape.type);
    if (!value || from.unknown) return std::nullopt;
    const Index known =
        last.empty() ? Index() : list_attribute(instruction, fmt::format("{}_{}", kBlockStarts, i));
    start[i] =
        clamped_start(*value, from.shape.type, known.empty() ? sizes[i] - window[i] : last.at(i));
    if (known.empty()) continue;
    std::size_t at = 0;
    while (at < known.size() && known[at] != start[i]) at += 2;
    require(at < known.size(), instruction, "a start at which no block begins");
    start[i] = known[at + 1];
  }
  return start;
}

template <typename A>
auto LocalOperations<A>::dynamic_slice(const Instruction& instruction, const Operands& operands)
    -> Tree {
  const ArrayShape& shape = instruction.shape.array;
  const Array<Cell>& from = operands[0]->array;
  require(!operands.empty(), instruction, "its operands");
  if (shape.sizes.empty()) return *operands[0];
  require_start(instruction, operands, 1, from.shape.sizes, shape.sizes);
  const auto start = start_index(instruction, operands, 1, from.shape.sizes, shape.sizes);
  if (!start) return symbolic_slice(instruction, operands);
  const Index strides = strides_of(from.shape.sizes);
  const std::int64_t base = offset_of(*start, strides);
  Cells cells;
  for_each_index(shape.sizes, [&](const Index& index) {
    cells.push_back(from.at(base + offset_of(index, strides)));
  });
  work_.spend(cells.size());
  return array(shape, std::move(cells), operands);
}

template <typename A>
auto LocalOperations<A>::dynamic_update_slice(const Instruction& instruction,
                                              const Operands& operands) -> Tree {
  const ArrayShape& shape = instruction.shape.array;
  require(operands.size() >= 2, instruction, "its operands");
  const Array<Cell>& update = operands[1]->array;
  if (shape.sizes.empty()) return *operands[1];
  require(operands[0]->array.shape.sizes == shape.sizes, instruction, "its shapes");
  require_start(instruction, operands, 2, shape.sizes, update.shape.sizes);
  const auto start = start_index(instruction, operands, 2, shape.sizes, update.shape.sizes);
  if (!start) return symbolic_slice(instruction, operands);
  const Index strides = strides_of(shape.sizes);
  const std::int64_t base = offset_of(*start, strides);
  Cells cells = *operands[0]->array.cells;
  std::size_t next = 0;
  for_each_index(update.shape.sizes, [&](const Index& index) {
    cells[static_cast<std::size_t>(base + offset_of(index, strides))] = (*update.cells)[next++];
  });
  work_.spend(cells.size());
  return array(shape, std::move(cells), operands);
}

template <typename A>
auto LocalOperations<A>::symbolic_slice(const Instruction& instruction, const Operands& operands)
    -> Tree {
  const ArrayShape& shape = instruction.shape.array;
  const bool updates = instruction.opcode == "dynamic-update-slice";
  const std::size_t first = updates ? 2 : 1;
  const Array<Cell>& from = operands[0]->array;
  const Index window = updates ? operands[1]->array.shape.sizes : shape.sizes;
  const std::size_t rank = from.shape.sizes.size();
  if constexpr (!A::kSymbolic) return opaque(instruction, operands, 0);
  if constexpr (A::kSymbolic) {
    if (operands.size() != first + rank) return opaque(instruction, operands, 0);
    Index start(rank, 0);
    std::optional<std::size_t> along;
    for (std::size_t i = 0; i < rank; ++i) {
      const Array<Cell>& component = operands[first + i]->array;
      const auto value = arithmetic_.as_integer(component.at(0), component.shape.type);
      const std::int64_t most = from.shape.sizes[i] - window[i];
      if (!value && most > 0) {
        if (along || most > kMaxPlaces) return opaque(instruction, operands, 0);
        along = i;
      }
      start[i] = value ? clamped_start(*value, component.shape.type, most) : 0;
    }
    const auto chosen = along.value_or(0);
    const Array<Cell>& component = operands[first + chosen]->array;
    const std::int64_t places = along ? from.shape.sizes[chosen] - window[chosen] + 1 : 1;
    const Index strides = strides_of(from.shape.sizes);
    const Index window_strides = strides_of(window);
    Cells cells;
    for_each_index(shape.sizes, [&](const Index& index) {
      Cells choices;
      for (std::int64_t place = 0; place < places; ++place) {
        std::int64_t own = 0;
        std::int64_t in_update = 0;
        bool inside = true;
        for (std::size_t i = 0; i < rank; ++i) {
          const std::int64_t begin = along && i == chosen ? place : start[i];
          own += (updates ? index[i] : begin + index[i]) * strides[i];
          inside = inside && index[i] >= begin && index[i] < begin + window[i];
          in_update += (index[i] - begin) * window_strides[i];
        }
        choices.push_back(updates && inside ? operands[1]->array.at(in_update) : from.at(own));
      }
      work_.spend(choices.size());
      cells.push_back(
          arithmetic_.choose(component.at(0), component.shape.type, choices, shape.type));
    });
    return array(shape, std::move(cells), operands);
  }
}

namespace {

/// Whether indices are not sorted though it is promised: those of all dimensions of the operand,
/// of batches, too, in the order of either these dimensions or the components.
template <typename A>
bool breaks_promise(A& arithmetic, const Instruction& instruction, const IndexedWindows& windows,
                    const Array<typename A::Cell>& indices, std::int64_t vector) {
  if (text_attribute(instruction, "indices_are_sorted") != "true") return false;
  Dimensions batches = indices.shape.sizes;
  if (vector < std::ssize(batches)) batches.erase(batches.begin() + vector);
  Dimensions last[2];
  bool is_sorted = true;
  for_each_index(batches, [&](const Dimensions& batch) {
    Dimensions own[2] = {windows.batch_start(batch), windows.batch_start(batch)};
    for (std::size_t k = 0; k < windows.components(); ++k) {
      const auto value =
          arithmetic.as_integer(indices.at(windows.component(batch, k)), indices.shape.type);
      is_sorted = is_sorted && value;
      own[0].at(windows.dimension(k)) = value.value_or(0);
      own[1].push_back(value.value_or(0));
    }
    for (const int order : {0, 1}) {
      is_sorted = is_sorted && (last[order].empty() || last[order] <= own[order]);
      last[order] = std::move(own[order]);
    }
  });
  return !is_sorted;
}

}  // namespace

template <typename A>
auto LocalOperations<A>::gather(const Instruction& instruction, const Operands& operands) -> Tree {
  require(operands.size() == 2, instruction, "its operands");
  const ArrayShape& shape = instruction.shape.array;
  const GatherDimensions numbers = gather_dimensions(instruction);
  const Array<Cell>& from = operands[0]->array;
  const Array<Cell>& indices = operands[1]->array;
  const Index& sizes = from.shape.sizes;
  require(numbers.slice_sizes.size() == sizes.size(), instruction, "its slices");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    require(numbers.slice_sizes[i] >= 0 && numbers.slice_sizes[i] <= sizes[i], instruction,
            "its slices");
  }
  const IndexedWindows windows(instruction, numbers, from.shape, indices.shape, shape);
  const Index strides = strides_of(sizes);
  Cells cells;
  bool is_opaque = false;
  const bool is_open = !A::kSymbolic && breaks_promise(arithmetic_, instruction, windows, indices,
                                                       numbers.index_vector_dim);
  for_each_index(shape.sizes, [&](const Index& index) {
    if (is_opaque) return;
    if (is_open) {
      cells.push_back(arithmetic_.arbitrary(0, shape.type));
      return;
    }
    const Index batch = windows.batch_of(index);
    Index start = windows.batch_start(batch);
    std::optional<std::pair<std::size_t, Cell>> symbolic;
    for (std::size_t k = 0; k < windows.components(); ++k) {
      const std::size_t dimension = windows.dimension(k);
      const Cell& cell = indices.at(windows.component(batch, k));
      const auto value = arithmetic_.as_integer(cell, indices.shape.type);
      const std::int64_t last = sizes[dimension] - numbers.slice_sizes[dimension];
      if (!value) {
        is_opaque = is_opaque || (A::kSymbolic && (symbolic.has_value() || last >= kMaxPlaces));
        symbolic.emplace(dimension, cell);
      } else {
        start[dimension] = clamped_start(*value, indices.shape.type, last);
      }
    }
    if (is_opaque) return;
    const Index window = windows.window_index(index);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      require(start[i] + window[i] < sizes[i], instruction, "its slices");
    }
    const std::int64_t element = offset_of(start, strides) + offset_of(window, strides);
    if (!symbolic) {
      cells.push_back(from.at(element));
      return;
    }
    if constexpr (!A::kSymbolic) cells.push_back(arithmetic_.arbitrary(0, shape.type));
    if constexpr (A::kSymbolic) {
      const auto [dimension, cell] = *symbolic;
      const std::int64_t places = sizes[dimension] - numbers.slice_sizes[dimension] + 1;
      Cells choices;
      for (std::int64_t place = 0; place < places; ++place) {
        choices.push_back(from.at(element + place * strides[dimension]));
      }
      work_.spend(choices.size());
      cells.push_back(arithmetic_.choose(cell, indices.shape.type, choices, shape.type));
    }
  });
  if (is_opaque) return opaque(instruction, operands, 0);
  work_.spend(cells.size());
  return array(shape, std::move(cells), operands);
}

template <typename A>
auto LocalOperations<A>::scatter(const Instruction& instruction, const Operands& operands) -> Tree {
  require(operands.size() == 3, instruction, "several operands");
  const ArrayShape& shape = instruction.shape.array;
  const ScatterDimensions numbers = scatter_dimensions(instruction);
  const Array<Cell>& indices = operands[1]->array;
  const Array<Cell>& updates = operands[2]->array;
  require(operands[0]->array.shape.sizes == shape.sizes, instruction, "its shapes");
  const IndexedWindows windows(instruction, numbers, shape, indices.shape, updates.shape);
  const std::size_t rank = shape.sizes.size();
  const Index strides = strides_of(shape.sizes);
  Index last = updates.shape.sizes;  // the last index of the updates
  for (std::int64_t& each : last) --each;
  const Index last_in_window = windows.window_index(last);
  Cells cells = *operands[0]->array.cells;
  if (!A::kSymbolic &&
      breaks_promise(arithmetic_, instruction, windows, indices, numbers.index_vector_dim))
    return array(shape, Cells(cells.size(), arithmetic_.arbitrary(0, shape.type)), operands);
  bool is_opaque = false;
  const bool listed = is_ordered(instruction, operands);
  std::map<std::size_t, Cells> updates_of;  // where their order counts: by element
  // What an element is that several updates name may be left open.
  const Computation& combiner = module_.computations[instruction.called.at(0)];
  const bool promises_one = text_attribute(instruction, "unique_indices") == "true";
  const bool assigns = combiner.parameters.size() == 2 && combiner.root == combiner.parameters[1];
  const bool is_open = promises_one || !is_free_of_order(combiner);
  std::vector<bool> is_updated(!A::kSymbolic && is_open ? cells.size() : 0);
  std::int64_t next_update = 0;
  for_each_index(updates.shape.sizes, [&](const Index& index) {
    const Cell& update = updates.at(next_update++);
    if (is_opaque) return;
    const Index batch = windows.batch_of(index);
    Index start = windows.batch_start(batch);
    const Index window = windows.window_index(index);
    std::optional<std::pair<std::size_t, Cell>> symbolic;
    for (std::size_t k = 0; k < windows.components(); ++k) {
      const std::size_t dimension = windows.dimension(k);
      const Cell& cell = indices.at(windows.component(batch, k));
      const auto value = arithmetic_.as_integer(cell, indices.shape.type);
      if (!value) {
        is_opaque = is_opaque || symbolic.has_value() || !A::kSymbolic || listed ||
                    shape.sizes[dimension] > kMaxPlaces;
        symbolic.emplace(dimension, cell);
      }
      start[dimension] = value.value_or(0);
    }
    if (is_opaque) return;
    // A window that does not fit as a whole is not written.
    std::int64_t element = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      if (start[i] < 0 || start[i] >= shape.sizes[i] - last_in_window[i]) return;
      element += (start[i] + window[i]) * strides[i];
    }
    if (listed) {
      updates_of[static_cast<std::size_t>(element)].push_back(update);
      return;
    }
    const std::int64_t places =
        symbolic ? shape.sizes[symbolic->first] - last_in_window[symbolic->first] : 1;
    for (std::int64_t place = 0; place < places; ++place) {
      // No index of a narrow type names the places beyond its range.
      const bool named = wrapped(static_cast<std::uint64_t>(place), indices.shape.type) == place;
      if (symbolic && !named) break;
      Cell& old = cells[static_cast<std::size_t>(
          element + (symbolic ? place * strides[symbolic->first] : 0))];
      Cells total = {old};
      reduce_into(instruction, total, {update});
      if (!symbolic) {
        const auto number = static_cast<std::size_t>(element);
        if (is_updated.empty() || !is_updated[number]) {
          old = total[0];
        } else {
          old = assigns && !promises_one ? either(old, update, shape.type)
                                         : arithmetic_.arbitrary(0, shape.type);
        }
        if (!is_updated.empty()) is_updated[number] = true;
        continue;
      }
      const ElementType boolean = *ElementType::from_xla("pred");
      const ElementOperation equals{Element::Compare, Direction::Eq, indices.shape.type, boolean};
      const ElementOperation select{Element::Select, {}, shape.type, shape.type};
      const Cell here =
          apply(equals, {symbolic->second, arithmetic_.integer(place, indices.shape.type)});
      if constexpr (A::kSymbolic) {
        const auto& reducer = binary(instruction.called[0]);
        const bool adds = reducer && reducer->code == Element::Add && shape.type.is_float();
        old = adds ? arithmetic_.sum_where(here, old, update, shape.type)
                   : apply(select, {here, total[0], old});
      }
    }
  });
  if (is_opaque) return opaque(instruction, operands, 0);
  for (auto& [element, all] : updates_of) {
    Cells total = {cells[element]};
    if (all.size() == 1) {
      reduce_into(instruction, total, all);
    } else {
      all.insert(all.begin(), total[0]);
      total = reduced_list(instruction, all, {}, {shape.type});
    }
    cells[element] = total[0];
  }
  work_.spend(cells.size());
  return array(shape, std::move(cells), operands);
}

template auto LocalOperations<Numbers>::require_start(const Instruction&, const Operands&,
                                                      std::size_t, const Index&, const Index&) const
    -> void;
template auto LocalOperations<Numbers>::start_index(const Instruction&, const Operands&,
                                                    std::size_t, const Index&, const Index&)
    -> std::optional<Index>;
template auto LocalOperations<Numbers>::dynamic_slice(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Numbers>::dynamic_update_slice(const Instruction&, const Operands&)
    -> Tree;
template auto LocalOperations<Numbers>::symbolic_slice(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Numbers>::gather(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Numbers>::scatter(const Instruction&, const Operands&) -> Tree;

template auto LocalOperations<Algebra>::require_start(const Instruction&, const Operands&,
                                                      std::size_t, const Index&, const Index&) const
    -> void;
template auto LocalOperations<Algebra>::start_index(const Instruction&, const Operands&,
                                                    std::size_t, const Index&, const Index&)
    -> std::optional<Index>;
template auto LocalOperations<Algebra>::dynamic_slice(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Algebra>::dynamic_update_slice(const Instruction&, const Operands&)
    -> Tree;
template auto LocalOperations<Algebra>::symbolic_slice(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Algebra>::gather(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Algebra>::scatter(const Instruction&, const Operands&) -> Tree;

template auto LocalOperations<Expressions>::require_start(const Instruction&, const Operands&,
                                                          std::size_t, const Index&,
                                                          const Index&) const -> void;
template auto LocalOperations<Expressions>::start_index(const Instruction&, const Operands&,
                                                        std::size_t, const Index&, const Index&)
    -> std::optional<Index>;
template auto LocalOperations<Expressions>::dynamic_slice(const Instruction&, const Operands&)
    -> Tree;
template auto LocalOperations<Expressions>::dynamic_update_slice(const Instruction&,
                                                                 const Operands&) -> Tree;
template auto LocalOperations<Expressions>::symbolic_slice(const Instruction&, const Operands&)
    -> Tree;
template auto LocalOperations<Expressions>::gather(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Expressions>::scatter(const Instruction&, const Operands&) -> Tree;

template auto LocalOperations<Ranges>::require_start(const Instruction&, const Operands&,
                                                     std::size_t, const Index&, const Index&) const
    -> void;
template auto LocalOperations<Ranges>::start_index(const Instruction&, const Operands&, std::size_t,
                                                   const Index&, const Index&)
    -> std::optional<Index>;
template auto LocalOperations<Ranges>::dynamic_slice(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Ranges>::dynamic_update_slice(const Instruction&, const Operands&)
    -> Tree;
template auto LocalOperations<Ranges>::symbolic_slice(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Ranges>::gather(const Instruction&, const Operands&) -> Tree;
template auto LocalOperations<Ranges>::scatter(const Instruction&, const Operands&) -> Tree;

}  // namespace p2::hlo::interpreter
