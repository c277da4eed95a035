// What is known of two modules from the start, and what is to be shown.

#include "proofs/kernel/xla/relation.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "proofs/kernel/input.h"

namespace p2::kernel::xla {
namespace {

/// Elements of an array of known integers: on every device, or on all.
constexpr std::int64_t kMaxNumbers = 4096;
constexpr std::int64_t kMaxNumbersOfAll = std::int64_t{1} << 18U;

/// Boxes of one device as segments of every dimension, if they are all combinations of these.
std::optional<std::vector<Segments>> product_of(const std::vector<const Piece*>& boxes,
                                                std::size_t rank) {
  std::vector<Segments> all(rank);
  if (boxes.size() == 1) {
    for (std::size_t k = 0; k < rank; ++k)
      all[k] = {{boxes[0]->at[k], boxes[0]->of[k], boxes[0]->sizes[k]}};
    return all;
  }
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

/// The nodes that outputs are made of.
std::vector<bool> used_by_outputs(const FlatModule& flat) {
  std::vector<bool> is_used(flat.nodes.size(), false);
  std::vector<std::size_t> left = flat.outputs;
  while (!left.empty()) {
    const std::size_t number = left.back();
    left.pop_back();
    if (is_used[number]) continue;
    is_used[number] = true;
    const std::vector<std::size_t>& operands = flat.nodes[number].operands;
    left.insert(left.end(), operands.begin(), operands.end());
    const auto variable = flat.variables.find(number);
    if (variable != flat.variables.end())
      left.push_back(flat.loops[variable->second.loop].next[variable->second.number]);
  }
  return is_used;
}

/// Integers that follow from constants and the numbers of devices, by node.
std::vector<Value> known_numbers(const FlatModule& flat, Interpreter& interpreter,
                                 std::size_t count, Budget& budget) {
  std::vector<Value> known(flat.nodes.size());
  const std::int64_t most = std::max(
      kMaxNumbers, kMaxNumbersOfAll / static_cast<std::int64_t>(std::max<std::size_t>(1, count)));
  for (std::size_t i = 0; i < known.size(); ++i) {
    const Node& node = flat.nodes[i];
    const Shape& shape = node.shape;
    if (!(shape.type.is_integer() || shape.type.is_boolean()) || shape.elements() > most ||
        shape.elements() < 1 || node.promises())
      continue;
    const std::string_view opcode = node.instruction->opcode;
    const bool is_id = opcode == "partition-id" || opcode == "replica-id";
    const bool has_operands =
        std::all_of(node.operands.begin(), node.operands.end(),
                    [&](std::size_t each) { return !known[each].devices.empty(); });
    if (!has_operands || node.operands.size() != node.instruction->operands.size() ||
        !(is_id || opcode == "constant" || opcode == "iota" ||
          (node.is_function && !node.operands.empty() && !node.instruction->shape.is_tuple)))
      continue;
    Interpreter::Operands operands;
    for (const std::size_t each : node.operands) operands.push_back(&known[each]);
    budget.spend(count);
    try {
      Value value = interpreter.result(*node.computation, *node.instruction, operands);
      const Tensor* last = nullptr;  // most devices have one and the same
      const bool fits =
          value.devices.size() == count &&
          std::all_of(value.devices.begin(), value.devices.end(), [&](const TensorPtr& tensor) {
            if (tensor.get() == std::exchange(last, tensor.get())) return true;
            return tensor->type == shape.type && tensor->sizes == shape.sizes &&
                   std::none_of(tensor->cells.begin(), tensor->cells.end(),
                                [](const Cell& cell) { return cell.nan; });
          });
      if (fits) known[i] = std::move(value);
    } catch (const CheckFailure&) {
      continue;  // Nothing is known of it.
    }
  }
  return known;
}

/// The tensor of such integers, if devices have different ones.
std::optional<std::size_t> WholeModule::own_numbers(const Value& value) {
  constexpr std::size_t kMost = 16;
  Form form{"numbers", "", {}};
  for (const TensorPtr& each : value.devices) {
    Index& own = form.numbers.emplace_back();
    for (const Cell& cell : each->cells) {
      const auto known = numbers_->known(cell, each->type);
      if (!known || each->cells.size() > kMost) return std::nullopt;
      own.push_back(*known);
    }
  }
  Numbering alike = numbered(form.numbers);
  if (!has_own || form.numbers.size() != places.devices() ||
      std::all_of(alike.begin(), alike.end(), [](std::uint32_t device) { return device == 0; }))
    return std::nullopt;
  return tensors.family(std::move(form), {}, kind_of(value.devices[0]->type),
                        value.devices[0]->sizes, std::move(alike));
}

Runners::Runners(const Devices& devices) : all(devices), ids(devices.count()) {
  std::iota(ids.begin(), ids.end(), 0);
}

WholeModule::WholeModule(const Module& module, const Premises& premises, const Devices& devices,
                         bool has_own_inputs, bool is_before, Budget& budget,
                         std::set<std::size_t> same)
    : tensors(premises),
      places(devices.count()),
      are_own(has_own_inputs),
      same_inputs(std::move(same)),
      may_promise(is_before),
      devices_(devices),
      budget_(budget),
      numbers_(make_numbers(0, 0)),
      interpreter_(module, *numbers_, devices_, budget) {
  const FlatModule flat(module, budget, false, may_promise);
  has_own = are_own || std::any_of(flat.nodes.begin(), flat.nodes.end(),
                                   [](const Node& node) { return is_border(*node.instruction); });
  for (const std::size_t each : flat.inputs) inputs.push_back(flat.nodes[each].shape);
  std::vector<std::size_t> made = relate(flat);
  while (loops_vary()) {
    tensors = Tensors(premises);
    variables.clear();
    conditions.clear();
    borders.clear();
    promises.clear();
    made = relate(flat);
  }
  for (const std::size_t each : flat.outputs) outputs.push_back(made[each]);
  for (std::size_t i = 0; i < made.size(); ++i)
    names.try_emplace(made[i], flat.nodes[i].instruction->name);
  for (std::size_t k = 0; k < flat.of_entry.size(); ++k) {
    if (flat.of_entry[k])
      names_of_entry.try_emplace(made[*flat.of_entry[k]], module.main().instructions[k].name);
  }
}

/// The nodes that are said to make what is finite: results of instructions of the entry, which are
/// always executed, and once.
std::set<std::size_t> WholeModule::finite_nodes(const FlatModule& flat) const {
  const std::set<std::string>& finite = tensors.premises().finite;
  if (finite.empty()) return {};
  std::set<std::string> found;
  std::set<std::size_t> nodes;
  const auto& instructions = flat.module.main().instructions;
  for (std::size_t k = 0; k < instructions.size(); ++k) {
    if (!finite.contains(instructions[k].name) || !flat.of_entry[k]) continue;
    if (instructions[k].shape.is_tuple || flat.results.contains(*flat.of_entry[k])) continue;
    found.insert(instructions[k].name);
    nodes.insert(*flat.of_entry[k]);
  }
  if (found != finite) malformed("what is finite is no array that the entry makes");
  return nodes;
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
    if (!are_own || same_inputs.contains(k)) continue;
    Numbering devices(places.devices());
    std::iota(devices.begin(), devices.end(), 0U);
    tensors.vary(made[flat.inputs[k]], std::move(devices));
  }
  const std::vector<bool> is_used = used_by_outputs(flat);
  const std::set<std::size_t> of_finite = finite_nodes(flat);
  std::map<std::size_t, std::size_t> numbers;  // of variables, by node
  std::vector<Value> known(flat.nodes.size());
  if (has_own) known = known_numbers(flat, interpreter_, places.devices(), budget_);
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
    } else if (const auto own = own_numbers(known[i])) {
      tensor = own;
    } else if (node.instruction->opcode == "constant") {
      tensor = tensors.constant(*node.instruction);
    } else if (node.instruction->opcode == "same everywhere") {
      if (!tensors.varies(made[node.operands[0]])) tensor = made[node.operands[0]];
    } else if (node.is_function) {
      std::vector<std::size_t> operands;
      for (const std::size_t each : node.operands) operands.push_back(made[each]);
      const Form* const form = flat.forms[i];
      tensor = tensors.make(
          form != nullptr ? *form : form_of(flat.module, node, sizes_of(flat.nodes, node)),
          operands, kind_of(node.shape.type));
      if (node.promises() && is_used.at(i))
        promises.merge(promises_of(flat, i, operands, flat.loops_of(i), tensors));
    }
    if (!tensor && has_own) {
      try {
        tensor = manual_tensor(flat, node, made);
      } catch (const CheckFailure&) {
        tensor.reset();  // Nothing is known of it.
      }
    }
    if (tensor && (tensors.at(*tensor).sizes != node.shape.sizes ||
                   tensors.at(*tensor).kind != kind_of(node.shape.type)))
      malformed("the shape of " + printable(node.instruction->name));
    made[i] = tensor ? *tensor : tensors.unknown(node.shape);
    if (!of_finite.contains(i)) continue;
    if (!tensors.can_be_finite(made[i]))
      malformed(printable(node.instruction->name) + ", said to be finite, may never be");
    tensors.take_as_finite(made[i]);
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

std::string WholeModule::words_of_inputs() const {
  std::string words = "for all inputs";
  std::string separator = " for which ";
  if (!promises.empty()) {
    words += separator + "indices are as the module before promises";
    separator = " and ";
  }
  for (const std::string& each : tensors.premises().finite) {
    words += separator + printable(each) + " is finite";
    separator = " and ";
  }
  return words;
}

auto WholeModule::promises_of(const FlatModule& flat, std::size_t number,
                              const std::vector<std::size_t>& operands,
                              const std::vector<std::size_t>& loops, const Tensors& tensors)
    -> std::set<Promise> {
  const Node& node = flat.nodes[number];
  std::set<Promise> all;
  if (operands.size() < 2) return all;
  Promise promise;
  promise.form = form_of(flat.module, node, sizes_of(flat.nodes, node));
  promise.indices = operands[1];
  promise.operand = tensors.at(operands[0]).sizes;
  promise.loops = loops;
  promise.form.text.clear();
  if (operands.size() == 3) promise.updates = tensors.at(operands[2]).sizes;
  promise.form.numbers.resize(std::min<std::size_t>(6, promise.form.numbers.size()));
  if (node.has_unique_indices) all.insert(promise);
  promise.is_of_order = true;
  if (node.has_sorted_indices) all.insert(promise);
  return all;
}

RelatedModules::RelatedModules(WholeModule& whole, const Module& local, const Runners& runners,
                               const std::vector<std::optional<HeldInput>>& inputs, Budget& budget,
                               std::shared_ptr<Places> shared)
    : budget_(budget),
      local_(local, budget, shared != nullptr, whole.may_promise),
      whole_(whole),
      tensors_(whole.tensors),
      runners_(runners),
      shared_(shared ? std::move(shared) : std::make_shared<Places>(runners.ids.size())),
      places_(*shared_),
      has_own_(whole.has_own && !local_.is_one_of_several),
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
  relate_inputs(inputs);
  execute_numbers();
}

void RelatedModules::relate_inputs(const std::vector<std::optional<HeldInput>>& inputs) {
  std::map<std::tuple<const Relation*, Index, Index>, std::optional<Holding>> known;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k]) continue;
    const std::size_t node = local_.inputs.at(inputs[k]->number);
    const Index& own = local_.nodes[node].shape.sizes;
    const Shape& shape = whole_.inputs[k];
    const Relation& relation = *inputs[k]->relation;
    const auto [held, is_new] = known.try_emplace({&relation, own, shape.sizes});
    if (is_new) held->second = holding(own, shape.sizes, relation);
    if (held->second)
      add({node, tensors_.input(k, shape), held->second->places, held->second->partial});
  }
}

