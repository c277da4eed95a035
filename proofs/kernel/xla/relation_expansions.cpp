// What a compiler expands is taken together again: gathers and scatters at indices that are put
// together from those of a batch and of data, and reshaped to a list of vectors;
// select-and-scatter, of which a window's choice and the scatter are two operations; and
// convolutions of groups, of which all pairs are computed and those of one group added up.

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

/// What chooses between two elements with indices, each of several numbers, of which the first is
/// -1 where there is no element: by which of them that is so, and whether the first is greater or
/// equal.
class ChoiceByValue {
 public:
  explicit ChoiceByValue(const Computation& computation) : computation_(computation) {}

  /// Whether it is the first that is greater or equal, or has the only element; of all arrays.
  bool keeps_greatest() const {
    const auto& parameters = computation_.parameters;
    const std::size_t count = parameters.size() / 2;
    const Instruction& root = at(computation_.root);
    if (count < 2 || parameters.size() != 2 * count || root.opcode != "tuple" ||
        root.operands.size() != count)
      return false;
    std::optional<std::uint32_t> condition;
    for (std::size_t k = 0; k < count; ++k) {
      const Instruction& select = at(root.operands[k]);
      if (select.opcode != "select" || select.operands.size() != 3 ||
          select.operands[1] != parameters[k] || select.operands[2] != parameters[count + k] ||
          condition.value_or(select.operands[0]) != select.operands[0])
        return false;
      condition = select.operands[0];
    }
    for (unsigned bits = 0; bits < 8; ++bits) {
      const Case each{(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0};
      if (each.lacks_first && each.lacks_second) continue;  // it is the same index
      const bool wanted = each.lacks_second || (each.is_greater && !each.lacks_first);
      if (truth(*condition, each) != wanted) return false;
    }
    return true;
  }

 private:
  struct Case {
    bool is_greater = false, lacks_first = false, lacks_second = false;
  };

  const Instruction& at(std::uint32_t number) const { return computation_.instructions.at(number); }

  /// Nothing where it depends on anything else.
  std::optional<bool> truth(std::uint32_t number, const Case& given, int depth = 0) const {
    const Instruction& instruction = at(number);
    const auto& operands = instruction.operands;
    if (depth > 8) return std::nullopt;
    if (instruction.opcode == "compare" && operands.size() == 2)
      return compared(operands, instruction, given);
    std::vector<bool> known;
    for (const std::uint32_t each : operands) {
      const auto one = truth(each, given, depth + 1);
      if (!one) return std::nullopt;
      known.push_back(*one);
    }
    if (instruction.opcode == "not" && known.size() == 1) return !known[0];
    if (known.size() != 2) return std::nullopt;
    if (instruction.opcode == "and") return known[0] && known[1];
    if (instruction.opcode == "or") return known[0] || known[1];
    return std::nullopt;
  }

  std::optional<bool> compared(const std::vector<std::uint32_t>& operands,
                               const Instruction& comparison, const Case& given) const {
    const auto& parameters = computation_.parameters;
    const std::size_t count = parameters.size() / 2;
    const Direction direction = direction_of(comparison);
    if (comparison.has("type")) return std::nullopt;
    if (direction == Direction::Ge && operands[0] == parameters[0] &&
        operands[1] == parameters[count])
      return given.is_greater;
    const Instruction& number = at(operands[1]);
    const bool is_lack = number.opcode == "constant" && trimmed(number.text) == "-1" &&
                         number.shape.type.kind == Type::Kind::Signed;
    if (!is_lack || (direction != Direction::Eq && direction != Direction::Ne)) return std::nullopt;
    const bool is_equal = direction == Direction::Eq;
    if (operands[0] == parameters[1]) return given.lacks_first == is_equal;
    if (operands[0] == parameters[count + 1]) return given.lacks_second == is_equal;
    return std::nullopt;
  }

  const Computation& computation_;
};

/// Whether these are the last dimensions of `rank`.
bool are_last(const Index& list, std::size_t rank) {
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (list[k] != static_cast<std::int64_t>(rank - list.size() + k)) return false;
  }
  return list.size() <= rank;
}

