// What a compiler does in several steps, or for several arrays at once, is the operation that it
// was: reductions, all-reduces, exchanges, and dots that are convolutions.

#include <algorithm>
#include <numeric>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// A function of two elements of several arrays that chooses by comparing them, each with its like.
class Selection {
 public:
  /// Nothing for any other function.
  static std::optional<Selection> of(const Computation& computation) {
    Selection selection(computation);
    const auto& all = computation.instructions;
    const std::size_t count = computation.parameters.size();
    const Instruction& root = all[computation.root];
    if (count != 4 || root.opcode != "tuple" || root.operands.size() != 2) return std::nullopt;
    const auto type = [&](std::uint32_t number) { return selection.type_of(number); };
    const auto parameter = [&](std::size_t k) { return type(computation.parameters[k]); };
    if (!(parameter(0) == parameter(2)) || !(parameter(1) == parameter(3)) ||
        parameter(0) == parameter(1) || !(type(root.operands[0]) == parameter(0)) ||
        !(type(root.operands[1]) == parameter(1)))
      return std::nullopt;
    for (const Instruction& each : all) {
      const bool is_truth = each.shape.type.is_boolean();
      const bool is_scalar = !each.shape.is_tuple && each.shape.sizes.empty();
      const auto operand = [&](std::size_t k) { return type(each.operands.at(k)); };
      const bool has_two = each.operands.size() == 2;
      const bool fits =
          (each.opcode == "parameter" && is_scalar && !is_truth) ||
          (each.opcode == "compare" && has_two && is_scalar && is_truth && !each.has("type") &&
           operand(0) == operand(1) && !operand(0).is_boolean()) ||
          (is_one_of(each.opcode, {"and", "or"}) && has_two && is_scalar && is_truth &&
           operand(0).is_boolean() && operand(1).is_boolean()) ||
          (each.opcode == "not" && each.operands.size() == 1 && is_scalar && is_truth &&
           operand(0).is_boolean()) ||
          (each.opcode == "select" && each.operands.size() == 3 && is_scalar && !is_truth &&
           operand(0).is_boolean() && operand(1) == each.shape.type &&
           operand(2) == each.shape.type) ||
          &each == &root;
      if (!fits) return std::nullopt;
    }
    return selection;
  }

  /// Whether f(a, f(b, c)) = f(f(a, b), c), f(a, b) = f(b, a) and f(a, a) = a. Of three elements
  /// only their order matters, so that three values of each array are all there are.
  bool may_be_in_any_order() const {
    std::vector<Element> all;
    for (std::uint64_t value = 0; value < 3; ++value) {
      for (std::uint64_t number = 0; number < 3; ++number) all.emplace_back(value, number);
    }
    for (const Element& a : all) {
      if (chosen(a, a) != a) return false;
      for (const Element& b : all) {
        if (chosen(a, b) != chosen(b, a)) return false;
        for (const Element& c : all) {
          if (chosen(a, chosen(b, c)) != chosen(chosen(a, b), c)) return false;
        }
      }
    }
    return true;
  }

 private:
  using Element = std::pair<std::uint64_t, std::uint64_t>;

  explicit Selection(const Computation& computation) : computation_(computation) {}

  Element chosen(const Element& a, const Element& b) const {
    const std::uint64_t arguments[] = {a.first, a.second, b.first, b.second};
    std::vector<Cell> values;
    for (const Instruction& each : computation_.instructions) {
      Cell& value = values.emplace_back();
      if (each.opcode == "parameter") {
        value.value = arguments[integer(each.text)];
        value.low = static_cast<double>(value.value);  // where it is a real number
      } else if (const auto op = op_called(each.opcode)) {
        std::vector<Cell> operands;
        for (const std::uint32_t operand : each.operands) operands.push_back(values.at(operand));
        Elementwise operation{*op, type_of(each.operands.back()), each.shape.type};
        if (op == Op::Compare) operation.direction = direction_of(each);
        value = computed(operation, operands);
      }
    }
    const auto& root = computation_.instructions[computation_.root].operands;
    return {values.at(root[0]).value, values.at(root[1]).value};
  }

  const Type& type_of(std::uint32_t number) const {
    return computation_.instructions.at(number).shape.type;
  }

  const Computation& computation_;
};

}  // namespace

