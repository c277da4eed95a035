// What a compiler expands of operations with windows is taken together again: select-and-scatter,
// of which a window's choice and the scatter are two operations; and convolutions of groups, of
// which all pairs are computed and those of one group added up. What windows pad is a pad.

#include <algorithm>
#include <numeric>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

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

/// A constant integer of this text.
bool is_integer(const Node& node, std::string_view text) {
  return node.instruction->opcode == "constant" && node.shape.type.is_integer() &&
         trimmed(node.instruction->text) == text;
}

/// Of vectors of indices, along the last dimension, of the first of the greatest elements of
/// windows, the reduce-window that finds them.
std::optional<Node> choice_of(const FlatModule& flat, std::size_t indices, std::size_t rank) {
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
  const Node& window = node(without_reshapes(joined.operands[0]));
  for (std::size_t k = 0; k < rank; ++k) {
    const Node& part = node(without_reshapes(joined.operands[k]));
    const bool is_part = part.instruction == window.instruction &&
                         part.operands == window.operands && part.part == k + 1 &&
                         node(joined.operands[k]).shape.sizes.back() == 1;
    if (!is_part) return std::nullopt;
  }
  if (window.instruction->opcode != "reduce-window" || window.operands.size() != 2 * (rank + 1))
    return std::nullopt;
  Index vectors = window.shape.sizes;
  vectors.push_back(static_cast<std::int64_t>(rank));
  const Shape& of = node(window.operands[0]).shape;
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
             ? std::optional(window)
             : std::nullopt;
}

/// The same of the elements that are greater or equal.
Instruction selecting(const Instruction& like, const std::string& window,
                      const std::string& scatter) {
  Instruction one = like;
  one.opcode = "select-and-scatter";
  one.attributes = {};
  one.attributes.set("selects", "GE");  // which is not read from any text
  one.attributes.set("scatter", scatter);
  one.attributes.set("window", window);
  return one;
}

}  // namespace

std::string window_text(const std::vector<WindowDimension>& window) {
  std::string text = "{size=";
  const auto list = [&](const auto& words_of) {
    for (std::size_t k = 0; k < window.size(); ++k)
      text += (k == 0 ? "" : "x") + words_of(window[k]);
  };
  const auto add = [&](const char* key, std::int64_t usual, const auto& number_of) {
    const auto is_usual = [&](const WindowDimension& each) { return number_of(each) == usual; };
    if (std::ranges::all_of(window, is_usual)) return;
    text += key;
    list([&](const WindowDimension& each) { return std::to_string(number_of(each)); });
  };
  list([](const WindowDimension& each) { return std::to_string(each.size); });
  add(" stride=", 1, [](const WindowDimension& each) { return each.stride; });
  const auto has_edges = [](const WindowDimension& each) {
    return each.low != 0 || each.high != 0;
  };
  if (std::ranges::any_of(window, has_edges)) {
    text += " pad=";
    list([](const WindowDimension& each) {
      return std::to_string(each.low) + "_" + std::to_string(each.high);
    });
  }
  add(" lhs_dilate=", 1, [](const WindowDimension& each) { return each.base_dilation; });
  add(" rhs_dilate=", 1, [](const WindowDimension& each) { return each.window_dilation; });
  add(" rhs_reversal=", 0, [](const WindowDimension& each) { return each.is_reversed ? 1 : 0; });
  return text + "}";
}

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
  if (node.promises()) return std::nullopt;
  // Every update is one element.
  const Node base = flat.nodes[node.operands[0]];
  const Index updates = flat.nodes[node.operands[2]].shape.sizes;
  const std::size_t rank = base.shape.sizes.size();
  const Index windows = old.numbers("update_window_dims");
  const Index& vectors = flat.nodes[node.operands[1]].shape.sizes;
  Index all(rank), last(windows.size());
  std::iota(all.begin(), all.end(), 0);
  std::iota(last.begin(), last.end(), std::ssize(updates) - std::ssize(windows));
  bool is_single = windows == last &&
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
  if (!choice || flat.nodes[choice->operands[0]].shape.sizes != base.shape.sizes ||
      !(flat.nodes[choice->operands[0]].shape.type == node.shape.type))
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
  const std::uint32_t third = old.operands.at(2);
  const Index positions = choice->shape.sizes;
  const std::string window = choice->instruction->attribute("window");
  const std::size_t of = choice->operands[0];
  std::size_t source = node.operands[2];
  if (flat.nodes[source].shape.elements() != choice->shape.elements()) return std::nullopt;
  if (updates != positions) source = write(step_called("reshape", positions, {third}), {source});
  std::size_t initial = is_splat ? base.operands[0] : 0;
  if (!is_splat) {
    Instruction zero = step_called("constant", {}, {});
    zero.text = "0";
    initial = write(std::move(zero), {});
  }
  Instruction one = selecting(old, window, old.attribute("to_apply"));
  one.operands = {first, third, first};
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
      !is_neutral_to(Op::Add, *node_of(node.operands[1]).instruction))
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
      !is_neutral_to(Op::Add, *node_of(zeros.operands.at(0)).instruction))
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
  one.shape.sizes.set(static_cast<std::size_t>(batch), 1);
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

std::optional<std::size_t> add_padded_windows(FlatModule& flat, const Node& node,
                                              const AddNode& add) {
  if (node.operands.size() != 2 || node.shape.is_tuple) return std::nullopt;
  const Node x = flat.nodes[node.operands[0]];
  auto window = window_of(*node.instruction, x.shape.sizes.size());
  const bool is_neutral = is_neutral_to(reducer_of(flat.module, *node.instruction),
                                        *flat.nodes[node.operands[1]].instruction);
  if (!is_neutral || node.shape.sizes.size() != window.size()) return std::nullopt;
  Instruction pad = *node.instruction;
  Instruction windows = *node.instruction;
  pad.opcode = "pad";
  pad.shape = x.shape;
  pad.attributes = {};
  std::string padding;
  bool is_padded = false;
  for (std::size_t k = 0; k < window.size(); ++k) {
    WindowDimension& each = window[k];
    const bool has_more = each.low > 0 || each.high > 0 || each.base_dilation > 1;
    // Windows side by side, padded, may be the first step of a reduction in two.
    if (each.is_reversed || each.low < 0 || each.high < 0 || (has_more && each.stride != 1))
      return std::nullopt;
    is_padded = is_padded || has_more;
    padding += (k == 0 ? "" : "x") + std::to_string(each.low) + "_" + std::to_string(each.high) +
               "_" + std::to_string(each.base_dilation - 1);
    const std::int64_t size = pad.shape.sizes[k];
    if (node.shape.sizes[k] != each.positions(size)) return std::nullopt;
    const std::int64_t wide = size == 0 ? 0 : (size - 1) * each.base_dilation + 1;
    pad.shape.sizes.set(k, wide + each.low + each.high);
    each.low = each.high = 0;
    each.base_dilation = 1;
  }
  if (!is_padded) return std::nullopt;
  pad.attributes.set("padding", padding);
  windows.attributes.set("window", window_text(window));
  Node padded = written(flat, node, std::move(pad));
  Node result = written(flat, node, std::move(windows));
  result.operands[0] = add(std::move(padded));
  return add(std::move(result));
}

}  // namespace p2::kernel::xla