/// What a device holds in no box is anything.
auto RelatedModules::holding(const Index& own, const Index& whole, const Relation& relation)
    -> std::optional<Holding> {
  const std::size_t count = places_.devices();
  std::vector<std::vector<const Piece*>> boxes(count);
  Numbering parts(count, relation.parts);
  for (const Piece& piece : relation.pieces) {
    boxes.at(piece.device).push_back(&piece);
    // One device with several parts is not understood.
    if (parts[piece.device] != relation.parts && parts[piece.device] != piece.part)
      return std::nullopt;
    parts[piece.device] = piece.part;
  }
  std::vector<std::vector<Segments>> dimensions(own.size(), std::vector<Segments>(count));
  for (std::size_t device = 0; device < count; ++device) {
    if (boxes[device].empty()) {
      if (own.empty()) return std::nullopt;
      continue;
    }
    auto product = product_of(boxes[device], own.size());
    if (!product) return std::nullopt;
    for (std::size_t k = 0; k < own.size(); ++k) dimensions[k][device] = std::move((*product)[k]);
  }
  Holding held{{}, {}};
  for (std::size_t k = 0; k < own.size(); ++k)
    held.places.push_back(places_.segments(own[k], whole[k], std::move(dimensions[k])));
  if (relation.reducer) {
    Partial partial{*relation.reducer, places_.classes(held.places), {}};
    partial.copies = Places::common(partial.groups, parts);
    std::map<std::uint32_t, std::set<std::uint32_t>> all_held;
    for (std::size_t device = 0; device < count; ++device) {
      if (parts[device] == relation.parts) return std::nullopt;
      all_held[partial.groups[device]].insert(parts[device]);
    }
    for (const auto& [group, all] : all_held) {
      if (all.size() != relation.parts) return std::nullopt;
    }
    held.partial = places_.partial(std::move(partial));
  }
  return held;
}

