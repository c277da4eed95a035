// Modules without calls and tuples, what is known of them from the start, and what is to be shown.

#include "proofs/kernel/xla/relation.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "proofs/kernel/input.h"

namespace p2::kernel::xla {
namespace {

constexpr std::size_t kMaxNodes = 1U << 22U;

/// What an instruction of a flattened module makes: an array, or a tuple; nothing of a token.
struct Tree {
  std::optional<std::size_t> node;
  std::vector<Tree> parts;
};

bool calls_one_of(const Instruction& instruction, std::initializer_list<const char*> targets) {
  return instruction.opcode == "custom-call" && instruction.has("custom_call_target") &&
         is_one_of(std::string(stripped(instruction.attribute("custom_call_target"), '"', '"')),
                   targets);
}

/// A note to a compiler, which returns its operand.
bool is_note(const Instruction& instruction) {
  return calls_one_of(instruction, {"AwsNeuronTransferWithStaticRing", "MoveToDevice", "MoveToHost",
                                    "Sharding", "xla.sdy.FuncResultSharding"});
}

/// Where a part begins or ends that is written for one device.
bool is_border(const Instruction& instruction) {
  return calls_one_of(instruction, {"SPMDFullToShardShape", "SPMDShardToFullShape",
                                    "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"});
}

/// Of computations that take operands and nothing else.
bool is_function(const Node& node) {
  const Instruction& instruction = *node.instruction;
  const std::string& opcode = instruction.opcode;
  if (opcode == "bitcast") {
    // With the last dimension first in memory it is a reshape.
    const Shape& from = node.computation->instructions.at(instruction.operands.at(0)).shape;
    const auto is_plain = [](const Shape& shape) {
      return shape.tiles.empty() && std::is_sorted(shape.layout.rbegin(), shape.layout.rend());
    };
    return is_plain(from) && is_plain(instruction.shape) && from.type == instruction.shape.type;
  }
  const bool is_call = calls_one_of(
      instruction, {"AwsNeuronGelu", "AwsNeuronGeluBackward", "AwsNeuronRmsNorm", "AwsNeuronSilu",
                    "AwsNeuronSiluBackward", "AwsNeuronSoftmax", "AwsNeuronSoftmaxBackward"});
  return op_called(opcode) || is_call ||
         is_one_of(opcode, {"batch-norm-grad",
                            "batch-norm-inference",
                            "batch-norm-training",
                            "broadcast",
                            "cholesky",
                            "complex",
                            "concatenate",
                            "convolution",
                            "dot",
                            "dynamic-slice",
                            "dynamic-update-slice",
                            "fft",
                            "gather",
                            "imag",
                            "iota",
                            "map",
                            "pad",
                            "real",
                            "reduce",
                            "reduce-window",
                            "reshape",
                            "reverse",
                            "scatter",
                            "select-and-scatter",
                            "slice",
                            "sort",
                            "topk",
                            "transpose",
                            "triangular-solve"});
}

class Flattening {
 public:
  Flattening(FlatModule& flat, Budget& budget, bool is_one_of_several)
      : flat_(flat), budget_(budget), is_one_of_several_(is_one_of_several) {}