/// A constant integer of this text.
bool is_integer(const Node& node, std::string_view text) {
  return node.instruction->opcode == "constant" && node.shape.type.is_integer() &&
         trimmed(node.instruction->text) == text;
}

bool is_zero_number(const Node& node) {
  return node.instruction->opcode == "constant" && node.shape.sizes.empty() &&
         node.shape.type.is_float() && trimmed(node.instruction->text) == "0";
}

/// What a window's choice finds, of the array that windows are of, and of the indices of elements
/// along every dimension.
struct Choice {
  std::size_t of = 0;  ///< the node that windows are of
  const Node* window = nullptr;
};

/// Of vectors of indices, along the last dimension, of the greatest elements of windows, the first
/// of these.
std::optional<Choice> choice_of(const FlatModule& flat, std::size_t indices, std::size_t rank) {
  const auto node = [&](std::size_t number) -> const Node& { return flat.nodes[number]; };
  const auto has_vectors = [&](const Node& of) {
    return !of.shape.sizes.empty() && of.shape.sizes.back() == static_cast<std::int64_t>(rank);
  };
  const auto without_reshapes = [&](std::size_t number) {
    while (node(number).instruction->opcode == "reshape") number = node(number).operands.at(0);
    return number;
  };
  while (node(indices).instruction->opcode == "reshape" && has_vectors(node(indices)))
    indices = node(indices).operands.at(0);
  const Node& joined = node(indices);
  if (joined.instruction->opcode != "concatenate" || joined.operands.size() != rank || rank == 0 ||
      !has_vectors(joined) ||
      joined.instruction->numbers("dimensions") != Index{std::ssize(joined.shape.sizes) - 1})
    return std::nullopt;
  Choice choice;
  for (std::size_t k = 0; k < rank; ++k) {
    const Node& part = node(without_reshapes(joined.operands[k]));
    if (choice.window == nullptr) choice.window = &part;
    const bool is_part = part.instruction == choice.window->instruction &&
                         part.operands == choice.window->operands && part.part == k + 1 &&
                         node(joined.operands[k]).shape.sizes.back() == 1;
    if (!is_part) return std::nullopt;
  }
  const Node& window = *choice.window;
  if (window.instruction->opcode != "reduce-window" || window.operands.size() != 2 * (rank + 1))
    return std::nullopt;
  Index vectors = window.shape.sizes;
  vectors.push_back(static_cast<std::int64_t>(rank));
  choice.of = window.operands[0];
  const Shape& of = node(choice.of).shape;
  if (joined.shape.sizes != vectors || of.sizes.size() != rank) return std::nullopt;
  for (std::size_t k = 0; k < rank; ++k) {
    const Node& counted = node(window.operands[k + 1]);
    const bool is_counted =
        counted.instruction->opcode == "iota" &&
        counted.instruction->number("iota_dimension", 0) == static_cast<std::int64_t>(k) &&
        counted.shape.sizes == of.sizes && counted.shape.type.kind == Type::Kind::Signed &&
        counted.shape.type.bits >= 32 && of.sizes[k] < INT32_MAX;
    if (!is_counted || !is_integer(node(window.operands[rank + 2 + k]), "-1")) return std::nullopt;
  }
  return keeps_greatest(flat.module.called(window.instruction->attribute("to_apply")))
             ? std::optional(choice)
             : std::nullopt;
}

/// The same of the elements that are greater or equal.
Instruction selecting(const Instruction& like, const std::string& window,
                      const std::string& scatter) {
  Instruction one = like;
  one.opcode = "select-and-scatter";
  one.attributes = {};
  one.attributes.set("direction", "GE");
  one.attributes.set("scatter", scatter);
  one.attributes.set("window", window);
  return one;
}

}  // namespace

bool keeps_greatest(const Computation& function) {
  return ChoiceByValue(function).keeps_greatest();
}

