// Modules without calls and tuples: one node for every array, of a bitcast several.

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

constexpr std::size_t kMaxNodes = 1U << 22U;

/// What an instruction of a flattened module makes: an array, or a tuple; nothing of a token.
struct Tree {
  std::optional<std::size_t> node;
  std::vector<Tree> parts;
};

bool calls_one_of(const Instruction& instruction, std::initializer_list<std::string_view> targets) {
  return instruction.opcode == "custom-call" && instruction.has("custom_call_target") &&
         is_one_of(std::string(stripped(instruction.attribute("custom_call_target"), '"', '"')),
                   targets);
}

/// A note to a compiler, which returns its operand.
bool is_note(const Instruction& instruction) {
  return calls_one_of(instruction, {"AwsNeuronTransferWithStaticRing", "MoveToDevice", "MoveToHost",
                                    "Sharding", "xla.sdy.FuncResultSharding"});
}

/// What XLA writes as a custom-call, with the comparator of a total order of `f32`, as the
/// operation.
std::optional<Instruction> top_k_of(const Module& module, const Instruction& call) {
  if (!calls_one_of(call, {"TopK"}) || call.operands.size() != 1 || call.shape.parts.size() != 2 ||
      call.shape.parts[0].sizes.empty())
    return std::nullopt;
  const std::string target = R"(, custom_call_target="TopK")";
  const std::string called = "custom-call, called_computations={root; f32 parameter0; ";
  const std::string comparators[] = {
      "f32 parameter1; pred compare, direction=GT %0 %1}",
      "s32 bitcast %0; s32 constant0; pred compare, direction=LT %1 %2; s32 constant2147483647; "
      "s32 xor %4 %1; s32 select %3 %5 %1; f32 parameter1; s32 bitcast %7; pred compare, "
      "direction=LT %8 %2; s32 xor %4 %8; s32 select %9 %10 %8; pred compare, direction=GT %6 "
      "%11}"};
  const std::string own = description_of(module, call);
  if (std::ranges::none_of(comparators,
                           [&](const std::string& each) { return own == called + each + target; }))
    return std::nullopt;
  Instruction operation = call;
  operation.opcode = "topk";
  operation.attributes = {};
  operation.attributes.set("k", std::to_string(call.shape.parts[0].sizes.back()));
  operation.attributes.set("largest", "true");
  return operation;
}

/// Of computations that take operands and nothing else.
bool is_function(const Node& node) {
  static const Words kOthers(
      "batch-norm-grad batch-norm-inference batch-norm-training broadcast cholesky complex "
      "concatenate convolution dot dynamic-slice dynamic-update-slice fft gather imag iota "
      "map mulhi pad real reduce reduce-window reshape reverse scatter select-and-scatter "
      "slice sort topk transpose triangular-solve");
  const Instruction& instruction = *node.instruction;
  const std::string& opcode = instruction.opcode;
  const bool is_call = calls_one_of(
      instruction, {"AwsNeuronGelu", "AwsNeuronGeluBackward", "AwsNeuronRmsNorm", "AwsNeuronSilu",
                    "AwsNeuronSiluBackward", "AwsNeuronSoftmax", "AwsNeuronSoftmaxBackward"});
  return op_called(opcode) || is_call || kOthers.contains(opcode);
}

class Flattening {
 public:
  Flattening(FlatModule& flat, Budget& budget) : flat_(flat), budget_(budget) {}

  void run() {
    for (const auto& [name, computation] : flat_.module.computations) {
      for (const Instruction& each : computation.instructions) {
        const bool is_message = is_one_of(each.opcode, {"recv", "recv-done", "send", "send-done"});
        if ((is_message && !flat_.is_one_of_several) ||
            is_one_of(each.opcode, {"infeed", "outfeed", "rng", "rng-get-and-update-state"}) ||
            (each.attributes.contains("custom_call_has_side_effect") && !is_note(each) &&
             !is_border(each)))
          not_covered(printable(each.opcode));
      }
    }
    const Computation& main = flat_.module.main();
    flat_.nodes.reserve(main.instructions.size());
    std::vector<Tree> arguments;
    for (const std::uint32_t each : main.parameters) {
      arguments.push_back(leaves(main, main.instructions[each], main.instructions[each].shape));
      arrays_of(arguments.back(), flat_.inputs);
    }
    arrays_of(of(main, arguments), flat_.outputs);
  }