  void run() {
    for (const auto& [name, computation] : flat_.module.computations) {
      for (const Instruction& each : computation.instructions) {
        const bool is_message = is_one_of(each.opcode, {"recv", "recv-done", "send", "send-done"});
        if ((is_message && !is_one_of_several_) ||
            is_one_of(each.opcode, {"infeed", "outfeed", "rng", "rng-get-and-update-state"}) ||
            (each.attributes.contains("custom_call_has_side_effect") && !is_note(each) &&
             !is_border(each)))
          not_covered(printable(each.opcode));
      }
    }
    const Computation& main = flat_.module.main();
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

  void note_first_array(std::size_t instruction, const Tree& tree) {
    std::vector<std::size_t> arrays;
    arrays_of(tree, arrays);
    if (!arrays.empty()) flat_.of_entry[instruction] = arrays[0];
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
    for (std::size_t i = 0; i < made.size(); ++i) {
      const Instruction& instruction = computation.instructions[i];
      if (depth_ == 1) note_first_array(i, made[i]);
      if (instruction.opcode == "parameter") continue;
      std::vector<Tree> operands;
      for (const std::uint32_t each : instruction.operands) operands.push_back(made.at(each));
      made[i] = result(computation, instruction, operands);
      if (depth_ == 1) note_first_array(i, made[i]);
      budget_.spend(256 * (1 + parts_of(made[i])));
      require_shape(made[i], instruction);
    }
    --depth_;
    return made.at(computation.root);
  }

  /// An array has the shape that an instruction says.
  void require_shape(const Tree& tree, const Instruction& instruction) const {
    if (instruction.shape.is_tuple || !tree.node) return;
    const Shape& shape = flat_.nodes[*tree.node].shape;
    const bool is_start = instruction.opcode.ends_with("-start");
    if (!is_start &&
        (shape.sizes != instruction.shape.sizes || !(shape.type == instruction.shape.type)))
      malformed("the shape of " + printable(instruction.name));
  }

  Tree result(const Computation& computation, const Instruction& instruction,
              std::vector<Tree>& operands) {
    const std::string& opcode = instruction.opcode;
    const Shape& shape = instruction.shape;
    if (opcode == "tuple") return {{}, std::move(operands)};
    if (opcode == "get-tuple-element") {
      const std::int64_t index = instruction.number("index", -1);
      auto& parts = operands.at(0).parts;
      if (parts.empty()) return leaves(computation, instruction, shape);
      if (index < 0 || index >= std::ssize(parts)) malformed("no such element of a tuple");
      return parts[static_cast<std::size_t>(index)];
    }
    if (returns_operand(opcode) || is_note(instruction)) return operands.at(0);
    if (opcode == "while" && !is_one_of_several_)
      return loop(computation, instruction, operands.at(0));
    if (is_one_of(opcode, {"call", "fusion", "async-start"})) {
      const char* key = opcode == "call" ? "to_apply" : "calls";
      return of(flat_.module.called(instruction.attribute(key)), operands);
    }
    Node node{&computation, &instruction, {}, shape, 0, false};
    node.is_function = is_function(node);
    for (const Tree& operand : operands) {
      if (!operand.node) return leaves(computation, instruction, shape);
      node.operands.push_back(*operand.node);
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
        tree.parts.push_back({add(std::move(one)), {}});
      }
      return is_single ? tree.parts[0] : tree;
    }
    if (!shape.is_tuple)
      return shape.type.name == "token" ? Tree{} : Tree{add(std::move(node)), {}};
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

  /// The same tree of other arrays.
  static Tree with_nodes(Tree tree, std::span<const std::size_t>& nodes) {
    if (tree.node) {
      tree.node = nodes.front();
      nodes = nodes.subspan(1);
    }
    for (Tree& part : tree.parts) part = with_nodes(std::move(part), nodes);
    return tree;
  }

  /// One iteration. An array that it returns as it is is that before the loop.
  Tree loop(const Computation& computation, const Instruction& instruction, const Tree& before) {
    const Computation& body = flat_.module.called(instruction.attribute("body"));
    const Computation& condition = flat_.module.called(instruction.attribute("condition"));
    std::vector<std::size_t> first, variables, next;
    arrays_of(before, first);
    Loop loop;
    loop.begin = flat_.nodes.size();
    for (const std::size_t each : first) {
      Node node{&body, &body.instructions.at(body.parameters.at(0)), {each}, {}, 0, false};
      node.shape = flat_.nodes[each].shape;
      variables.push_back(add(std::move(node)));
    }
    std::span<const std::size_t> list(variables);
    const Tree changing = with_nodes(before, list);
    arrays_of(of(body, {changing}), next);
    const Tree goes_on = of(condition, {changing});
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
    if (!is_known) return leaves(computation, instruction, instruction.shape);
    std::map<std::size_t, std::size_t> kept;
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
  bool is_one_of_several_;
  int depth_ = 0;
};

constexpr std::int64_t kMaxNumbers = 4096;  ///< elements of an array of known integers

/// Boxes of one device as segments of every dimension, if they are all combinations of these.
std::optional<std::vector<Segments>> product_of(const std::vector<const Piece*>& boxes,
                                                std::size_t rank) {
  std::vector<Segments> all(rank);
  std::set<std::vector<Segment>> different;
  std::size_t combinations = 1;
  for (std::size_t k = 0; k < rank; ++k) {
    std::set<Segment> segments;
    for (const Piece* box : boxes) segments.insert({box->at[k], box->of[k], box->sizes[k]});
    all[k].assign(segments.begin(), segments.end());
    for (std::size_t i = 1; i < all[k].size(); ++i) {
      if (all[k][i].at < all[k][i - 1].at + all[k][i - 1].size) return std::nullopt;
    }
    combinations *= all[k].size();
    if (combinations > boxes.size()) return std::nullopt;
  }
  for (const Piece* box : boxes) {
    std::vector<Segment> one;
    for (std::size_t k = 0; k < rank; ++k) one.push_back({box->at[k], box->of[k], box->sizes[k]});
    different.insert(std::move(one));
  }
  return different.size() == combinations ? std::optional(all) : std::nullopt;
}

}  // namespace

Op reducer_named(const std::string& name) {
  static const std::map<std::string, Op> kReducers = {{"add", Op::Add},
                                                      {"maximum", Op::Maximum},
                                                      {"minimum", Op::Minimum},
                                                      {"multiply", Op::Multiply}};
  if (!kReducers.contains(name)) malformed("no reducer: " + printable(name));
  return kReducers.at(name);
}

FlatModule::FlatModule(const Module& source, Budget& budget, bool is_one_of_several)
    : module(source) {
  Flattening(*this, budget, is_one_of_several).run();
}

Runners::Runners(const Devices& devices) : all(devices), ids(devices.count()) {
  std::iota(ids.begin(), ids.end(), 0);
}

WholeModule::WholeModule(const Module& module, const std::set<std::string>& equal,
                         const Devices& devices, bool has_own_inputs, Budget& budget)
    : tensors(equal),
      places(devices.count()),
      are_own(has_own_inputs),
      devices_(devices),
      numbers_(make_numbers(0, 0)),
      interpreter_(module, *numbers_, devices_, budget) {
  const FlatModule flat(module, budget);
  has_own = are_own || std::any_of(flat.nodes.begin(), flat.nodes.end(),
                                   [](const Node& node) { return is_border(*node.instruction); });
  for (const std::size_t each : flat.inputs) inputs.push_back(flat.nodes[each].shape);
  std::vector<std::size_t> made = relate(flat);
  while (loops_vary()) {
    tensors = Tensors(equal);
    variables.clear();
    conditions.clear();
    borders.clear();
    made = relate(flat);
  }
  for (const std::size_t each : flat.outputs) outputs.push_back(made[each]);
}

/// Whether an iteration makes what is less alike, on devices, than was taken.
bool WholeModule::loops_vary() {
  bool is_more = false;
  for (std::size_t k = 0; k < variables.size(); ++k) {
    const Numbering alike = tensors.alike(variables[k].tensor, places.devices());
    const Numbering next = tensors.alike(variables[k].next, places.devices());
    if (Places::common(alike, next) != alike) is_more = varying_.insert(k).second || is_more;
  }
  return is_more;
}

/// The tensors by node.
std::vector<std::size_t> WholeModule::relate(const FlatModule& flat) {
  std::vector<std::size_t> made(flat.nodes.size());
  std::vector<bool> is_input(flat.nodes.size(), false);
  for (std::size_t k = 0; k < flat.inputs.size(); ++k) {
    made[flat.inputs[k]] = tensors.input(k, inputs[k]);
    is_input[flat.inputs[k]] = true;
    if (!are_own) continue;
    Numbering devices(places.devices());
    std::iota(devices.begin(), devices.end(), 0U);
    tensors.vary(made[flat.inputs[k]], std::move(devices));
  }
  std::map<std::size_t, std::size_t> numbers;  // of variables, by node
  for (std::size_t i = 0; i < flat.nodes.size(); ++i) {
    const Node& node = flat.nodes[i];
    if (is_input[i]) continue;
    std::optional<std::size_t> tensor;
    const auto variable = flat.variables.find(i);
    const auto result = flat.results.find(i);
    if (variable != flat.variables.end()) {
      const std::size_t first = made[node.operands.at(0)];
      tensor = tensors.variable(variables.size(), first, node.shape);
      Numbering alike = tensors.alike(first, places.devices());
      if (varying_.contains(variables.size())) std::iota(alike.begin(), alike.end(), 0U);
      tensors.vary(*tensor, std::move(alike));
      numbers[i] = variables.size();
      variables.push_back({variable->second.loop, *tensor, first, 0, tensors.result(*tensor)});
    } else if (result != flat.results.end()) {
      const auto& [loop, number] = result->second;
      tensor = variables[numbers.at(flat.loops[loop].variables[number])].result;
    } else if (node.instruction->opcode == "constant") {
      tensor = tensors.constant(*node.instruction);
    } else if (node.is_function) {
      std::vector<Index> sizes;
      std::vector<std::size_t> operands;
      for (const std::size_t each : node.operands) {
        sizes.push_back(flat.nodes[each].shape.sizes);
        operands.push_back(made[each]);
      }
      tensor = tensors.make(form_of(flat.module, node, sizes), operands, kind_of(node.shape.type));
    }
    if (!tensor && has_own) {
      try {
        tensor = manual_tensor(flat, node, made);
      } catch (const CheckFailure&) {
        tensor.reset();  // Nothing is known of it.
      }
    }
    if (tensor && tensors.at(*tensor).sizes != node.shape.sizes)
      malformed("the shape of " + printable(node.instruction->name));
    made[i] = tensor ? *tensor : tensors.unknown(node.shape);
  }
  std::vector<std::pair<std::size_t, std::size_t>> nexts;
  for (const auto& [node, array] : flat.variables) {
    Variable& variable = variables[numbers.at(node)];
    variable.next = made[flat.loops[array.loop].next[array.number]];
    nexts.emplace_back(variable.tensor, variable.next);
  }
  tensors.spread(nexts);
  for (const Loop& loop : flat.loops) conditions.push_back(made[loop.condition]);
  return made;
}

RelatedModules::RelatedModules(WholeModule& whole, const Module& local, const Runners& runners,
                               const std::vector<std::optional<Relation>>& inputs, Budget& budget,
                               bool is_one_of_several)
    : budget_(budget),
      local_(local, budget, is_one_of_several),
      whole_(whole),
      tensors_(whole.tensors),
      runners_(runners),
      places_(runners.ids.size()),
      has_own_(whole.has_own && !is_one_of_several),
      numbers_(make_numbers(0, 0)),
      interpreter_(local, *numbers_, runners.all, budget) {
  if (inputs.size() != whole.inputs.size()) malformed("the relation of inputs");
  if (has_own_) borders_ = whole.borders;
  for (auto& border : borders_) {
    for (std::size_t& place : border.places) {
      const Place known = whole.places.at(place);
      place = places_.segments(known.size, known.whole, known.devices);
    }
  }
  assumptions_.resize(local_.loops.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k]) relate_input(k, whole.inputs[k], *inputs[k]);
  }
  execute_numbers();
}

/// What a device holds in no box is anything.
void RelatedModules::relate_input(std::size_t number, const Shape& shape,
                                  const Relation& relation) {
  const std::size_t node = local_.inputs.at(relation.number);
  const Index& own = local_.nodes[node].shape.sizes;
  const std::size_t count = places_.devices();
  std::vector<std::vector<const Piece*>> boxes(count);
  Numbering parts(count, relation.parts);
  for (const Piece& piece : relation.pieces) {
    boxes.at(piece.device).push_back(&piece);
    // One device with several parts is not understood.
    if (parts[piece.device] != relation.parts && parts[piece.device] != piece.part) return;
    parts[piece.device] = piece.part;
  }
  std::vector<std::vector<Segments>> dimensions(own.size(), std::vector<Segments>(count));
  for (std::size_t device = 0; device < count; ++device) {
    if (boxes[device].empty()) {
      if (own.empty()) return;
      continue;
    }
    const auto product = product_of(boxes[device], own.size());
    if (!product) return;
    for (std::size_t k = 0; k < own.size(); ++k) dimensions[k][device] = (*product)[k];
  }
  Fact fact{node, tensors_.input(number, shape), {}, {}};
  for (std::size_t k = 0; k < own.size(); ++k)
    fact.places.push_back(places_.segments(own[k], shape.sizes[k], std::move(dimensions[k])));
  if (relation.reducer) {
    Partial partial{*relation.reducer, places_.classes(fact.places), {}};
    partial.copies = Places::common(partial.groups, parts);
    std::map<std::uint32_t, std::set<std::uint32_t>> held;
    for (std::size_t device = 0; device < count; ++device) {
      if (parts[device] == relation.parts) return;
      held[partial.groups[device]].insert(parts[device]);
    }
    for (const auto& [group, all] : held) {
      if (all.size() != relation.parts) return;
    }
    fact.partial = places_.partial(std::move(partial));
  }
  add(std::move(fact));
}

std::size_t RelatedModules::add(Fact fact) {
  const auto variable = local_.variables.find(fact.node);
  if (variable != local_.variables.end() && variable_of(fact.tensor))
    assumptions_[variable->second.loop].facts.push_back(facts_.size());
  facts_.push_back(std::move(fact));
  return facts_.size() - 1;
}

/// Integers that follow from constants and the numbers of devices.
void RelatedModules::execute_numbers() {
  const std::size_t count = runners_.all.count();
  known_.resize(local_.nodes.size());
  for (std::size_t i = 0; i < known_.size(); ++i) {
    const Node& node = local_.nodes[i];
    const std::string& opcode = node.instruction->opcode;
    const Shape& shape = node.shape;
    const bool is_id = opcode == "partition-id" || opcode == "replica-id";
    if (!(shape.type.is_integer() || shape.type.is_boolean()) || shape.elements() > kMaxNumbers ||
        shape.elements() < 1)
      continue;
    const bool has_operands = std::all_of(node.operands.begin(), node.operands.end(),
                                          [&](std::size_t each) { return has_numbers(each); });
    if (!has_operands || node.operands.size() != node.instruction->operands.size() ||
        !(is_id || opcode == "constant" || opcode == "iota" ||
          (node.is_function && !node.operands.empty() && !node.instruction->shape.is_tuple)))
      continue;
    Interpreter::Operands operands;
    for (const std::size_t each : node.operands) operands.push_back(&known_[each]);
    budget_.spend(count);
    try {
      Value value = interpreter_.result(*node.computation, *node.instruction, operands);
      const bool fits =
          value.devices.size() == count &&
          std::all_of(value.devices.begin(), value.devices.end(), [&](const TensorPtr& tensor) {
            return tensor->type == shape.type && tensor->sizes == shape.sizes;
          });
      if (fits) known_[i] = std::move(value);
    } catch (const CheckFailure&) {
      continue;  // Nothing is known of it.
    }
  }
  if (runners_.ids.size() == count) return;
  for (Value& value : known_) {
    std::vector<TensorPtr> own;
    for (const std::size_t id : runners_.ids) {
      if (!value.devices.empty()) own.push_back(value.devices.at(id));
    }
    value.devices = std::move(own);
  }
}

/// By hint {0, sizes…}: all elements are one number, on all devices. By hint {1, dimension,
/// sizes…}: they count up along a dimension, from any number.
std::optional<Fact> RelatedModules::of_numbers(std::size_t number, const Index& hint) {
  const Node& node = local_.nodes.at(number);
  const auto& devices = known_.at(number).devices;
  const bool counts = hint[0] == 1;
  const Index sizes(hint.begin() + std::min<std::ptrdiff_t>(counts ? 2 : 1, std::ssize(hint)),
                    hint.end());
  const Index& own = node.shape.sizes;
  const auto along = static_cast<std::size_t>(counts && hint.size() > 1 ? hint[1] : 0);
  if (hint[0] > 1 || sizes.size() != own.size() || (counts && along >= own.size()))
    return std::nullopt;
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 1; }))
    return std::nullopt;
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < own.size(); ++k) places.push_back(places_.free(own[k], sizes[k]));
  std::vector<Segments> segments;
  std::optional<std::int64_t> all;
  for (const TensorPtr& tensor : devices) {
    std::optional<std::int64_t> first;
    std::size_t next = 0;
    bool is_so = true;
    for_each_index(own, [&](const Index& index) {
      const auto value = numbers_->known(tensor->cells.at(next++), tensor->type);
      if (!value) {
        is_so = false;
        return;
      }
      const std::int64_t begin = counts ? *value - index[along] : *value;
      is_so = is_so && first.value_or(begin) == begin;
      first = begin;
    });
    if (!is_so || !first || (!counts && all.value_or(*first) != *first)) return std::nullopt;
    all = first;
    if (!counts) continue;
    if (*first < 0 || *first + own[along] > sizes[along]) return std::nullopt;
    segments.push_back({{0, *first, own[along]}});
  }
  if (counts) {
    // An iota of its type counts as far.
    if (!node.shape.type.is_integer() ||
        sizes[along] > std::int64_t{1} << std::min(node.shape.type.bits - 1, 40))
      return std::nullopt;
    places[along] = places_.segments(own[along], sizes[along], std::move(segments));
    const auto iota = tensors_.make({"iota", "", {{hint[1]}, sizes}}, {}, kind_of(node.shape.type));
    return iota ? std::optional(Fact{0, *iota, std::move(places), {}}) : std::nullopt;
  }
  const std::size_t scalar = tensors_.scalar(std::to_string(*all), node.shape.type);
  const auto wide = sizes.empty() ? std::optional(scalar)
                                  : tensors_.make({"broadcast", "", {{}, sizes}}, {scalar},
                                                  kind_of(node.shape.type));
  return wide ? std::optional(Fact{0, *wide, std::move(places), {}}) : std::nullopt;
}