std::optional<std::size_t> add_selecting_scatter(FlatModule& flat, const Node& node,
                                                 const AddNode& add) {
  const Instruction& old = *node.instruction;
  if (node.operands.size() != 3 || old.shape.is_tuple) return std::nullopt;
  if (old.opcode == "select-and-scatter") {
    if (!old.has("select") || !old.has("window")) return std::nullopt;
    const Computation& select = flat.module.called(old.attribute("select"));
    const Instruction& root = select.instructions.at(select.root);
    const bool is_known = root.opcode == "compare" && !root.has("type") &&
                          root.operands == select.parameters && root.operands.size() == 2 &&
                          direction_of(root) == Direction::Ge;
    if (!is_known) return std::nullopt;
    return add(
        written(flat, node, selecting(old, old.attribute("window"), old.attribute("scatter"))));
  }
  // Every update is one element.
  const Node base = flat.nodes[node.operands[0]];
  const Index updates = flat.nodes[node.operands[2]].shape.sizes;
  const std::size_t rank = base.shape.sizes.size();
  const Index windows = old.numbers("update_window_dims");
  const Index& vectors = flat.nodes[node.operands[1]].shape.sizes;
  Index all(rank);
  std::iota(all.begin(), all.end(), 0);
  bool is_single = are_last(windows, updates.size()) &&
                   windows.size() + old.numbers("inserted_window_dims").size() == rank &&
                   old.numbers("scatter_dims_to_operand_dims") == all &&
                   old.numbers("input_batching_dims").empty() &&
                   old.number("index_vector_dim", -1) + 1 == std::ssize(vectors);
  for (const std::int64_t each : windows) is_single = is_single && element_of(updates, each) == 1;
  const auto op = reducer_of(flat.module, old);
  const bool is_splat = base.instruction->opcode == "broadcast" && base.operands.size() == 1 &&
                        flat.nodes[base.operands[0]].shape.sizes.empty();
  if (!is_single || !op || (!is_splat && op != Op::Add)) return std::nullopt;
  const auto choice = choice_of(flat, node.operands[1], rank);
  if (!choice || flat.nodes[choice->of].shape.sizes != base.shape.sizes ||
      !(flat.nodes[choice->of].shape.type == node.shape.type))
    return std::nullopt;
  const auto write = [&](Instruction step, std::vector<std::size_t> operands) {
    Node next = written(flat, node, std::move(step));
    next.operands = std::move(operands);
    next.is_function = next.instruction->opcode != "constant";
    next.has_sorted_indices = next.has_unique_indices = false;
    return add(std::move(next));
  };
  const auto step_called = [&](const char* opcode, const Index& sizes,
                               std::vector<std::uint32_t> operands) {
    Instruction step{old.name, opcode, {}, std::move(operands), "", {}};
    step.shape.type = node.shape.type;
    step.shape.sizes = sizes;
    return step;
  };
  const std::uint32_t first = old.operands.at(0);  // these have the types of what is written
  const std::uint32_t last = old.operands.at(2);
  const Index positions = choice->window->shape.sizes;
  const std::string window = choice->window->instruction->attribute("window");
  const std::size_t of = choice->of;
  std::size_t source = node.operands[2];
  if (flat.nodes[source].shape.elements() != choice->window->shape.elements()) return std::nullopt;
  if (updates != positions) source = write(step_called("reshape", positions, {last}), {source});
  std::size_t initial = is_splat ? base.operands[0] : 0;
  if (!is_splat) {
    Instruction zero = step_called("constant", {}, {});
    zero.text = "0";
    initial = write(std::move(zero), {});
  }
  Instruction one = selecting(old, window, old.attribute("to_apply"));
  one.operands = {first, last, first};
  const std::size_t result = write(std::move(one), {of, source, initial});
  return is_splat ? result
                  : write(step_called("add", base.shape.sizes, {first, first}),
                          {node.operands[0], result});
}