 private:
  static void arrays_of(const Tree& tree, std::vector<std::size_t>& nodes) {
    if (tree.node) nodes.push_back(*tree.node);
    for (const Tree& part : tree.parts) arrays_of(part, nodes);
  }

  static std::optional<std::size_t> first_array(const Tree& tree) {
    if (tree.node) return tree.node;
    for (const Tree& part : tree.parts) {
      if (const auto first = first_array(part)) return first;
    }
    return std::nullopt;
  }

  static std::size_t parts_of(const Tree& tree) {
    std::size_t all = tree.parts.size();
    for (const Tree& part : tree.parts) all += parts_of(part);
    return all;
  }

  std::size_t add(Node node) {
    budget_.spend(64);
    if (flat_.nodes.size() == kMaxNodes) not_covered("modules of this size");
    flat_.nodes.push_back(std::move(node));
    flat_.forms.push_back(nullptr);
    return flat_.nodes.size() - 1;
  }

  /// Arrays of which nothing is known but their shape.
  Tree leaves(const Computation& computation, const Instruction& instruction, const Shape& shape) {
    Tree tree;
    if (shape.is_tuple) {
      for (const Shape& part : shape.parts)
        tree.parts.push_back(leaves(computation, instruction, part));
    } else if (shape.type.name != "token") {
      tree.node = add({&computation, &instruction, {}, shape});
    }
    return tree;
  }

