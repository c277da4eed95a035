// Operations without a form of their own: what they make at one index of a dimension may be made
// of what is there, as in a sort of every row. Such a dimension may be cut. And reductions of
// several arrays in two steps, as of the largest element with its number.

#include <algorithm>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// A dimension of the result, and by operand the one that has the same indices, if any.
struct IndependentDimension {
  std::size_t result = 0;
  std::vector<std::optional<std::size_t>> operands;
};

/// Along these the result at an index is the function of what operands have there, and of operands
/// that have no such dimension. Other dimensions may be, too.
std::vector<IndependentDimension> independent_dimensions(const Node& node,
                                                         const std::vector<Index>& operands) {
  const Instruction& instruction = *node.instruction;
  const std::string& opcode = instruction.opcode;
  const std::size_t rank = operands.at(0).size();
  std::vector<IndependentDimension> all;
  const auto add = [&](std::size_t dimension, std::size_t result, std::size_t first_operands) {
    all.push_back({result, std::vector<std::optional<std::size_t>>(operands.size())});
    for (std::size_t k = 0; k < first_operands; ++k) all.back().operands[k] = dimension;
  };
  const auto add_all_but_last = [&](std::size_t last) {
    for (std::size_t i = 0; i + last < rank; ++i) add(i, i, operands.size());
  };
  const auto add_windows = [&](std::size_t first_operands) {
    const auto window = window_of(instruction, rank);
    for (std::size_t i = 0; i < rank; ++i) {
      if (window[i].is_single()) add(i, i, first_operands);
    }
  };
  if (is_one_of(opcode, {"complex", "imag", "map", "real"})) {
    add_all_but_last(0);
  } else if (is_one_of(opcode, {"cholesky", "triangular-solve"})) {
    add_all_but_last(2);
  } else if (opcode == "fft") {
    add_all_but_last(instruction.numbers("fft_length").size());
  } else if (opcode == "topk") {
    add_all_but_last(1);
  } else if (opcode == "sort" && is_stable_sort(instruction)) {
    // In which order equal elements are then does not depend on other lines.
    for (std::size_t i = 0; i < rank; ++i) {
      if (i != sorted_dimension(instruction)) add(i, i, operands.size());
    }
  } else if (opcode == "reduce") {
    const Index along = instruction.numbers("dimensions");
    for (std::size_t i = 0, next = 0; i < rank; ++i) {
      if (!contains(along, i)) add(i, next++, operands.size() / 2);
    }
  } else if (opcode == "reduce-window") {
    add_windows(operands.size() / 2);
  } else if (opcode == "select-and-scatter") {
    add_windows(2);
  } else if (opcode == "convolution") {
    const ConvolutionLabels labels(instruction);
    const auto find = ConvolutionLabels::find;
    const auto window = window_of(instruction, labels.in.size() - 2);
    if (instruction.number("batch_group_count", 1) == 1)
      add(find(labels.in, 'b'), find(labels.out, 'b'), 1);
    for (std::size_t i = 0; i < window.size(); ++i) {
      const auto label = static_cast<char>('0' + i);
      if (window[i].is_single()) add(find(labels.in, label), find(labels.out, label), 1);
    }
  }
  return all;
}

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
    const auto type = [&](std::uint32_t number) { return all[number].shape.type; };
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
    for (int value = 0; value < 3; ++value) {
      for (int number = 0; number < 3; ++number) all.push_back({value, number});
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
  using Element = std::pair<int, int>;

  explicit Selection(const Computation& computation) : computation_(computation) {}

  Element chosen(const Element& a, const Element& b) const {
    std::vector<int> values;
    for (const Instruction& each : computation_.instructions) {
      const auto operand = [&](std::size_t k) { return values.at(each.operands.at(k)); };
      int value = 0;
      if (each.opcode == "parameter") {
        const std::int64_t number = integer(each.text);
        const Element& of = number < 2 ? a : b;
        value = number % 2 == 0 ? of.first : of.second;
      } else if (each.opcode == "compare") {
        const std::string& direction = each.attribute("direction");
        const int x = operand(0), y = operand(1);
        value = direction == "EQ"   ? x == y
                : direction == "NE" ? x != y
                : direction == "LT" ? x < y
                : direction == "LE" ? x <= y
                : direction == "GT" ? x > y
                                    : x >= y;
      } else if (each.opcode == "select") {
        value = operand(0) != 0 ? operand(1) : operand(2);
      } else if (each.opcode == "not") {
        value = operand(0) == 0;
      } else if (each.opcode != "tuple") {
        value = each.opcode == "and" ? operand(0) & operand(1) : operand(0) | operand(1);
      }
      values.push_back(value);
    }
    const auto& root = computation_.instructions[computation_.root].operands;
    return {values.at(root[0]), values.at(root[1])};
  }

  const Computation& computation_;
};

}  // namespace