bool is_neutral_to(const std::optional<Op>& op, const Instruction& constant) {
  const std::string text(trimmed(constant.text));
  const bool is_float = constant.shape.type.is_float();
  const bool is_truth = constant.shape.type.is_boolean();
  return constant.opcode == "constant" &&
         ((op == Op::Add && text == "0" && (is_float || constant.shape.type.is_integer())) ||
          (op == Op::Or && text == "false" && is_truth) ||
          (op == Op::And && text == "true" && is_truth) ||
          (op == Op::Maximum && text == "-inf" && is_float) ||
          (op == Op::Minimum && text == "inf" && is_float));
}

std::optional<std::size_t> add_whole_reduction(FlatModule& flat, const Node& node,
                                               const AddNode& add) {
  if (node.operands.size() != 2 || node.shape.is_tuple) return std::nullopt;
  const auto op = reducer_of(flat.module, *node.instruction);
  const auto is_neutral = [&](std::size_t number) {
    return is_neutral_to(op, *flat.nodes[number].instruction);
  };
  const Index along = node.instruction->numbers("dimensions");
  const auto has_tiles = [&](const Node& tiles) {
    const Instruction& instruction = *tiles.instruction;
    if (instruction.opcode != "reduce-window" || tiles.operands.size() != 2 ||
        reducer_of(flat.module, instruction) != op || !is_neutral(tiles.operands[1]))
      return false;
    const Index& x = flat.nodes[tiles.operands[0]].shape.sizes;
    const Index& sizes = tiles.shape.sizes;
    if (x.size() != sizes.size()) return false;
    const auto window = window_of(instruction, x.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      const WindowDimension& each = window[k];
      if (sizes[k] != each.positions(x[k])) return false;
      const bool is_tiled = each.size == each.stride && each.low >= 0 && each.base_dilation == 1 &&
                            each.window_dilation == 1 && x[k] + each.low <= sizes[k] * each.size;
      if (!each.is_single() && (!is_tiled || !contains(along, k))) return false;
    }
    return true;
  };
  if (!op || !is_neutral(node.operands[1])) return std::nullopt;
  // Of all elements in one: of what was reshaped, transposed, or reduced likewise in part.
  const bool is_all = along.size() == flat.nodes[node.operands[0]].shape.sizes.size();
  const auto has_elements = [&](const Node& other) {
    const Instruction& instruction = *other.instruction;
    if (!is_all || other.shape.is_tuple || other.operands.empty() ||
        !(flat.nodes[other.operands[0]].shape.type == node.shape.type))
      return false;
    if (instruction.opcode == "reshape" || instruction.opcode == "transpose")
      return other.operands.size() == 1;
    return instruction.opcode == "reduce" && other.operands.size() == 2 &&
           reducer_of(flat.module, instruction) == op && is_neutral(other.operands[1]);
  };
  std::size_t whole = node.operands[0];
  while (has_tiles(flat.nodes[whole]) || has_elements(flat.nodes[whole]))
    whole = flat.nodes[whole].operands[0];
  if (whole == node.operands[0]) return std::nullopt;
  Instruction one = *node.instruction;
  if (is_all) {
    Index all(flat.nodes[whole].shape.sizes.size());
    std::iota(all.begin(), all.end(), 0);
    one.attributes.set("dimensions", text_of(all));
  }
  Node result = written(flat, node, std::move(one));
  result.operands = {whole, node.operands[1]};
  return add(std::move(result));
}

std::optional<std::size_t> add_parted_all_reduce(FlatModule& flat, const Node& node,
                                                 const AddNode& add) {
  // Messages of several programs are in an order, which is that of their instructions.
  if (flat.is_one_of_several || node.operands.size() != 1 || node.shape.is_tuple)
    return std::nullopt;
  const Node joined = flat.nodes[node.operands[0]];
  if (joined.instruction->opcode != "concatenate" || joined.shape.sizes != node.shape.sizes)
    return std::nullopt;
  Instruction whole = *joined.instruction;
  whole.name = node.instruction->name;
  Node result = written(flat, node, std::move(whole));
  result.operands.clear();
  for (const std::size_t part : joined.operands) {
    Instruction one = *node.instruction;
    one.name += ".part";
    one.operands.resize(1);
    one.shape = flat.nodes[part].shape;
    Node own = written(flat, node, std::move(one));
    own.operands = {part};
    result.operands.push_back(add(std::move(own)));
  }
  return add(std::move(result));
}