std::size_t RelatedModules::add(Fact fact) {
  const auto variable = local_.variables.find(fact.node);
  if (variable != local_.variables.end() && variable_of(fact.tensor))
    assumptions_[variable->second.loop].facts.push_back(facts_.size());
  facts_.push_back(std::move(fact));
  return facts_.size() - 1;
}

void RelatedModules::execute_numbers() {
  const std::size_t count = runners_.all.count();
  known_ = known_numbers(local_, interpreter_, count, budget_);
  if (runners_.ids.size() == count) return;
  for (Value& value : known_) {
    std::vector<TensorPtr> own;
    for (const std::size_t id : runners_.ids) {
      if (!value.devices.empty()) own.push_back(value.devices.at(id));
    }
    value.devices = std::move(own);
  }
}

/// By hint {2}: a tensor of its own on every device. By hint {0, sizes…}: all elements are one
/// number, on all devices. By hint {1, dimension, sizes…}: they count up along a dimension, from
/// any number.
std::optional<Fact> RelatedModules::of_numbers(std::size_t number, const Index& hint) {
  const Node& node = local_.nodes.at(number);
  const auto& devices = known_.at(number).devices;
  if (hint == Index{2} && has_own_) {
    const auto own = whole_.own_numbers(known_.at(number));
    if (!own) return std::nullopt;
    Fact fact{0, *own, {}, {}};
    for (const std::int64_t size : node.shape.sizes) fact.places.push_back(places_.identity(size));
    return fact;
  }
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
  for (std::size_t device = 0; device < devices.size(); ++device) {
    const TensorPtr& tensor = devices[device];
    if (device > 0 && tensor == devices[device - 1]) {  // most have one and the same
      if (counts) segments.push_back(segments.back());
      continue;
    }
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
  const auto wide = sizes.empty() ? std::optional(scalar) : tensors_.splat(scalar, sizes);
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
  const std::size_t rank = fact.places.size();
  if (std::ranges::any_of(relation.pieces,
                          [&](const Piece& piece) { return piece.of.size() != rank; }))
    return false;
  for (std::size_t k = 0; k < rank && !relation.pieces.empty(); ++k) {
    const Place& place = places_.at(fact.places[k]);
    if (place.devices.empty() && !fact.partial) continue;
    if (place.devices.empty()) return false;
    for (const Piece& piece : relation.pieces) {
      const Segments& all = place.devices.at(piece.device);
      // All parts have an element at the same index.
      if (fact.partial && all.size() != 1) return false;
      const bool is_there = std::any_of(all.begin(), all.end(), [&](const Segment& each) {
        return each.at <= piece.at[k] && piece.at[k] + piece.sizes[k] <= each.at + each.size &&
               each.of - each.at == piece.of[k] - piece.at[k];
      });
      if (!is_there) return false;
    }
  }
  if (!fact.partial) return true;
  std::map<std::uint32_t, std::uint32_t> part_of, copies_of;
  for (const Piece& piece : relation.pieces) {
    const Partial& partial = places_.partial_at(*fact.partial);
    const std::uint32_t copies = partial.copies.at(piece.device);
    if (partial.op != relation.reducer || partial.groups.at(piece.device) != 0 ||
        part_of.emplace(copies, piece.part).first->second != piece.part ||
        copies_of.emplace(piece.part, copies).first->second != copies)
      return false;
  }
  // Every part counts once, and there is no other.
  const Partial& partial = places_.partial_at(*fact.partial);
  const std::set<std::uint32_t> copies(partial.copies.begin(), partial.copies.end());
  return copies.size() == relation.parts && part_of.size() == relation.parts;
}

}  // namespace p2::kernel::xla