std::optional<std::vector<std::size_t>> add_joined_reduction(
    FlatModule& flat, const Node& node, const std::function<std::size_t(Node)>& add) {
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
  const auto write = [&](const Node& like, Instruction instruction) {
    Node next = like;
    flat.written.push_back(std::make_shared<const Instruction>(std::move(instruction)));
    next.instruction = flat.written.back().get();
    return next;
  };
  const std::vector<std::size_t> operands = first->operands;
  Node result = write(*first, reduction);
  for (std::size_t k = 0; k < 2; ++k) {
    Instruction whole = *gathering;
    whole.attributes.set("dimensions", text_of({reduced[0]}));
    Shape shape = node_of(operands[k]).shape;
    if (reduced[0] < 0 || reduced[0] >= std::ssize(shape.sizes)) return std::nullopt;
    shape.sizes[static_cast<std::size_t>(reduced[0])] *= members;
    whole.shape = shape;
    Node gather = write(node_of(node.operands[k]), std::move(whole));
    gather.shape = shape;
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

std::optional<Fact> RelatedModules::applied(const Node& node, Form form, const Facts& facts) {
  std::vector<Index> own(form.numbers.begin(), form.numbers.end() - 1);
  if (own.empty()) return std::nullopt;
  std::vector<std::size_t> places;
  for (const std::int64_t size : node.shape.sizes) places.push_back(places_.identity(size));
  std::vector<std::vector<bool>> is_cut;
  for (const Index& sizes : own) is_cut.emplace_back(sizes.size(), false);
  const auto place_of = [&](std::size_t operand, std::size_t dimension) {
    is_cut.at(operand).at(dimension) = true;
    return facts[operand]->places.at(dimension);
  };
  auto dimensions = independent_dimensions(node, own);
  std::vector<std::size_t> along;
  const Instruction& instruction = *node.instruction;
  const bool is_product = instruction.opcode == "convolution" &&
                          instruction.number("feature_group_count", 1) == 1 &&
                          instruction.number("batch_group_count", 1) == 1;
  if (is_product) {
    const ConvolutionLabels labels(instruction);
    const auto find = ConvolutionLabels::find;
    dimensions.push_back({find(labels.out, 'f'), {std::nullopt, find(labels.kernel, 'o')}});
    const auto both =
        places_.meet(place_of(0, find(labels.in, 'f')), place_of(1, find(labels.kernel, 'i')));
    if (!both) return std::nullopt;
    along.push_back(*both);
  }
  for (const IndependentDimension& each : dimensions) {
    std::optional<std::size_t> place;
    for (std::size_t k = 0; k < facts.size(); ++k) {
      if (!each.operands[k]) continue;
      const std::size_t its = place_of(k, *each.operands[k]);
      place = place ? places_.meet(*place, its) : its;
      if (!place) return std::nullopt;
    }
    places.at(each.result) = place.value();
    form.numbers.back().at(each.result) = places_.at(*place).whole;
  }
  for (std::size_t k = 0; k < facts.size(); ++k) {
    if (facts[k]->partial && !is_product) return std::nullopt;
    for (std::size_t i = 0; i < own[k].size(); ++i) {
      if (!is_cut[k][i] && !places_.is_identity(facts[k]->places[i])) return std::nullopt;
    }
    form.numbers[k] = tensors_.at(facts[k]->tensor).sizes;
  }
  return is_product ? product(node, form, facts, std::move(places), std::move(along))
                    : made(node, std::move(form), facts, std::move(places));
}

}  // namespace p2::kernel::xla