std::optional<std::size_t> part_of_concatenation(const FlatModule& flat, const Node& node) {
  if (node.operands.size() != 1) return std::nullopt;
  const Node& joined = flat.nodes[node.operands[0]];
  const Index along = joined.instruction->numbers("dimensions");
  if (joined.instruction->opcode != "concatenate" || along.size() != 1) return std::nullopt;
  const auto ranges = ranges_of(node.instruction->attribute("slice"));
  const Index& sizes = joined.shape.sizes;
  if (ranges.size() != sizes.size() || along[0] < 0 || along[0] >= std::ssize(sizes))
    return std::nullopt;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const Index& range = ranges[k];
    const bool is_whole = range.at(0) == 0 && range.at(1) == sizes[k];
    if (range.at(2) != 1 || (!is_whole && along[0] != static_cast<std::int64_t>(k)))
      return std::nullopt;
  }
  const Index& taken = ranges[static_cast<std::size_t>(along[0])];
  std::int64_t begin = 0;
  for (const std::size_t part : joined.operands) {
    const Shape& shape = flat.nodes[part].shape;
    if (shape.sizes.size() != sizes.size()) return std::nullopt;
    const std::int64_t end = begin + element_of(shape.sizes, along[0]);
    if (begin == taken[0] && end == taken[1] && shape.sizes == node.shape.sizes &&
        shape.type == node.shape.type)
      return part;
    begin = end;
  }
  return std::nullopt;
}

std::optional<std::size_t> add_joined_exchange(FlatModule& flat, const Node& node,
                                               const AddNode& add) {
  const std::size_t count = node.operands.size();
  const Index along = node.instruction->numbers("dimensions");
  if (count < 2 || along.size() != 1) return std::nullopt;
  // All that it makes may be converted before, as where it was rounded.
  std::vector<std::size_t> parts = node.operands;
  std::vector<std::size_t> converts;  // of the first, last ones first
  const auto are_converted = [&] {
    return std::all_of(parts.begin(), parts.end(), [&](std::size_t each) {
      const Node& part = flat.nodes[each];
      return part.instruction->opcode == "convert" && part.operands.size() == 1 &&
             part.shape.type == flat.nodes[parts[0]].shape.type;
    });
  };
  while (are_converted()) {
    converts.push_back(parts[0]);
    for (std::size_t& each : parts) each = flat.nodes[each].operands[0];
  }
  const Node first = flat.nodes[parts[0]];
  const Instruction& exchange = *first.instruction;
  if (exchange.opcode != "all-to-all" || first.operands.size() != count ||
      exchange.has("dimensions"))
    return std::nullopt;
  for (std::size_t k = 0; k < count; ++k) {
    const Node& each = flat.nodes[parts[k]];
    const Shape& input = flat.nodes[first.operands[k]].shape;
    if (each.instruction != first.instruction || each.operands != first.operands ||
        each.part != k || input.sizes != first.shape.sizes ||
        (!converts.empty() && !(input.type == first.shape.type && each.shape.type == input.type)))
      return std::nullopt;
  }
  Instruction join = *node.instruction;
  if (!converts.empty()) join.shape.type = first.shape.type;
  Instruction one = exchange;
  one.operands.resize(1);
  one.shape = join.shape;
  one.attributes.set("dimensions", text_of(along));
  // As many as members of a group: the rules ask for that.
  one.attributes.set("split_count", std::to_string(count));
  Node inputs = written(flat, node, std::move(join));
  inputs.operands = first.operands;
  Node result = written(flat, first, std::move(one));
  result.part = 0;
  result.operands = {add(std::move(inputs))};
  std::size_t last = add(std::move(result));
  for (auto each = converts.rbegin(); each != converts.rend(); ++each) {
    const Node like = flat.nodes[*each];
    Instruction convert = *like.instruction;
    convert.shape = node.shape;
    convert.shape.type = like.shape.type;
    Node converted = written(flat, like, std::move(convert));
    converted.operands = {last};
    last = add(std::move(converted));
  }
  return last;
}