bool RelatedModules::answers(std::size_t number, std::size_t output,
                             const Relation& relation) const {
  const Fact& fact = facts_.at(number);
  if (fact.node != local_.outputs.at(relation.number) || fact.tensor != whole_.outputs.at(output))
    return false;
  // A whole output is not a device's own tensor, unless both modules are partitioned.
  if (tensors_.varies(fact.tensor) && !whole_.are_own) return false;
  if (fact.view || fact.share || fact.partial.has_value() != relation.reducer.has_value())
    return false;
  std::map<std::uint32_t, std::uint32_t> part_of, copies_of;
  for (const Piece& piece : relation.pieces) {
    for (std::size_t k = 0; k < piece.of.size(); ++k) {
      const Place& place = places_.at(fact.places.at(k));
      if (place.devices.empty() && !fact.partial) continue;
      if (place.devices.empty()) return false;
      const Segments& all = place.devices.at(piece.device);
      // All parts have an element at the same index.
      if (fact.partial && all.size() != 1) return false;
      const bool is_there = std::any_of(all.begin(), all.end(), [&](const Segment& each) {
        return each.at <= piece.at[k] && piece.at[k] + piece.sizes[k] <= each.at + each.size &&
               each.of - each.at == piece.of[k] - piece.at[k];
      });
      if (!is_there) return false;
    }
    if (!fact.partial) continue;
    const Partial& partial = places_.partial_at(*fact.partial);
    const std::uint32_t copies = partial.copies.at(piece.device);
    if (partial.op != relation.reducer || partial.groups.at(piece.device) != 0 ||
        part_of.emplace(copies, piece.part).first->second != piece.part ||
        copies_of.emplace(piece.part, copies).first->second != copies)
      return false;
  }
  if (!fact.partial) return true;
  // Every part counts once, and there is no other.
  const Partial& partial = places_.partial_at(*fact.partial);
  const std::set<std::uint32_t> copies(partial.copies.begin(), partial.copies.end());
  return copies.size() == relation.parts && part_of.size() == relation.parts;
}

}  // namespace p2::kernel::xla