std::optional<std::size_t> add_grouped_convolution(FlatModule& flat, const Node& node,
                                                   const AddNode& add) {
  const auto node_of = [&](std::size_t number) -> const Node& { return flat.nodes[number]; };
  if (node.operands.size() != 2 || node.shape.is_tuple ||
      reducer_of(flat.module, *node.instruction) != Op::Add ||
      !is_zero_number(node_of(node.operands[1])))
    return std::nullopt;
  const Node select = node_of(node.operands[0]);
  if (select.instruction->opcode != "select" || select.operands.size() != 3) return std::nullopt;
  const Index sizes = select.shape.sizes;
  // Windows are all along one dimension.
  const auto window = window_of(*node.instruction, sizes.size());
  std::optional<std::size_t> along;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const WindowDimension& each = window[k];
    if (each.is_single()) continue;
    const bool is_all = each.size == sizes[k] && each.low == 0 && each.high == 0 &&
                        each.base_dilation == 1 && each.window_dilation == 1 && !each.is_reversed &&
                        each.positions(sizes[k]) == 1;
    if (along || !is_all) return std::nullopt;
    along = k;
  }
  // Elsewhere than where its index is that along another dimension, they are zero.
  const Node& where = node_of(select.operands[0]);
  if (!along || where.instruction->opcode != "compare" || where.operands.size() != 2 ||
      direction_of(*where.instruction) != Direction::Eq || where.instruction->has("type"))
    return std::nullopt;
  std::optional<std::size_t> other;
  bool is_counted = false;
  for (const std::size_t each : where.operands) {
    const Node& counted = node_of(each);
    const std::int64_t dimension = counted.instruction->number("iota_dimension", 0);
    if (counted.instruction->opcode != "iota" || counted.shape.sizes != sizes ||
        counted.shape.type.kind != Type::Kind::Signed || counted.shape.type.bits < 32)
      return std::nullopt;
    if (dimension == static_cast<std::int64_t>(*along))
      is_counted = true;
    else
      other = static_cast<std::size_t>(dimension);
  }
  const Node& zeros = node_of(select.operands[2]);
  if (!is_counted || !other || zeros.instruction->opcode != "broadcast" ||
      !is_zero_number(node_of(zeros.operands.at(0))))
    return std::nullopt;
  Index order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  const Node* whole = &node_of(select.operands[1]);
  if (whole->instruction->opcode == "transpose" && whole->operands.size() == 1) {
    order = whole->instruction->numbers("dimensions");
    whole = &node_of(whole->operands[0]);
  }
  const Node all = *whole;
  if (all.instruction->opcode != "convolution" || all.operands.size() != 2 ||
      all.shape.sizes.size() != sizes.size() || order.size() != sizes.size() ||
      all.instruction->number("feature_group_count", 1) != 1 ||
      all.instruction->number("batch_group_count", 1) != 1)
    return std::nullopt;
  const ConvolutionLabels labels(*all.instruction);
  const auto batch = static_cast<std::int64_t>(ConvolutionLabels::find(labels.out, 'b'));
  const auto feature = static_cast<std::int64_t>(ConvolutionLabels::find(labels.out, 'f'));
  // What has one number may be counted along either.
  if (order[*along] == feature) std::swap(order[*along], order.at(*other));
  if (order[*along] != batch || order.at(*other) != feature ||
      element_of(all.shape.sizes, batch) != element_of(all.shape.sizes, feature))
    return std::nullopt;
  Instruction one = *all.instruction;
  one.attributes.set("batch_group_count", std::to_string(element_of(all.shape.sizes, batch)));
  one.shape.sizes[static_cast<std::size_t>(batch)] = 1;
  Node grouped = written(flat, all, std::move(one));
  const std::size_t result = add(std::move(grouped));
  Instruction turn = *node.instruction;
  turn.opcode = "transpose";
  turn.operands.resize(1);
  turn.attributes = {};
  turn.attributes.set("dimensions", text_of(order));
  Node turned = written(flat, node, std::move(turn));
  turned.operands = {result};
  return add(std::move(turned));
}

Node written(FlatModule& flat, const Node& like, Instruction instruction) {
  Node node = like;
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

}  // namespace p2::kernel::xla