std::optional<std::size_t> add_as_dot(FlatModule& flat, const Node& node, const AddNode& add) {
  const Instruction& old = *node.instruction;
  if (node.operands.size() != 2 || old.shape.is_tuple ||
      old.number("feature_group_count", 1) != 1 || old.number("batch_group_count", 1) != 1)
    return std::nullopt;
  const Index x = flat.nodes[node.operands[0]].shape.sizes;
  const Index y = flat.nodes[node.operands[1]].shape.sizes;
  const Index& sizes = old.shape.sizes;
  const ConvolutionLabels labels(old);
  const std::size_t rank = labels.in.size();
  if (x.size() != rank || y.size() != rank || sizes.size() != rank) return std::nullopt;
  const auto find = ConvolutionLabels::find;
  // Dimensions of both operands, of the first one alone, of both and summed, of the kernel alone.
  std::string shared, kept = "b", summed = "f", added = "o";
  const auto window = window_of(old, rank - 2);
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    const auto label = static_cast<char>('0' + i);
    const WindowDimension& each = window[i];
    const std::int64_t size = x[find(labels.in, label)];
    const std::int64_t own = sizes[find(labels.out, label)];
    const std::int64_t n = each.size;
    const WindowDimension all{n, each.stride};
    // Windows n − 1 further on in what is n apart: each lies on one element, with one of its own.
    const WindowDimension one_by_one{n, std::max<std::int64_t>(1, n - 1), 0, 0, n};
    const WindowDimension around{n, 1, n - 1, n - 1, 1, 1, true};
    if (y[find(labels.kernel, label)] != n) return std::nullopt;
    if (each.is_single() && own == size)
      kept += label;
    else if (each == all && size == n && own == 1)
      summed += label;
    else if (each == one_by_one && size == n && own == n)
      shared += label;
    else if (each == around && size == 1 && own == n)
      added += label;
    else
      return std::nullopt;
  }
  const auto has = [](const std::string& list, char label) {
    return list.find(label) != std::string::npos;
  };
  // Both without the dimensions of one index that only the other one has.
  std::string left, right, made = shared;
  Index of_left, of_right;
  for (std::size_t k = 0; k < rank; ++k) {
    const char label = labels.in[k];
    if (has(kept, label)) made += label;
    if (has(added, label)) continue;
    left += label;
    of_left.push_back(x[k]);
  }
  for (std::size_t k = 0; k < rank; ++k) {
    const char label = labels.kernel[k] == 'i' ? 'f' : labels.kernel[k];
    if (has(added, label)) made += label == 'o' ? 'f' : label;
    if (has(kept, label)) continue;
    right += label;
    of_right.push_back(y[k]);
  }
  const auto listed = [&](const std::string& list, const std::string& all) {
    Index numbers;
    for (const char label : list) numbers.push_back(static_cast<std::int64_t>(find(all, label)));
    return text_of(numbers);
  };
  const std::size_t features = find(labels.out, 'f'), batches = find(labels.out, 'b');
  if (x[find(labels.in, 'f')] != of_right[find(right, 'f')] ||
      sizes[features] != of_right[find(right, 'o')] || sizes[batches] != x[find(labels.in, 'b')])
    return std::nullopt;
  Index own, order, ordered;
  for (const char label : made) own.push_back(sizes[find(labels.out, label)]);
  for (std::size_t k = 0; k < rank; ++k) {
    const std::size_t from = made.find(labels.out[k]);
    if (from == std::string::npos) continue;
    order.push_back(static_cast<std::int64_t>(from));
    ordered.push_back(sizes[k]);
  }
  const auto write = [&](const char* opcode, std::vector<std::size_t> operands, const Type& type,
                         const Index& of, const std::map<std::string, std::string>& lists) {
    Instruction step{old.name, opcode, {}, old.operands, "", {}};
    if (operands.size() == 1) step.operands = {old.operands.at(1)};
    step.shape.type = type;
    step.shape.sizes = of;
    for (const auto& [key, list] : lists) step.attributes.set(key, list);
    Node next = written(flat, node, std::move(step));
    next.operands = std::move(operands);
    next.is_function = true;
    return add(std::move(next));
  };
  const Type& type = node.shape.type;
  std::vector<std::size_t> factors = node.operands;
  for (std::size_t k = 0; k < 2; ++k) {
    const Index& narrow = k == 0 ? of_left : of_right;
    const Shape from = flat.nodes[factors[k]].shape;
    if (narrow != from.sizes) factors[k] = write("reshape", {factors[k]}, from.type, narrow, {});
  }
  std::map<std::string, std::string> lists = {{"lhs_contracting_dims", listed(summed, left)},
                                              {"rhs_contracting_dims", listed(summed, right)}};
  if (!shared.empty()) {
    lists["lhs_batch_dims"] = listed(shared, left);
    lists["rhs_batch_dims"] = listed(shared, right);
  }
  std::size_t result = write("dot", std::move(factors), type, own, lists);
  if (!std::is_sorted(order.begin(), order.end()))
    result = write("transpose", {result}, type, ordered, {{"dimensions", text_of(order)}});
  return ordered == sizes ? result : write("reshape", {result}, type, sizes, {});
}