  Tree of(const Computation& computation, const std::vector<Tree>& arguments) {
    if (++depth_ > 64) not_covered("calls nested deeper than 64");
    if (arguments.size() != computation.parameters.size())
      malformed("a computation is called with another number of operands");
    std::vector<Tree> made(computation.instructions.size());
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      require_shape(arguments[k], computation.instructions.at(computation.parameters[k]));
      made.at(computation.parameters[k]) = arguments[k];
    }
    if (depth_ == 1) flat_.of_entry.resize(made.size());
    std::vector<const Tree*> operands;
    for (std::size_t i = 0; i < made.size(); ++i) {
      const Instruction& instruction = computation.instructions[i];
      if (instruction.opcode != "parameter") {
        operands.clear();
        for (const std::uint32_t each : instruction.operands) operands.push_back(&made.at(each));
        made[i] = result(computation, instruction, operands);
      }
      if (depth_ == 1) flat_.of_entry[i] = first_array(made[i]);
      if (instruction.opcode == "parameter") continue;
      budget_.spend(256 * (1 + parts_of(made[i])));
      require_shape(made[i], instruction);
    }
    --depth_;
    return made.at(computation.root);
  }

  /// Arrays, and tuples that are made of them, have the shape that an instruction says.
  void require_shape(const Tree& tree, const Instruction& instruction) const {
    // Those of what is under way are of operands, too.
    if (instruction.opcode.ends_with("-start") || instruction.opcode == "async-update") return;
    if (!has_shape(tree, instruction.shape))
      malformed("the shape of " + printable(instruction.name));
  }

  /// Types and sizes follow from those of the operands, where that is known of an operation.
  /// Returns what its sizes follow from.
  std::optional<Form> require_shape(const Node& node) const {
    const Instruction& instruction = *node.instruction;
    std::vector<Type> types;
    for (const std::size_t each : node.operands) types.push_back(flat_.nodes[each].shape.type);
    bool fits = have_types(instruction.opcode, types, xla::arrays_of(node.shape));
    std::optional<Form> form;
    if (!node.shape.is_tuple && has_sizes(instruction.opcode, types.size())) {
      const std::vector<Index> operands = sizes_of(flat_.nodes, node);
      form = form_of(flat_.module, node, operands);
      fits = fits && xla::sizes_of(*form, operands) == node.shape.sizes;
    }
    if (!fits) malformed("the shape of " + printable(instruction.name));
    return form;
  }

  static bool have_one_shape(const Shape& a, const Shape& b) {
    return a.sizes == b.sizes && a.type == b.type && a.is_tuple == b.is_tuple;
  }

  /// An earlier node, with a form, of an instruction that is written alike and of operands of the
  /// same shapes: what is said of its shape and form is said of one of `operands`.
  std::optional<std::size_t> like(const Instruction& instruction,
                                  const std::vector<const Tree*>& operands) const {
    const auto last = last_with_form_.find(instruction.kind);
    if (last == last_with_form_.end()) return std::nullopt;
    const std::vector<std::size_t>& own = flat_.nodes[last->second].operands;
    const bool is_like =
        std::equal(own.begin(), own.end(), operands.begin(), operands.end(),
                   [&](std::size_t node, const Tree* tree) {
                     return tree->node &&
                            have_one_shape(flat_.nodes[node].shape, flat_.nodes[*tree->node].shape);
                   });
    return is_like ? std::optional(last->second) : std::nullopt;
  }

  /// But for collectives, which change sizes along one dimension: rules see to it.
  void require_shape(const Node& node, const std::string& collective) const {
    Index from = flat_.nodes[node.operands[0]].shape.sizes;
    Index to = node.shape.sizes;
    bool fits =
        from.size() == to.size() && fit(flat_.nodes[node.operands[0]].shape.type, node.shape.type);
    if (is_one_of(collective, {"all-gather", "reduce-scatter"})) {
      for (const std::int64_t along : node.instruction->numbers("dimensions")) {
        if (fits && along >= 0 && along < std::ssize(to))
          from[static_cast<std::size_t>(along)] = to[static_cast<std::size_t>(along)];
      }
    }
    if (!fits || from != to) malformed("the shape of " + printable(node.instruction->name));
  }

  bool has_shape(const Tree& tree, const Shape& shape) const {
    if (tree.node) {
      const Shape& own = flat_.nodes[*tree.node].shape;
      return !shape.is_tuple && own.sizes == shape.sizes && own.type == shape.type;
    }
    if (!shape.is_tuple) return shape.type.name == "token" && tree.parts.empty();
    return std::equal(tree.parts.begin(), tree.parts.end(), shape.parts.begin(), shape.parts.end(),
                      [&](const Tree& part, const Shape& each) { return has_shape(part, each); });
  }

  Tree result(const Computation& computation, const Instruction& instruction,
              const std::vector<const Tree*>& operands) {
    const std::string& opcode = instruction.opcode;
    const Shape& shape = instruction.shape;
    const AddNode adding = [&](Node next) { return add(std::move(next)); };
    if (const auto known = like(instruction, operands)) {
      Node node{&computation, &instruction, {}, shape, 0, flat_.nodes[*known].is_function};
      node.operands.reserve(operands.size());
      for (const Tree* operand : operands) node.operands.push_back(*operand->node);
      if (const auto other = other_node(node, adding)) return {other, {}};
      return {add_with_form(std::move(node), flat_.forms[*known]), {}};
    }
    const auto copied = [&] {
      std::vector<Tree> trees;
      for (const Tree* operand : operands) trees.push_back(*operand);
      return trees;
    };
    if (opcode == "tuple") return {{}, copied()};
    if (opcode == "get-tuple-element") {
      const std::int64_t index = instruction.number("index", -1);
      const auto& parts = operands.at(0)->parts;
      if (parts.empty()) return leaves(computation, instruction, shape);
      if (index < 0 || index >= std::ssize(parts)) malformed("no such element of a tuple");
      return parts[static_cast<std::size_t>(index)];
    }
    if (returns_operand(opcode) || is_note(instruction)) return *operands.at(0);
    if (opcode == "while" && !flat_.is_one_of_several)
      return loop(computation, instruction, *operands.at(0));
    if (opcode == "conditional" && !flat_.is_one_of_several)
      return branches(computation, instruction, copied());
    if (is_one_of(opcode, {"call", "fusion", "async-start"})) {
      const char* key = opcode == "call" ? "to_apply" : "calls";
      return of(flat_.module.called(instruction.attribute(key)), copied());
    }
    const bool is_array = !shape.is_tuple && shape.type.name != "token";
    if (is_array && operands.empty() && instruction.allocates_memory()) {
      const std::size_t reserved = leaves(computation, instruction, shape).node.value();
      leaves(computation, instruction, shape);
      const Tree buffer = leaves(computation, instruction, shape);
      reserved_[buffer.node.value()] = reserved;
      return buffer;
    }
    Node node = with_promises({&computation, &instruction, {}, shape, 0, false});
    if (auto top = top_k_of(flat_.module, instruction))
      node = written(flat_, node, std::move(*top));
    node.is_function = is_function(node);
    for (const Tree* operand : operands) {
      if (!operand->node) return leaves(computation, instruction, shape);
      node.operands.push_back(*operand->node);
    }
    std::optional<Form> form;
    if (!opcode.ends_with("-start")) form = require_shape(node);
    if (opcode == "bitcast") {
      if (const auto moved = bitcast(node)) return {moved, {}};
    }
    if (const auto other = other_node(node, adding)) return {other, {}};
    if (opcode == "reduce" && shape.is_tuple) reduce_last(node);
    if (opcode == "reduce" && shape.is_tuple && shape.parts.size() == 2) {
      if (const auto parts = add_joined_reduction(flat_, node, adding))
        return {{}, {{parts->at(0), {}}, {parts->at(1), {}}}};
    }
    std::string collective = opcode;
    if (opcode.ends_with("-start")) collective.resize(opcode.size() - 6);
    if (is_one_of(collective,
                  {"all-reduce", "all-gather", "reduce-scatter", "collective-permute"})) {
      // The shape of other starts is of operands and results.
      const bool has_operands = collective != opcode && collective != "all-reduce";
      if (has_operands && shape.parts.size() < 2) return leaves(computation, instruction, shape);
      const Shape& results = has_operands ? shape.parts[1] : shape;
      const bool is_single = operands.size() == 1;
      if (results.is_tuple == is_single || (!is_single && results.parts.size() != operands.size()))
        return leaves(computation, instruction, shape);
      Tree tree;
      for (std::size_t k = 0; k < operands.size(); ++k) {
        const Shape& part = is_single ? results : results.parts[k];
        if (part.is_tuple) return leaves(computation, instruction, shape);
        Node one = node;
        one.operands = {node.operands[k]};
        one.shape = part;
        require_shape(one, collective);
        tree.parts.push_back({add(std::move(one)), {}});
      }
      return is_single ? tree.parts[0] : tree;
    }
    if (!shape.is_tuple && shape.type.name == "token") return {};
    if (!shape.is_tuple && form && node.instruction == &instruction) {
      const std::size_t added =
          add_with_form(std::move(node), &flat_.different_forms.emplace_back(std::move(*form)));
      // Functions are written with the types of their operands' instructions.
      const bool is_of_kind = instruction.kind != 0 && flat_.forms[added]->opcode != "function";
      if (is_of_kind) last_with_form_[instruction.kind] = added;
      return {added, {}};
    }
    if (!shape.is_tuple) return {add(std::move(node)), {}};
    Tree tree;
    for (const Shape& part : shape.parts) {
      if (part.is_tuple || is_one_of(opcode, {"while", "conditional"}))
        return leaves(computation, instruction, shape);
      node.shape = part;
      tree.parts.push_back({add(node), {}});
      ++node.part;
    }
    return tree;
  }

  /// A gather or scatter with what it promises of its indices, if that is always so, and means the
  /// same in whatever order their components are.
  Node with_promises(Node node) {
    const Instruction& instruction = *node.instruction;
    const auto opcode = without_promises(instruction.opcode);
    if (!opcode || !flat_.may_promise || branches_ > 0) return node;
    const bool is_gather = *opcode == "gather";
    Index order = instruction.numbers(is_gather ? "operand_batching_dims" : "input_batching_dims");
    for (const std::int64_t each :
         instruction.numbers(is_gather ? "start_index_map" : "scatter_dims_to_operand_dims"))
      order.push_back(each);
    const bool is_sorted = instruction.promises("indices_are_sorted");
    if (is_sorted && !std::is_sorted(order.begin(), order.end())) return node;
    Instruction plain = instruction;
    plain.opcode = *opcode;
    Node result = written(flat_, node, std::move(plain));
    result.has_sorted_indices = is_sorted;
    result.has_unique_indices = instruction.promises("unique_indices");
    return result;
  }

  /// Of what may not be executed.
  static void forget_promises(Node& node) {
    if (!node.promises()) return;
    node.has_sorted_indices = node.has_unique_indices = node.is_function = false;
  }

  std::size_t add_with_form(Node node, const Form* form) {
    const std::size_t number = add(std::move(node));
    flat_.forms[number] = form;
    return number;
  }

  /// A node that is the same, which may have been there or is made of others that `adding` adds.
  std::optional<std::size_t> other_node(const Node& node, const AddNode& adding) {
    if (node.instruction->opcode == "reshape" && node.operands.size() == 1) {
      if (const auto same = reshaped_back(node.operands[0], node.shape)) return same;
    }
    return expressed(node, adding);
  }

  /// What a compiler expanded into this instruction and others, made by nodes that `adding` adds.
  std::optional<std::size_t> expressed(const Node& node, const AddNode& adding) {
    const std::string_view opcode = node.instruction->opcode;
    if (opcode == "scatter" || opcode == "select-and-scatter") {
      if (const auto selected = add_selecting_scatter(flat_, node, adding)) return selected;
    }
    if (opcode == "gather" || opcode == "scatter")
      return add_without_expansion(flat_, node, adding);
    if (opcode == "reduce") return add_whole_reduction(flat_, node, adding);
    if (opcode == "reduce-window") {
      const auto grouped = add_grouped_convolution(flat_, node, adding);
      return grouped ? grouped : add_padded_windows(flat_, node, adding);
    }
    if (opcode == "maximum") return add_joined_pads(flat_, node, adding);
    if (opcode == "all-reduce") return add_parted_all_reduce(flat_, node, adding);
    if (opcode == "slice") return part_of_concatenation(flat_, node);
    if (opcode == "concatenate") return add_joined_exchange(flat_, node, adding);
    if (opcode == "convolution") return add_as_dot(flat_, node, adding);
    return std::nullopt;
  }

  /// What was reshaped to this array, if that has this shape.
  std::optional<std::size_t> reshaped_back(std::size_t number, const Shape& shape) const {
    const Node& node = flat_.nodes[number];
    if (node.instruction->opcode != "reshape" || node.operands.size() != 1) return std::nullopt;
    const Shape& from = flat_.nodes[node.operands[0]].shape;
    return from.sizes == shape.sizes && from.type == shape.type ? std::optional(node.operands[0])
                                                                : std::nullopt;
  }

  /// As transposes and a reshape of the operand; nothing where it is none.
  std::optional<std::size_t> bitcast(Node node) {
    const Instruction& instruction = *node.instruction;
    if (node.operands.size() != 1) malformed("the operands of a bitcast");
    const Shape& from = node.computation->instructions.at(instruction.operands[0]).shape;
    const Shape& operand = flat_.nodes[node.operands[0]].shape;
    if (from.sizes != operand.sizes || !(from.type == operand.type)) return std::nullopt;
    const Shape& to = instruction.shape;
    if (!(from.type == to.type) && from.type.bits == to.type.bits && from.sizes == to.sizes &&
        from.layout == to.layout && from.tiles == to.tiles) {
      Instruction step = instruction;
      step.opcode = "bitcast-convert";
      return in_steps(std::move(node), {step});
    }
    const auto steps = steps_of_bitcast(instruction, from);
    return steps ? std::optional(in_steps(std::move(node), *steps)) : std::nullopt;
  }

  /// What instructions make of the node's operand, one after the other.
  std::size_t in_steps(Node node, const std::vector<Instruction>& steps) {
    node.is_function = true;
    for (const Instruction& each : steps) {
      if (each.opcode == "reshape") {
        if (const auto same = reshaped_back(node.operands[0], each.shape)) {
          node.operands = {*same};
          continue;
        }
      }
      node = written(flat_, node, each);
      node.operands = {add(node)};
    }
    return node.operands[0];
  }

  /// A reduction of several arrays as that along their last dimensions, for which they are
  /// transposed.
  void reduce_last(Node& node) {
    if (node.operands.empty() || node.operands.size() % 2 != 0) return;
    Instruction reduction = *node.instruction;
    const std::size_t rank = flat_.nodes[node.operands.at(0)].shape.sizes.size();
    const Index along = reduction.numbers("dimensions");
    Index order, last;
    for (const bool is_reduced : {false, true}) {
      for (std::size_t k = 0; k < rank; ++k) {
        if (contains(along, k) != is_reduced) continue;
        if (is_reduced) last.push_back(std::ssize(order));
        order.push_back(static_cast<std::int64_t>(k));
      }
    }
    if (last.size() != along.size() || std::is_sorted(order.begin(), order.end())) return;
    std::vector<std::size_t> moved;
    for (std::size_t k = 0; 2 * k < node.operands.size(); ++k) {
      const Node operand = flat_.nodes[node.operands[k]];
      if (operand.shape.sizes.size() != rank) return;
      Instruction step{reduction.name, "transpose", operand.shape, reduction.operands, "", {}};
      step.attributes.set("dimensions", text_of(order));
      Index from;
      for (std::size_t i = 0; i < rank; ++i)
        step.shape.sizes.set(i, element_of(operand.shape.sizes, order[i]));
      if (operand.instruction->opcode == "transpose" && operand.operands.size() == 1) {
        const Index own = operand.instruction->numbers("dimensions");
        for (const std::int64_t each : order)
          from.push_back(own.at(static_cast<std::size_t>(each)));
      }
      if (!from.empty() && std::is_sorted(from.begin(), from.end())) {
        moved.push_back(operand.operands[0]);
        continue;
      }
      Node transpose = node;
      transpose.operands = {node.operands[k]};
      moved.push_back(in_steps(std::move(transpose), {step}));
    }
    std::copy(moved.begin(), moved.end(), node.operands.begin());
    const Shape shape = node.shape;
    reduction.attributes.set("dimensions", text_of(last));
    node = written(flat_, node, std::move(reduction));
    node.shape = shape;
  }

  /// The same tree of other arrays.
  static Tree with_nodes(Tree tree, std::span<const std::size_t>& nodes) {
    if (tree.node) {
      tree.node = nodes.front();
      nodes = nodes.subspan(1);
    }
    for (Tree& part : tree.parts) part = with_nodes(std::move(part), nodes);
    return tree;
  }

  /// All branches, and a choice by a number that has to be the same on all devices.
  Tree branches(const Computation& computation, const Instruction& instruction,
                const std::vector<Tree>& operands) {
    const std::vector<std::string> names = branches_of(instruction);
    if (operands.size() != names.size() + 1)
      malformed("a conditional with another number of operands");
    if (!operands[0].node) return leaves(computation, instruction, instruction.shape);
    const Shape index = flat_.nodes[*operands[0].node].shape;
    const bool is_truth = index.type.is_boolean() && names.size() == 2;
    if (!index.sizes.empty() || (!is_truth && index.type.name != "s32"))
      return leaves(computation, instruction, instruction.shape);
    std::vector<std::vector<std::size_t>> arrays;
    Tree result;
    for (std::size_t k = 0; k < names.size(); ++k) {
      ++branches_;
      result = of(flat_.module.called(names[k]), {operands[k + 1]});
      --branches_;
      if (!has_shape(result, instruction.shape))
        return leaves(computation, instruction, instruction.shape);
      arrays_of(result, arrays.emplace_back());
    }
    const auto write = [&](const char* opcode, const Shape& shape, std::vector<std::size_t> nodes,
                           std::string text = {}) {
      Instruction step{instruction.name, opcode, {}, {}, std::move(text), {}};
      step.shape.type = shape.type;
      step.shape.sizes = shape.sizes;
      step.operands.assign(nodes.size(), instruction.operands.at(0));
      if (step.opcode == "compare") step.attributes.set("direction", "EQ");
      const Node like{&computation, {}, std::move(nodes), {}, 0, op_called(opcode).has_value()};
      return add(written(flat_, like, std::move(step)));
    };
    Shape truth;
    truth.type = type_called("pred");
    const std::size_t number = write("same everywhere", index, {*operands[0].node});
    std::vector<std::size_t> conditions;
    for (std::size_t k = 0; k + 1 < names.size(); ++k) {
      conditions.push_back(number);
      if (is_truth) continue;
      const std::size_t constant = write("constant", index, {}, std::to_string(k));
      conditions.back() = write("compare", truth, {number, constant});
    }
    std::vector<std::size_t> chosen = arrays.back();
    for (std::size_t k = conditions.size(); k-- > 0;) {
      for (std::size_t i = 0; i < chosen.size(); ++i)
        chosen[i] =
            write("select", flat_.nodes[chosen[i]].shape, {conditions[k], arrays[k][i], chosen[i]});
    }
    std::span<const std::size_t> all = chosen;
    return with_nodes(std::move(result), all);
  }

  /// Of the arrays of a tuple, those of elements that a body is seen to return at once.
  static std::vector<bool> arrays_returned(const Computation& body, const Tree& before) {
    const Instruction& root = body.instructions.at(body.root);
    std::vector<bool> returned;
    for (std::size_t k = 0; k < before.parts.size(); ++k) {
      bool is_so = false;
      if (root.opcode == "tuple" && k < root.operands.size()) {
        const Instruction& element = body.instructions.at(root.operands[k]);
        is_so = element.opcode == "get-tuple-element" && element.operands == body.parameters &&
                element.number("index", -1) == static_cast<std::int64_t>(k);
      }
      std::vector<std::size_t> arrays;
      arrays_of(before.parts[k], arrays);
      returned.insert(returned.end(), arrays.size(), is_so);
    }
    std::vector<std::size_t> all;
    arrays_of(before, all);
    returned.resize(all.size());
    return returned;
  }

  /// One iteration. An array that it returns as it is is that before the loop.
  Tree loop(const Computation& computation, const Instruction& instruction, const Tree& before) {
    const Computation& body = flat_.module.called(instruction.attribute("body"));
    const Computation& condition = flat_.module.called(instruction.attribute("condition"));
    std::vector<std::size_t> first, variables, next;
    arrays_of(before, first);
    Loop loop;
    loop.begin = flat_.nodes.size();
    const std::vector<bool> is_returned = arrays_returned(body, before);
    for (const std::size_t each : first) {
      if (is_returned[variables.size()]) {
        variables.push_back(each);
        continue;
      }
      Node node{&body, &body.instructions.at(body.parameters.at(0)), {each}, {}, 0, false};
      node.shape = flat_.nodes[each].shape;
      variables.push_back(add(std::move(node)));
    }
    std::span<const std::size_t> list(variables);
    const Tree changing = with_nodes(before, list);
    arrays_of(of(body, {changing}), next);
    ++branches_;  // executed once more than the body
    const Tree goes_on = of(condition, {changing});
    --branches_;
    loop.end = flat_.nodes.size();
    const auto fits = [&](std::size_t k) {
      const Shape& shape = flat_.nodes[first[k]].shape;
      const Shape& after = flat_.nodes[next[k]].shape;
      return shape.sizes == after.sizes && shape.type == after.type;
    };
    bool is_known = next.size() == first.size() && goes_on.node &&
                    flat_.nodes[*goes_on.node].shape.sizes.empty() &&
                    flat_.nodes[*goes_on.node].shape.type.is_boolean();
    for (std::size_t k = 0; is_known && k < first.size(); ++k) is_known = fits(k);
    if (!is_known) {
      for (std::size_t i = loop.begin; i < loop.end; ++i) forget_promises(flat_.nodes[i]);
      return leaves(computation, instruction, instruction.shape);
    }
    std::map<std::size_t, std::size_t> kept;
    Loop whole{loop.begin, loop.end, first, variables, next, {}, *goes_on.node};
    for (std::size_t k = 0; k < first.size(); ++k) {
      const auto reserved = reserved_.find(first[k]);
      if (reserved == reserved_.end() || variables[k] < loop.begin) continue;
      budget_.spend(loop.end - loop.begin + first.size());
      for (const std::size_t choice : begin_before(flat_, whole, k, reserved->second))
        kept[choice] = variables[k];
    }
    begin_at_choices(flat_, whole, budget_, [&](Node node) { return add(std::move(node)); });
    loop.end = whole.end;
    first = std::move(whole.first);
    variables = std::move(whole.variables);
    next = std::move(whole.next);
    for (std::size_t k = 0; k < first.size(); ++k) {
      if (next[k] == variables[k]) kept[variables[k]] = first[k];
    }
    const auto without_kept = [&](std::size_t& node) {
      const auto found = kept.find(node);
      if (found != kept.end()) node = found->second;
    };
    for (std::size_t i = loop.begin; i < loop.end; ++i) {
      for (std::size_t& each : flat_.nodes[i].operands) without_kept(each);
    }
    for (Loop& inner : flat_.loops) {
      if (!loop.contains(inner)) continue;
      for (std::size_t& each : inner.first) without_kept(each);
      for (std::size_t& each : inner.next) without_kept(each);
      without_kept(inner.condition);
    }
    loop.condition = *goes_on.node;
    without_kept(loop.condition);
    std::vector<std::size_t> results;
    for (std::size_t k = 0; k < first.size(); ++k) {
      results.push_back(first[k]);
      if (kept.contains(variables[k])) continue;
      without_kept(next[k]);
      Node node{&computation, &instruction, {next[k], loop.condition}, {}, 0, false};
      node.shape = flat_.nodes[first[k]].shape;
      results.back() = add(std::move(node));
      flat_.variables[variables[k]] = {flat_.loops.size(), loop.first.size()};
      flat_.results[results.back()] = {flat_.loops.size(), loop.first.size()};
      loop.first.push_back(first[k]);
      loop.variables.push_back(variables[k]);
      loop.next.push_back(next[k]);
      loop.results.push_back(results.back());
    }
    flat_.loops.push_back(std::move(loop));
    list = results;
    return with_nodes(before, list);
  }

  FlatModule& flat_;
  Budget& budget_;
  /// By kind of instruction the last node whose form was made from its instruction.
  std::unordered_map<std::uint32_t, std::size_t> last_with_form_;
  int depth_ = 0;
  /// By node of a buffer of which nothing is known, the first of two nodes before it.
  std::map<std::size_t, std::size_t> reserved_;
  int branches_ = 0;  ///< and conditions of loops, that what is flattened is in
};

}  // namespace

bool is_border(const Instruction& instruction) {
  return calls_one_of(instruction, {"SPMDFullToShardShape", "SPMDShardToFullShape",
                                    "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"});
}

FlatModule::FlatModule(const Module& source, Budget& budget, bool has_others, bool has_promises)
    : module(source), is_one_of_several(has_others), may_promise(has_promises) {
  Flattening(*this, budget).run();
}

std::vector<std::size_t> FlatModule::loops_of(std::size_t node) const {
  std::vector<std::size_t> all;
  for (std::size_t k = 0; k < loops.size(); ++k) {
    if (loops[k].begin <= node && node < loops[k].end) all.push_back(k);
  }
  return all;
}

}  // namespace p2::kernel::xla