std::optional<std::vector<std::size_t>> add_joined_reduction(FlatModule& flat, const Node& node,
                                                             const AddNode& add) {
  const Instruction& second = *node.instruction;
  const auto node_of = [&](std::size_t number) -> const Node& { return flat.nodes[number]; };
  const Index along = second.numbers("dimensions");
  if (node.operands.size() != 4 || along.size() != 1) return std::nullopt;
  const Node* first = nullptr;
  const Instruction* gathering = nullptr;
  std::int64_t members = 0;
  for (std::size_t k = 0; k < 2; ++k) {
    const Node& gather = node_of(node.operands[k]);
    if (gather.instruction->opcode != "all-gather" || gather.operands.size() != 1 ||
        gather.instruction->numbers("dimensions") != along)
      return std::nullopt;
    const Node& wide = node_of(gather.operands[0]);
    if (wide.instruction->opcode != "reshape" || wide.operands.size() != 1) return std::nullopt;
    const Node& reduced = node_of(wide.operands[0]);
    Index sizes = reduced.shape.sizes;
    if (along[0] < 0 || along[0] > std::ssize(sizes)) return std::nullopt;
    sizes.insert(sizes.begin() + along[0], 1);
    const bool is_same = first == nullptr || (reduced.instruction == first->instruction &&
                                              reduced.operands == first->operands);
    if (reduced.instruction->opcode != "reduce" || reduced.operands.size() != 4 ||
        reduced.part != k || !is_same || wide.shape.sizes != sizes)
      return std::nullopt;
    for (const char* key : {"replica_groups", "use_global_device_ids", "device_ids"}) {
      const auto text = [&](const Instruction& each) {
        return each.has(key) ? each.attribute(key) : std::string();
      };
      if (gathering != nullptr && text(*gathering) != text(*gather.instruction))
        return std::nullopt;
    }
    const bool has_channels = gathering == nullptr ||
                              gathering->has("channel_id") == gather.instruction->has("channel_id");
    if (!has_channels || (members != 0 && element_of(gather.shape.sizes, along[0]) != members))
      return std::nullopt;
    members = element_of(gather.shape.sizes, along[0]);
    first = &reduced;
    gathering = gather.instruction;
  }
  const Instruction& reduction = *first->instruction;
  const Computation& function = flat.module.called(second.attribute("to_apply"));
  const Index reduced = reduction.numbers("dimensions");
  const auto is_one = [&](std::size_t a, std::size_t b) {
    const Instruction& x = *node_of(a).instruction;
    const Instruction& y = *node_of(b).instruction;
    return x.opcode == "constant" && y.opcode == "constant" && x.text == y.text &&
           x.text.find("...") == std::string::npos;
  };
  const bool has_values =
      is_one(first->operands[2], node.operands[2]) && is_one(first->operands[3], node.operands[3]);
  const auto called = [&](const Instruction& each) {
    Instruction call{"", "call", {}, {}, "", {}};
    call.attributes.set("to_apply", each.attribute("to_apply"));
    return description_of(flat.module, call);
  };
  const auto selection = Selection::of(function);
  if (called(reduction) != called(second) || reduced.empty() || !has_values || !selection ||
      !selection->may_be_in_any_order())
    return std::nullopt;
  const std::vector<std::size_t> operands = first->operands;
  Node result = written(flat, *first, reduction);
  for (std::size_t k = 0; k < 2; ++k) {
    Instruction whole = *gathering;
    whole.attributes.set("dimensions", text_of({reduced[0]}));
    whole.shape = node_of(operands[k]).shape;
    if (reduced[0] < 0 || reduced[0] >= std::ssize(whole.shape.sizes)) return std::nullopt;
    whole.shape.sizes.set(static_cast<std::size_t>(reduced[0]),
                          element_of(whole.shape.sizes, reduced[0]) * members);
    Node gather = written(flat, node_of(node.operands[k]), std::move(whole));
    gather.operands = {operands[k]};
    result.operands[k] = add(std::move(gather));
  }
  std::vector<std::size_t> parts;
  for (std::size_t k = 0; k < 2; ++k) {
    result.part = k;
    result.shape = second.shape.parts.at(k);
    parts.push_back(add(result));
  }
  return parts;
}

}  // namespace p2::kernel::xla
